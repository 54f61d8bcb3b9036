//! Whether what is counted now is what edges were counted of: plans are made for that.

use std::time::Duration;
use timewise_profile::{Module, Profile};

/// A run that executes so much more or less than the one whose edges were counted has other paths than these tell.
const OTHER_WORK: f64 = 0.05;

/// How long the first stage of a program that runs takes. In the next one it is looked after half of that, and then after
/// twice as long each time, whether paths still go where edges were counted.
const FIRST: Duration = Duration::from_secs(1);

/// If a larger share of the paths has no number, the program goes other ways than before, and its paths are planned
/// anew.
const MOST_COLD: f64 = 0.05;

/// Likewise if it executes so much more code than when it was last looked.
const NEW_CODE: f64 = 1.1;

/// Whether a run did other work than the one whose edges were counted, by the instructions that each executed.
pub fn is_other_work(edges: u64, paths: u64) -> bool {
    edges.abs_diff(paths) as f64 > OTHER_WORK * edges as f64
}

/// The files whose edges were counted that were others by the time that paths were: there are no plans for these.
pub fn replaced<'a>(edges: &'a Profile, paths: &'a Profile) -> impl Iterator<Item = &'a Module> {
    edges.modules.iter().filter(|module| {
        let mut now = paths.modules.iter().filter(|now| now.path == module.path).peekable();
        now.peek().is_some() && now.all(|now| now.build_id != module.build_id)
    })
}

/// Looking whether plans still hold in one of the stages in which a run's paths are counted.
#[derive(Debug)]
pub struct Looks {
    stage: u32,
    /// When, after the stage began.
    next: Duration,
    /// How many blocks there were the last time.
    blocks: Option<u64>,
}

impl Looks {
    /// In a stage, of which the first has number 0. Stages become longer, and the first look in one tells how much code it
    /// executes.
    pub fn new(stage: u32) -> Looks {
        let next = match stage.checked_sub(1) {
            None => FIRST,
            Some(before) => FIRST * 2u32.saturating_pow(before) / 2,
        };
        Looks { stage, next, blocks: None }
    }

    /// Whether plans do not hold any more: so long after the stage began, with so many `blocks` of code executed, and such a
    /// share of the paths without a number.
    pub fn is_over(
        &mut self,
        elapsed: Duration,
        blocks: impl FnOnce() -> u64,
        cold_share: impl FnOnce() -> f64,
    ) -> bool {
        if elapsed < self.next {
            return false;
        }
        // What was executed in the first stage tells more of edges than what there was before.
        if self.stage == 0 {
            return true;
        }
        let blocks = blocks();
        let before = self.blocks.replace(blocks).unwrap_or(blocks);
        self.next *= 2;
        let is_new = blocks as f64 > NEW_CODE * before as f64;
        is_new || cold_share() > MOST_COLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::ModuleKind;

    #[test]
    fn a_twentieth_more_or_less_is_the_same_work() {
        assert_eq!(
            [940, 960, 1040, 1060].map(|paths| is_other_work(1000, paths)),
            [true, false, false, true]
        );
        assert!(!is_other_work(0, 0));
    }

    #[test]
    fn a_file_is_replaced_if_no_build_of_it_is_left() {
        let module = |path: &str, build: u8| Module {
            kind: ModuleKind::File,
            path: path.into(),
            build_id: vec![build],
        };
        let with = |modules: &[Module]| Profile { modules: modules.to_vec(), ..Profile::default() };
        let edges = with(&[module("kept", 1), module("gone", 1), module("new", 1), module("both", 1)]);
        let paths = with(&[module("kept", 1), module("new", 2), module("both", 2), module("both", 1)]);
        let names: Vec<&[u8]> = replaced(&edges, &paths).map(|module| &module.path[..]).collect();
        assert_eq!(names, [b"new"]);
    }

    #[test]
    fn plans_hold_until_paths_go_elsewhere() {
        let at = |looks: &mut Looks, ms, blocks, cold| {
            looks.is_over(Duration::from_millis(ms), || blocks, || cold)
        };
        let first = &mut Looks::new(0);
        assert_eq!([at(first, 999, 9, 1.0), at(first, 1000, 9, 0.0)], [false, true]);
        let second = &mut Looks::new(1);
        assert!(!at(second, 499, 100, 1.0), "it is too early");
        assert!(!at(second, 500, 100, 0.04));
        assert!(!at(second, 999, 200, 1.0), "it was looked at 500 ms, and is again at a second");
        assert!(!at(second, 1000, 109, 0.04));
        assert!(at(second, 2000, 121, 0.04), "there is more code");
        assert!(at(&mut Looks::new(1), 500, 100, 0.06), "paths have no numbers");
        assert!(!at(&mut Looks::new(3), 1999, 0, 1.0) && at(&mut Looks::new(3), 2000, 0, 1.0));
    }
}
