//! Names of the stubs through which calls reach other modules (the procedure linkage table).

use crate::image::Elf;
use crate::sections::CodeSection;
use crate::symbols::{Named, SymbolTable};
use object::Object;
use object::elf::{R_X86_64_IRELATIVE, SHT_DYNSYM, SHT_RELA};
use object::read::elf::{Rela, SectionHeader};
use std::collections::HashMap;
use timewise_isa::Control;

/// A stub, or what lies between stubs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    /// First instruction.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// `malloc@plt`.
    pub name: String,
}

/// The stubs in `sections` that are known by name. A stub is known by the slot that it jumps through: a
/// relocation says whose address goes there.
pub fn of(elf: &Elf, sections: &[CodeSection], symbols: &[Named]) -> Vec<Stub> {
    let mut stubs = Vec::new();
    let mut slots = None;
    for section in sections.iter().filter(|section| holds_stubs(section)) {
        let slots = slots.get_or_insert_with(|| slots_of(elf, symbols));
        let start = section.offsets.start;
        let size = match section.entry_size {
            size @ (8 | 16) => size,
            _ => 16,
        };
        let code = section.code();
        for step in timewise_isa::walk(code, start) {
            if step.control != Control::IndirectJump {
                continue;
            }
            let within = step.offset.wrapping_sub(start);
            let stub = &code[within as usize..];
            let slot = timewise_isa::decode(stub, step.offset).ok().and_then(|i| i.relative_operand);
            let Some(name) = slot.and_then(|(_, slot)| slots.get(&slot)) else { continue };
            let offset = start.wrapping_add(within / size * size);
            stubs.push(Stub { offset, size, name: format!("{name}@plt") });
        }
    }
    stubs
}

/// Whether a section is a procedure linkage table.
pub fn holds_stubs(section: &CodeSection) -> bool {
    section.name.starts_with(".plt")
}

/// The symbol whose address each relocated slot receives.
fn slots_of<'data>(elf: &Elf<'data>, symbols: &[Named<'data>]) -> HashMap<u64, &'data str> {
    let endian = elf.endian();
    let imported = SymbolTable::of(elf, SHT_DYNSYM);
    let mut slots = HashMap::new();
    for section in elf.sections() {
        let header = section.elf_section_header();
        if header.sh_type(endian) != SHT_RELA {
            continue;
        }
        let Ok(Some((relocations, _))) = header.rela(endian, elf.data()) else { continue };
        for relocation in relocations {
            let name = if relocation.r_type(endian, false) == R_X86_64_IRELATIVE {
                let resolver = relocation.r_addend(endian) as u64;
                symbols.binary_search_by_key(&resolver, |s| s.offset).ok().map(|at| symbols[at].name)
            } else {
                imported.as_ref().and_then(|table| table.name(relocation.r_sym(endian, false) as usize))
            };
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                slots.insert(relocation.r_offset(endian), name);
            }
        }
    }
    slots
}
