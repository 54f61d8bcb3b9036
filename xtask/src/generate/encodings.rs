//! One example of every encoding that the decoder knows, with operands in registers and in memory: found by
//! decoding all combinations of prefixes, opcodes and operand forms, so that no encoder is needed.

use std::collections::BTreeMap;
use timewise_isa::{MAX_LENGTH, decode, form};

/// Which encoding, by its number, and whether it is the form with an operand in memory.
pub type Key = (u16, bool);

/// First bytes that are no opcodes: prefixes, and those of other maps.
const IS_PREFIX: [u8; 31] = [
    0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b,
    0x4c, 0x4d, 0x4e, 0x4f, 0x62, 0x64, 0x65, 0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3,
];

/// Bytes of an instruction for each encoding and form.
pub fn examples() -> BTreeMap<Key, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut head = Vec::new();
    for opcode in 0..=255u8 {
        for map in [&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]] {
            if map.is_empty() && IS_PREFIX.contains(&opcode)
                || map == [0x0f] && [0x38, 0x3a].contains(&opcode)
            {
                continue;
            }
            for prefix in [&[][..], &[0x66], &[0xf3], &[0xf2], &[0xf0], &[0x67]] {
                for rex in [&[][..], &[0x48]] {
                    head.clear();
                    [prefix, rex, map, &[opcode]].into_iter().for_each(|part| head.extend_from_slice(part));
                    operands(&head, &mut found);
                }
            }
        }
        // The second source is register 5, or none. The short form of the prefix first, as assemblers prefer it.
        for second in [0x50, 0x78] {
            for l_pp in 0..8 {
                operands(&[0xc5, 0x80 | second | l_pp, opcode], &mut found);
            }
            for map in 1..=3 {
                for low in 0..16u8 {
                    // W, L and pp.
                    let (w, l_pp) = (low & 8, low & 7);
                    operands(&[0xc4, 0xe0 | map, w << 4 | second | l_pp, opcode], &mut found);
                }
            }
        }
        for map in [1, 2, 3, 5, 6] {
            for low in 0..8u8 {
                for length in 0..3u8 {
                    for (second, mask) in [(0x54, 0), (0x54, 1), (0x7c, 0), (0x7c, 1)] {
                        let p1 = (low & 4) << 5 | second | low & 3;
                        operands(&[0x62, 0xf0 | map, p1, length << 5 | 8 | mask, opcode], &mut found);
                    }
                }
            }
        }
    }
    found
}

/// Tries everything that may follow an opcode.
fn operands(head: &[u8], found: &mut BTreeMap<Key, Vec<u8>>) {
    // The register field, which may be part of the opcode; 2 first, so that operands differ.
    for register in [2, 0, 1, 4, 5, 6, 7, 3] {
        // rbx as a register, [rbx], [rbx+4*vector 1]
        for tail in [&[0xc3][..], &[0x03], &[0x04, 0x8b]] {
            operand(head, register, tail, found);
        }
    }
    // Of x87, and beside it where system instructions stand, the place of a register may be a part of the opcode.
    if matches!(head, [0xd8..=0xdf] | [0x0f, 0x01]) {
        (0..64).for_each(|both| operand(head, both >> 3, &[0xc0 | both & 7], found));
    }
}

/// Tries an operand.
fn operand(head: &[u8], register: u8, tail: &[u8], found: &mut BTreeMap<Key, Vec<u8>>) {
    let mut bytes = head.to_vec();
    bytes.push(register << 3 | tail[0]);
    bytes.extend_from_slice(&tail[1..]);
    bytes.resize(MAX_LENGTH, constant(head));
    let Some(form) = form(&bytes, 0x1000) else { return };
    let Ok(instruction) = decode(&bytes, 0x1000) else { return };
    bytes.truncate(instruction.length.into());
    found.entry((form.encoding, form.memory)).or_insert(bytes);
}

/// What stands in the place of a constant: of blends by a fourth register that register, in the higher half, with nothing
/// in the lower one; else not 1, for which shifts have an encoding of their own.
fn constant(head: &[u8]) -> u8 {
    match head {
        [0xc4, 0xe3, _, 0x4a..=0x4c] => 0x40,
        _ => 2,
    }
}
