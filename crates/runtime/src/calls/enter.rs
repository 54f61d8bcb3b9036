//! What is added at calls, and at the jumps of stubs to what they stand for.

use super::held::{CLOCK, SLOT};
use super::sequence::{BORROW, Function, GIVE_BACK, at, borrow, now};
use super::step::{FRAME, Step};
use crate::emit::Borrowed::{Rcx, Rdx};
use crate::emit::gs;
use alloc::vec::Vec;
use timewise_abi::thread::COUNTERS;

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
    /// Whether the frame is held beside the counter for the cost.
    pub held: bool,
    /// Whether `rcx` and `rdx` are borrowed already.
    pub borrowed: bool,
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

impl Enter {
    /// What it does.
    pub fn steps(&self) -> Vec<Step> {
        const NEW: u8 = FRAME;
        let &Enter { cost, callee, caller, ahead, held, borrowed } = self;
        if held {
            return self.hold();
        }
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

    /// The same if the frame is held: then it is known which function calls.
    fn hold(&self) -> Vec<Step> {
        let place = COUNTERS + self.cost;
        let mut steps = Vec::from([BORROW[1]]);
        if let Function::Recurring(caller) = self.caller {
            steps.push(Step::SaveNumber(COUNTERS + caller, self.cost));
        }
        steps.extend(now(Rdx, self.ahead));
        // It is open from when its slot is there.
        steps.extend([Step::Save(place + CLOCK, Rdx), Step::SaveStack(place + SLOT), GIVE_BACK[1]]);
        steps
    }
}

impl Brief {
    /// What it does.
    pub fn steps(&self) -> Vec<Step> {
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

impl Pass {
    /// What it does.
    pub fn steps(&self) -> Vec<Step> {
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
