//! Hashing of a few numbers, millions of times: several times as fast as the standard library's, and seeded as it
//! is, so that no file can be made whose places all collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map whose keys are a few numbers.
pub type NumberMap<K, V> = HashMap<K, V, Folding>;

/// Makes hashers of one seed.
#[derive(Clone, Copy, Debug)]
pub struct Folding {
    seed: u64,
}

impl Default for Folding {
    fn default() -> Folding {
        Folding { seed: RandomState::new().hash_one(0) }
    }
}

impl BuildHasher for Folding {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { state: self.seed }
    }
}

/// Each number is mixed in by a multiplication whose halves are put together (Wang Yi: wyhash).
pub struct Folded {
    state: u64,
}

/// Odd, with bits set all over: the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Folded {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(MULTIPLIER);
        self.state = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.mix(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn neighbours_are_told_apart_in_all_bits_that_a_map_looks_at() {
        let hashes: Vec<u64> = {
            let folding = Folding::default();
            (0..100_u64).flat_map(|a| (0..100_u64).map(move |b| folding.hash_one((a * 16, b)))).collect()
        };
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
        // Of 10,000 in 65,536 places some 700 meet by chance.
        for shift in [0, 48] {
            let places: HashSet<u64> = hashes.iter().map(|hash| hash >> shift & 0xffff).collect();
            assert!(places.len() > 9000, "{} places", places.len());
        }
    }
}
