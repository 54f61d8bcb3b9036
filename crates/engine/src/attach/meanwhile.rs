//! Looking at what is counted while the program runs.

use crate::arena::Arena;
use crate::harvest::offsets;
use crate::paths::PathCounts;
use std::sync::atomic::Ordering;

/// What is counted of a program that runs.
#[derive(Debug)]
pub struct Meanwhile<'a> {
    arena: &'a Arena,
}

impl Meanwhile<'_> {
    /// What is counted in an arena.
    pub(super) fn of(arena: &Arena) -> Meanwhile<'_> {
        Meanwhile { arena }
    }

    /// Blocks of code that were translated.
    pub fn blocks(&self) -> u64 {
        self.arena.records().iter().map(|record| u64::from(record.blocks.count.load(Ordering::Relaxed))).sum()
    }

    /// What counters of paths say up to now, of the processes that did not end long ago.
    pub fn paths(&self) -> PathCounts {
        let mut counts = PathCounts::default();
        for record in self.arena.records() {
            for area in offsets(self.arena, record).0 {
                // What makes no sense is told at the end.
                counts.add(self.arena, area);
            }
        }
        counts
    }
}
