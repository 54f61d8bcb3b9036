//! Numbers by which a core decides what nothing else does: the same in every run.

/// An xorshift generator of 32 bits.
#[derive(Debug)]
pub struct Chance(u32);

impl Chance {
    /// At its beginning.
    pub fn new() -> Chance {
        Chance(1)
    }

    /// The next number; all but 0 come equally often.
    #[inline]
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}
