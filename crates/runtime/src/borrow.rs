//! Instructions whose operand is relative to the program counter and out of reach of the code cache: a
//! register that the instruction does not use is borrowed to hold the operand's address.

use crate::emit::{Code, SCRATCH_SPILL, spill_slot};
use alloc::vec::Vec;
use timewise_isa::unused_registers;

/// Emits `instruction`, whose 4-byte displacement at `at` refers to `target`, with its operand reached
/// through a borrowed register. Returns the position where it is done and the register is to be given
/// back; none, with nothing written, if it has none to spare.
#[must_use]
pub fn out_of_reach(code: &mut Code, instruction: &[u8], at: usize, target: u64) -> Option<usize> {
    let register = unused_registers(instruction).next()?;
    let rewritten = based_on(instruction, at, register)?;
    code.store_any(spill_slot(SCRATCH_SPILL), register);
    code.load_constant(register, target);
    code.raw(&rewritten);
    let done = code.bytes.len();
    code.load_any(register, spill_slot(SCRATCH_SPILL));
    Some(done)
}

/// The instruction with the operand that is relative to the program counter replaced by one whose address
/// is in `register`, which needs no prefix.
fn based_on(instruction: &[u8], at: usize, register: u8) -> Option<Vec<u8>> {
    let mut bytes = instruction[..at - 1].to_vec();
    extend_nothing(&mut bytes)?;
    // `mod` 0, so no displacement.
    bytes.push((instruction[at - 1] & 0x38) | register);
    bytes.extend_from_slice(&instruction[at + 4..]);
    Some(bytes)
}

/// Clears the bit of a prefix that would extend the number of a base register. It means nothing for an
/// operand relative to the program counter, so compilers may leave it set.
pub fn extend_nothing(bytes: &mut [u8]) -> Option<()> {
    let legacy = |byte: &u8| {
        matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3)
    };
    let first = bytes.iter().position(|byte| !legacy(byte))?;
    match bytes[first] {
        // REX: one means extended.
        0x40..=0x4f => bytes[first] &= !0x01,
        // XOP shares its first byte with `pop`, whose second begins otherwise.
        0x8f if bytes.len() > first + 2 && bytes[first + 1] & 0x1f >= 8 => bytes[first + 1] |= 0x20,
        // VEX of three bytes and EVEX: zero means extended.
        0xc4 | 0x62 => bytes[first + 1] |= 0x20,
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(bytes: &[u8]) -> Vec<u8> {
        let instruction = timewise_isa::decode(bytes, 0).expect("valid");
        let (at, _) = instruction.relative_operand.expect("relative");
        based_on(bytes, usize::from(at), 1).expect("a form that is known")
    }

    #[test]
    fn operands_are_replaced_whatever_the_prefix() {
        assert_eq!(rewritten(&[0x48, 0x8b, 0x05, 1, 2, 3, 4]), [0x48, 0x8b, 0x01]); // mov rax, [rcx]
        assert_eq!(rewritten(&[0x4d, 0x8b, 0x05, 1, 2, 3, 4]), [0x4c, 0x8b, 0x01]); // mov r8, [rcx]
        assert_eq!(rewritten(&[0x83, 0x3d, 1, 2, 3, 4, 5]), [0x83, 0x39, 5]); // cmp dword [rcx], 5
        assert_eq!(rewritten(&[0xc5, 0xfd, 0x6f, 0x05, 1, 2, 3, 4]), [0xc5, 0xfd, 0x6f, 0x01]); // vmovdqa
        assert_eq!(rewritten(&[0xc4, 0xc2, 0x7d, 0x18, 0x05, 1, 2, 3, 4]), [0xc4, 0xe2, 0x7d, 0x18, 0x01]);
        assert_eq!(
            rewritten(&[0x62, 0xd1, 0xfd, 0x48, 0x6f, 0x05, 1, 2, 3, 4]),
            [0x62, 0xf1, 0xfd, 0x48, 0x6f, 0x01]
        );
    }

    #[test]
    fn the_borrowed_register_is_given_back() {
        let mut code = Code::at(0x1000);
        let done = out_of_reach(&mut code, &[0x48, 0x8b, 0x0d, 1, 2, 3, 4], 3, 0x7000_0000_0000);
        assert_eq!(done, Some(22));
        let slot = spill_slot(SCRATCH_SPILL).to_le_bytes();
        assert_eq!(code.bytes[..5], [0x65, 0x48, 0x89, 0x14, 0x25]); // mov gs:[slot], rdx
        assert_eq!(code.bytes[5..9], slot);
        assert_eq!(code.bytes[9..11], [0x48, 0xba]); // mov rdx, target
        assert_eq!(code.bytes[19..22], [0x48, 0x8b, 0x0a]); // mov rcx, [rdx]
        assert_eq!(code.bytes[22..27], [0x65, 0x48, 0x8b, 0x14, 0x25]);
        assert_eq!(code.bytes[27..], slot);
    }
}
