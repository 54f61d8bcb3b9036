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
    /// Visits, and those of them before the stretch may begin.
    visits: u32,
    early: u32,
    /// Instructions before the first visit that is not early, and before the last.
    first: u32,
    last: u32,
    /// Branches that were noted before the last.
    noted: u32,
    /// Where control goes from the last.
    next: u64,
    /// The thread's state at the last visit.
    state: State,
}

/// How far a trace has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// It is still in its first part, in which caches are not yet the program's own.
    pub is_early: bool,
    /// Branches that were noted.
    pub noted: u32,
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

/// A stretch between two visits to one place.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The place.
    pub address: u64,
    /// Which visit the stretch begins with, counted from 1.
    pub first: u32,
    /// How many visits further it ends.
    pub further: u32,
    /// Its instructions.
    pub instructions: u32,
    /// The instruction that is executed next.
    pub behind: u64,
    /// The thread's state at its end.
    pub state: State,
}

/// Visits to a place that is waited for, at most: each takes about a microsecond.
const MOST_VISITS: u32 = 128;

/// Visits within a stretch that is timed, at most: they take their own time.
const MOST_TIMED: u32 = 4;

/// Instructions of a stretch, at least: that it takes longer than being stopped.
const FEWEST: u32 = 512;

impl Visits {
    /// Forgets all places.
    pub fn forget(&mut self) {
        self.stamp += 1;
    }

    /// The thread comes to a branch after so many instructions, and goes on from there to `next`.
    #[inline]
    pub fn note(&mut self, (address, next): (u64, u64), instructions: u32, at: Progress, state: &State) {
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = &mut self.entries[(mixed >> 56) as usize % PLACES];
        if entry.stamp != self.stamp {
            *entry = Entry {
                stamp: self.stamp,
                address,
                visits: 0,
                early: 0,
                first: 0,
                last: instructions,
                noted: 0,
                next,
                state: *state,
            };
        } else if entry.address != address {
            return;
        }
        entry.visits += 1;
        if at.is_early {
            entry.early += 1;
        } else if entry.visits == entry.early + 1 {
            entry.first = instructions;
        }
        (entry.last, entry.noted, entry.next, entry.state) = (instructions, at.noted, next, *state);
    }

    /// The last of all last visits that are not many.
    pub fn latest(&self) -> Option<Visit> {
        let entries = self.entries.iter().filter(|entry| entry.stamp == self.stamp);
        let entry = entries.filter(|entry| entry.visits <= MOST_VISITS).max_by_key(|entry| entry.noted)?;
        Some(Visit { address: entry.address, number: entry.visits, noted: entry.noted, state: entry.state })
    }

    /// Of the stretches that hold a third of all `instructions` that were evaluated, the one with the fewest visits.
    pub fn best(&self, instructions: u32) -> Option<Stretch> {
        let stretches = self.entries.iter().filter(|entry| entry.stamp == self.stamp).filter_map(|entry| {
            let further = (entry.visits - entry.early).checked_sub(1).filter(|&more| more > 0)?;
            let covered = entry.last - entry.first;
            let is_fit = entry.next != entry.address
                && covered >= FEWEST
                && covered >= instructions / 3
                && further <= MOST_TIMED;
            is_fit.then_some((further, entry))
        });
        let (further, entry) =
            stretches.min_by_key(|(further, entry)| (*further, core::cmp::Reverse(entry.last)))?;
        Some(Stretch {
            address: entry.address,
            first: entry.early + 1,
            further,
            instructions: entry.last - entry.first,
            behind: entry.next,
            state: entry.state,
        })
    }
}
