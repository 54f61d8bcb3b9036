//! Code that may change unseen is compared, whenever control comes to it, with what it was translated
//! from.
//!
//! What many programs rewrite most is the constant of a `mov`: it is read from the program's code each
//! time, as data, and needs no comparison.

use crate::emit::{Borrowed, Code, SCRATCH_SPILL, spill_slot};
use alloc::vec::Vec;
use core::ops::Range;

/// Bytes that are compared by one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    at: usize,
    size: usize,
}

/// Divides `length` bytes at `source`, but those of `free`, into pieces. Each is aligned in memory: a
/// program may have asked that accesses which are not shall fault.
fn pieces(source: u64, length: usize, free: &[Range<usize>]) -> Vec<Piece> {
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
        let size = [4, 2, 1].into_iter().find(|&size| size <= room && aligned(size)).unwrap_or(1);
        pieces.push(Piece { at, size });
        at += size;
    }
    pieces
}

/// Emits the comparison of the code at `source` with `bytes`, but for those of `free`. Returns the
/// displacements of the jumps that are taken if they differ; `rcx` is borrowed there. No flag is changed: which
/// are alive is up to the code that stands there now.
pub fn emit(code: &mut Code, source: u64, bytes: &[u8], free: &[Range<usize>]) -> Vec<usize> {
    code.store(spill_slot(SCRATCH_SPILL), Borrowed::Rcx);
    let mut failures = Vec::new();
    for Piece { at, size } in pieces(source, bytes.len(), free) {
        let mut value = [0; 4];
        value[..size].copy_from_slice(&bytes[at..at + size]);
        failures.push(compare(code, source + at as u64, size, u32::from_le_bytes(value)));
    }
    code.load(Borrowed::Rcx, spill_slot(SCRATCH_SPILL));
    failures
}

/// Compares in `rcx`, and jumps if it differs.
fn compare(code: &mut Code, place: u64, size: usize, value: u32) -> usize {
    let load: &[u8] = match size {
        4 => &[0x8b],       // mov ecx, [place]
        2 => &[0x0f, 0xb7], // movzx ecx, word [place]
        _ => &[0x0f, 0xb6], // movzx ecx, byte [place]
    };
    if code.reaches(place) {
        code.relative(&[load, &[0x0d]].concat(), place, &[]);
    } else {
        code.load_constant(Borrowed::Rcx as u8, place);
        code.raw(load);
        code.raw(&[0x09]); // by [rcx]
    }
    code.raw(&[0x8d, 0x89]); // lea ecx, [rcx-value]
    code.raw(&value.wrapping_neg().to_le_bytes());
    code.raw(&[0xe3, 5]); // jrcxz over the jump
    code.plain_jump_here()
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
                    for Piece { at, size } in pieces(source, length, &free) {
                        assert!((source + at as u64).is_multiple_of(size as u64));
                        compared[at..at + size].iter_mut().for_each(|times| *times += 1);
                    }
                    for (at, &times) in compared.iter().enumerate() {
                        assert_eq!(times, i32::from(!free[0].contains(&at)), "{source} {length} {free:?}");
                    }
                }
            }
        }
        assert_eq!(pieces(0, 9, &[]).len(), 3);
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
