//! Where in the code cache which sequence was put.

use super::sequence::Sequence;
use crate::state::AddressHasher;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashMap;

/// No two regions of the code cache share so many addresses from a multiple of as many on.
const REGION_BITS: u32 = 27;

/// Marks the number of an exit among those of sequences: no process has so many exits that its memory would hold.
const UNMATCHED: u32 = 1 << 31;

/// Sequences by where they begin.
#[derive(Debug, Default)]
pub struct Placed {
    /// By region: where in it, and which.
    regions: HashMap<u64, Places, BuildHasherDefault<AddressHasher>>,
    all: Vec<Sequence>,
}

/// Code is put into a region from both ends: hot code in order of its addresses, cold code against it.
#[derive(Debug, Default)]
struct Places {
    hot: Vec<(u32, u32)>,
    cold: Vec<(u32, u32)>,
}

impl Placed {
    /// Notes that a sequence begins at an address, in hot code.
    pub fn add(&mut self, address: u64, sequence: Sequence) {
        let place = self.number(address, sequence);
        let hot = &mut self.region(address).hot;
        // What was put there before came to nothing.
        while hot.last().is_some_and(|last| last.0 >= place.0) {
            hot.pop();
        }
        hot.push(place);
    }

    /// Likewise, in cold code.
    pub fn add_cold(&mut self, address: u64, sequence: Sequence) {
        let place = self.number(address, sequence);
        let cold = &mut self.region(address).cold;
        while cold.last().is_some_and(|last| last.0 <= place.0) {
            cold.pop();
        }
        cold.push(place);
    }

    /// What begins at an address, by number.
    pub fn at(&self, address: u64) -> Option<u32> {
        let Places { hot, cold } = self.regions.get(&(address >> REGION_BITS))?;
        let place = offset(address);
        let in_hot = hot.binary_search_by_key(&place, |at| at.0).ok().map(|n| hot[n].1);
        in_hot.or_else(|| {
            let found = cold.binary_search_by(|at| place.cmp(&at.0)).ok();
            found.map(|n| cold[n].1)
        })
    }

    /// By its number.
    pub fn get(&self, number: u32) -> Sequence {
        match number & UNMATCHED {
            0 => self.all[number as usize],
            _ => Sequence::Unmatched(number & !UNMATCHED),
        }
    }

    fn number(&mut self, address: u64, sequence: Sequence) -> (u32, u32) {
        let number = match sequence {
            // Every return has one, and there is nothing to know of it but its exit.
            Sequence::Unmatched(exit) => exit | UNMATCHED,
            _ => {
                self.all.push(sequence);
                self.all.len() as u32 - 1
            }
        };
        (offset(address), number)
    }

    fn region(&mut self, address: u64) -> &mut Places {
        self.regions.entry(address >> REGION_BITS).or_default()
    }
}

fn offset(address: u64) -> u32 {
    (address & ((1 << REGION_BITS) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_where_it_was_put() {
        let mut placed = Placed::default();
        let base = 0x7000_0000_0000;
        for n in 0..50 {
            placed.add(base + 16 * n, Sequence::Unmatched(n as u32));
            placed.add_cold(base + 0x700_0000 - 8 * n, Sequence::Unmatched(100 + n as u32));
            placed.add(base + 0x800_0000 + 4 * n, Sequence::Unmatched(200 + n as u32));
        }
        let at = |placed: &Placed, address| placed.at(address).map(|n| placed.get(n));
        for n in 0..50 {
            assert_eq!(at(&placed, base + 16 * n), Some(Sequence::Unmatched(n as u32)));
            assert_eq!(at(&placed, base + 0x700_0000 - 8 * n), Some(Sequence::Unmatched(100 + n as u32)));
            assert_eq!(at(&placed, base + 0x800_0000 + 4 * n), Some(Sequence::Unmatched(200 + n as u32)));
        }
        assert_eq!(at(&placed, base + 8), None);
        // Put once more from an address on, after code that was given up.
        placed.add(base + 16 * 30 + 8, Sequence::Unmatched(9));
        assert_eq!(at(&placed, base + 16 * 30 + 8), Some(Sequence::Unmatched(9)));
        assert_eq!(at(&placed, base + 16 * 31), None);
    }
}
