//! The sections of an ELF file that hold code.

use crate::image::Elf;
use object::elf::{SHF_ALLOC, SHF_EXECINSTR};
use object::read::elf::SectionHeader;
use object::{Object, ObjectSection};
use std::ops::Range;

/// One of them.
pub struct CodeSection<'data> {
    /// Empty if it cannot be read.
    pub name: &'data str,
    /// Link-time offsets.
    pub offsets: Range<u64>,
    /// What stands there.
    pub code: &'data [u8],
    /// Bytes of each entry, where the section says that it is a table.
    pub entry_size: u64,
}

/// All of them, in the order of the file. They hold no more bytes together than the file does, so that
/// looking at each takes bounded time however a damaged file repeats them.
pub fn of<'data>(elf: &Elf<'data>) -> Vec<CodeSection<'data>> {
    let flags = SHF_ALLOC | SHF_EXECINSTR;
    let mut left = elf.data().len();
    let mut all = Vec::new();
    for section in elf.sections() {
        let header = section.elf_section_header();
        let code = section.data().unwrap_or_default();
        if header.sh_flags(elf.endian()) & flags != flags || code.len() > left {
            continue;
        }
        left -= code.len();
        all.push(CodeSection {
            name: section.name().unwrap_or_default(),
            offsets: section.address()..section.address().saturating_add(section.size()),
            code,
            entry_size: header.sh_entsize(elf.endian()),
        });
    }
    all
}
