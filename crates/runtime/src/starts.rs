//! Where no block begins: what is asked at nearly every instruction that is decoded, and nearly always answered so.

use alloc::vec;
use alloc::vec::Vec;

/// Bytes of code that share a line of the processor's cache, a bit for each.
const LINE: u64 = 512;

/// Such lines. Twice as many would be right a little more often, and half would stay in the cache a little longer.
const LINES: u64 = 1 << 12;

/// Lines of a page of memory, which lie together in the program as well: a small one comes to few pages.
const TOGETHER: u64 = 64;

/// Marks of blocks' beginnings, which those of different places may share.
#[derive(Debug)]
pub struct Starts(Vec<u64>);

impl Default for Starts {
    fn default() -> Starts {
        Starts(vec![0; (LINE * LINES / 64) as usize])
    }
}

impl Starts {
    /// A block begins at a place.
    pub fn add(&mut self, place: u64) {
        let (word, bit) = position(place);
        self.0[word] |= bit;
    }

    /// False if no block ever began at a place.
    pub fn may_hold(&self, place: u64) -> bool {
        let (word, bit) = position(place);
        self.0[word] & bit != 0
    }
}

fn position(place: u64) -> (usize, u64) {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let line = place / LINE;
    let hash = (line / TOGETHER).wrapping_mul(SPREAD) >> 32;
    // What shares a page does not share lines by where they lie in it.
    let (page, line) = (hash % (LINES / TOGETHER), (line ^ hash >> 6) % TOGETHER);
    let line = page * TOGETHER + line;
    let at = line * LINE + place % LINE;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_held_and_little_else() {
        let mut starts = Starts::default();
        let places = (0..20_000).map(|n: u64| 0x55_5555_0000 + 13 * n);
        places.clone().for_each(|place| starts.add(place));
        assert!(places.clone().all(|place| starts.may_hold(place)));
        let others = places.clone().filter(|place| starts.may_hold(place + 5)).count();
        assert!(others < 2000, "{others} of 20,000 where nothing is");
    }

    #[test]
    fn what_lies_together_in_the_program_shares_pages() {
        let words = (0..64 << 10).map(|at| position(0x55_5555_0000 + at).0);
        let pages: alloc::collections::BTreeSet<_> = words.map(|word| word * 8 / 4096).collect();
        assert!(pages.len() <= 3, "{pages:?}");
    }
}
