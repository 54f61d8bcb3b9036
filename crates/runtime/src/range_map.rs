//! A map from ranges of addresses to values. Ranges do not overlap.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::Range;

/// Values by range of addresses.
#[derive(Debug)]
pub struct RangeMap<V: Copy> {
    /// End and value, by start.
    ranges: BTreeMap<u64, (u64, V)>,
    /// Start, end and value of the range found last: most are asked about many times in a row.
    latest: Cell<Option<(u64, u64, V)>>,
}

impl<V: Copy> Default for RangeMap<V> {
    fn default() -> Self {
        RangeMap { ranges: BTreeMap::new(), latest: Cell::new(None) }
    }
}

impl<V: Copy> RangeMap<V> {
    /// The range that holds `address`, and its value.
    pub fn get(&self, address: u64) -> Option<(Range<u64>, V)> {
        if let Some((start, end, value)) = self.latest.get()
            && (start..end).contains(&address)
        {
            return Some((start..end, value));
        }
        let (&start, &(end, value)) = self.ranges.range(..=address).next_back()?;
        (address < end).then(|| {
            self.latest.set(Some((start, end, value)));
            (start..end, value)
        })
    }

    /// All ranges that overlap `range`, in order, cut to it.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, V)> + '_ {
        let first = self.get(range.start).map_or(range.start, |(found, _)| found.start);
        // A range may end before it starts if a program's arguments overflow: nothing is in it.
        let last = range.end.max(first);
        self.ranges.range(first..last).map(move |(&start, &(end, value))| {
            let cut = start.max(range.start)..end.min(range.end);
            (cut, value)
        })
    }

    /// Whether anything is known of `range`.
    pub fn overlaps(&self, range: Range<u64>) -> bool {
        self.within(range).next().is_some()
    }

    /// Whether every address of `range` has a value that `accept` takes.
    pub fn covers(&self, range: Range<u64>, mut accept: impl FnMut(V) -> bool) -> bool {
        let mut at = range.start;
        for (part, value) in self.within(range.clone()) {
            if part.start != at || !accept(value) {
                return false;
            }
            at = part.end;
        }
        at >= range.end
    }

    /// Forgets `range`; what overlaps it in part is cut.
    pub fn remove(&mut self, range: Range<u64>) {
        let parts: Vec<u64> = self.within(range.clone()).map(|(part, _)| part.start).collect();
        for at in parts {
            let Some((whole, value)) = self.get(at) else { continue };
            self.latest.set(None);
            self.ranges.remove(&whole.start);
            if whole.start < range.start {
                self.ranges.insert(whole.start, (range.start, value));
            }
            if whole.end > range.end {
                self.ranges.insert(range.end, (whole.end, value));
            }
        }
    }

    /// Sets the value of `range`.
    pub fn insert(&mut self, range: Range<u64>, value: V) {
        self.remove(range.clone());
        if range.start < range.end {
            self.ranges.insert(range.start, (range.end, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_array() {
        let mut map = RangeMap::default();
        let mut plain = [None; 64];
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        for round in 0..5000u32 {
            let start = next(64);
            let end = start + next(65 - start);
            if next(3) == 0 {
                map.remove(start..end);
                plain[start as usize..end as usize].fill(None);
            } else {
                map.insert(start..end, round);
                plain[start as usize..end as usize].fill(Some(round));
            }
            for at in 0..64 {
                assert_eq!(map.get(at).map(|(_, v)| v), plain[at as usize], "round {round} at {at}");
            }
            let [a, b] = [start as usize, end as usize];
            assert_eq!(map.overlaps(start..end), plain[a..b].iter().any(Option::is_some));
            let (a, b) = (next(64), 64);
            let known = plain[a as usize..b].iter().all(Option::is_some);
            assert_eq!(map.covers(a..64, |_| true), known);
        }
    }

    #[test]
    fn a_backward_range_is_empty() {
        let mut map = RangeMap::default();
        map.insert(16..32, ());
        let (start, end) = (24, 8);
        assert!(!map.overlaps(start..end));
        map.remove(start..end);
        assert!(map.covers(16..32, |()| true));
    }
}
