//! Which branches a trace came by, and how often: so that a place on it can be told natively by counting visits. Targets
//! of branches will not do, where threads also come in a straight line.

use timewise_abi::tracing::Reach;
use timewise_isa::State;

/// Places that there is room for; two that fall on the same one are of no use.
const PLACES: usize = 256;

/// One place.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    stamp: u64,
    address: u64,
    visits: u32,
    /// How far the trace came before the last.
    reach: Reach,
    /// The thread's state at the last visit.
    state: State,
}

/// A visit to a place.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// The place.
    pub address: u64,
    /// Which visit it is, counted from 1.
    pub number: u32,
    /// How far the trace comes before.
    pub reach: Reach,
    /// The thread's state.
    pub state: State,
}

/// Places that were visited; all zeros is none.
#[repr(C)]
pub struct Visits {
    stamp: u64,
    most: u32,
    entries: [Entry; PLACES],
}

/// Visits to a place that are waited for at most. Each takes a microsecond, or fifteen of a guest: so many take as long as
/// a trace of two thousand branches that needs none.
pub const MOST_VISITS: u32 = 64;

/// Visits to a place that nothing is given up for.
const FEW_VISITS: u32 = 16;

/// Of a trace, what may be given up for fewer visits.
const GIVEN_UP: u64 = 32;

impl Visits {
    /// Forgets all places. Of those to come the first `most` visits are noted.
    pub fn forget(&mut self, most: u32) {
        self.stamp += 1;
        self.most = most;
    }

    /// The thread comes to a branch.
    #[inline]
    pub fn note(&mut self, address: u64, reach: Reach, state: &State) {
        if self.most == 0 {
            return;
        }
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = &mut self.entries[(mixed >> 56) as usize % PLACES];
        if entry.stamp != self.stamp {
            *entry = Entry { stamp: self.stamp, address, visits: 0, reach, state: *state };
        } else if entry.address != address || entry.visits >= self.most {
            return;
        }
        entry.visits += 1;
        (entry.reach, entry.state) = (reach, *state);
    }

    /// The last of all last visits; or, if that has many before it, the one with the fewest of those that come hardly
    /// earlier in a trace that had `before` branches.
    pub fn latest(&self, before: u64) -> Option<Visit> {
        let entries = || self.entries.iter().filter(|entry| entry.stamp == self.stamp);
        let last = entries().max_by_key(|entry| entry.reach.pairs)?;
        let least = last.reach.pairs - last.reach.pairs.saturating_sub(before) / GIVEN_UP;
        let late = entries().filter(|entry| entry.reach.pairs >= least);
        let entry = match last.visits {
            ..=FEW_VISITS => last,
            _ => late.min_by_key(|entry| (entry.visits, u64::MAX - entry.reach.pairs))?,
        };
        Some(Visit { address: entry.address, number: entry.visits, reach: entry.reach, state: entry.state })
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

    /// Places by the number of branches before each visit to them.
    fn visited(most: u32, places: &[(u64, u64)]) -> Option<[u64; 3]> {
        // SAFETY: all zeros is a value of it.
        let mut visits = unsafe { Box::<Visits>::new_zeroed().assume_init() };
        visits.forget(most);
        for &(address, pairs) in places {
            let reach = Reach { pairs, ..Reach::default() };
            visits.note(address, reach, &State { flags: pairs, ..State::default() });
        }
        let found = visits.latest(0)?;
        assert_eq!(found.reach.pairs, found.state.flags, "the state is of that visit");
        Some([found.address, found.number.into(), found.reach.pairs])
    }

    #[test]
    fn a_tight_loop_is_told_by_as_many_visits_as_may_be() {
        let tight: [(u64, u64); 1000] = core::array::from_fn(|number| (0x10, number as u64));
        assert_eq!(visited(1024, &tight), Some([0x10, 1000, 999]));
        assert_eq!(visited(128, &tight), Some([0x10, 128, 127]));
        assert_eq!(visited(0, &tight), None);
    }

    #[test]
    fn the_last_place_is_waited_for_unless_one_shortly_before_has_fewer_visits() {
        // An outer loop's branch comes every tenth time.
        let nested: [(u64, u64); 1000] =
            core::array::from_fn(|at| (if at % 10 == 0 { 0x20 } else { 0x10 }, at as u64));
        assert_eq!(visited(1024, &nested), Some([0x20, 100, 990]));
        assert_eq!(visited(1024, &nested[..100]), Some([0x10, 90, 99]));
        // One that lies long before is no way to tell how far it came.
        let mut after: [(u64, u64); 1000] = core::array::from_fn(|at| (0x10, at as u64));
        after[100].0 = 0x20;
        assert_eq!(visited(1024, &after), Some([0x10, 999, 999]));
    }
}
