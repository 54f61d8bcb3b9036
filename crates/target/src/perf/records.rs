//! What a ring hands out: records one behind the other, and those of mappings, which several readers understand.

use super::Fields;
use super::sys;

/// Bytes of what every record begins with.
const HEAD_BYTES: usize = 8;

/// One record.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    /// What it is: one of `PERF_RECORD_`.
    pub kind: u32,
    /// What more is to be said of it, by its kind: bits of `PERF_RECORD_MISC_`.
    pub misc: u16,
    /// The rest.
    pub body: &'a [u8],
}

/// Splits bytes that a ring handed out into records, up to the first that is damaged.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = RawRecord<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let mut fields = Fields(rest);
        let (kind, misc_and_size) = (fields.u32()?, fields.u32()?);
        let body = fields.take(((misc_and_size >> 16) as usize).checked_sub(HEAD_BYTES)?)?;
        rest = fields.0;
        Some(RawRecord { kind, misc: misc_and_size as u16, body })
    })
}

/// One executable mapping as the kernel gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct RawMapping {
    /// Process.
    pub pid: u32,
    /// First address.
    pub address: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset in the file of the first byte.
    pub file_offset: u64,
    /// Which file it is.
    pub identity: FileIdentity,
    /// Path as the process sees it, or a name such as `[vdso]` or `//anon`.
    pub path: Vec<u8>,
}

/// What tells a file apart from another of the same path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileIdentity {
    /// The build id in the mapped bytes.
    BuildId(Vec<u8>),
    /// Where the file is kept.
    Inode {
        /// The device, as `stat` numbers it; 0 where it is not told.
        device: u64,
        /// The number on it; 0 where it is not told.
        inode: u64,
    },
}

impl RawMapping {
    /// Reads a record of kind `PERF_RECORD_MMAP2`, without what the kernel appends.
    pub fn read(misc: u16, mut fields: Fields) -> Option<RawMapping> {
        let (pid, _thread) = (fields.u32()?, fields.u32()?);
        let (address, length, file_offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let identity = fields.take(24)?;
        let identity = if u32::from(misc) & sys::PERF_RECORD_MISC_MMAP_BUILD_ID != 0 {
            let size = usize::from(identity[0]).min(20);
            FileIdentity::BuildId(identity[4..4 + size].to_vec())
        } else {
            let mut fields = Fields(identity);
            let (major, minor) = (fields.u32()?, fields.u32()?);
            FileIdentity::Inode { device: libc::makedev(major, minor), inode: fields.u64()? }
        };
        let _protection_and_flags = fields.u64()?;
        let path = fields.text().to_vec();
        Some(RawMapping { pid, address, length, file_offset, identity, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_carries_a_build_id_or_an_inode() {
        let name = u64::from_ne_bytes(*b"/lib/a\0\0");
        let mut words = vec![1 | 1 << 32, 0x1000, 0x2000, 0x3000, 8 | 1 << 32, 42, 0, 0, name];
        let read = |misc, words: &[u64]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            for cut in 0..bytes.len() - 8 {
                assert_eq!(RawMapping::read(misc, Fields(&bytes[..cut])), None);
            }
            RawMapping::read(misc, Fields(&bytes)).unwrap()
        };
        let mapping = read(2, &words);
        let identity = FileIdentity::Inode { device: libc::makedev(8, 1), inode: 42 };
        assert_eq!((mapping.identity, &mapping.path[..]), (identity, &b"/lib/a"[..]));
        assert_eq!((mapping.address, mapping.length, mapping.file_offset), (0x1000, 0x2000, 0x3000));
        words[4] = 4 | 0xdd_cc_bb_aa << 32;
        let mapping = read(2 | sys::PERF_RECORD_MISC_MMAP_BUILD_ID as u16, &words);
        assert_eq!(mapping.identity, FileIdentity::BuildId(vec![0xaa, 0xbb, 0xcc, 0xdd]));
    }

    #[test]
    fn records_end_at_damage() {
        let sizes = |bytes: &[u8]| records(bytes).map(|record| record.body.len()).collect::<Vec<_>>();
        let mut bytes = vec![3, 0, 0, 0, 2, 0, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 8, 0];
        assert_eq!(sizes(&bytes), [8, 0]);
        let first = records(&bytes).next().unwrap();
        assert_eq!((first.kind, first.misc, first.body[0]), (3, 2, 1));
        for cut in 17..bytes.len() {
            assert_eq!(sizes(&bytes[..cut]), [8]);
        }
        for size in 0..8 {
            bytes[22] = size;
            assert_eq!(sizes(&bytes), [8]);
        }
    }
}
