//! Looking ahead: from a state of a thread to the next instruction whose way out is not known.

use timewise_abi::tracing::End;
use timewise_isa::{Control, DecodeError, State, decode, destination, does_nothing, stack_change};

/// How many instructions are looked at without one that has to be waited for. Straight code this long is not
/// met; a loop of jumps alone is, and would never end.
const PATIENCE: u32 = 4096;

/// What the program's memory holds.
pub trait Memory {
    /// The code at an address: 15 bytes, or fewer where what can be read ends.
    fn code(&mut self, address: u64) -> &[u8];
    /// 8 bytes of data.
    fn word(&mut self, address: u64) -> Option<u64>;
}

/// Where branches are noted.
pub trait Branches {
    /// Notes a taken branch.
    fn push(&mut self, from: u64, to: u64);
    /// Notes that a branch was decided, taken or not.
    fn decided(&mut self);
    /// Whether no further branch is wanted.
    fn full(&self) -> bool;
}

/// What is to be done about the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is to be stopped at `address`, where its stack pointer will be `stack`, if that is known. It gets
    /// there unless something unforeseen happens, and only then the branches noted so far are sure.
    Wait {
        /// An instruction.
        address: u64,
        /// The stack pointer before it.
        stack: Option<u64>,
    },
    /// The trace ends here. What was noted before this call is sure, and so is the branch at the start.
    End(End),
}

/// What is known of the thread at the instruction that is looked at.
struct Known {
    /// Its registers are those of the state.
    registers: bool,
    /// Its memory is as it is now, but for what was pushed.
    memory: bool,
    /// The lowest and the highest address of what calls pushed, which is not in memory yet.
    pushed: Option<(u64, u64)>,
    /// Its stack pointer.
    stack: Option<u64>,
}

/// Looks ahead from `start`, where the thread is in `state`.
pub fn look_ahead(start: u64, state: &State, memory: &mut impl Memory, branches: &mut impl Branches) -> Next {
    let mut state = *state;
    let mut at = start;
    let mut known = Known { registers: true, memory: true, pushed: None, stack: Some(state.general[4]) };
    for step in 0..PATIENCE {
        let instruction = match decode(memory.code(at), at) {
            Ok(instruction) => instruction,
            // Nobody knows whether control gets there.
            Err(DecodeError::Truncated | DecodeError::Invalid) => return Next::End(End::Unreadable),
        };
        let wait = Next::Wait { address: at, stack: known.stack };
        let to = match instruction.control {
            Control::Next if does_nothing(memory.code(at)) => {
                at = instruction.next();
                continue;
            }
            Control::Next => {
                let change = stack_change(memory.code(at));
                known.stack = known.stack.zip(change).map(|(stack, by)| stack.wrapping_add_signed(by));
                (known.registers, known.memory) = (false, false);
                at = instruction.next();
                continue;
            }
            // Not every system call comes back to the next instruction, or at once.
            Control::SystemCall | Control::Unsupported | Control::Transaction { .. } => {
                return if step == 0 { Next::End(End::NotFollowed) } else { wait };
            }
            Control::Jump { target } | Control::Call { target } => target,
            Control::Branch { .. } | Control::CountBranch { .. } if !known.registers => return wait,
            Control::IndirectJump | Control::IndirectCall | Control::Return { .. }
                if !(known.registers && known.memory) =>
            {
                return wait;
            }
            _ => {
                let mut bytes = [0; timewise_isa::MAX_LENGTH];
                let code = memory.code(at);
                let length = code.len().min(bytes.len());
                bytes[..length].copy_from_slice(&code[..length]);
                let mut is_pushed = false;
                let read = |word: u64| {
                    is_pushed =
                        known.pushed.is_some_and(|(low, high)| word.saturating_add(8) > low && word < high);
                    if is_pushed { None } else { memory.word(word) }
                };
                let way = destination(&bytes[..length], at, &state, read);
                if is_pushed {
                    return wait;
                }
                let Some(way) = way else { return Next::End(End::Unreadable) };
                if !way.taken {
                    branches.decided();
                    known.registers &= !matches!(instruction.control, Control::CountBranch { .. });
                    at = way.address;
                    continue;
                }
                way.address
            }
        };
        branches.decided();
        branches.push(at, to);
        let by = match instruction.control {
            Control::Call { .. } | Control::IndirectCall => -8,
            Control::Return { discard } => 8 + i64::from(discard),
            _ => 0,
        };
        known.stack = known.stack.map(|stack| stack.wrapping_add_signed(by));
        state.general[4] = state.general[4].wrapping_add_signed(by);
        if by < 0 {
            let slot = state.general[4];
            let (low, high) = known.pushed.unwrap_or((slot, slot.wrapping_add(8)));
            known.pushed = Some((low.min(slot), high.max(slot.wrapping_add(8))));
        }
        known.registers &= !matches!(instruction.control, Control::CountBranch { .. });
        if branches.full() {
            // The branch at the start is executed whatever happens; of another that is to be seen.
            return if step == 0 {
                Next::End(End::Full)
            } else {
                Next::Wait { address: to, stack: known.stack }
            };
        }
        at = to;
    }
    Next::End(End::NotFollowed)
}

#[cfg(test)]
mod tests;
