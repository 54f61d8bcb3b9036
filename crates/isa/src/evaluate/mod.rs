//! Executing an instruction in a copy of a thread's registers, as a pure function: what general registers, flags
//! and memory are afterwards, and where control goes. It knows what compiled code mostly consists of besides
//! vectors; [`crate::lone()`] has the rest executed by the processor.

mod arithmetic;
mod operand;
mod state;
mod strings;
mod transfer;

#[cfg(test)]
mod tests;

pub(crate) use operand::address as operand_address;
pub use state::{ARITHMETIC, Memory, State};
pub use transfer::condition_in;

use self::operand::{operand, read, write};
use self::state::{CARRY, DIRECTION, ZERO, extended, mask, part};
use crate::decode::{Control, MAX_LENGTH, condition_number, control};
use iced_x86::{ConditionCode, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// A decoded instruction: decoding is most of the work, so it is worth keeping, in little room.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    pub(crate) instruction: Instruction,
    bytes: [u8; MAX_LENGTH],
    leads_on: bool,
}

/// Where control goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Address of the instruction that is executed next.
    pub address: u64,
    /// Whether a branch, call or return led there.
    pub taken: bool,
}

impl Decoded {
    /// The instruction at the start of `bytes`, which stand at `address`; `None` if they are none.
    pub fn new(bytes: &[u8], address: u64) -> Option<Decoded> {
        let bytes = &bytes[..bytes.len().min(MAX_LENGTH)];
        let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
        (!instruction.is_invalid()).then(|| {
            let mut own = [0; MAX_LENGTH];
            own[..instruction.len()].copy_from_slice(&bytes[..instruction.len()]);
            Decoded { instruction, bytes: own, leads_on: control(&instruction) == Control::Next }
        })
    }

    /// Where control goes after it.
    pub fn control(&self) -> Control {
        if self.leads_on { Control::Next } else { control(&self.instruction) }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length()]
    }

    /// Where it stands.
    pub fn address(&self) -> u64 {
        self.instruction.ip()
    }

    /// Its length in bytes.
    pub fn length(&self) -> usize {
        self.instruction.len()
    }

    /// Address of the next instruction in memory.
    pub fn next(&self) -> u64 {
        self.instruction.next_ip()
    }
}

/// Executes an instruction. `None`, with `state` as it was, if this does not know how, if a flag or a segment's
/// base is not known that it depends on, or if memory cannot be read or written.
pub fn evaluate(decoded: &Decoded, state: &mut State, memory: &mut impl Memory) -> Option<Way> {
    if !decoded.leads_on {
        return transfer::transfer(decoded, state, memory);
    }
    straight(&decoded.instruction, state, memory)?;
    Some(Way { address: decoded.next(), taken: false })
}

/// Executes an instruction that leads to the next.
fn straight(decoded: &Instruction, state: &mut State, memory: &mut impl Memory) -> Option<()> {
    use Mnemonic as M;
    let mnemonic = decoded.mnemonic();
    match mnemonic {
        M::Mov | M::Movzx => {
            let value = read(operand(decoded, 1, state)?, state, memory)?;
            write(operand(decoded, 0, state)?, value, state, memory)
        }
        M::Movsx | M::Movsxd => {
            let from = operand(decoded, 1, state)?;
            let value = extended(read(from, state, memory)?, from.1);
            write(operand(decoded, 0, state)?, value, state, memory)
        }
        M::Lea => {
            let address = decoded.virtual_address(1, 0, |register, _, _| {
                if register.is_segment_register() { Some(0) } else { state.register(register) }
            })?;
            write(operand(decoded, 0, state)?, address, state, memory)
        }
        M::Add | M::Adc | M::Sub | M::Sbb | M::Cmp | M::And | M::Or | M::Xor | M::Test => {
            let carries = matches!(mnemonic, M::Adc | M::Sbb);
            if carries && !state.knows(CARRY) {
                return None;
            }
            let to = operand(decoded, 0, state)?;
            let (a, b) = (read(to, state, memory)?, read(operand(decoded, 1, state)?, state, memory)?);
            let result = arithmetic::binary(mnemonic, to.1, a, b, state.flags & CARRY != 0)?;
            let keeps = !matches!(mnemonic, M::Cmp | M::Test);
            finish(result, keeps.then_some(to), state, memory)
        }
        M::Inc | M::Dec | M::Neg | M::Not => {
            let to = operand(decoded, 0, state)?;
            let result = arithmetic::unary(mnemonic, to.1, read(to, state, memory)?)?;
            finish(result, Some(to), state, memory)
        }
        M::Shl | M::Sal | M::Shr | M::Sar => {
            let to = operand(decoded, 0, state)?;
            let count = read(operand(decoded, 1, state)?, state, memory)?;
            let result = arithmetic::shift(mnemonic, to.1, read(to, state, memory)?, count)?;
            finish(result, Some(to), state, memory)
        }
        M::Imul if decoded.op_count() > 1 => {
            let to = operand(decoded, 0, state)?;
            let last = read(operand(decoded, decoded.op_count() - 1, state)?, state, memory)?;
            let first = read(operand(decoded, decoded.op_count() - 2, state)?, state, memory)?;
            finish(arithmetic::product(to.1, first, last), Some(to), state, memory)
        }
        M::Div | M::Idiv => divide(decoded, state, memory),
        M::Push => {
            let size = decoded.stack_pointer_increment().unsigned_abs() as usize;
            let value = read(operand(decoded, 0, state)?, state, memory)?;
            transfer::push(value, size, state, memory)
        }
        M::Pop => {
            let size = decoded.stack_pointer_increment().unsigned_abs();
            let to = (decoded.op0_kind() == OpKind::Register).then(|| part(decoded.op0_register()))??;
            let value = operand::read_memory(state.general[4], size as usize, memory)?;
            state.general[4] = state.general[4].wrapping_add(size.into());
            state.set_register(to, value);
            Some(())
        }
        M::Leave if decoded.code() == iced_x86::Code::Leaveq => {
            let base = operand::read_memory(state.general[5], 8, memory)?;
            state.general[4] = state.general[5].wrapping_add(8);
            state.general[5] = base;
            Some(())
        }
        M::Cbw | M::Cwde | M::Cdqe | M::Cwd | M::Cdq | M::Cqo => convert(mnemonic, state),
        M::Bt => {
            let (of, index) = (operand(decoded, 0, state)?, operand(decoded, 1, state)?);
            // A register as index reaches beyond an operand in memory.
            if decoded.op0_kind() != OpKind::Register && decoded.op1_kind() == OpKind::Register {
                return None;
            }
            let index = read(index, state, memory)? & (8 * of.1 as u64 - 1);
            let carry = read(of, state, memory)? >> index & 1;
            state.set_flags(CARRY, carry, ARITHMETIC & !(CARRY | ZERO));
            Some(())
        }
        M::Clc | M::Stc => {
            let carry = if mnemonic == M::Stc { CARRY } else { 0 };
            state.set_flags(CARRY, carry, 0);
            Some(())
        }
        M::Cld | M::Std => {
            let direction = if mnemonic == M::Std { DIRECTION } else { 0 };
            state.flags = state.flags & !DIRECTION | direction;
            Some(())
        }
        M::Nop | M::Endbr64 | M::Pause => Some(()),
        M::Prefetchnta | M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchw => Some(()),
        M::Movsb | M::Movsw | M::Movsd | M::Movsq | M::Stosb | M::Stosw | M::Stosd | M::Stosq => {
            strings::string(decoded, state, memory)
        }
        _ if decoded.condition_code() != ConditionCode::None => by_condition(decoded, state, memory),
        _ => None,
    }
}

/// Writes a result and sets its flags.
fn finish(
    result: arithmetic::Result,
    to: Option<(operand::Operand, usize)>,
    state: &mut State,
    memory: &mut impl Memory,
) -> Option<()> {
    if let Some(to) = to {
        write(to, result.value, state, memory)?;
    }
    state.set_flags(result.written, result.flags, result.undefined);
    Some(())
}

/// `setcc` and `cmovcc`.
fn by_condition(decoded: &Instruction, state: &mut State, memory: &mut impl Memory) -> Option<()> {
    let holds = transfer::holds(condition_number(decoded.condition_code()), state)?;
    let to = operand(decoded, 0, state)?;
    let value = match decoded.op_count() {
        1 => holds.into(),
        // What is not moved is read all the same.
        2 => {
            let other = read(operand(decoded, 1, state)?, state, memory)?;
            if holds { other } else { read(to, state, memory)? }
        }
        _ => return None,
    };
    write(to, value, state, memory)
}

/// `div` and `idiv`.
fn divide(decoded: &Instruction, state: &mut State, memory: &mut impl Memory) -> Option<()> {
    let of = operand(decoded, 0, state)?;
    let by = read(of, state, memory)?;
    let signed = decoded.mnemonic() == Mnemonic::Idiv;
    let [quotient, remainder] = match of.1 {
        1 => [Register::AL, Register::AH],
        2 => [Register::AX, Register::DX],
        4 => [Register::EAX, Register::EDX],
        _ => [Register::RAX, Register::RDX],
    };
    let (low, high) = (state.register(quotient)?, state.register(remainder)?);
    let results = arithmetic::quotient(of.1, high, low, by, signed)?;
    state.set_register(part(quotient)?, results.0);
    state.set_register(part(remainder)?, results.1);
    state.set_flags(0, 0, ARITHMETIC);
    Some(())
}

/// Carries signs on within `rax`, and from it to `rdx`.
fn convert(mnemonic: Mnemonic, state: &mut State) -> Option<()> {
    let a = state.general[0];
    let (to, value) = match mnemonic {
        Mnemonic::Cbw => (Register::AX, extended(a & mask(1), 1)),
        Mnemonic::Cwde => (Register::EAX, extended(a & mask(2), 2)),
        Mnemonic::Cdqe => (Register::RAX, extended(a & mask(4), 4)),
        Mnemonic::Cwd => (Register::DX, extended(a & mask(2), 2) >> 16),
        Mnemonic::Cdq => (Register::EDX, extended(a & mask(4), 4) >> 32),
        _ => (Register::RDX, ((a as i64) >> 63) as u64),
    };
    state.set_register(part(to)?, value);
    Some(())
}
