//! What is added at calls and returns, step by step.
//!
//! No step before the first that needs it changes a flag, and those of [`Leave`] that do are used only where
//! no flag is read.

use super::key;
use super::step::{FRAME, Next, Step};
use crate::emit::Borrowed::{Rax, Rcx, Rdx};
use crate::emit::{Code, gs, spill_slot};
use alloc::vec::Vec;
use core::mem::offset_of;
use timewise_abi::thread::{COUNTERS, Frame, Registers, ThreadArea};

/// Spill slots of the registers that sequences borrow.
const RCX_SLOT: u32 = 4;
const RDX_SLOT: u32 = 5;
const RAX_SLOT: u32 = 6;

macro_rules! at {
    ($field:ident) => {
        offset_of!(Frame, $field) as u8
    };
}

/// At a call, whose return address is on the stack: it gets a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enter {
    /// The counter for its cost.
    pub cost: u32,
    /// The counter of the function that is called.
    pub function: u32,
    /// What makes the key of its frame from the address of the return address.
    pub key: i32,
}

/// At a return that is expected to end the latest call: its cost is charged, and its frame goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leave {
    /// What makes the key, negated and less one, of the call's frame from the stack pointer.
    pub key: i32,
    /// How much further the thread is than its clock at the return, less the same at the call.
    pub ahead: i32,
    /// The exit to leave by if another call is the latest.
    pub exit: u32,
    /// Whether no flag is read before it is written.
    pub is_free: bool,
}

/// The counters of a call, in bytes from counter 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// For its cost.
    pub cost: u32,
    /// Of the function that is called.
    pub function: u32,
}

/// At a jump to another function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    /// The counter of that function.
    pub function: u32,
    /// The exit to leave by if an older activation waits of the present one, or of that function: it is charged
    /// apart from here on.
    pub exit: u32,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sequence {
    /// At a call.
    Enter(Enter),
    /// At a return.
    Leave(Leave),
    /// At a jump to another function: the present activation becomes one of it.
    Tail(Tail),
}

impl Sequence {
    /// At a call that returns to an address.
    pub fn enter(Call { cost, function }: Call, returns_to: u64) -> Sequence {
        Sequence::Enter(Enter { cost, function, key: key(returns_to) })
    }

    fn steps(&self) -> Vec<Step> {
        match self {
            Sequence::Enter(enter) => enter.steps(),
            Sequence::Leave(leave) => leave.steps(),
            Sequence::Tail(tail) => tail.steps(),
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
                // Only the two instructions by which the thread leaves are one step.
                if let Step::Leave(exit) = step
                    && at < code.bytes.len()
                {
                    return Some(exit);
                }
                continue;
            }
            // SAFETY: as promised.
            match unsafe { step.carry_out(registers, area) } {
                Next::Step => {}
                Next::Skip(bytes) => at = code.bytes.len() + usize::from(bytes),
                Next::Exit(exit) => return Some(exit),
            }
        }
        None
    }
}

fn length(steps: &[Step]) -> u8 {
    let mut code = Code::at(0);
    steps.iter().for_each(|step| step.emit(&mut code));
    code.bytes.len() as u8
}

impl Tail {
    fn steps(&self) -> Vec<Step> {
        let give_back = [Step::Load(Rcx, spill_slot(RCX_SLOT)), Step::Load(Rdx, spill_slot(RDX_SLOT))];
        let leave = [give_back[0], give_back[1], Step::Leave(self.exit)];
        let mut steps = Vec::from([
            Step::Save(spill_slot(RCX_SLOT), Rcx),
            Step::Save(spill_slot(RDX_SLOT), Rdx),
            Step::Load(Rdx, gs!(frame_top)),
            Step::FollowHalf(Rcx, Rdx, at!(older)),
            Step::SkipIfZero(length(&leave)),
        ]);
        steps.extend(leave);
        steps.extend([Step::LoadHalf(Rcx, COUNTERS + self.function), Step::SkipIfZero(length(&leave))]);
        steps.extend(leave);
        steps.extend([
            // No other activation of either waits, and `rcx` is zero.
            Step::FollowHalf(Rdx, Rdx, at!(function)),
            Step::SaveCounterHalf(Rdx, Rcx),
            Step::Load(Rdx, gs!(frame_top)),
            Step::PutNumber(Rdx, at!(function), self.function),
            Step::PutHalf(Rdx, at!(older), Rcx),
        ]);
        steps.extend(give_back);
        steps
    }
}

impl Enter {
    fn steps(&self) -> Vec<Step> {
        let &Enter { cost, function, key } = self;
        Vec::from([
            Step::Save(spill_slot(RCX_SLOT), Rcx),
            Step::Save(spill_slot(RDX_SLOT), Rdx),
            Step::Load(Rcx, gs!(frame_top)),
            // The caller waits at this site, until it calls again or another of its activations does.
            Step::FollowHalf(Rdx, Rcx, at!(function)),
            Step::SaveCounterNumber(Rdx, cost),
            Step::LoadHalf(Rdx, COUNTERS + function),
            Step::Ahead(Rcx, Rcx, FRAME.into()),
            Step::Save(gs!(frame_top), Rcx),
            Step::PutNumber(Rcx, at!(function), function),
            Step::PutNumber(Rcx, at!(cost), cost),
            Step::PutHalf(Rcx, at!(older), Rdx),
            Step::Stack(Rdx, key),
            Step::Put(Rcx, at!(key), Rdx),
            Step::Load(Rdx, gs!(clock)),
            Step::Put(Rcx, at!(clock), Rdx),
            Step::Load(Rcx, spill_slot(RCX_SLOT)),
            Step::Load(Rdx, spill_slot(RDX_SLOT)),
        ])
    }
}

impl Leave {
    fn steps(&self) -> Vec<Step> {
        if self.is_free { self.short() } else { self.long() }
    }

    /// Up to where the call is known to be the latest: then `rdx` holds the address of its frame.
    fn check(&self, give_back: &[Step]) -> Vec<Step> {
        let mut leave = give_back.to_vec();
        leave.push(Step::Leave(self.exit));
        let mut steps = Vec::from([
            Step::Load(Rdx, gs!(frame_top)),
            Step::Follow(Rcx, Rdx, at!(key)),
            Step::Not(Rcx),
            Step::StackSum(Rcx, Rcx, self.key),
            Step::SkipIfZero(length(&leave)),
        ]);
        steps.append(&mut leave);
        steps
    }

    fn short(&self) -> Vec<Step> {
        let save = [Step::Save(spill_slot(RCX_SLOT), Rcx), Step::Save(spill_slot(RDX_SLOT), Rdx)];
        let give_back = [Step::Load(Rcx, spill_slot(RCX_SLOT)), Step::Load(Rdx, spill_slot(RDX_SLOT))];
        let mut steps = save.to_vec();
        steps.append(&mut self.check(&give_back));
        steps.extend([Step::Load(Rcx, gs!(clock)), Step::Subtract(Rcx, Rdx, at!(clock))]);
        if self.ahead != 0 {
            steps.push(Step::Ahead(Rcx, Rcx, self.ahead));
        }
        steps.extend([
            Step::FollowHalf(Rdx, Rdx, at!(cost)),
            Step::AddToCounter(Rdx, Rcx),
            // Where an older activation of the function waits, this one was charged too.
            Step::Load(Rdx, gs!(frame_top)),
            Step::FollowHalf(Rdx, Rdx, at!(older)),
            Step::SubtractFromCounter(Rdx, Rcx),
            // The function may have jumped to another one.
            Step::Load(Rcx, gs!(frame_top)),
            Step::FollowHalf(Rcx, Rcx, at!(function)),
            Step::SaveCounterHalf(Rcx, Rdx),
            Step::Pop,
        ]);
        steps.extend(give_back);
        steps
    }

    fn long(&self) -> Vec<Step> {
        let save = [
            Step::Save(spill_slot(RCX_SLOT), Rcx),
            Step::Save(spill_slot(RDX_SLOT), Rdx),
            Step::Save(spill_slot(RAX_SLOT), Rax),
        ];
        let give_back = [
            Step::Load(Rax, spill_slot(RAX_SLOT)),
            Step::Load(Rcx, spill_slot(RCX_SLOT)),
            Step::Load(Rdx, spill_slot(RDX_SLOT)),
        ];
        let mut steps = save.to_vec();
        steps.append(&mut self.check(&give_back));
        steps.extend([
            // The cost is the clock less that of the call; `not` subtracts without a flag.
            Step::Load(Rax, gs!(clock)),
            Step::Not(Rax),
            Step::Follow(Rcx, Rdx, at!(clock)),
            Step::Sum(Rcx, Rax, Rcx, self.ahead.wrapping_neg()),
            Step::FollowHalf(Rax, Rdx, at!(older)),
            Step::LoadCounter(Rdx, Rax),
            Step::Sum(Rdx, Rdx, Rcx, 1),
            Step::SaveCounter(Rax, Rdx),
            Step::Not(Rcx),
            Step::Load(Rdx, gs!(frame_top)),
            Step::FollowHalf(Rax, Rdx, at!(cost)),
            Step::LoadCounter(Rdx, Rax),
            Step::Sum(Rdx, Rdx, Rcx, 0),
            Step::SaveCounter(Rax, Rdx),
            Step::Load(Rcx, gs!(frame_top)),
            Step::FollowHalf(Rax, Rcx, at!(function)),
            Step::FollowHalf(Rdx, Rcx, at!(older)),
            Step::SaveCounterHalf(Rax, Rdx),
            Step::Ahead(Rcx, Rcx, -i32::from(FRAME)),
            Step::Save(gs!(frame_top), Rcx),
        ]);
        steps.extend(give_back);
        steps
    }
}
