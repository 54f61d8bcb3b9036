//! The first 100 bytes of an SQLite database, which tell foreign, newer and truncated files apart
//! before the database library looks at them. (SQLite's "Database File Format", section 1.3.)

use std::io::{self, Read};

/// Length of the header in bytes.
pub const LENGTH: u64 = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What the header says.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// What the application that wrote the file set.
    pub application_id: u32,
    /// The application's version of the tables.
    pub user_version: u32,
    /// Length that the file should have.
    pub expected_bytes: u64,
}

/// Reads the header from the start of a file; `None` if the file is not an SQLite database.
pub fn read(mut file: impl Read) -> io::Result<Option<Header>> {
    let mut bytes = Vec::new();
    file.by_ref().take(LENGTH).read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8]) -> Option<Header> {
    if !bytes.starts_with(MAGIC) {
        return None;
    }
    // A file that ends inside its header is a database still, whose missing part reads as zero.
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let word = |at: usize| u32::from_be_bytes([byte(at), byte(at + 1), byte(at + 2), byte(at + 3)]);
    let page_bytes = match u16::from_be_bytes([byte(16), byte(17)]) {
        1 => 65536,
        size => u64::from(size),
    };
    let pages = u64::from(word(28));
    Some(Header {
        application_id: word(68),
        user_version: word(60),
        expected_bytes: (page_bytes * pages).max(LENGTH),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_from_their_positions() {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(100, 0);
        bytes[16..18].copy_from_slice(&4096u16.to_be_bytes());
        bytes[28..32].copy_from_slice(&7u32.to_be_bytes());
        bytes[60..64].copy_from_slice(&3u32.to_be_bytes());
        bytes[68..72].copy_from_slice(b"twpf");
        let expected = Header {
            application_id: u32::from_be_bytes(*b"twpf"),
            user_version: 3,
            expected_bytes: 7 * 4096,
        };
        assert_eq!(parse(&bytes), Some(expected));
    }

    #[test]
    fn every_shorter_start_is_understood_or_refused() {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(100, 0xff);
        for length in 0..100 {
            assert_eq!(parse(&bytes[..length]).is_some(), length >= MAGIC.len());
        }
    }
}
