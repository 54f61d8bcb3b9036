//! The functions of a module, from everything that knows of some: symbols, linkage stubs, unwind
//! tables. They do not overlap, and together they cover all code.

use crate::demangle::demangle;
use crate::image::Elf;
use crate::ranges::{self, holding};
use crate::sections::CodeSection;
use crate::symbols::{Named, Standing};
use crate::unwind::descriptions;
use crate::{extent, labels, linkage, pclntab, sections, symbols};
use std::ops::Range;

/// How a function is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// A symbol names it.
    Symbol,
    /// A stub of the procedure linkage table.
    Linkage,
    /// Only the unwind table knows where it begins and ends.
    Unwind,
    /// Code between functions, of which nothing is known.
    Gap,
}

/// A function, or the nearest thing to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// First instruction.
    pub offset: u64,
    /// Bytes, never 0.
    pub size: u64,
    /// As in the symbol table, without a version; empty if it has no name.
    pub symbol: String,
    /// How it is known.
    pub origin: Origin,
}

impl Function {
    /// The first offset behind it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// All functions of a module, sorted by offset.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    module: String,
    all: Vec<Function>,
}

impl Functions {
    /// Those of `elf`, which is called `module` where functions have no name. Symbols may stand in a
    /// file of their own, `debug`.
    pub(crate) fn of(
        module: &str,
        elf: &Elf,
        debug: Option<&Elf>,
        mut executable: Vec<Range<u64>>,
    ) -> Functions {
        let mut sections = sections::of(elf);
        let code = match sections.is_empty() {
            true => {
                ranges::put_in_order(&mut executable);
                executable
            }
            false => code_of(&sections),
        };
        let unwind = descriptions::ranges(elf);
        let mut named = symbols::of(elf, &code);
        named.extend(debug.into_iter().flat_map(|debug| symbols::of(debug, &code)));
        named.extend(pclntab::of(elf, &code));
        let mut named = symbols::without_aliases(named);
        end_at_functions(&mut named);
        named.iter_mut().for_each(|symbol| complete(symbol, &unwind));
        let called = |section: &CodeSection| labels::call_targets(section.code(), section.offsets.start);
        let call_targets = || sections.iter().flat_map(called).collect();
        let size = |at, next| extent::of(at, next, &sections);
        labels::drop_inner(&mut named, &code, &unwind, call_targets, size);
        let mut known: Vec<Function> = linkage::of(elf, &sections, &named)
            .into_iter()
            .map(|s| Function { offset: s.offset, size: s.size, symbol: s.name, origin: Origin::Linkage })
            .collect();
        known.extend(named.into_iter().map(|s| Function {
            offset: s.offset,
            size: s.size,
            symbol: s.name.to_string(),
            origin: Origin::Symbol,
        }));
        // The unwind table describes all stubs of a section as one.
        sections.retain(linkage::holds_stubs);
        let outside = |range: &&Range<u64>| holding(&sections, range.start).is_none();
        let within = |range: &&Range<u64>| holding(&code, range.start).is_some();
        known.extend(unwind.iter().filter(outside).filter(within).map(|range| Function {
            offset: range.start,
            size: range.end - range.start,
            symbol: String::new(),
            origin: Origin::Unwind,
        }));
        Functions { module: module.to_string(), all: arrange(known, &code) }
    }

    /// The function that holds `offset`; `None` outside all code.
    pub fn at(&self, offset: u64) -> Option<&Function> {
        let after = self.all.partition_point(|function| function.offset <= offset);
        self.all[..after].last().filter(|function| offset < function.end())
    }

    /// All of them.
    pub fn all(&self) -> &[Function] {
        &self.all
    }

    /// The name to show: demangled, or made of the module's name and the offset.
    pub fn name(&self, function: &Function) -> String {
        match function.symbol.as_str() {
            "" => format!("{}+{:#x}", self.module, function.offset),
            symbol => demangle(symbol),
        }
    }
}

/// The ranges of sections, in their order.
pub fn code_of(sections: &[CodeSection]) -> Vec<Range<u64>> {
    sections.iter().map(|section| section.offsets.clone()).collect()
}

/// What is not said to be a function ends where one begins, whatever its size.
fn end_at_functions(named: &mut [Named]) {
    let mut next = u64::MAX;
    for symbol in named.iter_mut().rev() {
        if symbol.standing == Standing::Function {
            next = symbol.offset;
        } else {
            symbol.size = symbol.size.min(next - symbol.offset);
        }
    }
}

/// A symbol without a size has that of its frame description, if one begins there, and whoever wrote that
/// meant a function.
fn complete(symbol: &mut Named, unwind: &[Range<u64>]) {
    if symbol.size == 0
        && let Ok(at) = unwind.binary_search_by_key(&symbol.offset, |range| range.start)
    {
        symbol.size = unwind[at].end - unwind[at].start;
        symbol.standing = Standing::Function;
    }
}

/// Sorts, ends what has no end, and resolves overlaps: what lies within an equally well known function is
/// part of it (entry points in the middle, labels); else, where one begins in another, that one ends
/// there. Code in none becomes a [`Origin::Gap`]. `code` is in order.
pub fn arrange(mut known: Vec<Function>, code: &[Range<u64>]) -> Vec<Function> {
    // A larger one first, so that what it holds comes after it; a better known one before that.
    known.sort_by_key(|f| (f.offset, f.origin, std::cmp::Reverse(f.size)));
    known.dedup_by_key(|f| f.offset);
    let mut out: Vec<Function> = Vec::with_capacity(known.len());
    let mut next = 0;
    for section in code {
        let mut covered = section.start;
        next += known[next..].partition_point(|f| f.offset < section.start);
        let inside = known[next..].partition_point(|f| f.offset < section.end);
        let candidates = &known[next..next + inside];
        next += inside;
        let first = out.len();
        for (position, candidate) in candidates.iter().enumerate() {
            let following = candidates.get(position + 1).map_or(section.end, |f| f.offset);
            let end = if candidate.size == 0 { following } else { candidate.end() }.min(section.end);
            if candidate.offset < covered {
                let Some(last) = out[first..].last_mut() else { continue };
                let within = candidate.size == 0 || end <= covered;
                if within && last.origin <= candidate.origin {
                    continue;
                }
                last.size = candidate.offset - last.offset;
            } else if candidate.offset > covered {
                out.push(gap(covered, candidate.offset));
            }
            covered = end;
            out.push(Function { size: end - candidate.offset, ..candidate.clone() });
        }
        if covered < section.end {
            out.push(gap(covered, section.end));
        }
    }
    out
}

fn gap(start: u64, end: u64) -> Function {
    Function { offset: start, size: end - start, symbol: String::new(), origin: Origin::Gap }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, offset: u64, size: u64) -> Function {
        Function { offset, size, symbol: name.into(), origin: Origin::Symbol }
    }

    fn arranged(known: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
        let known = known.iter().map(|&(name, offset, size)| function(name, offset, size)).collect();
        arrange(known, std::slice::from_ref(&(100..200)))
            .into_iter()
            .map(|f| (f.symbol.clone(), f.offset, f.end()))
            .collect()
    }

    #[test]
    fn gaps_are_filled_and_ends_found() {
        let want = [("", 100, 110), ("a", 110, 130), ("b", 130, 150), ("", 150, 200)];
        assert_eq!(arranged(&[("b", 130, 20), ("a", 110, 0)]), want.map(|(n, a, b)| (n.to_string(), a, b)));
    }

    #[test]
    fn overlaps_are_resolved() {
        let want = [("outer", 100, 150), ("next", 150, 200)];
        let got = arranged(&[
            ("outer", 100, 60),
            ("inner", 120, 10),
            ("entry", 125, 0),
            ("label", 130, 30),
            ("last entry", 145, 0),
            ("next", 150, 500),
        ]);
        assert_eq!(got, want.map(|(n, a, b)| (n.to_string(), a, b)));
    }

    #[test]
    fn a_name_counts_more_than_an_unwind_range_around_it() {
        // Signal trampolines are described from the byte before them on.
        let known = vec![
            Function { offset: 99, size: 30, symbol: String::new(), origin: Origin::Unwind },
            function("trampoline", 100, 20),
        ];
        let all = arrange(known, std::slice::from_ref(&(90..200)));
        let got: Vec<_> = all.iter().map(|f| (f.symbol.as_str(), f.offset, f.end())).collect();
        assert_eq!(got, [("", 90, 99), ("", 99, 100), ("trampoline", 100, 120), ("", 120, 200)]);
    }

    #[test]
    fn code_without_any_knowledge_is_one_gap() {
        assert_eq!(arranged(&[]), [(String::new(), 100, 200)]);
    }
}
