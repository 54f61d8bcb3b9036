//! What a row of an unwind table says, and following it.

use super::expression::Expression;
use gimli::X86_64;

/// General registers that tables speak of, by their number in DWARF.
const GENERAL: usize = 16;
pub(super) const RBP: u8 = X86_64::RBP.0 as u8;
pub(super) const RSP: u8 = X86_64::RSP.0 as u8;

/// The registers of a frame, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Where it goes on: of the innermost frame the next instruction, of a caller the return address.
    pub ip: u64,
    general: [Option<u64>; GENERAL],
}

impl Registers {
    /// Those of the innermost frame: `general` in the order of DWARF's numbers (rax, rdx, rcx, rbx, rsi, rdi,
    /// rbp, rsp, r8 to r15).
    pub fn new(ip: u64, general: [u64; GENERAL]) -> Registers {
        Registers { ip, general: general.map(Some) }
    }

    /// Those of a frame of which only the usual three are known.
    pub fn of_frame(ip: u64, stack_pointer: u64, frame_pointer: u64) -> Registers {
        let mut general = [None; GENERAL];
        general[usize::from(RSP)] = Some(stack_pointer);
        general[usize::from(RBP)] = Some(frame_pointer);
        Registers { ip, general }
    }

    /// Those of the innermost frame of which no more is known than where it goes on and where its stack is.
    pub fn of_stack(ip: u64, stack_pointer: u64) -> Registers {
        let mut general = [None; GENERAL];
        general[usize::from(RSP)] = Some(stack_pointer);
        Registers { ip, general }
    }

    /// Those of the caller of code that has changed none of them since it was called.
    pub fn behind_call(&self, return_address: u64) -> Registers {
        let mut caller = Registers { ip: return_address, ..self.clone() };
        caller.set(RSP, Some(self.stack_pointer().wrapping_add(8)));
        caller
    }

    /// The stack pointer; 0 if it is unknown.
    pub fn stack_pointer(&self) -> u64 {
        self.get(RSP).unwrap_or(0)
    }

    /// The frame pointer, or what the code uses its register for.
    pub fn frame_pointer(&self) -> Option<u64> {
        self.get(RBP)
    }

    pub(super) fn get(&self, number: u8) -> Option<u64> {
        *self.general.get(usize::from(number))?
    }

    fn set(&mut self, number: u8, value: Option<u64>) {
        if let Some(register) = self.general.get_mut(usize::from(number)) {
            *register = value;
        }
    }
}

/// Why there is no caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// This frame is the outermost one.
    Outermost,
    /// The way leads through memory that was not copied.
    Unread,
    /// The rule makes no sense here.
    Lost,
}

/// How to find the caller of code at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The canonical frame address: the stack pointer in the caller, once the call has returned.
    pub(super) frame: Frame,
    /// Registers that are not what they are in the caller.
    pub(super) saved: Box<[(u8, Saved)]>,
    /// Where the return address is; `None` if there is no caller.
    pub(super) return_address: Option<Saved>,
    pub(super) signal: bool,
}

/// How the frame address is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// At a distance from a register's value.
    Register { number: u8, offset: i64 },
    /// By calculation.
    Calculated(Expression),
}

/// What became of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// Its value is in memory, at this distance from the frame address.
    At(i64),
    /// It was at this distance from the frame address.
    Distance(i64),
    /// It is in another register.
    In(u8),
    /// It is in memory at a calculated address.
    AtCalculated(Expression),
    /// It can be calculated.
    Calculated(Expression),
    /// It is gone.
    Gone,
}

impl Rule {
    /// Whether the caller was interrupted by a signal: it goes on at an instruction that follows no call.
    pub fn is_signal(&self) -> bool {
        self.signal
    }

    /// The caller of the frame with these `registers`. `memory` gives the eight bytes at an address of the
    /// copied stack.
    ///
    /// # Errors
    /// [`Stop`], where there is none.
    pub fn follow(
        &self,
        registers: &Registers,
        memory: impl Fn(u64) -> Option<u64>,
    ) -> Result<Registers, Stop> {
        let Some(return_address) = &self.return_address else { return Err(Stop::Outermost) };
        let stack_pointer = registers.stack_pointer();
        let frame = match &self.frame {
            Frame::Register { number, offset } => {
                registers.get(*number).ok_or(Stop::Lost)?.wrapping_add_signed(*offset)
            }
            Frame::Calculated(expression) => expression.evaluate(None, registers, &memory)?,
        };
        // Signals may have a stack of their own; all other frames lie further up on one, but those of functions that took
        // the return address off it, as `vfork` must, whose child returns on the same stack.
        let least = stack_pointer.saturating_add(u64::from(!matches!(return_address, Saved::In(_))));
        if frame < least && !self.signal {
            return Err(Stop::Lost);
        }
        let find = |saved: &Saved| -> Result<u64, Stop> {
            let address = match saved {
                Saved::At(offset) => frame.wrapping_add_signed(*offset),
                Saved::AtCalculated(expression) => expression.evaluate(Some(frame), registers, &memory)?,
                Saved::Distance(offset) => return Ok(frame.wrapping_add_signed(*offset)),
                Saved::In(number) => return registers.get(*number).ok_or(Stop::Lost),
                Saved::Calculated(expression) => return expression.evaluate(Some(frame), registers, &memory),
                Saved::Gone => return Err(Stop::Lost),
            };
            memory(address).ok_or(Stop::Unread)
        };
        let mut caller = registers.clone();
        caller.ip = find(return_address)?;
        caller.set(RSP, Some(frame));
        for (number, saved) in &self.saved {
            // Tables often leave it at that when a function has already taken the register back: the place is
            // below the stack then, and the value in the register itself.
            let taken_back = matches!(saved, Saved::At(offset)
                if frame.wrapping_add_signed(*offset) < stack_pointer);
            if !taken_back {
                caller.set(*number, find(saved).ok());
            }
        }
        if caller.ip == 0 { Err(Stop::Outermost) } else { Ok(caller) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: [(u64, u64); 3] = [(0x1008, 0x77), (0x1010, 0x4000), (0x1018, 0)];

    fn memory(address: u64) -> Option<u64> {
        MEMORY.iter().find(|(at, _)| *at == address).map(|(_, value)| *value)
    }

    fn rule(frame_offset: i64, saved: &[(u8, Saved)]) -> Rule {
        Rule {
            frame: Frame::Register { number: RSP, offset: frame_offset },
            saved: saved.into(),
            return_address: Some(Saved::At(-8)),
            signal: false,
        }
    }

    #[test]
    fn registers_come_from_where_the_callee_put_them() {
        let registers = Registers::of_frame(0x100, 0x1000, 0x55);
        let caller = rule(0x18, &[(RBP, Saved::At(-16))]).follow(&registers, memory).unwrap();
        assert_eq!(caller, Registers::of_frame(0x4000, 0x1018, 0x77));
        // Already taken back: its place lies below the stack.
        let taken_back = Registers::of_frame(0x100, 0x1010, 0x55);
        let caller = rule(8, &[(RBP, Saved::At(-16))]).follow(&taken_back, memory).unwrap();
        assert_eq!(caller.frame_pointer(), Some(0x55));
    }

    #[test]
    fn what_is_no_frame_is_none() {
        let registers = Registers::of_frame(0x100, 0x1000, 0x55);
        assert_eq!(rule(0x100, &[]).follow(&registers, memory), Err(Stop::Unread));
        assert_eq!(rule(0, &[]).follow(&registers, memory), Err(Stop::Lost));
        assert_eq!(rule(0x20, &[]).follow(&registers, memory), Err(Stop::Outermost));
        let returns_by_register = Rule { return_address: Some(Saved::In(RBP)), ..rule(0, &[]) };
        assert_eq!(returns_by_register.follow(&registers, memory).map(|caller| caller.ip), Ok(0x55));
        let no_caller = Rule { return_address: None, ..rule(0x18, &[]) };
        assert_eq!(no_caller.follow(&registers, memory), Err(Stop::Outermost));
    }
}
