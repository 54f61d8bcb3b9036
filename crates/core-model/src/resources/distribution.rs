//! Which scheduler a µop is given to that several could take.

use crate::chance::Chance;

/// How many µops each scheduler got in the latest cycle of dispatch.
#[derive(Debug)]
pub struct Distribution {
    cycle: u64,
    got: Vec<u32>,
    chance: Chance,
}

impl Distribution {
    /// Over so many schedulers.
    pub fn new(schedulers: usize) -> Distribution {
        Distribution { cycle: 0, got: vec![0; schedulers], chance: Chance::new() }
    }

    /// Gives a µop that is dispatched in this cycle to one of `schedulers` of those that got the fewest in it, and tells
    /// which of them that is.
    #[inline]
    pub fn give(&mut self, schedulers: impl ExactSizeIterator<Item = usize> + Clone, cycle: u64) -> usize {
        self.begin(cycle);
        let got = |scheduler: usize| self.got[scheduler];
        let fewest = schedulers.clone().map(got).min().unwrap_or(0);
        let candidates = schedulers.clone().filter(|scheduler| got(*scheduler) == fewest).count().max(1);
        let chosen = (self.chance.next() >> 8) as usize % candidates;
        let mut places =
            schedulers.clone().enumerate().filter(|(_, scheduler)| self.got[*scheduler] == fewest);
        let (place, scheduler) = places.nth(chosen).expect("a µop has a scheduler to go to");
        self.got[scheduler] += 1;
        place
    }

    /// A scheduler gets a µop in this cycle that can go to no other, or for which it had no room before.
    pub fn take(&mut self, scheduler: usize, cycle: u64) {
        self.begin(cycle);
        self.got[scheduler] += 1;
    }

    fn begin(&mut self, cycle: u64) {
        if cycle != self.cycle {
            self.cycle = cycle;
            self.got.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn those_with_the_fewest_get_the_next() {
        let mut distribution = Distribution::new(4);
        let mut firsts = [0; 4];
        for cycle in 1..=400 {
            let mut given: Vec<usize> = (0..4).map(|_| distribution.give(0..4, cycle)).collect();
            firsts[given[0]] += 1;
            given.sort_unstable();
            assert_eq!(given, [0, 1, 2, 3]);
        }
        assert!(firsts.iter().all(|first| (50..150).contains(first)), "{firsts:?}");
    }

    #[test]
    fn what_the_others_got_in_a_cycle_counts() {
        let mut distribution = Distribution::new(3);
        for cycle in 1..100 {
            assert_eq!(distribution.give([1].into_iter(), cycle), 0);
            assert_ne!(distribution.give(0..3, cycle), 1);
        }
    }
}
