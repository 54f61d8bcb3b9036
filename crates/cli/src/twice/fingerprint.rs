//! What is remembered of an output, to compare it with another.

use std::io::{self, Read};
use timewise_isa::StableHash;

/// Length and hash of a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Bytes in it.
    pub length: u64,
    hash: StableHash,
}

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint { length: 0, hash: StableHash::EMPTY }
    }
}

impl Fingerprint {
    /// Adds what was written next.
    pub fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.hash.add(bytes);
    }

    /// The hash of all of it.
    pub fn hash(self) -> u64 {
        self.hash.value()
    }

    /// Of all that `source` gives.
    ///
    /// # Errors
    /// Those of reading.
    pub fn of(source: &mut impl Read) -> io::Result<Fingerprint> {
        let mut fingerprint = Fingerprint::default();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match source.read(&mut buffer)? {
                0 => return Ok(fingerprint),
                length => fingerprint.add(&buffer[..length]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::HASH_OF_NO_OUTPUT;

    #[test]
    fn pieces_are_as_the_whole() {
        assert_eq!(Fingerprint::of(&mut &b""[..]).unwrap().hash(), HASH_OF_NO_OUTPUT);
        let mut pieces = Fingerprint::default();
        pieces.add(b"foo");
        pieces.add(b"bar");
        assert_eq!(pieces, Fingerprint::of(&mut &b"foobar"[..]).unwrap());
    }
}
