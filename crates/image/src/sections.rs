//! The sections of an ELF file that hold code.

use crate::contents::Contents;
use crate::image::Elf;
use crate::ranges::{self, Ranged};
use object::elf::{SHF_ALLOC, SHF_EXECINSTR};
use object::read::elf::{ElfSection64, SectionHeader};
use object::{Endianness, Object, ObjectSection, ReadCache, ReadRef};
use std::ops::Range;

/// One of them.
pub struct CodeSection<'data, 'elf> {
    /// Empty if it cannot be read.
    pub name: &'data str,
    /// Link-time offsets.
    pub offsets: Range<u64>,
    /// Bytes of each entry, where the section says that it is a table.
    pub entry_size: u64,
    section: ElfSection64<'data, 'elf, Endianness, &'data ReadCache<Contents>>,
}

impl<'data> CodeSection<'data, '_> {
    /// What stands there; empty if it cannot be read.
    pub fn code(&self) -> &'data [u8] {
        self.section.data().unwrap_or_default()
    }
}

impl Ranged for CodeSection<'_, '_> {
    fn range(&self) -> &Range<u64> {
        &self.offsets
    }
}

/// All of them that hold something, in order and without overlap. They hold no more bytes together than the file does,
/// so that looking at each takes bounded time however a damaged file repeats them.
pub fn of<'data, 'elf>(elf: &'elf Elf<'data>) -> Vec<CodeSection<'data, 'elf>> {
    let flags = SHF_ALLOC | SHF_EXECINSTR;
    let mut left = elf.data().len().unwrap_or(0);
    let mut all = Vec::new();
    for section in elf.sections() {
        let header = section.elf_section_header();
        let size = section.file_range().map_or(0, |(_, size)| size);
        if header.sh_flags(elf.endian()) & flags != flags || size > left {
            continue;
        }
        left -= size;
        all.push(CodeSection {
            name: section.name().unwrap_or_default(),
            offsets: section.address()..section.address().saturating_add(section.size()),
            entry_size: header.sh_entsize(elf.endian()),
            section,
        });
    }
    ranges::put_in_order(&mut all);
    all
}
