//! Code that may change unseen is compared, whenever control comes to it, with what it was translated
//! from.
//!
//! What many programs rewrite most is the constant of a `mov`: it is read from the program's code each
//! time, as data, and needs no comparison.

use crate::emit::{Borrowed, Code, FLAGS_SPILL, SCRATCH_SPILL, SPILL, spill_slot};
use alloc::vec::Vec;
use core::ops::Range;
use timewise_isa::FlagSet;

/// `lahf` and `seto al`.
const TAKE_FLAGS: [u8; 4] = [0x9f, 0x0f, 0x90, 0xc0];

/// `add al, 0x7f`, which overflows if `al` is 1, and `sahf`.
pub const GIVE_FLAGS: [u8; 3] = [0x04, 0x7f, 0x9e];

/// From how many bytes of a comparison on the flags are kept.
pub const KEPT: usize = 2 * SPILL + TAKE_FLAGS.len();

/// Bytes of what [`give_back`] writes.
pub const GIVEN_BACK: usize = 2 * SPILL + GIVE_FLAGS.len();

/// The flags that `lahf` takes, of the byte above the lowest, and where that of an overflow is.
const LOW_FLAGS: u64 = 0xd5;
const OVERFLOW: u64 = 0x800;

/// Bytes that are compared by one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    at: usize,
    size: usize,
}

/// Divides `length` bytes at `source`, but those of `free`, into pieces of `most` bytes at most. Each is aligned in
/// memory: a program may have asked that accesses which are not shall fault.
fn pieces(source: u64, length: usize, free: &[Range<usize>], most: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < length {
        if let Some(range) = free.iter().find(|range| range.contains(&at)) {
            at = range.end;
            continue;
        }
        let end = free.iter().map(|range| range.start).filter(|&start| start > at).min();
        let room = end.unwrap_or(length).min(length) - at;
        let aligned = |size: usize| (source + at as u64).is_multiple_of(size as u64);
        let fits = |&size: &usize| size <= room.min(most) && aligned(size);
        let size = [8, 4, 2, 1].into_iter().find(fits).unwrap_or(1);
        pieces.push(Piece { at, size });
        at += size;
    }
    pieces
}

/// Emits the comparison of the code at `source` with `bytes`, but for those of `free`. Returns the
/// displacements of the branches that are taken if they differ; there [`give_back`] must come first, as which flags are
/// alive is up to the code that stands there now. If they do not, `live` flags are as before.
pub fn emit(code: &mut Code, source: u64, bytes: &[u8], free: &[Range<usize>], live: FlagSet) -> Vec<usize> {
    code.store(spill_slot(SCRATCH_SPILL), Borrowed::Rax);
    code.raw(&TAKE_FLAGS);
    code.store(spill_slot(FLAGS_SPILL), Borrowed::Rax);
    let most = if code.reaches(source) { 8 } else { 4 };
    let mut failures = Vec::new();
    for Piece { at, size } in pieces(source, bytes.len(), free, most) {
        failures.push(compare(code, source + at as u64, &bytes[at..at + size]));
    }
    if live.is_empty() {
        code.load(Borrowed::Rax, spill_slot(SCRATCH_SPILL));
    } else {
        give_back(code);
    }
    failures
}

/// Gives back what a comparison borrows: the flags and `rax`.
pub fn give_back(code: &mut Code) {
    code.load(Borrowed::Rax, spill_slot(FLAGS_SPILL));
    code.raw(&GIVE_FLAGS);
    code.load(Borrowed::Rax, spill_slot(SCRATCH_SPILL));
}

/// The flags that a comparison kept, put into others.
pub fn flags(kept: u64, others: u64) -> u64 {
    others & !(LOW_FLAGS | OVERFLOW) | kept >> 8 & LOW_FLAGS | if kept & 1 == 1 { OVERFLOW } else { 0 }
}

/// Compares what is at an address, with `rax` borrowed, and branches if it differs.
fn compare(code: &mut Code, place: u64, bytes: &[u8]) -> usize {
    /// `jne`.
    const UNEQUAL: u8 = 0x05;
    let opcode: &[u8] = match bytes.len() {
        8 => &[0x48, 0x3b], // cmp rax, [place]
        4 => &[0x81],       // cmp dword [place], number
        2 => &[0x66, 0x81],
        _ => &[0x80],
    };
    if let Ok(word) = bytes.try_into().map(u64::from_le_bytes) {
        code.load_constant(Borrowed::Rax as u8, word);
        code.relative(&[opcode, &[0x05]].concat(), place, &[]);
    } else if code.reaches(place) {
        code.relative(&[opcode, &[0x3d]].concat(), place, bytes);
    } else {
        code.load_constant(Borrowed::Rax as u8, place);
        code.raw(&[opcode, &[0x38], bytes].concat()); // by [rax]
    }
    code.plain_branch_here(UNEQUAL)
}

/// The bytes of the constant within an instruction that loads one, if [`load_constant`] can do without.
pub fn constant(bytes: &[u8]) -> Option<Range<usize>> {
    match *bytes {
        [0xb8..=0xbf, _, _, _, _] => Some(1..5),
        // Without `W` the prefix only names the register; with it, 8 bytes follow.
        [prefix, 0xb8..=0xbf, ..] if prefix & 0xf8 == 0x40 && bytes.len() == 6 => Some(2..6),
        [prefix, 0xb8..=0xbf, ..] if prefix & 0xf8 == 0x48 && bytes.len() == 10 => Some(2..10),
        _ => None,
    }
}

/// Emits the instruction with its constant read from `place`, where the program has it.
pub fn load_constant(code: &mut Code, bytes: &[u8], place: u64) {
    let (prefix, opcode) = match *bytes {
        [prefix, opcode, ..] if prefix & 0xf0 == 0x40 => (prefix, opcode),
        _ => (0x40, bytes[0]),
    };
    // The register's fourth bit moves from the prefix's `B` to its `R`.
    let prefix = 0x40 | (prefix & 0x08) | (prefix & 0x01) << 2;
    code.relative(&[prefix, 0x8b, (opcode & 7) << 3 | 5], place, &[]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_but_the_free_is_compared_once() {
        for (source, length) in (0..8).flat_map(|source| (1..24).map(move |length| (source, length))) {
            for start in 0..length {
                for end in start + 1..=length {
                    let free = alloc::vec![start..end];
                    let mut compared = alloc::vec![0; length];
                    for Piece { at, size } in pieces(source, length, &free, 8) {
                        assert!((source + at as u64).is_multiple_of(size as u64));
                        compared[at..at + size].iter_mut().for_each(|times| *times += 1);
                    }
                    for (at, &times) in compared.iter().enumerate() {
                        assert_eq!(times, i32::from(!free[0].contains(&at)), "{source} {length} {free:?}");
                    }
                }
            }
        }
        assert_eq!(pieces(0, 17, &[], 8).len(), 3);
        assert_eq!(pieces(4, 17, &[], 4).len(), 5);
    }

    #[test]
    fn all_flags_of_arithmetic_are_kept() {
        // `lahf` takes the second lowest bit as 1.
        for (kept, flags_then) in [(0xd701, 0x8d5), (0x0200, 0), (0x4200, 0x40), (0x0201, 0x800)] {
            assert_eq!(flags(kept, 0x246), 0x202 | flags_then);
            assert_eq!(flags(kept, 0xad7), 0x202 | flags_then);
        }
    }

    #[test]
    fn constants_are_found_and_read() {
        let forms: [(&[u8], Range<usize>, [u8; 3]); 4] = [
            (&[0xb8, 1, 2, 3, 4], 1..5, [0x40, 0x8b, 0x05]),
            (&[0x41, 0xbb, 1, 2, 3, 4], 2..6, [0x44, 0x8b, 0x1d]),
            (&[0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8], 2..10, [0x48, 0x8b, 0x0d]),
            (&[0x49, 0xbf, 1, 2, 3, 4, 5, 6, 7, 8], 2..10, [0x4c, 0x8b, 0x3d]),
        ];
        for (bytes, range, want) in forms {
            assert_eq!(constant(bytes), Some(range));
            let mut code = Code::at(0x1000);
            load_constant(&mut code, bytes, 0x2000);
            assert_eq!(code.bytes[..3], want);
            assert_eq!(code.bytes[3..], 0xff9u32.to_le_bytes());
        }
        assert_eq!(constant(&[0x66, 0xb8, 1, 2]), None);
    }
}
