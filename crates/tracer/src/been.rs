//! Where evaluation has been, so that a breakpoint is set where the thread comes only once.

/// Words of the set, as a power of 2.
const WORDS_BITS: u32 = 13;

/// Bytes that have a word together, a bit each: what a trace needs is in few lines.
const BLOCK: u64 = 32;

/// A set of addresses that may hold more than were put into it, but never less; all zeros is an empty one. The upper half
/// of a word says when it was last emptied.
#[repr(C)]
pub struct Been {
    stamp: u32,
    words: [u64; 1 << WORDS_BITS],
}

impl Been {
    /// Empties it.
    pub fn forget(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            // What is from long ago has stamps that come again.
            self.words.fill(0);
            self.stamp = 1;
        }
    }

    /// Puts an address in.
    pub fn mark(&mut self, address: u64) {
        let (word, bit) = place(address);
        let word = &mut self.words[word];
        let emptied = u64::from(self.stamp) << 32;
        if *word >> 32 != u64::from(self.stamp) {
            *word = emptied;
        }
        *word |= bit;
    }

    /// Whether an address may be in it.
    pub fn at(&self, address: u64) -> bool {
        let (word, bit) = place(address);
        let word = self.words[word];
        word >> 32 == u64::from(self.stamp) && word & bit != 0
    }
}

/// One of so many places for a block, as a power of 2: blocks that follow one another mostly lie side by side, so that few
/// lines and pages are touched.
pub fn beside(block: u64, bits: u32) -> usize {
    const TOGETHER_BITS: u32 = 3;
    let mixed = (block >> TOGETHER_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 + TOGETHER_BITS - bits);
    (mixed << TOGETHER_BITS | block & ((1 << TOGETHER_BITS) - 1)) as usize
}

/// A word, and a bit of its lower half.
fn place(address: u64) -> (usize, u64) {
    (beside(address / BLOCK, WORDS_BITS), 1 << (address % BLOCK))
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn what_was_put_in_is_there_and_hardly_anything_else() {
        // SAFETY: all zeros is a value of it.
        let mut been = unsafe { Box::<Been>::new_zeroed().assume_init() };
        been.forget();
        (0..5000).for_each(|number| been.mark(0x40_0000 + 5 * number));
        assert!((0..5000).all(|number| been.at(0x40_0000 + 5 * number)));
        let others = (0..100_000).filter(|number| been.at(0x50_0000 + 3 * number)).count();
        assert!(others < 3000, "{others}");
        been.forget();
        assert!((0..5000).all(|number| !been.at(0x40_0000 + 5 * number)));
    }
}
