//! Branches as `perf script -F ip,brstack --show-mmap-events` prints them: of all texts that `llvm-profgen` reads the
//! one in which it looks for stretches of code that cannot be.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// What a stretch begins or ends with that has no branch within the program: an address that is none of its.
const ELSEWHERE: u64 = 1;

/// A sample of two branches for each stretch of straight code: the branch that led there and the one at its end.
/// `unsymbolized` has them as `timewise export --to llvm-profgen` writes them.
///
/// # Errors
/// If that text is not as expected, or the program has no code.
pub fn of(unsymbolized: &str, binary: &Path) -> Result<String> {
    let (stretches, branches) = sections(unsymbolized).context("not what llvm-profgen reads")?;
    let leaves: BTreeMap<u64, u64> = branches.iter().copied().collect();
    let enters: BTreeMap<u64, u64> = branches.iter().map(|&(from, to)| (to, from)).collect();
    let mut text = mapping(binary)?;
    for (start, end) in stretches {
        let came_from = enters.get(&start).unwrap_or(&ELSEWHERE);
        let goes_to = leaves.get(&end).unwrap_or(&ELSEWHERE);
        // Newest first. Writing to a string does not fail.
        let _ = writeln!(text, " {end:x} {end:#x}/{goes_to:#x}/P/-/-/0 {came_from:#x}/{start:#x}/P/-/-/0");
    }
    Ok(text)
}

/// Stretches of straight code, and branches: pairs of addresses.
type Pairs = Vec<(u64, u64)>;

fn sections(text: &str) -> Option<(Pairs, Pairs)> {
    let pair = |line: &str, between: &str| {
        let (start, end) = line.split_once(':')?.0.split_once(between)?;
        Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
    };
    let mut lines = text.lines();
    let mut section = |between| {
        let size = lines.next()?.parse().ok()?;
        lines.by_ref().take(size).map(|line| pair(line, between)).collect::<Option<Pairs>>()
    };
    Some((section("-")?, section("->")?))
}

/// The event of the mapping of a program's code, as if it had been loaded where it was linked to.
fn mapping(binary: &Path) -> Result<String> {
    const PAGE: u64 = 0x1000;
    let listed = Command::new("readelf").arg("-lW").arg(binary).output().context("readelf")?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let (offset, address, size) =
        listed.lines().find_map(code).with_context(|| format!("{} has no code", binary.display()))?;
    let [start, offset, end] = [address & !(PAGE - 1), offset & !(PAGE - 1), address + size];
    let size = (end - start).next_multiple_of(PAGE);
    let path = binary.display();
    Ok(format!("PERF_RECORD_MMAP2 1/1: [{start:#x}({size:#x}) @ {offset:#x} 00:00 1 0]: r-xp {path}\n"))
}

/// Offset, address and size in the file of what is loaded to be executed, from a line of `readelf -lW`.
fn code(line: &str) -> Option<(u64, u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &&str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    match words[..] {
        ["LOAD", offset, address, _, size, _, "R", "E", _] => {
            Some((number(&offset)?, number(&address)?, number(&size)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_pairs() {
        let found = sections("2\n1d6b-1d7f:3\n1d84-1d90:5\n1\n1c84->1d6b:5\n");
        assert_eq!(found, Some((vec![(0x1d6b, 0x1d7f), (0x1d84, 0x1d90)], vec![(0x1c84, 0x1d6b)])));
        assert_eq!(sections("1\nthis\n0\n"), None);
    }

    #[test]
    fn code_is_what_is_loaded_to_be_executed() {
        let line =
            "  LOAD           0x001000 0x0000000000401000 0x0000000000401000 0x000639 0x000639 R E 0x1000";
        assert_eq!(code(line), Some((0x1000, 0x40_1000, 0x639)));
        assert_eq!(code(&line.replace("R E", "RW ")), None);
    }
}
