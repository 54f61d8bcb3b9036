//! Operands: reading and writing them.

use super::state::{Memory, State, part};
use iced_x86::{Instruction, OpKind, Register};

/// Where an operand is.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    /// In a register.
    Register(Register),
    /// In memory.
    Memory(u64),
    /// In the instruction.
    Immediate(u64),
}

/// An operand and its size in bytes.
pub(super) fn operand(decoded: &Instruction, number: u32, state: &State) -> Option<(Operand, usize)> {
    match decoded.op_kind(number) {
        OpKind::Register => {
            let register = decoded.op_register(number);
            Some((Operand::Register(register), part(register)?.size))
        }
        OpKind::Memory => {
            let size = decoded.memory_size().size();
            let at = address(decoded, number, state)?;
            (1..=8).contains(&size).then_some((Operand::Memory(at), size))
        }
        kind => {
            let value = decoded.try_immediate(number).ok()?;
            let size = match kind {
                OpKind::Immediate8 | OpKind::Immediate8_2nd => 1,
                OpKind::Immediate16 | OpKind::Immediate8to16 => 2,
                OpKind::Immediate32 | OpKind::Immediate8to32 => 4,
                _ => 8,
            };
            Some((Operand::Immediate(value), size))
        }
    }
}

/// The address of an operand in memory.
pub(crate) fn address(decoded: &Instruction, number: u32, state: &State) -> Option<u64> {
    decoded.virtual_address(number, 0, |register, _, _| match register {
        Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
        Register::FS => state.segment_bases[0],
        Register::GS => state.segment_bases[1],
        register => state.register(register),
    })
}

/// The value of an operand.
pub(super) fn read(operand: (Operand, usize), state: &State, memory: &mut impl Memory) -> Option<u64> {
    match operand {
        (Operand::Register(register), _) => state.register(register),
        (Operand::Memory(at), size) => read_memory(at, size, memory),
        (Operand::Immediate(value), _) => Some(value),
    }
}

/// The value of so many bytes in memory.
pub(super) fn read_memory(at: u64, size: usize, memory: &mut impl Memory) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read(at, bytes.get_mut(..size)?).then(|| u64::from_le_bytes(bytes))
}

/// Writes an operand: `None`, with nothing written, if that is not possible.
pub(super) fn write(
    operand: (Operand, usize),
    value: u64,
    state: &mut State,
    memory: &mut impl Memory,
) -> Option<()> {
    match operand {
        (Operand::Register(register), _) => {
            state.set_register(part(register)?, value);
            Some(())
        }
        (Operand::Memory(at), size) => memory.write(at, value.to_le_bytes().get(..size)?).then_some(()),
        (Operand::Immediate(_), _) => None,
    }
}
