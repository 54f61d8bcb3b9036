//! Blocks by where they begin. There are so many that their keys are not kept a second time: a block knows its own.

use crate::state::Block;
use hashbrown::HashTable;

/// Blocks by number, for their [`Block::key`]. Beside each stands its key's hash, so that blocks need not be looked at
/// while the table grows.
#[derive(Debug, Default)]
pub struct Beginnings(HashTable<(u32, u32)>);

impl Beginnings {
    /// The block with a key, of all `blocks`.
    pub fn get(&self, blocks: &[Block], key: u64) -> Option<u32> {
        let hash = hash(key);
        let found =
            self.0.find(spread(hash), |&(number, its)| its == hash && blocks[number as usize].key() == key);
        found.map(|&(number, _)| number)
    }

    /// Adds a block, unless there is one with its key.
    pub fn add(&mut self, blocks: &[Block], number: u32) {
        let key = blocks[number as usize].key();
        if self.get(blocks, key).is_none() {
            self.insert(key, number);
        }
    }

    /// Adds a block where there is none with its key.
    pub fn insert(&mut self, key: u64, number: u32) {
        let hash = hash(key);
        self.0.insert_unique(spread(hash), (number, hash), |&(_, hash)| spread(hash));
    }

    /// Takes a block away, if it is the one with its key. Whether it was.
    pub fn remove(&mut self, blocks: &[Block], number: u32) -> bool {
        let hash = hash(blocks[number as usize].key());
        let found = self.0.find_entry(spread(hash), |&(known, _)| known == number);
        found.map(|found| found.remove()).is_ok()
    }
}

/// What begins close together lies close together in the table, as it is looked for together.
fn hash(key: u64) -> u32 {
    /// Places for what begins close together, and the bytes of code that share one: powers of two.
    const NEAR: u32 = 7;
    const GRAIN: u32 = 1;
    let place = (key >> (NEAR + GRAIN)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((place as u32) << NEAR) | ((key >> GRAIN) as u32 & ((1 << NEAR) - 1))
}

/// The table looks at the low bits, and by the highest tells what is there apart.
fn spread(hash: u32) -> u64 {
    (u64::from(hash.wrapping_mul(0x9e37_79b1)) << 32) | u64::from(hash)
}
