//! Which branches a trace came by, and how often: so that a place on it can be told natively by counting visits. Targets
//! of branches will not do, where threads also come in a straight line.

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
    /// Branches that were noted before the last.
    noted: u32,
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
    /// Branches that were noted before.
    pub noted: u32,
    /// The thread's state.
    pub state: State,
}

/// Places that were visited; all zeros is none.
#[repr(C)]
pub struct Visits {
    stamp: u64,
    entries: [Entry; PLACES],
}

/// Visits to a place that is waited for, at most: each takes about a microsecond.
const MOST_VISITS: u32 = 128;

impl Visits {
    /// Forgets all places.
    pub fn forget(&mut self) {
        self.stamp += 1;
    }

    /// The thread comes to a branch.
    #[inline]
    pub fn note(&mut self, address: u64, noted: u32, state: &State) {
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = &mut self.entries[(mixed >> 56) as usize % PLACES];
        if entry.stamp != self.stamp {
            *entry = Entry { stamp: self.stamp, address, visits: 0, noted: 0, state: *state };
        } else if entry.address != address {
            return;
        }
        entry.visits += 1;
        (entry.noted, entry.state) = (noted, *state);
    }

    /// The last of all last visits that are not many.
    pub fn latest(&self) -> Option<Visit> {
        let entries = self.entries.iter().filter(|entry| entry.stamp == self.stamp);
        let entry = entries.filter(|entry| entry.visits <= MOST_VISITS).max_by_key(|entry| entry.noted)?;
        Some(Visit { address: entry.address, number: entry.visits, noted: entry.noted, state: entry.state })
    }
}
