//! Functions of Go programs by the table that their runtime finds them by (`.gopclntab`), which is there also where symbols
//! were stripped.
//!
//! Its layouts are those of `runtime/symtab.go` and `cmd/link/internal/ld/pcln.go` since Go 1.2; a table that is none of
//! them, or damaged, names as many functions as can be read.

use crate::image::Elf;
use crate::ranges::holding;
use crate::symbols::{self, Named, Standing, name_at};
use object::read::{Object, ObjectSection};
use std::ops::Range;

/// Sections that hold it, of executables at fixed addresses and of others.
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];

/// How the table is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    /// Of Go 1.2: functions by address, all offsets from the table's beginning.
    Go2,
    /// Of Go 1.16: parts of their own for names and for functions.
    Go16,
    /// Of Go 1.18: functions by their distance from where all code begins.
    Go18,
}

impl Layout {
    fn of(magic: u32) -> Option<Layout> {
        match magic {
            0xffff_fffb => Some(Layout::Go2),
            0xffff_fffa => Some(Layout::Go16),
            0xffff_fff0 | 0xffff_fff1 => Some(Layout::Go18),
            _ => None,
        }
    }
}

/// Whether a file has such a table.
pub fn is_in(elf: &Elf) -> bool {
    SECTIONS.iter().any(|name| elf.section_by_name(name).is_some())
}

/// All functions that the table of `elf` names within `code`, sorted by offset; none if it has no table.
pub fn of<'data>(elf: &Elf<'data>, code: &[Range<u64>]) -> Vec<Named<'data>> {
    let Some(section) = SECTIONS.iter().find_map(|name| elf.section_by_name(name)) else { return Vec::new() };
    let Some(mut table) = section.data().ok().and_then(Table::read) else { return Vec::new() };
    if table.layout == Layout::Go18 && table.start == 0 {
        match beginning(elf, &table) {
            Some(start) => table.start = start,
            None => return Vec::new(),
        }
    }
    table.functions(code)
}

/// Where all code of Go begins in a program whose table does not say it, as since Go 1.26: its symbol tells, or, as that
/// is where all code begins unless there is some of C as well, that the program then begins with a function of the table.
fn beginning(elf: &Elf, table: &Table) -> Option<u64> {
    if let Some(named) = symbols::of(elf, std::slice::from_ref(&(0..u64::MAX)))
        .into_iter()
        .find(|named| named.name == "runtime.text")
    {
        return Some(named.offset);
    }
    let text = elf.section_by_name(".text")?.address();
    let entry = elf.entry().checked_sub(text)?;
    let mut all = (0..table.count).map_while(|at| table.pair(at));
    all.any(|(distance, _)| distance == entry).then_some(text)
}

/// The parts of a table.
struct Table<'data> {
    layout: Layout,
    /// How many functions it has.
    count: usize,
    /// Where their distances are counted from; 0 if the table does not say it.
    start: u64,
    names: &'data [u8],
    functions: &'data [u8],
    /// Where pairs of an address and a place in `functions` begin there.
    pairs: usize,
}

impl<'data> Table<'data> {
    fn read(bytes: &'data [u8]) -> Option<Table<'data>> {
        const HEADER: usize = 8;
        let layout = Layout::of(u32_at(bytes, 0)?)?;
        // The least instruction has a byte, an address eight.
        if bytes.get(6..HEADER)? != [1, 8] {
            return None;
        }
        let word = |at: usize| u64_at(bytes, HEADER + 8 * at);
        let part = |at: usize| bytes.get(usize::try_from(word(at)?).ok()?..);
        let count = usize::try_from(word(0)?).ok()?;
        Some(match layout {
            Layout::Go2 => {
                Table { layout, count, start: 0, names: bytes, functions: bytes, pairs: HEADER + 8 }
            }
            Layout::Go16 => Table { layout, count, start: 0, names: part(2)?, functions: part(6)?, pairs: 0 },
            Layout::Go18 => {
                Table { layout, count, start: word(2)?, names: part(3)?, functions: part(7)?, pairs: 0 }
            }
        })
    }

    fn functions(&self, code: &[Range<u64>]) -> Vec<Named<'data>> {
        let named = |(at, pair)| self.function(at, pair);
        let within = |function: &Named| holding(code, function.offset).is_some();
        (0..self.count).map_while(|at| Some((at, self.pair(at)?))).filter_map(named).filter(within).collect()
    }

    /// The function of that number; `None` if its name cannot be read.
    fn function(&self, at: usize, (offset, function): (u64, u64)) -> Option<Named<'data>> {
        let (end, _) = self.pair(at + 1).unwrap_or((offset, 0));
        let address_bytes = if self.layout == Layout::Go18 { 4 } else { 8 };
        let name = u32_at(self.functions, usize::try_from(function).ok()?.checked_add(address_bytes)?)?;
        let name = name_at(self.names, name as usize).filter(|name| !name.is_empty())?;
        let size = end.checked_sub(offset)?;
        Some(Named { offset, size, name, standing: Standing::Exported, binding: 0 })
    }

    /// Where a function begins, or how far from where all code does, and what is known of it. Behind the last stands where it ends.
    fn pair(&self, at: usize) -> Option<(u64, u64)> {
        let number = |index: usize| match self.layout {
            Layout::Go18 => u32_at(self.functions, index.checked_mul(4)?).map(u64::from),
            _ => u64_at(self.functions, self.pairs.checked_add(index.checked_mul(8)?)?),
        };
        let first = at.checked_mul(2)?;
        Some((self.start.checked_add(number(first)?)?, if at < self.count { number(first + 1)? } else { 0 }))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions, of 16 and 32 bytes from 0x1000 on.
    fn found(bytes: &[u8]) -> Vec<(u64, u64, String)> {
        let table = Table::read(bytes);
        let all = table.map_or(Vec::new(), |table| table.functions(std::slice::from_ref(&(0x1000..0x2000))));
        all.iter().map(|named| (named.offset, named.size, named.name.to_string())).collect()
    }

    fn both() -> Vec<(u64, u64, String)> {
        vec![(0x1000, 16, "main.work".into()), (0x1010, 32, "main.main".into())]
    }

    fn header(magic: u32, words: &[u64]) -> Vec<u8> {
        let mut bytes = magic.to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    }

    const NAMES: &[u8] = b"main.work\0main.main\0";

    #[test]
    fn functions_by_their_distance() {
        // A header of 72 bytes, the names, and pairs of 4 bytes, behind which the two functions stand.
        let table = |magic, start: u64| {
            let mut bytes = header(magic, &[2, 0, start, 72, 0, 0, 0, 92]);
            bytes.extend(NAMES);
            let words: [u32; 9] = [0, 20, 16, 28, 48, 0, 0, 16, 10];
            words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            bytes
        };
        assert_eq!(found(&table(0xffff_fff1, 0x1000)), both());
        assert_eq!(found(&table(0xffff_fff0, 0)), [], "whoever knows where code begins has to say so");
        let whole = table(0xffff_fff1, 0x1000);
        for length in 0..whole.len() {
            assert!(found(&whole[..length]).len() < 2, "{length}");
        }
        // A name that cannot be read is one function less.
        let mut damaged = whole.clone();
        damaged[72] = 0xff;
        assert_eq!(found(&damaged), both()[1..]);
    }

    #[test]
    fn functions_by_address() {
        let addresses = |bytes: &mut Vec<u8>, functions: [u64; 2]| {
            let words = [0x1000, functions[0], 0x1010, functions[1], 0x1030];
            words.iter().for_each(|word: &u64| bytes.extend(word.to_le_bytes()));
        };
        let mut apart = header(0xffff_fffa, &[2, 0, 64, 0, 0, 0, 84]);
        apart.extend(NAMES);
        addresses(&mut apart, [40, 52]);
        for (address, name) in [(0x1000_u64, 0_u32), (0x1010, 10)] {
            apart.extend(address.to_le_bytes());
            apart.extend(name.to_le_bytes());
        }
        assert_eq!(found(&apart), both());
        let mut together = header(0xffff_fffb, &[2]);
        addresses(&mut together, [56, 68]);
        for (address, name) in [(0x1000_u64, 80_u32), (0x1010, 90)] {
            together.extend(address.to_le_bytes());
            together.extend(name.to_le_bytes());
        }
        together.extend(NAMES);
        assert_eq!(found(&together), both());
    }

    #[test]
    fn what_is_no_table_names_nothing() {
        assert!(found(&header(0x1234_5678, &[2, 0, 0])).is_empty());
        assert!(found(&header(0xffff_fff1, &[u64::MAX; 8])).is_empty());
        assert!(found(&header(0xffff_fffb, &[u64::MAX; 8])).is_empty());
    }
}
