//! The instructions that compilers write most, decoded by tables of a few hundred bytes: a program's code is decoded
//! while it waits, and for each instruction that is translated others are looked at.
//!
//! Says nothing of all others, for which [`crate::decode()`] asks the library; and never anything else than that would.

mod forms;

use crate::decode::{Control, Instruction, MAX_LENGTH};
use crate::flags::FlagSet;
use forms::{Form, ONE, PRODUCT, TWO, TWO_66, TWO_F2, TWO_F3};

/// Flags that a condition reads, by its number without the last bit, which turns it round.
const CONDITIONS: [FlagSet; 8] = [
    FlagSet::OVERFLOW,
    FlagSet::CARRY,
    FlagSet::ZERO,
    FlagSet::CARRY.union(FlagSet::ZERO),
    FlagSet::SIGN,
    FlagSet::PARITY,
    FlagSet::SIGN.union(FlagSet::OVERFLOW),
    FlagSet::SIGN.union(FlagSet::OVERFLOW).union(FlagSet::ZERO),
];

/// Decodes the instruction at the start of `bytes`, which stand at `address`, if it is one of those.
pub fn quick(bytes: &[u8; MAX_LENGTH], address: u64) -> Option<Instruction> {
    let first = bytes[0];
    let prefix = matches!(first, 0x66 | 0xf2 | 0xf3);
    let mut at = usize::from(prefix);
    let rex = if bytes[at] & 0xf0 == 0x40 { bytes[at] } else { 0 };
    at += usize::from(rex != 0);
    let mut opcode = bytes[at];
    let is_short = opcode != 0x0f;
    let mut form = if !is_short {
        at += 1;
        opcode = bytes[at];
        let forms = match first {
            0x66 => &TWO_66,
            0xf2 => &TWO_F2,
            0xf3 if bytes[..4] == [0xf3, 0x0f, 0x1e, 0xfa] => return Some(plain(address, 4)), // endbr64
            0xf3 => &TWO_F3,
            _ => &TWO,
        };
        forms[usize::from(opcode)]
    } else {
        let form = ONE[usize::from(opcode)];
        // Of these, some work on 16 bits by the prefix: those that have no immediate of that size, and go on.
        if prefix && (first != 0x66 || !form.has(Form::OPERAND) || form.has(Form::WORD)) {
            return None;
        }
        form
    };
    at += 1;
    if !form.is_told() {
        return None;
    }
    let mut control = Control::Next;
    if form.has(Form::GROUP) {
        (form, control) = member(form, is_short, (first, opcode), &bytes[at..])?;
    }
    let mut relative = None;
    if form.has(Form::OPERAND) {
        let operand = bytes[at];
        at += 1;
        let (mode, base) = (operand >> 6, operand & 7);
        let mut displacement = match mode {
            1 => 1,
            2 => 4,
            _ => 0,
        };
        if mode != 3 && base == 4 {
            // A byte with base and index.
            displacement = if mode == 0 && bytes[at] & 7 == 5 { 4 } else { displacement };
            at += 1;
        } else if mode == 0 && base == 5 {
            relative = Some(at);
            displacement = 4;
        }
        at += displacement;
    }
    let immediate = at;
    at += usize::from(form.has(Form::BYTE));
    at += 4 * usize::from(form.has(Form::WORD));
    if is_short && opcode & 0xf8 == 0xb8 && rex & 8 != 0 {
        at += 4; // the only immediate of 8 bytes
    }
    let next = address.wrapping_add(at as u64);
    let word = |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if form.has(Form::TRANSFER) {
        if rex != 0 || prefix {
            return None;
        }
        let distance =
            if form.has(Form::WORD) { word(immediate).into() } else { i64::from(bytes[immediate] as i8) };
        let target = next.wrapping_add_signed(distance);
        control = match opcode {
            _ if form.has(Form::CONDITION) => Control::Branch { target, condition: opcode & 15 },
            0x90 => Control::Next,
            0xc3 => Control::Return { discard: 0 },
            0xe8 => Control::Call { target },
            _ => Control::Jump { target },
        };
    }
    let condition =
        if form.has(Form::CONDITION) { CONDITIONS[usize::from(opcode >> 1 & 7)] } else { FlagSet::NONE };
    let carry = if form.has(Form::CARRY_IN) { FlagSet::CARRY } else { FlagSet::NONE };
    Some(Instruction {
        control,
        flags_read: condition.union(carry),
        flags_written: form.written(),
        relative_operand: relative.map(|at| (at as u8, next.wrapping_add_signed(word(at).into()))),
        ..plain(address, at as u8)
    })
}

/// An instruction of so many bytes that does nothing to flags and goes on.
fn plain(address: u64, length: u8) -> Instruction {
    Instruction {
        address,
        length,
        control: Control::Next,
        flags_read: FlagSet::NONE,
        flags_written: FlagSet::NONE,
        relative_operand: None,
        uses_gs: false,
        repeats: false,
    }
}

/// Which instruction of a group it is, by what follows the opcode, and where control goes after it.
fn member(form: Form, is_short: bool, (first, opcode): (u8, u8), rest: &[u8]) -> Option<(Form, Control)> {
    let number = rest[0] >> 3 & 7;
    let in_memory = rest[0] < 0xc0;
    let next = |form: Form| Some((form, Control::Next));
    match (is_short, opcode) {
        (true, 0x80 | 0x81 | 0x83) if matches!(number, 2 | 3) => next(form.with(Form::CARRY_IN)),
        (true, 0x80 | 0x81 | 0x83) => next(form),
        (true, 0x8d) if in_memory => next(form),
        (true, 0xc6 | 0xc7) if number == 0 => next(form),
        (true, 0xc0 | 0xc1) if in_memory => None, // the count stands further on
        (true, 0xc0 | 0xc1 | 0xd0 | 0xd1) if matches!(number, 4 | 5 | 7) => {
            let shifted = FlagSet::ALL.without(FlagSet::AUXILIARY);
            match if opcode & 0x10 == 0 { rest[1] } else { 1 } {
                0 | 0x20 => next(form),
                1 => next(form.writes(shifted)),
                // Of narrow operands' only five bits count.
                0x21 | 0x40.. => None,
                _ => next(form.writes(shifted.without(FlagSet::OVERFLOW))),
            }
        }
        (true, 0xf6 | 0xf7) => match number {
            0 if first == 0x66 => None,
            0 => next(form.with(if opcode == 0xf6 { Form::BYTE } else { Form::WORD }).writes(FlagSet::ALL)),
            2 | 6 | 7 => next(form),
            3 => next(form.writes(FlagSet::ALL)),
            4 | 5 => next(form.writes(PRODUCT)),
            _ => None,
        },
        (true, 0xfe | 0xff) if number < 2 => next(form.writes(FlagSet::WRITTEN_BY_INC)),
        (true, 0xff) if first != 0x66 => match number {
            2 => Some((form, Control::IndirectCall)),
            4 => Some((form, Control::IndirectJump)),
            6 => next(form),
            _ => None,
        },
        (false, 0x1f) if number == 0 => next(form),
        (false, 0xba) if number >= 4 => next(form),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::by_library;

    /// Every opcode with every prefix and ModRM bytes of all kinds, and what follows made at random.
    #[test]
    fn says_what_the_library_says() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed.to_be_bytes()
        };
        let mut told = 0_u32;
        for prefix in [0, 0x66, 0xf2, 0xf3] {
            for rex in 0x3f..0x50_u8 {
                for opcode in 0..512_u16 {
                    for operand in (0..=255).step_by(8) {
                        let [a, b] = [random(), random()];
                        let operand = operand | (b[7] & 7);
                        let mut bytes = [0; MAX_LENGTH];
                        let mut at = 0;
                        let mut put = |byte: u8, is_there: bool| {
                            bytes[at] = byte;
                            at += usize::from(is_there);
                        };
                        put(prefix, prefix != 0);
                        put(rex, rex >= 0x40);
                        put(0x0f, opcode >= 256);
                        put(opcode as u8, true);
                        put(operand, true);
                        for byte in a.into_iter().chain(b).take(MAX_LENGTH - at) {
                            bytes[at] = byte;
                            at += 1;
                        }
                        let Some(quick) = quick(&bytes, 0x1234_5678) else { continue };
                        told += 1;
                        let library = by_library(&bytes, 0x1234_5678).ok();
                        assert_eq!(Some(quick), library, "{bytes:x?}");
                    }
                }
            }
        }
        assert!(told > 100_000, "{told}");
    }

    #[test]
    fn most_of_a_function_is_told() {
        // push rbp; mov rbp,rsp; lea rdi,[rip+8]; cmp dword [rbx+16],5; jne; call; movzx eax,byte [rsi]; shl eax,4; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x3d, 8, 0, 0, 0, 0x83, 0x7b, 0x10, 5, 0x75, 0xf0, 0xe8, 0,
            0, 0, 0, 0x0f, 0xb6, 0x06, 0xc1, 0xe0, 4, 0xc3,
        ];
        let mut at = 0;
        while at < code.len() {
            let mut bytes = [0; MAX_LENGTH];
            bytes.iter_mut().zip(&code[at..]).for_each(|(to, from)| *to = *from);
            at += usize::from(quick(&bytes, 0).unwrap().length);
        }
        assert_eq!(at, code.len());
    }
}
