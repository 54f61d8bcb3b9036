//! Which labels of hand-written assembler begin a function.
//!
//! An assembler puts every label into the symbol table, those of functions and those of loops, and unless
//! the programmer says so (`.type`, `.size`, frame directives), nothing tells them apart. What other files
//! may refer to begins a function; so does what is called. Any other label is a place within the function
//! before it, unless that ends before it does as its code tells ([`crate::extent`]): an assembler's functions that are called
//! through tables are labels, too. Where neither a size nor the code tells the end, all is one function up to the next.

use crate::ranges::holding;
use crate::symbols::{Named, Standing};
use std::collections::HashSet;
use std::ops::Range;
use timewise_isa::Control;

/// Drops the labels of `named`, which is sorted, that are places within functions, and gives what is left and has no size
/// the one that its code tells. `code` are the ranges of sections in order, `unwind` the sorted ones of frame descriptions;
/// where direct calls go is only asked for if there is a label of which nothing else tells. `size` is that of the function
/// at an offset, as its code before another one tells.
pub fn drop_inner(
    named: &mut Vec<Named<'_>>,
    code: &[Range<u64>],
    unwind: &[Range<u64>],
    call_targets: impl Fn() -> HashSet<u64>,
    size: impl Fn(u64, u64) -> Option<u64>,
) {
    let mut called = None;
    let mut reach = Reach::default();
    let begins = |symbol: &&Named| symbol.standing > Standing::Label;
    // What a frame description begins is no part of what lies before it, marks behind the last function among that.
    let described = unwind.iter().map(|range| range.start);
    let mut begin: Vec<u64> =
        named.iter().filter(begins).map(|symbol| symbol.offset).chain(described).collect();
    begin.sort_unstable();
    let mut told = HashSet::new();
    named.retain_mut(|symbol| {
        let inner = symbol.standing == Standing::Label
            && (reach.holds(symbol.offset) || is_described_from_before(symbol.offset, unwind))
            && !called.get_or_insert_with(&call_targets).contains(&symbol.offset);
        if !inner {
            if symbol.size == 0 {
                let next = begin.partition_point(|begin| *begin <= symbol.offset);
                let next = begin.get(next).copied().unwrap_or(u64::MAX);
                symbol.size = size(symbol.offset, next).unwrap_or(0);
                told.insert(symbol.offset);
            }
            reach.extend(symbol, code);
        }
        !inner
    });
    // What is called further on was not yet known to begin another.
    for at in 1..named.len() {
        let (offset, next) = (named[at - 1].offset, named[at].offset);
        if told.contains(&offset) {
            named[at - 1].size = named[at - 1].size.min(next - offset);
        }
    }
}

/// How far the functions so far reach.
#[derive(Default)]
struct Reach {
    /// The end of what is known to belong to one.
    covered: u64,
    /// The end of the section in which the last one has no known end; 0 if it has one.
    open: u64,
}

impl Reach {
    fn holds(&self, offset: u64) -> bool {
        offset < self.covered.max(self.open)
    }

    fn extend(&mut self, symbol: &Named, code: &[Range<u64>]) {
        if symbol.size > 0 {
            self.covered = self.covered.max(symbol.offset.saturating_add(symbol.size));
            self.open = 0;
        } else if symbol.offset >= self.covered {
            self.open = holding(code, symbol.offset).map_or(0, |section| section.end);
        }
    }
}

fn is_described_from_before(offset: u64, unwind: &[Range<u64>]) -> bool {
    let before = unwind.partition_point(|range| range.start < offset);
    unwind[..before].last().is_some_and(|range| offset < range.end)
}

/// Where the direct calls in `code` go, which stands at `offset`. Bytes that are no instructions, data
/// between functions, are stepped over.
pub fn call_targets(code: &[u8], offset: u64) -> Vec<u64> {
    let mut targets = Vec::new();
    let mut at = 0;
    while at < code.len() {
        for (length, control) in timewise_isa::boundaries(&code[at..], offset.wrapping_add(at as u64)) {
            at += usize::from(length);
            if let Control::Call { target } = control {
                targets.push(target);
            }
        }
        at += 1;
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that are left of `named`, at 0x100 to 0x120, where 0x110 is called.
    fn kept(named: &[(&'static str, u64, u64, Standing)], unwind: &[Range<u64>]) -> Vec<String> {
        let symbol = |&(name, offset, size, standing): &_| Named { name, offset, size, standing, binding: 0 };
        let mut named: Vec<Named> = named.iter().map(symbol).collect();
        let (code, called) = (0x100..0x120, || [0x110].into());
        drop_inner(&mut named, std::slice::from_ref(&code), unwind, called, |at, _| {
            (at == 0x118).then_some(4)
        });
        named.into_iter().map(|symbol| symbol.name.to_string()).collect()
    }

    #[test]
    fn calls_are_found_behind_bytes_that_are_no_instruction() {
        // Two such bytes, call 0x110, nop.
        let code = [0x06, 0x06, 0xe8, 0x09, 0, 0, 0, 0x90];
        assert_eq!(call_targets(&code, 0x100), [0x110]);
    }

    #[test]
    fn labels_behind_a_function_without_an_end_are_within_it() {
        let named = [
            ("start", 0x100, 0, Standing::Exported),
            ("inner", 0x108, 0, Standing::Label),
            ("called", 0x110, 0, Standing::Label),
            ("last", 0x118, 0, Standing::Label),
        ];
        assert_eq!(kept(&named, &[]), ["start", "called"]);
    }

    #[test]
    fn labels_behind_the_end_that_code_tells_begin_one() {
        let named = [
            ("start", 0x118, 0, Standing::Exported),
            ("inner", 0x11a, 0, Standing::Label),
            ("behind", 0x11c, 0, Standing::Label),
        ];
        assert_eq!(kept(&named, &[]), ["start", "behind"]);
    }

    #[test]
    fn labels_behind_the_end_of_a_function_begin_one() {
        let named = [
            ("open", 0x100, 0, Standing::Function),
            ("closed", 0x104, 8, Standing::Function),
            ("within", 0x108, 0, Standing::Label),
            ("behind", 0x10c, 0, Standing::Label),
            ("last", 0x118, 0, Standing::Label),
        ];
        assert_eq!(kept(&named, &[]), ["open", "closed", "behind"]);
    }

    #[test]
    fn labels_within_a_frame_description_are_no_functions() {
        let named = [("first", 0x104, 0, Standing::Label), ("second", 0x10c, 0, Standing::Label)];
        assert_eq!(kept(&named, std::slice::from_ref(&(0x102..0x10c))), ["second"]);
    }
}
