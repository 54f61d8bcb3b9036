//! What is added at calls, and at the jumps of stubs to what they stand for.

use super::held::{CLOCK, SLOT};
use super::sequence::{Function, LEND, TAKE_BACK, at, borrow, give_back, now};
use super::step::{FRAME, Step};
use crate::emit::Borrowed::Rax;
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
        let (mut steps, [top, other]) = borrow(borrowed);
        steps.push(Step::Load(top, gs!(frame_top)));
        // The caller waits at this site, until it calls again or another of its activations does.
        match caller {
            Function::Once => {}
            Function::Recurring(caller) => steps.push(Step::SaveNumber(COUNTERS + caller, cost)),
            Function::Unknown => {
                steps.extend([
                    Step::FollowHalf(other, top, at!(function)),
                    Step::SaveCounterNumber(other, cost),
                ]);
            }
        }
        match callee {
            Function::Recurring(function) => steps.extend([
                Step::LoadHalf(other, COUNTERS + function),
                Step::PutHalf(top, NEW + at!(older), other),
                Step::PutNumber(top, NEW + at!(cost), cost),
                Step::PutNumber(top, NEW + at!(function), function),
            ]),
            // Both at once.
            Function::Once | Function::Unknown => steps.push(Step::PutWord(top, NEW + at!(cost), cost)),
        }
        if cost == 0 {
            // For want of a counter: else only a handler's frame has none, which says what it interrupted.
            steps.push(Step::PutWord(top, NEW + at!(older), 0));
        }
        steps.push(Step::PutStack(top, NEW + at!(slot)));
        steps.extend(now(other, ahead));
        steps.extend([
            Step::Put(top, NEW + at!(clock), other),
            Step::Ahead(top, top, FRAME.into()),
            Step::Save(gs!(frame_top), top),
        ]);
        steps.extend(give_back(borrowed));
        steps
    }

    /// The same if the frame is held: then it is known which function calls.
    fn hold(&self) -> Vec<Step> {
        let place = COUNTERS + self.cost;
        let mut steps = Vec::from([LEND[0]]);
        if let Function::Recurring(caller) = self.caller {
            steps.push(Step::SaveNumber(COUNTERS + caller, self.cost));
        }
        steps.extend(now(Rax, self.ahead));
        // It is open from when its slot is there.
        steps.extend([Step::Save(place + CLOCK, Rax), Step::SaveStack(place + SLOT), TAKE_BACK[0]]);
        steps
    }
}

impl Brief {
    /// What it does.
    pub fn steps(&self) -> Vec<Step> {
        let &Brief { cost, ahead, is_free, returns } = self;
        let cost = COUNTERS + cost;
        let (mut steps, [time, sum]) = borrow(returns);
        // Then one of them is enough.
        let one = !returns && is_free;
        if one {
            steps.pop();
        }
        steps.extend(now(time, ahead));
        match (returns, is_free) {
            (true, true) => steps.push(Step::AddTo(cost, time)),
            (false, true) => steps.push(Step::SubtractFrom(cost, time)),
            (true, false) => {
                steps.extend([Step::Load(sum, cost), Step::Sum(sum, sum, time, 0), Step::Save(cost, sum)])
            }
            (false, false) => steps.extend([
                Step::Not(time),
                Step::Load(sum, cost),
                Step::Sum(sum, sum, time, 1),
                Step::Save(cost, sum),
            ]),
        }
        steps.extend(&give_back(returns)[..if one { 1 } else { 2 }]);
        steps
    }
}

impl Pass {
    /// What it does.
    pub fn steps(&self) -> Vec<Step> {
        let (mut steps, [top, other]) = borrow(self.borrowed);
        steps.extend([
            Step::Load(top, gs!(frame_top)),
            Step::LoadHalf(other, COUNTERS + self.function),
            Step::PutHalf(top, at!(older), other),
            Step::PutNumber(top, at!(function), self.function),
            // The stub is not of the function: the return takes too much off where an older activation waits.
            Step::LoadCounter(top, other),
            Step::Ahead(top, top, self.instructions.into()),
            Step::SaveCounter(other, top),
        ]);
        steps.extend(give_back(self.borrowed));
        steps
    }
}
