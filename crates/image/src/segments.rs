//! Program headers: which bytes of a file lie at which link-time offset.

use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};
use std::ops::Range;

/// Mappings begin on pages, segments anywhere within their first page.
const PAGE: u64 = 4096;

/// One loaded segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Link-time addresses, including what the file does not hold (`.bss`).
    pub offsets: Range<u64>,
    /// Position of its first byte in the file.
    pub file_start: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// All loaded segments, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// The segments.
    pub all: Vec<Segment>,
}

impl Segments {
    /// Reads the program headers; `None` if they do not lie within the file.
    pub(crate) fn read<'data>(
        header: &FileHeader64<Endianness>,
        data: impl ReadRef<'data>,
    ) -> Option<Segments> {
        let endian = header.endian().ok()?;
        let mut all = Vec::new();
        for entry in header.program_headers(endian, data).ok()? {
            if entry.p_type(endian) != PT_LOAD {
                continue;
            }
            let start = entry.p_vaddr(endian);
            all.push(Segment {
                offsets: start..start.saturating_add(entry.p_memsz(endian)),
                file_start: entry.p_offset(endian),
                file_size: entry.p_filesz(endian).min(entry.p_memsz(endian)),
                executable: entry.p_flags(endian).contains(PF_X),
            });
        }
        Some(Segments { all })
    }

    /// Link-time offset of the byte at `file_offset`, also for the rest of the pages that a segment
    /// begins and ends in. Where segments share a page, code wins.
    pub fn offset_of_file_offset(&self, file_offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            let start = segment.file_start & !(PAGE - 1);
            (start..segment.file_start.saturating_add(segment.file_size)).contains(&file_offset)
        };
        let code = self.all.iter().filter(|segment| segment.executable).find(holds);
        let segment = code.or_else(|| self.all.iter().find(holds))?;
        Some(segment.offsets.start.wrapping_add(file_offset.wrapping_sub(segment.file_start)))
    }

    /// Position in the file of the byte at link-time `offset`.
    pub fn file_offset_of(&self, offset: u64) -> Option<u64> {
        let segment = self.all.iter().find(|segment| segment.offsets.contains(&offset))?;
        let within = offset - segment.offsets.start;
        (within < segment.file_size).then(|| segment.file_start.saturating_add(within))
    }

    /// The link-time offsets that may be executed.
    pub fn executable(&self) -> impl Iterator<Item = Range<u64>> {
        self.all.iter().filter(|segment| segment.executable).map(|segment| segment.offsets.clone())
    }
}
