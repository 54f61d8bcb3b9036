//! Where evaluation has been, so that a breakpoint is set where the thread comes only once.

/// Words of the set.
const WORDS: usize = 1024;

/// A set of addresses that may hold more than were put into it, but never less.
#[repr(C)]
pub struct Been {
    bits: [u64; WORDS],
}

impl Been {
    /// Empties it.
    pub fn forget(&mut self) {
        self.bits.fill(0);
    }

    /// Puts an address in.
    pub fn mark(&mut self, address: u64) {
        let (word, bit) = place(address);
        self.bits[word] |= bit;
    }

    /// Whether an address may be in it.
    pub fn at(&self, address: u64) -> bool {
        let (word, bit) = place(address);
        self.bits[word] & bit != 0
    }
}

fn place(address: u64) -> (usize, u64) {
    let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as usize % WORDS, 1 << (mixed >> 58))
}
