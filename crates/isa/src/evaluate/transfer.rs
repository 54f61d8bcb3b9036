//! Control transfers: where they lead.

use super::operand::{Operand, operand, read, read_memory, write};
use super::state::{CARRY, Memory, OVERFLOW, PARITY, SIGN, State, ZERO, mask};
use super::{Decoded, Way};
use crate::decode::Control;
use iced_x86::{Code, Instruction, Mnemonic};

/// Whether the processor's condition of this number, 0 to 15, holds; `None` if flags are undefined that it is
/// made of.
pub(super) fn holds(condition: u8, state: &State) -> Option<bool> {
    let (needed, holds) = condition_in(condition, state.flags);
    state.knows(needed).then_some(holds)
}

/// Whether the processor's condition of this number, 0 to 15, holds where `flags` are the register of flags, and
/// which of them it is made of.
pub fn condition_in(condition: u8, flags: u64) -> (u64, bool) {
    let set = |mask: u64| flags & mask != 0;
    let less = || set(SIGN) != set(OVERFLOW);
    let (needed, even) = match condition >> 1 {
        0 => (OVERFLOW, set(OVERFLOW)),
        1 => (CARRY, set(CARRY)),
        2 => (ZERO, set(ZERO)),
        3 => (CARRY | ZERO, set(CARRY | ZERO)),
        4 => (SIGN, set(SIGN)),
        5 => (PARITY, set(PARITY)),
        6 => (SIGN | OVERFLOW, less()),
        _ => (ZERO | SIGN | OVERFLOW, less() || set(ZERO)),
    };
    (needed, even != (condition & 1 == 1))
}

/// Executes a control transfer.
pub(super) fn transfer(decoded: &Decoded, state: &mut State, memory: &mut impl Memory) -> Option<Way> {
    let instruction = &decoded.instruction;
    let next = instruction.next_ip();
    let to = |address| Some(Way { address, taken: true });
    let by = |condition: bool, target| {
        Some(Way { address: if condition { target } else { next }, taken: condition })
    };
    match decoded.control() {
        Control::Jump { target } => to(target),
        Control::Branch { target, condition } => by(holds(condition, state)?, target),
        Control::CountBranch { target } => by(counts_on(instruction, state)?, target),
        Control::Call { target } => {
            push(next, 8, state, memory)?;
            to(target)
        }
        Control::IndirectJump => to(read(operand(instruction, 0, state)?, state, memory)?),
        Control::IndirectCall => {
            let target = read(operand(instruction, 0, state)?, state, memory)?;
            push(next, 8, state, memory)?;
            to(target)
        }
        Control::Return { discard } => {
            let target = read_memory(state.general[4], 8, memory)?;
            state.general[4] = state.general[4].wrapping_add(8 + u64::from(discard));
            to(target)
        }
        Control::Next | Control::Transaction { .. } | Control::SystemCall | Control::Unsupported => None,
    }
}

/// Pushes a value of so many bytes.
pub(super) fn push(value: u64, size: usize, state: &mut State, memory: &mut impl Memory) -> Option<()> {
    let top = state.general[4].wrapping_sub(size as u64);
    write((Operand::Memory(top), size), value, state, memory)?;
    state.general[4] = top;
    Some(())
}

/// Whether a branch by `rcx` is taken; counts.
fn counts_on(decoded: &Instruction, state: &mut State) -> Option<bool> {
    let rcx = state.general[1];
    // With an address-size prefix.
    let narrow = matches!(
        decoded.code(),
        Code::Jecxz_rel8_64 | Code::Loop_rel8_64_ECX | Code::Loope_rel8_64_ECX | Code::Loopne_rel8_64_ECX
    );
    let mask = mask(if narrow { 4 } else { 8 });
    let left = rcx.wrapping_sub(1) & mask;
    let zero = state.flags & ZERO != 0;
    let goes_on = match decoded.mnemonic() {
        Mnemonic::Jrcxz | Mnemonic::Jecxz => return Some(rcx & mask == 0),
        Mnemonic::Loop => left != 0,
        Mnemonic::Loope if state.knows(ZERO) => left != 0 && zero,
        Mnemonic::Loopne if state.knows(ZERO) => left != 0 && !zero,
        _ => return None,
    };
    state.general[1] = left;
    Some(goes_on)
}
