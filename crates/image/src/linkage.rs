//! Names of the stubs through which calls reach other modules (the procedure linkage table).

use crate::image::Elf;
use crate::symbols::Named;
use object::elf::{R_X86_64_IRELATIVE, SHT_RELA};
use object::read::elf::{Rela, SectionHeader};
use object::{Object, ObjectSection, ObjectSymbol, SymbolIndex};
use std::collections::HashMap;
use std::ops::Range;
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

/// The sections that hold stubs, and the stubs in them that are known by name. A stub is known by the
/// slot that it jumps through: a relocation says whose address goes there.
pub fn of(elf: &Elf, symbols: &[Named]) -> (Vec<Range<u64>>, Vec<Stub>) {
    let sections = elf.sections().filter(|s| s.name().is_ok_and(|name| name.starts_with(".plt")));
    let sections: Vec<_> = sections.collect();
    if sections.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let slots = slots(elf, symbols);
    let mut ranges = Vec::new();
    let mut stubs = Vec::new();
    for section in sections {
        let start = section.address();
        ranges.push(start..start.saturating_add(section.size()));
        let size = match section.elf_section_header().sh_entsize(elf.endian()) {
            size @ (8 | 16) => size,
            _ => 16,
        };
        let data = section.data().unwrap_or_default();
        for step in timewise_isa::walk(data, start) {
            if step.control != Control::IndirectJump {
                continue;
            }
            let within = step.offset.wrapping_sub(start);
            let code = &data[within as usize..];
            let slot = timewise_isa::decode(code, step.offset).ok().and_then(|i| i.relative_operand);
            let Some(name) = slot.and_then(|(_, slot)| slots.get(&slot)) else { continue };
            let offset = start.wrapping_add(within / size * size);
            stubs.push(Stub { offset, size, name: format!("{name}@plt") });
        }
    }
    (ranges, stubs)
}

/// The symbol whose address each relocated slot receives.
fn slots(elf: &Elf, symbols: &[Named]) -> HashMap<u64, String> {
    let endian = elf.endian();
    let imported = elf.dynamic_symbol_table();
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
                symbols.binary_search_by_key(&resolver, |s| s.offset).ok().map(|at| symbols[at].name.clone())
            } else {
                let index = SymbolIndex(relocation.r_sym(endian, false) as usize);
                let symbol = imported.as_ref().and_then(|table| {
                    use object::ObjectSymbolTable;
                    table.symbol_by_index(index).ok()
                });
                symbol.and_then(|symbol| Some(symbol.name().ok()?.to_string()))
            };
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                slots.insert(relocation.r_offset(endian), name);
            }
        }
    }
    slots
}
