//! The branch target buffer: which taken branches fetch knows of, and how fast.

use crate::memory::{Cache, Found};
use crate::processor::BranchPredictor;

/// What of the buffer knows a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// The first level.
    First,
    /// The second.
    Second,
    /// Neither.
    Not,
}

/// Both levels.
#[derive(Debug)]
pub struct Targets {
    first: Cache,
    second: Option<Cache>,
}

impl Targets {
    /// Empty ones.
    pub fn new(record: &BranchPredictor) -> Targets {
        let ways = record.target_ways;
        let level = |entries: usize| Cache::new(entries / ways, ways);
        Targets {
            first: level(record.targets),
            second: (record.second_targets > 0).then(|| level(record.second_targets)),
        }
    }

    /// Looks for a taken branch; the first level has it from now on.
    pub fn find(&mut self, address: u64) -> Known {
        // Branches at equal distances are spread over all sets, too.
        let entry = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        if self.first.find(entry, 0) == Found::Present {
            return Known::First;
        }
        self.first.fill(entry, 0, 0);
        let Some(second) = &mut self.second else { return Known::Not };
        if second.find(entry, 0) == Found::Present {
            return Known::Second;
        }
        second.fill(entry, 0, 0);
        Known::Not
    }

    /// A branch was taken and is known from now on.
    pub fn learn(&mut self, address: u64) {
        self.find(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Processor;

    #[test]
    fn the_second_level_is_larger() {
        let mut record = Processor::named("zen-4").unwrap().branches;
        (record.targets, record.second_targets, record.target_ways) = (4, 64, 4);
        let mut targets = Targets::new(&record);
        assert!((0..16).all(|n| targets.find(n * 8) == Known::Not));
        assert_eq!(targets.find(15 * 8), Known::First);
        assert_eq!(targets.find(0), Known::Second);
        assert_eq!(targets.find(0), Known::First);
    }
}
