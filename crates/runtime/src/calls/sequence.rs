//! What is added at calls and returns, step by step.
//!
//! No step changes a flag, but for those of [`Leave`] that are used only where no flag is read.

use super::step::{FRAME, Next, Step};
use crate::emit::Borrowed::{self, Rax, Rcx, Rdx};
use crate::emit::{Code, gs, spill_slot};
use crate::indirect::{RCX_SLOT, RDX_SLOT};
use alloc::vec::Vec;
use core::mem::offset_of;
use timewise_abi::thread::{COUNTERS, Frame, Registers, ThreadArea};

/// Spill slot of the third register that sequences borrow; the others are an indirect branch's.
const RAX_SLOT: u32 = 4;

/// Spill slot of a cost, while another register than it was in is wanted.
const COST_SLOT: u32 = 5;

/// Borrows `rcx` and `rdx`.
const BORROW: [Step; 2] = [Step::Save(spill_slot(RCX_SLOT), Rcx), Step::Save(spill_slot(RDX_SLOT), Rdx)];

/// Gives them back.
const GIVE_BACK: [Step; 2] = [Step::Load(Rcx, spill_slot(RCX_SLOT)), Step::Load(Rdx, spill_slot(RDX_SLOT))];

macro_rules! at {
    ($field:ident) => {
        offset_of!(Frame, $field) as u8
    };
}

/// Adds what is in `rcx` to the cost of the call whose frame `rdx` holds, without a flag changed.
const ADD_TO_COST: [Step; 4] = [
    Step::FollowHalf(Rax, Rdx, at!(cost)),
    Step::LoadCounter(Rdx, Rax),
    Step::Sum(Rdx, Rdx, Rcx, 0),
    Step::SaveCounter(Rax, Rdx),
];

/// Takes what is in `rcx` from the site at which an older activation waits of the function that the latest frame
/// is of, if that may recur, and notes that it waits there again; without a flag changed.
fn take_from_older() -> Vec<Step> {
    let rest = [
        Step::FollowHalf(Rax, Rdx, at!(older)),
        Step::SaveCounterHalf(Rcx, Rax),
        Step::Load(Rcx, spill_slot(COST_SLOT)),
        Step::LoadCounter(Rdx, Rax),
        Step::Not(Rcx),
        Step::Sum(Rdx, Rdx, Rcx, 1),
        Step::SaveCounter(Rax, Rdx),
    ];
    let mut steps = Vec::from([
        Step::Save(spill_slot(COST_SLOT), Rcx),
        Step::Load(Rdx, gs!(frame_top)),
        Step::FollowHalf(Rcx, Rdx, at!(function)),
        Step::SkipIfZero(length(&rest)),
    ]);
    steps.extend(rest);
    steps
}

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

/// At a call, whose return address is on the stack: it gets a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enter {
    /// The counter for its cost.
    pub cost: u32,
    /// The function that is called; never unknown.
    pub callee: Function,
    /// The function that calls.
    pub caller: Function,
    /// How far the thread is ahead of its clock.
    pub ahead: i32,
    /// Whether `rcx` and `rdx` are borrowed already.
    pub borrowed: bool,
}

/// At a return that is expected to end the latest call: its cost is charged, and its frame goes. `rcx` and `rdx`
/// are borrowed already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leave {
    /// By how much more than 8 bytes the return moves the stack pointer.
    pub discard: u16,
    /// How far the thread is ahead of its clock.
    pub ahead: i32,
    /// The exit to leave by if another call is the latest.
    pub exit: u32,
    /// Where [`Sequence::Unmatched`] stands for that.
    pub unmatched: u64,
    /// Whether no flag is read before it is written.
    pub is_free: bool,
    /// The counter for the cost of the call, if it is always the same.
    pub cost: Option<u32>,
    /// The function that returns.
    pub callee: Function,
}

/// At a call without a frame, or at its return: the clock is taken from its cost, or added to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Brief {
    /// The counter for its cost.
    pub cost: u32,
    /// How far the thread is ahead of its clock.
    pub ahead: i32,
    /// Whether no flag is read before it is written.
    pub is_free: bool,
    /// Whether it is the return, where `rcx` and `rdx` are borrowed already.
    pub returns: bool,
}

/// At a jump to another function: the present activation becomes one of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    /// The function that is jumped to; never unknown.
    pub callee: Function,
    /// How far the thread is ahead of its clock.
    pub ahead: i32,
    /// Whether `rcx` and `rdx` are borrowed already.
    pub borrowed: bool,
}

/// At a stub's jump to the function that it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pass {
    /// The counter of the function, which may recur.
    pub function: u32,
    /// Instructions of the stub.
    pub instructions: u16,
    /// Whether `rcx` and `rdx` are borrowed already.
    pub borrowed: bool,
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
                    Step::LeaveUnlessEqual(..) if at < code.bytes.len() => {}
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

fn unmatched(exit: u32) -> [Step; 3] {
    [GIVE_BACK[0], GIVE_BACK[1], Step::Leave(exit)]
}

fn length(steps: &[Step]) -> u8 {
    let mut code = Code::at(0);
    steps.iter().for_each(|step| step.emit(&mut code));
    code.bytes.len() as u8
}

fn borrow(borrowed: bool) -> Vec<Step> {
    if borrowed { Vec::new() } else { BORROW.to_vec() }
}

/// The instructions that the thread has executed, in a register.
fn now(register: Borrowed, ahead: i32) -> impl Iterator<Item = Step> {
    let lead = (ahead != 0).then_some(Step::Ahead(register, register, ahead));
    [Step::Load(register, gs!(clock))].into_iter().chain(lead)
}

impl Enter {
    fn steps(&self) -> Vec<Step> {
        const NEW: u8 = FRAME;
        let &Enter { cost, callee, caller, ahead, borrowed } = self;
        let mut steps = borrow(borrowed);
        steps.push(Step::Load(Rcx, gs!(frame_top)));
        // The caller waits at this site, until it calls again or another of its activations does.
        match caller {
            Function::Once => {}
            Function::Recurring(caller) => steps.push(Step::SaveNumber(COUNTERS + caller, cost)),
            Function::Unknown => {
                steps.extend([Step::FollowHalf(Rdx, Rcx, at!(function)), Step::SaveCounterNumber(Rdx, cost)]);
            }
        }
        match callee {
            Function::Recurring(function) => steps.extend([
                Step::LoadHalf(Rdx, COUNTERS + function),
                Step::PutHalf(Rcx, NEW + at!(older), Rdx),
                Step::PutNumber(Rcx, NEW + at!(cost), cost),
                Step::PutNumber(Rcx, NEW + at!(function), function),
            ]),
            // Both at once.
            Function::Once | Function::Unknown => steps.push(Step::PutWord(Rcx, NEW + at!(cost), cost)),
        }
        if cost == 0 {
            // For want of a counter: else only a handler's frame has none, which says what it interrupted.
            steps.push(Step::PutWord(Rcx, NEW + at!(older), 0));
        }
        steps.push(Step::PutStack(Rcx, NEW + at!(slot)));
        steps.extend(now(Rdx, ahead));
        steps.extend([
            Step::Put(Rcx, NEW + at!(clock), Rdx),
            Step::Ahead(Rcx, Rcx, FRAME.into()),
            Step::Save(gs!(frame_top), Rcx),
        ]);
        steps.extend(GIVE_BACK);
        steps
    }
}

impl Brief {
    fn steps(&self) -> Vec<Step> {
        let cost = COUNTERS + self.cost;
        let mut steps = match (self.returns, self.is_free) {
            (true, _) => Vec::new(),
            (false, true) => Vec::from([BORROW[0]]),
            (false, false) => BORROW.to_vec(),
        };
        steps.extend(now(Rcx, self.ahead));
        match (self.returns, self.is_free) {
            (true, true) => steps.push(Step::AddTo(cost, Rcx)),
            (false, true) => steps.push(Step::SubtractFrom(cost, Rcx)),
            (true, false) => {
                steps.extend([Step::Load(Rdx, cost), Step::Sum(Rdx, Rdx, Rcx, 0), Step::Save(cost, Rdx)])
            }
            (false, false) => steps.extend([
                Step::Not(Rcx),
                Step::Load(Rdx, cost),
                Step::Sum(Rdx, Rdx, Rcx, 1),
                Step::Save(cost, Rdx),
            ]),
        }
        let rdx_is_free = !self.returns && self.is_free;
        steps.extend(&GIVE_BACK[..if rdx_is_free { 1 } else { 2 }]);
        steps
    }
}

impl Leave {
    fn steps(&self) -> Vec<Step> {
        let mut steps = self.check();
        if self.is_free {
            self.charge(&mut steps);
        } else {
            self.charge_without_flags(&mut steps);
        }
        steps.extend(GIVE_BACK);
        steps
    }

    /// Up to where the call is known to be the latest: then `rdx` holds the address of its frame.
    fn check(&self) -> Vec<Step> {
        let mut steps = Vec::from([Step::Load(Rdx, gs!(frame_top))]);
        let discard = i32::from(self.discard);
        if self.is_free {
            steps.extend([
                Step::Stack(Rcx, -8 - discard),
                Step::LeaveUnlessEqual(Rdx, at!(slot), Rcx, self.unmatched),
            ]);
            return steps;
        }
        let leave = unmatched(self.exit);
        steps.extend([
            Step::Follow(Rcx, Rdx, at!(slot)),
            // `not` subtracts without a flag, but one too many.
            Step::Not(Rcx),
            Step::StackSum(Rcx, Rcx, -7 - discard),
            Step::SkipIfZero(length(&leave)),
        ]);
        steps.extend(leave);
        steps
    }

    fn charge(&self, steps: &mut Vec<Step>) {
        steps.extend(now(Rcx, self.ahead));
        steps.push(Step::Subtract(Rcx, Rdx, at!(clock)));
        match self.cost {
            Some(cost) => steps.push(Step::AddTo(COUNTERS + cost, Rcx)),
            None => {
                steps.extend([Step::FollowHalf(Rdx, Rdx, at!(cost)), Step::AddToCounter(Rdx, Rcx)]);
                if self.callee != Function::Once {
                    steps.push(Step::Load(Rdx, gs!(frame_top)));
                }
            }
        }
        // Where an older activation of the function waits, this one was charged too.
        match self.callee {
            Function::Once => {}
            Function::Recurring(function) => steps.extend([
                Step::FollowHalf(Rdx, Rdx, at!(older)),
                Step::SubtractFromCounter(Rdx, Rcx),
                Step::SaveHalf(COUNTERS + function, Rdx),
            ]),
            Function::Unknown => {
                let rest = [
                    Step::FollowHalf(Rdx, Rdx, at!(older)),
                    Step::SaveCounterHalf(Rcx, Rdx),
                    Step::Load(Rcx, spill_slot(COST_SLOT)),
                    Step::SubtractFromCounter(Rdx, Rcx),
                ];
                steps.extend([
                    Step::Save(spill_slot(COST_SLOT), Rcx),
                    Step::FollowHalf(Rcx, Rdx, at!(function)),
                    Step::SkipIfZero(length(&rest)),
                ]);
                steps.extend(rest);
            }
        }
        steps.push(Step::Pop);
    }

    fn charge_without_flags(&self, steps: &mut Vec<Step>) {
        steps.push(Step::Save(spill_slot(RAX_SLOT), Rax));
        steps.extend(now(Rcx, self.ahead));
        steps.extend([Step::Follow(Rax, Rdx, at!(clock)), Step::Not(Rax), Step::Sum(Rcx, Rcx, Rax, 1)]);
        steps.extend(ADD_TO_COST);
        if self.callee != Function::Once {
            steps.extend(take_from_older());
        }
        steps.extend([
            Step::Load(Rcx, gs!(frame_top)),
            Step::Ahead(Rcx, Rcx, -i32::from(FRAME)),
            Step::Save(gs!(frame_top), Rcx),
            Step::Load(Rax, spill_slot(RAX_SLOT)),
        ]);
    }
}

impl Tail {
    fn steps(&self) -> Vec<Step> {
        let mut steps = borrow(self.borrowed);
        steps.extend([Step::Save(spill_slot(RAX_SLOT), Rax), Step::Load(Rdx, gs!(frame_top))]);
        // What the activation cost so far is charged as the present function's.
        steps.extend(now(Rcx, self.ahead));
        steps.extend([
            Step::Follow(Rax, Rdx, at!(clock)),
            Step::Put(Rdx, at!(clock), Rcx),
            Step::Not(Rax),
            Step::Sum(Rcx, Rcx, Rax, 1),
        ]);
        steps.extend(ADD_TO_COST);
        steps.extend(take_from_older());
        steps.push(Step::Load(Rdx, gs!(frame_top)));
        match self.callee {
            Function::Recurring(function) => steps.extend([
                Step::LoadHalf(Rcx, COUNTERS + function),
                Step::PutHalf(Rdx, at!(older), Rcx),
                Step::PutNumber(Rdx, at!(function), function),
            ]),
            Function::Once | Function::Unknown => steps.push(Step::PutNumber(Rdx, at!(function), 0)),
        }
        steps.push(Step::Load(Rax, spill_slot(RAX_SLOT)));
        steps.extend(GIVE_BACK);
        steps
    }
}

impl Pass {
    fn steps(&self) -> Vec<Step> {
        let mut steps = borrow(self.borrowed);
        steps.extend([
            Step::Load(Rdx, gs!(frame_top)),
            Step::LoadHalf(Rcx, COUNTERS + self.function),
            Step::PutHalf(Rdx, at!(older), Rcx),
            Step::PutNumber(Rdx, at!(function), self.function),
            // The stub is not of the function: the return takes too much off where an older activation waits.
            Step::LoadCounter(Rdx, Rcx),
            Step::Ahead(Rdx, Rdx, self.instructions.into()),
            Step::SaveCounter(Rcx, Rdx),
        ]);
        steps.extend(GIVE_BACK);
        steps
    }
}
