//! Function symbols of an ELF file's two symbol tables.

use crate::demangle::without_version;
use crate::image::Elf;
use crate::names::LONGEST;
use crate::ranges::holding;
use object::elf::{
    SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB, STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT,
    SectionType, Sym64,
};
use object::read::elf::{SectionHeader, Sym};
use object::{Endianness, SectionIndex};
use std::cmp::Reverse;
use std::ops::Range;

/// A symbol that names code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'data> {
    /// First instruction.
    pub offset: u64,
    /// Bytes; 0 where the table does not say.
    pub size: u64,
    /// As linked, without a version.
    pub name: &'data str,
    /// What it is said to be.
    pub standing: Standing,
    /// Larger is seen by more files.
    pub binding: u8,
}

/// What the symbol table says of a symbol in code, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// Nothing, and no other file can refer to it: assemblers do that to every label.
    Label,
    /// Nothing, but other files can refer to it, or it has a size.
    Exported,
    /// That it is a function.
    Function,
}

/// All symbols of `elf` that name something within `code`, which is in order. They are in none.
pub fn of<'data>(elf: &Elf<'data>, code: &[Range<u64>]) -> Vec<Named<'data>> {
    let tables = [SHT_SYMTAB, SHT_DYNSYM].into_iter().filter_map(|kind| SymbolTable::of(elf, kind));
    tables.flat_map(|table| (0..table.symbols.len()).filter_map(move |at| named(&table, at, code))).collect()
}

/// One of the tables with its names, read as a whole.
#[derive(Clone, Copy)]
pub struct SymbolTable<'data> {
    symbols: &'data [Sym64<Endianness>],
    strings: &'data [u8],
    endian: Endianness,
}

impl<'data> SymbolTable<'data> {
    /// The first table of this kind, if there is one that can be read.
    pub fn of(elf: &Elf<'data>, kind: SectionType) -> Option<SymbolTable<'data>> {
        let (endian, sections) = (elf.endian(), elf.elf_section_table());
        let table = sections.iter().find(|section| section.sh_type(endian) == kind)?;
        let strings = sections.section(SectionIndex(table.sh_link(endian) as usize)).ok()?;
        Some(SymbolTable {
            symbols: table.data_as_array(endian, elf.data()).ok()?,
            strings: strings.data(endian, elf.data()).ok()?,
            endian,
        })
    }

    /// The name of a symbol, with its version if that is part of it; no more than [`LONGEST`] bytes of it.
    pub fn name(&self, index: usize) -> Option<&'data str> {
        name_at(self.strings, self.symbols.get(index)?.st_name(self.endian) as usize)
    }
}

/// The text that begins there, up to a byte of 0; no more than [`LONGEST`] bytes of it.
pub fn name_at(strings: &[u8], start: usize) -> Option<&str> {
    let rest = strings.get(start..)?;
    let kept = &rest[..rest.len().min(LONGEST)];
    match kept.iter().position(|&byte| byte == 0) {
        Some(end) => str::from_utf8(&kept[..end]).ok(),
        None if kept.len() < rest.len() => kept.utf8_chunks().next().map(|text| text.valid()),
        None => None,
    }
}

fn named<'data>(table: &SymbolTable<'data>, index: usize, code: &[Range<u64>]) -> Option<Named<'data>> {
    let raw = &table.symbols[index];
    let kind = raw.st_type();
    let typed = kind == STT_FUNC || kind == STT_GNU_IFUNC;
    let defined = raw.st_shndx(table.endian) != SHN_UNDEF;
    let offset = raw.st_value(table.endian);
    // Compilers that put data right before code call both together an object, as that of Haskell does.
    let is_object = kind == STT_OBJECT && raw.st_size(table.endian) > 0;
    let names_code = typed || kind == STT_NOTYPE || is_object;
    if !names_code || !defined || holding(code, offset).is_none() {
        return None;
    }
    let name = without_version(table.name(index)?);
    // Names that assemblers make up begin with these.
    if name.is_empty() || name.starts_with(['$', '.']) && !typed {
        return None;
    }
    let binding = match raw.st_bind() {
        STB_GLOBAL => 2,
        STB_WEAK => 1,
        _ => 0,
    };
    let size = raw.st_size(table.endian);
    let standing = match typed {
        true => Standing::Function,
        false if binding > 0 || size > 0 => Standing::Exported,
        false => Standing::Label,
    };
    Some(Named { offset, size, name, standing, binding })
}

/// Of several symbols at one offset keeps the one that a reader knows best, with the largest size that
/// any of them states. The result is sorted by offset.
pub fn without_aliases(mut all: Vec<Named<'_>>) -> Vec<Named<'_>> {
    all.sort_by(|a, b| a.offset.cmp(&b.offset).then_with(|| familiarity(b).cmp(&familiarity(a))));
    all.dedup_by(|alias, kept| {
        let same = alias.offset == kept.offset;
        if same {
            kept.size = kept.size.max(alias.size);
        }
        same
    });
    all
}

/// Larger is better: functions before labels, `malloc` before `__libc_malloc`, what is exported before
/// what is not, short before long.
fn familiarity<'a>(symbol: &'a Named<'_>) -> impl Ord + use<'a> {
    let underscores = symbol.name.bytes().take_while(|&byte| byte == b'_').count();
    // Mangled names begin with an underscore that says nothing.
    let hidden = if symbol.name.starts_with("_Z") || symbol.name.starts_with("_R") { 0 } else { underscores };
    let plainness = (symbol.standing, Reverse(hidden), symbol.binding);
    (plainness, Reverse(symbol.name.len()), Reverse(symbol.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::U32;
    use object::pod::{bytes_of_slice, from_bytes};

    #[test]
    fn names_have_a_greatest_length() {
        let strings = ["\0", &"a".repeat(3 * LONGEST), "\u{e9}\0end"].concat();
        let last = strings.len() - 4;
        let long = [2, 1, 0].map(|more| last - LONGEST - more);
        let starts = [&long[..], &[last - LONGEST + 1, last - 3, last, last + 1, 1]].concat();
        let blank = [0_u64; size_of::<Sym64<Endianness>>() / 8];
        let symbol = |start: usize| {
            let mut symbol: Sym64<Endianness> = *from_bytes(bytes_of_slice(&blank)).unwrap().0;
            symbol.st_name = U32::new(Endianness::Little, start as u32);
            symbol
        };
        let symbols: Vec<_> = starts.into_iter().map(symbol).collect();
        let (strings, endian) = (strings.as_bytes(), Endianness::Little);
        let table = SymbolTable { symbols: &symbols, strings, endian };
        let lengths: Vec<_> = (0..symbols.len()).map(|at| table.name(at).map(str::len)).collect();
        // The last letter takes two bytes and is kept or not; the last but one name does not end.
        let kept = [LONGEST, LONGEST - 1, LONGEST, LONGEST - 1, 3, 0].map(Some);
        assert_eq!(lengths, [&kept[..], &[None, Some(LONGEST)]].concat());
    }

    #[test]
    fn the_familiar_name_wins_and_the_size_is_kept() {
        let standing = Standing::Function;
        let symbol = |name, size, binding| Named { offset: 16, size, name, standing, binding };
        let all = vec![
            symbol("__GI___libc_malloc", 80, 0),
            symbol("malloc", 0, 2),
            symbol("__libc_malloc", 80, 2),
            symbol("malloc_internal_alias", 80, 0),
        ];
        let kept = without_aliases(all);
        assert_eq!((kept.len(), kept[0].name, kept[0].size), (1, "malloc", 80));
    }
}
