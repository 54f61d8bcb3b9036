//! What is remembered of an output, to compare it with another.

use std::io::{self, Read};
use timewise_profile::HASH_OF_NO_OUTPUT;

/// Length and hash of a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Bytes in it.
    pub length: u64,
    /// FNV-1a, 64 bits: stable from release to release, and good enough where nobody cheats.
    pub hash: u64,
}

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint { length: 0, hash: HASH_OF_NO_OUTPUT }
    }
}

impl Fingerprint {
    /// Adds what was written next.
    pub fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        for &byte in bytes {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
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

    #[test]
    fn known_values() {
        // From the reference implementation's test vectors.
        assert_eq!(Fingerprint::of(&mut &b""[..]).unwrap().hash, 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fingerprint::of(&mut &b"foobar"[..]).unwrap().hash, 0x8594_4171_f739_67e8);
        let mut pieces = Fingerprint::default();
        pieces.add(b"foo");
        pieces.add(b"bar");
        assert_eq!(pieces, Fingerprint::of(&mut &b"foobar"[..]).unwrap());
    }
}
