//! Whether the programs of two profiles ended alike and printed the same: one that crashed did less work, however fast
//! it was.

use crate::model::{Exit, Profile};

/// TEST did not end as BASE did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "test {}, base {}: what ended otherwise did not do the same work, so no condition can be judged",
    .test.in_words(),
    .base.in_words()
)]
pub struct EndedOtherwise {
    /// How BASE's runs ended.
    pub base: Exit,
    /// How one of TEST's did.
    pub test: Exit,
}

/// How all runs of BASE ended, and how a run of TEST did that ended otherwise. Where BASE's own runs ended in several
/// ways, TEST's may, too.
pub fn ended_otherwise(base: &Profile, test: &Profile) -> Option<EndedOtherwise> {
    let expected = common(ends(base))?;
    ends(test).find(|exit| *exit != expected).map(|test| EndedOtherwise { base: expected, test })
}

/// Whether a run of TEST printed something else than all runs of BASE.
pub fn printed_otherwise(base: &Profile, test: &Profile) -> bool {
    common(outputs(base)).is_some_and(|expected| outputs(test).any(|hash| hash != expected))
}

/// Hashes of what the runs printed of which that is known.
fn outputs(profile: &Profile) -> impl Iterator<Item = u64> {
    profile.runs.iter().filter_map(|run| run.stdout_hash)
}

/// How the runs ended of which that is known.
fn ends(profile: &Profile) -> impl Iterator<Item = Exit> {
    profile.runs.iter().map(|run| run.exit).filter(|exit| *exit != Exit::Unknown)
}

/// What all are.
fn common<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Run, RunKind};

    fn ended(exits: &[Exit]) -> Profile {
        let run = |&exit| Run { exit, ..Run::new(RunKind::Counting) };
        Profile { runs: exits.iter().map(run).collect(), ..Profile::default() }
    }

    #[test]
    fn test_has_to_end_as_base_does_each_time() {
        let (fine, failed, crashed) = (Exit::Code(0), Exit::Code(3), Exit::Signal(11));
        for (base, test, want) in [
            (&[fine, fine][..], &[fine][..], None),
            (&[fine, Exit::Unknown], &[fine, crashed], Some((fine, crashed))),
            (&[fine], &[failed], Some((fine, failed))),
            (&[crashed], &[crashed, Exit::Unknown], None),
            (&[fine, failed], &[crashed], None),
            (&[Exit::Unknown], &[crashed], None),
        ] {
            let want = want.map(|(base, test)| EndedOtherwise { base, test });
            assert_eq!(ended_otherwise(&ended(base), &ended(test)), want, "{base:?} {test:?}");
        }
    }

    #[test]
    fn outputs_that_differ_in_base_tell_nothing() {
        let printed = |hashes: &[Option<u64>]| {
            let run = |&stdout_hash| Run { stdout_hash, ..Run::new(RunKind::Sampling) };
            Profile { runs: hashes.iter().map(run).collect(), ..Profile::default() }
        };
        for (base, test, want) in [
            (&[Some(1), Some(1)][..], &[Some(1), Some(2)][..], true),
            (&[Some(1), None], &[Some(1), None], false),
            (&[Some(1), Some(2)], &[Some(3)], false),
            (&[None], &[Some(3)], false),
        ] {
            assert_eq!(printed_otherwise(&printed(base), &printed(test)), want, "{base:?} {test:?}");
        }
    }
}
