//! What came of a run that counts paths, and what is to be said of it.

use std::time::Duration;
use timewise_paths::found::merged;
use timewise_paths::{Found, Instruments, Program};
use timewise_profile::{Exit, Profile};
use timewise_report::listing::WORTH_SAYING;
use timewise_report::number::grouped;

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was found out.
    pub found: Found,
    /// How long the run took.
    pub elapsed: Duration,
    /// How the program ended.
    pub exit: Exit,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// With what is wrong with what was found.
    pub fn new(found: Found, elapsed: Duration) -> Outcome {
        let mut warnings = Vec::new();
        if found.lost > 0 {
            warnings.push(format!(
                "{} calls were open at a time when there were too many: the paths that made them are missing",
                found.lost
            ));
        }
        if found.senseless > 0 {
            warnings.push(format!(
                "{} counts are no path's: either timewise counts wrongly, or the program wrote where counters are",
                grouped(found.senseless)
            ));
        }
        Outcome { found, elapsed, exit: Exit::default(), warnings }
    }
}

/// What stages of a run come to together: one run, with the counts of all of them.
#[derive(Debug)]
pub struct Whole {
    /// Their edges and paths.
    pub profile: Profile,
    /// What their counters said.
    pub outcome: Outcome,
}

impl Whole {
    /// A stage.
    pub fn new(mut profile: Profile, outcome: Outcome) -> Whole {
        profile.paths.clone_from(&outcome.found.paths);
        Whole { profile, outcome }
    }

    /// Adds a later one.
    pub fn add(&mut self, later: Whole) {
        self.profile.append_later(later.profile);
        self.profile.paths = merged(std::mem::take(&mut self.profile.paths));
        let (found, later_found) = (&mut self.outcome.found, later.outcome.found);
        found.paths.clone_from(&self.profile.paths);
        found.routines = found.routines.max(later_found.routines);
        found.counted += later_found.counted;
        self.outcome.elapsed += later.outcome.elapsed;
        // What is wrong with a stage may be right in the next.
        self.outcome.warnings = later.outcome.warnings;
    }
}

/// What is to be said of functions without plans, and what to do.
pub fn apart(program: &Program, instruments: &Instruments, remedy: &str) -> Option<String> {
    let share = instruments.share_apart(program);
    (share >= WORTH_SAYING).then(|| {
        format!(
            "{:.1} % of the instructions are in code that is in no file (the vDSO, or written at run time), or whose \
             blocks overlap: its paths are not counted{remedy}",
            100.0 * share
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_are_no_paths_are_told() {
        let warnings = |found: Found| Outcome::new(found, Duration::ZERO).warnings;
        assert_eq!(warnings(Found { counted: 7, ..Found::default() }), Vec::<String>::new());
        let [said] = &warnings(Found { senseless: 1234, ..Found::default() })[..] else { panic!() };
        assert!(said.starts_with("1,234 counts are no path's"), "{said}");
    }
}
