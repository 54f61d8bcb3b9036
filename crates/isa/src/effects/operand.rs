//! Operands of an instruction in their order, and what they make of each other.

use crate::operands::in_memory;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register, or the lower part of one.
    Register {
        /// The number of its storage; of a vector register, of its lower 16 bytes.
        storage: u8,
        /// Bytes of it.
        bytes: u8,
    },
    /// Bits 8 to 15 of a general-purpose register.
    HighByte {
        /// The number of its storage.
        storage: u8,
    },
    /// In memory.
    Memory,
    /// A constant.
    Constant(u64),
}

/// What an instruction computes, as far as values can be followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// The last operand, as so many bytes, is what the first is then; above these are zeros.
    Move {
        /// Bytes moved.
        bytes: u8,
    },
    /// A constant is added to the first operand, a register of 8 bytes.
    Add(i64),
    /// The first operand, a register, is the address that the memory operand has, or its lower half.
    Address,
    /// Zero, whatever the operands are.
    Zero,
    /// Something else, the same each time that operands are the same.
    Other,
}

pub(super) fn operands(instruction: &Instruction) -> [Option<Operand>; 5] {
    core::array::from_fn(|n| {
        let n = n as u32;
        if n >= instruction.op_count() {
            return None;
        }
        match instruction.op_kind(n) {
            OpKind::Register => Some(register(instruction.op_register(n))),
            kind if in_memory(kind) => Some(Operand::Memory),
            kind if is_constant(kind) => Some(Operand::Constant(instruction.immediate(n))),
            _ => None,
        }
    })
}

fn is_constant(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(
        kind,
        Immediate8
            | Immediate8_2nd
            | Immediate16
            | Immediate32
            | Immediate64
            | Immediate8to16
            | Immediate8to32
            | Immediate8to64
            | Immediate32to64
    )
}

fn register(register: Register) -> Operand {
    if matches!(register, Register::AH | Register::BH | Register::CH | Register::DH) {
        return Operand::HighByte { storage: register.full_register().number() as u8 };
    }
    let storage = super::Storages::of(register).iter().next().unwrap_or(0);
    Operand::Register { storage, bytes: register.size() as u8 }
}

pub(super) fn operation(instruction: &Instruction, is_idiom: bool) -> Operation {
    use Mnemonic::*;
    let in_general = |n: u32| {
        instruction.op_count() > n
            && instruction.op_kind(n) == OpKind::Register
            && instruction.op_register(n).is_gpr64()
    };
    let constant = || is_constant(instruction.op1_kind()).then(|| instruction.immediate(1) as i64);
    let is_scalar_of_memory = || (0..instruction.op_count()).any(|n| in_memory(instruction.op_kind(n)));
    match instruction.mnemonic() {
        Xor | Sub | Pxor | Vpxor | Xorps | Xorpd | Vxorps | Vxorpd if is_idiom => Operation::Zero,
        Add if in_general(0) => constant().map_or(Operation::Other, Operation::Add),
        Sub if in_general(0) => {
            constant().map_or(Operation::Other, |value| Operation::Add(value.wrapping_neg()))
        }
        Inc if in_general(0) => Operation::Add(1),
        Dec if in_general(0) => Operation::Add(-1),
        Lea if instruction.op0_register().size() >= 4 => Operation::Address,
        Mov | Movzx | Movd | Movq | Movaps | Movapd | Movups | Movupd | Movdqa | Movdqu => moved(instruction),
        Movss | Movsd if is_scalar_of_memory() => moved(instruction),
        _ => Operation::Other,
    }
}

fn moved(instruction: &Instruction) -> Operation {
    let bytes = |n: u32| match instruction.op_kind(n) {
        OpKind::Register => instruction.op_register(n).size(),
        kind if in_memory(kind) => instruction.memory_size().size(),
        _ => usize::MAX,
    };
    let of_mm = |n: u32| instruction.op_kind(n) == OpKind::Register && instruction.op_register(n).is_mm();
    if instruction.op_count() != 2 || of_mm(0) || of_mm(1) {
        return Operation::Other;
    }
    match instruction.mnemonic() {
        // Between vector registers too, only the lower half is moved.
        Mnemonic::Movq => Operation::Move { bytes: 8 },
        _ => Operation::Move { bytes: bytes(0).min(bytes(1)) as u8 },
    }
}
