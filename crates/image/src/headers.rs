//! What the headers of an ELF file say, read without the rest of the file: enough to place what is mapped
//! from it, as often as anything is mapped.

use crate::contents::Contents;
use crate::regular_file;
use crate::segments::Segments;
use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};
use std::path::Path;

/// What mapping and naming a module needs of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Program headers.
    pub segments: Segments,
    /// Build id; empty if the file has none.
    pub build_id: Vec<u8>,
}

impl Headers {
    /// Reads a file's headers; `None` if it is no 64-bit ELF file or cannot be read.
    pub fn of_file(path: &Path) -> Option<Headers> {
        Headers::read(&ReadCache::new(Contents::of_file(regular_file(path).ok()?).ok()?))
    }

    pub(crate) fn read<'data>(data: impl ReadRef<'data>) -> Option<Headers> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let mut headers = Headers { segments: Segments::read(header, data)?, build_id: Vec::new() };
        for program_header in header.program_headers(endian, data).ok()? {
            let Ok(Some(mut notes)) = program_header.notes(endian, data) else { continue };
            while let Ok(Some(note)) = notes.next() {
                if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                    headers.build_id = note.desc().to_vec();
                }
            }
        }
        Some(headers)
    }

    /// Link-time address of the byte at `file_offset`; outside all segments the offset stands for itself.
    pub fn virtual_address(&self, file_offset: u64) -> u64 {
        self.segments.offset_of_file_offset(file_offset).unwrap_or(file_offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_none() {
        assert_eq!(Headers::of_file(Path::new("/etc/passwd")), None);
        assert_eq!(Headers::of_file(Path::new("/etc")), None);
        assert_eq!(Headers::of_file(Path::new("/no/such/file")), None);
    }
}
