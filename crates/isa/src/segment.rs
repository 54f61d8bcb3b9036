//! Instructions that use the `gs` segment, whose base the in-target runtime needs for itself.

use crate::operands::in_replaceable_segment;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// How an instruction uses `gs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GsUse {
    /// `rdgsbase`.
    ReadBase {
        /// The register by number.
        register: u8,
        /// Whether it is written with 64 bits.
        wide: bool,
    },
    /// `wrgsbase`.
    WriteBase {
        /// The register by number.
        register: u8,
        /// Whether all its 64 bits count.
        wide: bool,
    },
    /// The segment register is loaded from a register with a selector; all that programs of 64 bits may load
    /// have a base of 0.
    Load,
    /// Its one operand in memory lies in the segment.
    Operand(GsOperand),
}

/// An operand in the `gs` segment, of an instruction encoded with a ModRM byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GsOperand {
    /// Position of the ModRM byte.
    pub modrm: u8,
    /// Bytes from there to the immediate or the end.
    pub length: u8,
    /// Base register by number.
    pub base: Option<u8>,
    /// Index register by number, and the logarithm of its scale.
    pub index: Option<(u8, u8)>,
    /// Displacement.
    pub displacement: u32,
}

/// Whether an instruction's effect depends on the `gs` base.
pub(crate) fn uses_gs(decoded: &Instruction) -> bool {
    let in_memory = || (0..decoded.op_count()).any(|n| in_replaceable_segment(decoded.op_kind(n)));
    matches!(decoded.mnemonic(), Mnemonic::Rdgsbase | Mnemonic::Wrgsbase | Mnemonic::Lgs)
        || loads_gs(decoded)
        || (decoded.segment_prefix() == Register::GS && decoded.mnemonic() != Mnemonic::Lea && in_memory())
}

/// Whether it is a `mov` or `pop` to `gs`.
fn loads_gs(decoded: &Instruction) -> bool {
    matches!(decoded.mnemonic(), Mnemonic::Mov | Mnemonic::Pop) && decoded.op0_register() == Register::GS
}

/// How the instruction at the start of `bytes` uses `gs`; none if in a way that is too unusual to follow.
pub fn gs_use(bytes: &[u8]) -> Option<GsUse> {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let decoded = decoder.decode();
    let register = || decoded.op0_register().full_register().number() as u8;
    let wide = decoded.op0_register().size() == 8;
    match decoded.mnemonic() {
        Mnemonic::Rdgsbase => return Some(GsUse::ReadBase { register: register(), wide }),
        Mnemonic::Wrgsbase => return Some(GsUse::WriteBase { register: register(), wide }),
        // From memory, or off the stack, is too unusual.
        Mnemonic::Lgs => return None,
        Mnemonic::Mov if loads_gs(&decoded) => {
            return (decoded.op1_kind() == OpKind::Register).then_some(GsUse::Load);
        }
        _ if loads_gs(&decoded) => return None,
        _ => {}
    }
    let number = |register: Register| match register {
        Register::None => Some(None),
        // Not 32 bits of one, not a vector of indexes, not the program counter.
        _ if register.is_gpr64() => Some(Some(register.number() as u8)),
        _ => None,
    };
    let base = number(decoded.memory_base())?;
    let index = number(decoded.memory_index())?;
    let memory = (0..decoded.op_count()).any(|n| decoded.op_kind(n) == OpKind::Memory);
    // What moves the stack pointer computes addresses from the new value, but for a push.
    if !memory || (decoded.is_stack_instruction() && decoded.mnemonic() != Mnemonic::Push) {
        return None;
    }
    let modrm = modrm(&bytes[..decoded.len()])?;
    let sib = usize::from(bytes[modrm] & 7 == 4);
    let short = match bytes[modrm] >> 6 {
        0 if sib == 1 && bytes[modrm + 1] & 7 == 5 => 4,
        0 => 0,
        1 => 1,
        _ => 4,
    };
    Some(GsUse::Operand(GsOperand {
        modrm: modrm as u8,
        length: (1 + sib + short) as u8,
        base,
        index: index.map(|index| (index, decoded.memory_index_scale().trailing_zeros() as u8)),
        displacement: decoded.memory_displacement64() as u32,
    }))
}

/// Position of the ModRM byte of an instruction that has one.
fn modrm(bytes: &[u8]) -> Option<usize> {
    let legacy =
        |b: &u8| matches!(b, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3);
    let mut at = bytes.iter().position(|b| !legacy(b))?;
    match bytes[at] {
        0xc5 => return Some(at + 3),
        0xc4 => return Some(at + 4),
        0x62 => return Some(at + 5),
        0x40..=0x4f => at += 1,
        _ => {}
    }
    match (*bytes.get(at)?, bytes.get(at + 1)) {
        // An address of 64 bits stands in place of it.
        (0xa0..=0xa3, _) => None,
        (0x0f, Some(0x38 | 0x3a)) => Some(at + 3),
        (0x0f, _) => Some(at + 2),
        _ => Some(at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_taken_apart() {
        let operand = |bytes: &[u8]| match gs_use(bytes) {
            Some(GsUse::Operand(operand)) => operand,
            other => panic!("{other:?}"),
        };
        let plain = operand(&[0x65, 0x48, 0x8b, 0x04, 0x25, 0x10, 0, 0, 0]); // mov rax, gs:[16]
        assert_eq!((plain.modrm, plain.length, plain.base, plain.displacement), (3, 6, None, 16));
        let scaled = operand(&[0x65, 0x43, 0x83, 0x44, 0xb5, 0xf8, 5]); // add dword gs:[r13+r14*4-8], 5
        assert_eq!((scaled.base, scaled.index, scaled.length), (Some(13), Some((14, 2)), 3));
        assert_eq!(scaled.displacement, -8i32 as u32);
        let pushed = operand(&[0x65, 0xff, 0x34, 0x25, 0x10, 0, 0, 0]); // push gs:[16]
        assert_eq!((pushed.modrm, pushed.displacement), (2, 16));
        assert_eq!(gs_use(&[0x65, 0x8f, 0x04, 0x25, 0x10, 0, 0, 0]), None); // pop gs:[16]
        assert_eq!(gs_use(&[0x65, 0xa4]), None); // movsb from gs
        assert_eq!(gs_use(&[0x65, 0x67, 0x8b, 0x00]), None); // mov eax, gs:[eax]
        assert_eq!(gs_use(&[0x65, 0x48, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        let write = GsUse::WriteBase { register: 9, wide: true };
        assert_eq!(gs_use(&[0xf3, 0x49, 0x0f, 0xae, 0xd9]), Some(write)); // wrgsbase r9
        assert_eq!(gs_use(&[0x8e, 0xe8]), Some(GsUse::Load)); // mov gs, eax
        assert_eq!(gs_use(&[0x8e, 0x28]), None); // mov gs, [rax]
        assert_eq!(gs_use(&[0x0f, 0xa9]), None); // pop gs
        let fs = crate::decode(&[0x8e, 0xe0], 0).unwrap(); // mov fs, eax
        assert!(!fs.uses_gs);
    }
}
