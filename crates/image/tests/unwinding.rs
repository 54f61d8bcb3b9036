//! Rules against `readelf`, which reads the same tables by itself.

use crate::programs::{build, c_library, hex, run};
use std::path::Path;
use timewise_image::{Image, Registers, Stop, UnwindTable};

/// DWARF's order.
const NAMES: [&str; 16] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// A value of its own for each register, and for each word of memory.
fn register(name: &str) -> u64 {
    let number = NAMES.iter().position(|known| *known == name).unwrap() as u64;
    // The stack lies below what other registers point to, so that each may hold a frame address.
    if name == "rsp" { 0x10_0000 } else { 0x20_0000 + (number << 12) }
}

fn word(address: u64) -> u64 {
    address ^ 0x5555_0000_0000
}

/// A cell such as `rsp+16`, `c-24`, `u` or `exp`: the value, if it can be told.
fn distance(cell: &str) -> Option<(&str, i64)> {
    let at = cell.find(['+', '-'])?;
    Some((&cell[..at], cell[at..].parse().ok()?))
}

/// Compares a row of the interpreted table; false if it holds a calculation.
fn compare(table: &mut UnwindTable, columns: &[&str], row: &[&str]) -> bool {
    let Some((base, offset)) = distance(row[1]) else { return false };
    let frame = register(base).wrapping_add_signed(offset);
    let at = hex(row[0]);
    let rule = table.rule(at).unwrap_or_else(|| panic!("no rule at {at:#x}"));
    let registers = Registers::new(at, NAMES.map(register));
    let step = rule.follow(&registers, |address| Some(word(address)));
    let return_cell = row[row.len() - 1];
    if return_cell == "u" {
        assert_eq!(step, Err(Stop::Outermost), "{row:?}");
        return true;
    }
    let caller = step.unwrap_or_else(|stop| panic!("{row:?} led to {stop:?}"));
    // Where a whole context is put back, the stack pointer is part of it.
    let stack_pointer = columns.iter().position(|name| *name == "rsp").and_then(|at| distance(row[at]));
    let expected = stack_pointer.map_or(frame, |(_, offset)| word(frame.wrapping_add_signed(offset)));
    assert_eq!(caller.stack_pointer(), expected, "{row:?}");
    for (&name, &cell) in columns.iter().zip(row).skip(2).filter(|(name, _)| ["rbp", "ra"].contains(*name)) {
        let found = if name == "ra" { Some(caller.ip) } else { caller.frame_pointer() };
        match distance(cell) {
            Some(("c", offset)) => {
                let place = frame.wrapping_add_signed(offset);
                let taken_back = name == "rbp" && place < registers.stack_pointer();
                let expected = if taken_back { register("rbp") } else { word(place) };
                assert_eq!(found, Some(expected), "{name} in {row:?}");
            }
            _ if cell == "u" && name == "rbp" => assert!(found.is_none() || found == Some(register("rbp"))),
            _ => {}
        }
    }
    true
}

fn agree(path: &Path, at_least: usize) {
    let image = Image::open(path).unwrap();
    let mut table = UnwindTable::of(&image).unwrap();
    let text = run(
        "readelf",
        ["--debug-dump=no-follow-links", "--debug-dump=frames-interp", path.to_str().unwrap()],
    );
    let text = text.split("Contents of the .debug_frame").next().unwrap();
    let (mut columns, mut compared, mut common) = (Vec::new(), 0, false);
    for line in text.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells[..] {
            ["LOC", ..] => columns = cells,
            // The common part's own row is of no code.
            [_, _, _, "CIE", ..] => common = true,
            [_, _, _, "FDE", ..] => common = false,
            [at, ..] if !common && cells.len() == columns.len() && at.len() == 16 => {
                compared += usize::from(compare(&mut table, &columns, &cells));
            }
            _ => {}
        }
    }
    assert!(compared >= at_least, "only {compared} rows of {}", path.display());
}

#[test]
fn rules_are_those_that_readelf_shows() {
    let directory = tempfile::tempdir().unwrap();
    agree(&build(directory.path(), "plain", &["-O2"]), 10);
    agree(&build(directory.path(), "static", &["-O2", "-static"]), 1000);
    agree(&c_library(), 10_000);
}

#[test]
fn the_kernels_code_has_rules() {
    let image = Image::vdso().unwrap();
    let mut table = UnwindTable::of(&image).unwrap();
    let code = image.segments().executable().next().unwrap();
    assert!(code.filter(|&offset| table.rule(offset).is_some()).count() > 500);
}

#[test]
fn code_outside_of_the_table_has_none() {
    let mut table = UnwindTable::of(&Image::open(&c_library()).unwrap()).unwrap();
    assert_eq!(table.rule(0), None);
    assert_eq!(table.rule(u64::MAX), None);
}
