//! What is added at calls and returns, step by step.
//!
//! No step changes a flag, but for those that are used only where no flag is read.

use super::enter::{Brief, Enter, Pass};
use super::leave::{Leave, Tail};
use super::step::{Next, Step};
use crate::emit::Borrowed::{self, R11, Rax, Rcx, Rdx};
use crate::emit::{Code, gs, spill_slot};
use crate::indirect::{R11_SLOT, RAX_SLOT, RCX_SLOT, RDX_SLOT};
use alloc::vec::Vec;
use timewise_abi::thread::{Registers, ThreadArea};

/// Borrows `rcx` and `rdx`, as an indirect branch does.
pub const BORROW: [Step; 2] = [Step::Save(spill_slot(RCX_SLOT), Rcx), Step::Save(spill_slot(RDX_SLOT), Rdx)];

/// Gives them back.
pub const GIVE_BACK: [Step; 2] =
    [Step::Load(Rcx, spill_slot(RCX_SLOT)), Step::Load(Rdx, spill_slot(RDX_SLOT))];

/// Borrows `rax` and `r11`, which a function that is called seldom waits for: what went through memory comes late.
pub const LEND: [Step; 2] = [Step::Save(spill_slot(RAX_SLOT), Rax), Step::Save(spill_slot(R11_SLOT), R11)];

/// Gives them back.
pub const TAKE_BACK: [Step; 2] =
    [Step::Load(Rax, spill_slot(RAX_SLOT)), Step::Load(R11, spill_slot(R11_SLOT))];

/// Position in a frame of one of its fields.
macro_rules! at {
    ($field:ident) => {
        core::mem::offset_of!(timewise_abi::thread::Frame, $field) as u8
    };
}
pub(super) use at;

/// The function whose activation a frame is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// None of which an older activation can wait.
    Once,
    /// One that may recur, by its counter.
    Recurring(u32),
    /// Whatever the frame says.
    Unknown,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sequence {
    /// At a call.
    Enter(Enter),
    /// At a return.
    Leave(Leave),
    /// At a call without a frame, or its return.
    Brief(Brief),
    /// At a jump to another function.
    Tail(Tail),
    /// At a stub's jump.
    Pass(Pass),
    /// The rest of a return that does not end the latest call: `rcx` and `rdx` are given back, and the thread leaves
    /// by an exit.
    Unmatched(u32),
}

impl Sequence {
    /// The same where `rcx` and `rdx` are borrowed already.
    pub fn borrowing(self) -> Sequence {
        match self {
            Sequence::Enter(enter) => Sequence::Enter(Enter { borrowed: true, ..enter }),
            Sequence::Tail(tail) => Sequence::Tail(Tail { borrowed: true, ..tail }),
            Sequence::Pass(pass) => Sequence::Pass(Pass { borrowed: true, ..pass }),
            Sequence::Leave(_) | Sequence::Brief(_) | Sequence::Unmatched(_) => self,
        }
    }

    fn steps(&self) -> Vec<Step> {
        match self {
            Sequence::Enter(enter) => enter.steps(),
            Sequence::Leave(leave) => leave.steps(),
            Sequence::Brief(brief) => brief.steps(),
            Sequence::Tail(tail) => tail.steps(),
            Sequence::Pass(pass) => pass.steps(),
            Sequence::Unmatched(exit) => unmatched(*exit).to_vec(),
        }
    }

    /// The exit by which a thread leaves in it, if it may.
    fn leave_by(&self) -> Option<u32> {
        match self {
            Sequence::Leave(leave) => Some(leave.exit),
            _ => None,
        }
    }

    /// Writes it: its length.
    pub fn emit(&self, code: &mut Code) -> usize {
        let before = code.bytes.len();
        self.steps().into_iter().for_each(|step| step.emit(code));
        code.bytes.len() - before
    }

    /// Bytes of its code.
    pub fn length(&self) -> usize {
        self.emit(&mut Code::at(0))
    }

    /// Brings a thread to its end that is `into` bytes into it. The exit by which it leaves instead, if it does.
    ///
    /// # Safety
    /// `area` must be the calling thread's, `registers` as they were there.
    pub unsafe fn finish(
        &self,
        into: usize,
        registers: &mut Registers,
        area: *mut ThreadArea,
    ) -> Option<u32> {
        let mut code = Code::at(0);
        let mut at = into;
        for step in self.steps() {
            let start = code.bytes.len();
            step.emit(&mut code);
            if start < at {
                // Only some steps are two instructions: what the second does follows from what is still there.
                match step {
                    Step::Leave(exit) if at < code.bytes.len() => return Some(exit),
                    Step::LeaveUnlessEqual(..) | Step::LeaveUnlessAt(..) if at < code.bytes.len() => {}
                    _ => continue,
                }
            }
            // SAFETY: as promised.
            match unsafe { step.carry_out(registers, area) } {
                Next::Step => {}
                Next::Skip(bytes) => at = code.bytes.len() + usize::from(bytes),
                Next::Exit(exit) => return Some(exit),
                Next::Unmatched => {
                    let rest = Sequence::Unmatched(self.leave_by()?);
                    // SAFETY: the same registers are borrowed there.
                    return unsafe { rest.finish(0, registers, area) };
                }
            }
        }
        None
    }
}

/// What [`Sequence::Unmatched`] does.
pub fn unmatched(exit: u32) -> [Step; 3] {
    [GIVE_BACK[0], GIVE_BACK[1], Step::Leave(exit)]
}

/// Bytes of the code of some steps.
pub fn length(steps: &[Step]) -> u8 {
    let mut code = Code::at(0);
    steps.iter().for_each(|step| step.emit(&mut code));
    code.bytes.len() as u8
}

/// No steps yet, with room for those of any sequence.
pub fn room() -> Vec<Step> {
    Vec::with_capacity(32)
}

/// Two registers that are borrowed, and the steps by which they are unless `rcx` and `rdx` are already.
pub fn borrow(borrowed: bool) -> (Vec<Step>, [Borrowed; 2]) {
    let mut steps = room();
    if borrowed {
        return (steps, [Rcx, Rdx]);
    }
    steps.extend(LEND);
    (steps, [Rax, R11])
}

/// Gives back what [`borrow`] borrows.
pub fn give_back(borrowed: bool) -> [Step; 2] {
    if borrowed { GIVE_BACK } else { TAKE_BACK }
}

/// The instructions that the thread has executed, in a register.
pub fn now(register: Borrowed, ahead: i32) -> impl Iterator<Item = Step> {
    let lead = (ahead != 0).then_some(Step::Ahead(register, register, ahead));
    [Step::Load(register, gs!(clock))].into_iter().chain(lead)
}
