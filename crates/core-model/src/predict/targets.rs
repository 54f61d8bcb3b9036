//! The branch target buffer: which taken branches fetch knows of, and how fast.

use crate::memory::{Cache, Found};
use crate::processor::BranchPredictor;

/// What of the buffer knows a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// What costs no cycle, where the first level does.
    Nearest,
    /// The first level.
    First,
    /// The second.
    Second,
    /// Nothing.
    Not,
}

/// All of it.
#[derive(Debug)]
pub struct Targets {
    nearest: Option<Cache>,
    /// Bytes of code whose branches share a set, as a logarithm.
    shared: Option<u32>,
    first: Cache,
    second: Option<Cache>,
}

impl Targets {
    /// Empty ones.
    pub fn new(record: &BranchPredictor) -> Targets {
        let ways = record.target_ways;
        let level = |entries: usize| Cache::new(entries / ways, ways);
        Targets {
            nearest: record.nearest_targets.map(|entries| Cache::new(1, entries)),
            shared: record.target_bytes.map(u64::ilog2),
            first: level(record.targets),
            second: (record.second_targets > 0).then(|| level(record.second_targets)),
        }
    }

    /// Looks for a taken branch; the first level has it from now on.
    pub fn find(&mut self, address: u64) -> Known {
        let entry = match self.shared {
            Some(bits) => address.rotate_right(bits),
            // Branches at equal distances are spread over all sets, too.
            None => address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16,
        };
        if self.nearest.as_mut().is_some_and(|nearest| nearest.touch(entry)) {
            // All that is near is in the first level as well.
            return Known::Nearest;
        }
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
    fn branches_at_large_distances_share_few_sets() {
        let mut record = Processor::named("zen-4").unwrap().branches;
        (record.targets, record.second_targets, record.target_ways) = (16, 0, 2);
        let known = |record: &BranchPredictor, distance: u64| {
            let mut targets = Targets::new(record);
            (0..16).for_each(|n| targets.learn(n * distance));
            (0..16).filter(|n| targets.find(n * distance) != Known::Not).count()
        };
        record.target_bytes = Some(8);
        // Two in each of eight sets, and all in one.
        assert_eq!((known(&record, 8), known(&record, 64)), (16, 0));
    }

    #[test]
    fn the_latest_are_near() {
        let mut record = Processor::named("zen-4").unwrap().branches;
        record.nearest_targets = Some(2);
        let mut targets = Targets::new(&record);
        [0, 100, 200].into_iter().for_each(|address| targets.learn(address));
        assert_eq!(
            [200, 100, 0].map(|address| targets.find(address)),
            [Known::Nearest, Known::Nearest, Known::First]
        );
    }

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
