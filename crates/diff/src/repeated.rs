//! Whether two profiles are of the same run: taken for two, it would tell that runs of a program do not differ.

use timewise_profile::{Profile, Run};

/// Whether two profiles hold a run in common.
pub fn share_a_run(one: &Profile, other: &Profile) -> bool {
    let mut both = one.runs.iter().flat_map(|run| other.runs.iter().map(move |theirs| (run, theirs)));
    // Where no start is known, as of some profiles from elsewhere, only what was measured tells.
    both.any(|(run, theirs)| is_same(run, theirs)) || one == other
}

/// Two runs may start at the same time, but then hardly take as long to the nanosecond.
fn is_same(one: &Run, other: &Run) -> bool {
    let facts = |run: &Run| (run.kind, run.started_unix_ns, run.elapsed_ns, run.user_ns);
    one.started_unix_ns != 0 && facts(one) == facts(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::RunKind;

    fn of(started_unix_ns: i64, elapsed_ns: u64) -> Profile {
        let run = Run { started_unix_ns, elapsed_ns, ..Run::new(RunKind::Counting) };
        Profile { runs: vec![Run::new(RunKind::Sampling), run], ..Profile::default() }
    }

    #[test]
    fn a_run_is_known_by_its_start_and_how_long_it_took() {
        assert!(share_a_run(&of(5, 7), &of(5, 7)));
        // Another run beside it does not matter.
        let more = Profile { runs: of(5, 7).runs[1..].to_vec(), ..Profile::default() };
        assert!(share_a_run(&of(5, 7), &more));
        assert!(!share_a_run(&of(5, 7), &of(6, 7)) && !share_a_run(&of(5, 7), &of(5, 8)));
    }

    #[test]
    fn without_a_start_all_must_be_equal() {
        assert!(share_a_run(&of(0, 7), &of(0, 7)));
        assert!(!share_a_run(&of(0, 7), &of(0, 8)));
        let other = Profile { runs: of(0, 7).runs[1..].to_vec(), ..Profile::default() };
        assert!(!share_a_run(&of(0, 7), &other));
    }
}
