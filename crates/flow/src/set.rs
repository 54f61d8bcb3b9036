//! A set of small numbers, for blocks of one routine.

/// A set of block numbers below a fixed size, one bit each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockSet {
    words: Vec<u64>,
}

impl BlockSet {
    /// The empty set of numbers below `size`.
    pub fn new(size: usize) -> BlockSet {
        BlockSet { words: vec![0; size.div_ceil(64)] }
    }

    /// Adds a number; false if it was there.
    pub fn insert(&mut self, block: u32) -> bool {
        let (word, bit) = (&mut self.words[block as usize / 64], 1 << (block % 64));
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Whether the number is in the set.
    pub fn contains(&self, block: u32) -> bool {
        self.words[block as usize / 64] >> (block % 64) & 1 == 1
    }

    /// Adds all numbers of `other`.
    pub fn extend(&mut self, other: &BlockSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Whether all numbers are in `other` too, and `other` has more.
    pub fn is_proper_subset(&self, other: &BlockSet) -> bool {
        self != other && self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    /// How many numbers are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = |word: u64| (0..64u32).filter(move |bit| word >> bit & 1 == 1);
        self.words
            .iter()
            .enumerate()
            .flat_map(move |(at, &word)| bits(word).map(move |bit| at as u32 * 64 + bit))
    }
}
