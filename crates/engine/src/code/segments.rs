//! From an offset in an ELF file to its link-time virtual address, by the program headers.

use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID, PF_X, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};
use std::fs::File;
use std::path::Path;

/// What mapping and naming a module needs of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    loads: Vec<Load>,
    /// Build id; empty if the file has none.
    pub build_id: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Load {
    file_start: u64,
    file_end: u64,
    virtual_address: u64,
    executable: bool,
}

/// Mappings begin on pages, segments anywhere within their first page.
const PAGE: u64 = 4096;

impl Segments {
    /// Reads a file's headers; `None` if it is no 64-bit ELF file or cannot be read.
    pub fn of_file(path: &Path) -> Option<Segments> {
        Segments::read(&ReadCache::new(File::open(path).ok()?))
    }

    fn read<'data>(data: impl ReadRef<'data>) -> Option<Segments> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let mut segments = Segments::default();
        for program_header in header.program_headers(endian, data).ok()? {
            if program_header.p_type(endian) == PT_LOAD {
                let start = program_header.p_offset(endian);
                segments.loads.push(Load {
                    file_start: start & !(PAGE - 1),
                    file_end: start.saturating_add(program_header.p_filesz(endian)),
                    virtual_address: program_header.p_vaddr(endian).wrapping_sub(start % PAGE),
                    executable: program_header.p_flags(endian).contains(PF_X),
                });
            }
            let Ok(Some(mut notes)) = program_header.notes(endian, data) else { continue };
            while let Ok(Some(note)) = notes.next() {
                if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                    segments.build_id = note.desc().to_vec();
                }
            }
        }
        Some(segments)
    }

    /// Link-time address of the byte at `file_offset`. Where segments share a page, code wins:
    /// only executable mappings are asked about. Outside all segments the offset stands for itself.
    pub fn virtual_address(&self, file_offset: u64) -> u64 {
        let mut holding = self.loads.iter().filter(|l| (l.file_start..l.file_end).contains(&file_offset));
        let first = holding.clone().next();
        match holding.find(|load| load.executable).or(first) {
            Some(load) => load.virtual_address.wrapping_add(file_offset - load.file_start),
            None => file_offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// `readelf` is the independent witness of headers and build id.
    #[test]
    fn agrees_with_readelf() {
        let program = std::env::current_exe().unwrap();
        let segments = Segments::of_file(&program).unwrap();
        let output = Command::new("readelf").args(["--wide", "--segments", "--notes"]).arg(&program).output();
        let text = String::from_utf8(output.expect("readelf (package binutils) runs").stdout).unwrap();
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let mut code_segments = 0;
        for line in text.lines().filter(|line| line.trim_start().starts_with("LOAD") && line.contains(" E "))
        {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (offset, address) = (number(fields[1]), number(fields[2]));
            assert_eq!(segments.virtual_address(offset), address);
            assert_eq!(segments.virtual_address(offset + 77), address + 77);
            code_segments += 1;
        }
        assert!(code_segments > 0, "{text}");
        let build_id: String = segments.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = text.lines().find_map(|line| Some(line.split_once("Build ID: ")?.1.trim()));
        assert_eq!(build_id, expected.unwrap_or_default());
    }

    #[test]
    fn other_files_are_none() {
        assert_eq!(Segments::of_file(Path::new("/etc/passwd")), None);
        assert_eq!(Segments::of_file(Path::new("/etc")), None);
        assert_eq!(Segments::of_file(Path::new("/no/such/file")), None);
    }
}
