//! The performance signature vector: which of nine events an instruction was subject to.
//!
//! The events, their names and the commit state that each explains are those of TEA (thesis, paper B,
//! table B.1): `DR` events explain a drained reorder buffer, `FL` events a flushed one, `ST` events an
//! instruction that waits at its head.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of events, one bit each. The empty set is what TEA calls the base: no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Psv(u16);

/// The events in the order of their bits, with the names that TEA gives them.
const NAMES: [&str; 9] = ["DR-L1", "DR-TLB", "DR-SQ", "FL-MB", "FL-EX", "FL-MO", "ST-L1", "ST-TLB", "ST-LLC"];

impl Psv {
    /// No event.
    pub const BASE: Self = Self(0);
    /// Fetching the instruction missed the first-level instruction cache.
    ///
    /// Only the first instruction that is fetched from a line has it, as it is the one that waited.
    pub const DR_L1: Self = Self(1 << 0);
    /// Fetching the instruction missed the first-level instruction TLB.
    pub const DR_TLB: Self = Self(1 << 1);
    /// A store that was the oldest instruction not dispatched, and found the store queue full.
    pub const DR_SQ: Self = Self(1 << 2);
    /// A branch of which direction or target were mispredicted.
    pub const FL_MB: Self = Self(1 << 3);
    /// The instruction raised an exception, such as a page fault.
    pub const FL_EX: Self = Self(1 << 4);
    /// A load that was executed before an older store to the same place.
    pub const FL_MO: Self = Self(1 << 5);
    /// A load missed the first-level data cache.
    pub const ST_L1: Self = Self(1 << 6);
    /// A data access missed the first-level data TLB.
    pub const ST_TLB: Self = Self(1 << 7);
    /// A load missed the last-level cache.
    pub const ST_LLC: Self = Self(1 << 8);
    /// All nine.
    pub const ALL: Self = Self((1 << NAMES.len()) - 1);

    /// The set as a number below 512, for tables indexed by it.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set of such a number; bits that stand for no event are dropped.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// Both sets' events.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether each event of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is no event.
    pub const fn is_base(self) -> bool {
        self.0 == 0
    }

    /// How many events there are.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The events one by one.
    pub fn events(self) -> impl Iterator<Item = Self> {
        (0..NAMES.len()).map(|bit| Self(1 << bit)).filter(move |event| self.contains(*event))
    }

    /// The single event of such a name (`ST-L1`).
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().position(|known| *known == name).map(|bit| Self(1 << bit))
    }
}

impl BitOr for Psv {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for Psv {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Psv {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// The names joined by `+`, and `Base` for the empty set.
impl fmt::Display for Psv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_base() {
            return f.write_str("Base");
        }
        let mut separator = "";
        for (bit, name) in NAMES.iter().enumerate() {
            if self.0 >> bit & 1 == 1 {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Psv;

    #[test]
    fn combined_events_have_a_name_of_their_own() {
        assert_eq!((Psv::ST_LLC | Psv::ST_TLB).to_string(), "ST-TLB+ST-LLC");
        assert_eq!(Psv::BASE.to_string(), "Base");
    }

    #[test]
    fn every_event_is_found_by_its_name() {
        assert_eq!(Psv::ALL.count(), 9);
        for event in Psv::ALL.events() {
            assert_eq!(Psv::named(&event.to_string()), Some(event));
        }
        assert_eq!(Psv::named("ST-L4"), None);
    }

    #[test]
    fn numbers_without_meaning_are_dropped() {
        assert_eq!(Psv::from_bits(u16::MAX), Psv::ALL);
    }
}
