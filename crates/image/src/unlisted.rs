//! Functions that a program's own memory does not tell of: no sorted table for its unwinder lists them.

use crate::extent;
use crate::functions::{self, Function, Origin};
use crate::image::{Elf, Image};
use crate::ranges::holding;
use crate::sections;
use crate::symbols::{self, Standing};
use crate::unwind::descriptions;
use object::elf::PT_GNU_EH_FRAME;
use object::read::elf::ProgramHeader;
use std::ops::Range;

/// They.
#[derive(Debug, Default)]
pub struct Unlisted {
    /// Those that are described (`.eh_frame`) where there is no table (`.eh_frame_hdr`), as in static programs: where
    /// they begin and where their descriptions lie, by link-time address, in order.
    pub described: Vec<(u64, u64)>,
    /// Those that are not described but have a symbol, as assembly and what was compiled without tables, in order.
    pub named: Vec<Named>,
}

/// A function that only a symbol tells of.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// Its link-time addresses.
    pub offsets: Range<u64>,
    /// It is a part of a function that lies elsewhere, as compilers put code that is rarely executed.
    pub is_part: bool,
}

impl Unlisted {
    /// Those of an image.
    pub fn of(image: &Image) -> Unlisted {
        let Some(elf) = image.elf() else { return Unlisted::default() };
        let is_table = |header: &_| ProgramHeader::p_type(header, elf.endian()) == PT_GNU_EH_FRAME;
        let described = match elf.elf_program_headers().iter().any(is_table) {
            true => Vec::new(),
            false => descriptions::places(&elf),
        };
        Unlisted { described, named: named(&elf) }
    }
}

fn named(elf: &Elf) -> Vec<Named> {
    let sections = sections::of(elf);
    let code = functions::code_of(&sections);
    let mut symbols = symbols::of(elf, &code);
    // Which labels of assembly begin a function is seen only by looking for calls, which takes long.
    symbols.retain(|symbol| symbol.standing > Standing::Label);
    if symbols.is_empty() {
        return Vec::new();
    }
    let described = descriptions::ranges(elf);
    symbols.retain(|symbol| holding(&described, symbol.offset).is_none());
    let mut symbols = symbols::without_aliases(symbols);
    extent::find(&mut symbols, &sections);
    let symbols = symbols.into_iter();
    let described = described.iter().map(|range| (range.start, range.end - range.start, "", Origin::Unwind));
    let all = symbols.map(|s| (s.offset, s.size, s.name, Origin::Symbol)).chain(described);
    let known =
        all.map(|(offset, size, name, origin)| Function { offset, size, symbol: name.into(), origin });
    let arranged = functions::arrange(known.collect(), &code).into_iter();
    let named = arranged.filter(|function| function.origin == Origin::Symbol);
    let named = named.map(|function| Named {
        offsets: function.offset..function.end(),
        is_part: function.symbol.ends_with(".cold") || function.symbol.contains(".cold."),
    });
    named.collect()
}
