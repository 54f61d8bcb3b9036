//! What is added at returns, and at jumps from one function to another.

use super::held::{CLOCK, SLOT};
use super::sequence::{BORROW, Function, GIVE_BACK, at, length, now, room, unmatched};
use super::step::{FRAME, Step};
use crate::emit::Borrowed::{Rax, Rcx, Rdx};
use crate::emit::{gs, spill_slot};
use crate::indirect::RAX_SLOT;
use alloc::vec::Vec;
use timewise_abi::thread::COUNTERS;

/// Spill slot of a cost, while another register than it was in is wanted.
const COST_SLOT: u32 = 5;

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

/// The same where no flag is read, and with the frame's address in `rdx`.
fn take_from_older_if_free(steps: &mut Vec<Step>) {
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

/// How a function goes back to where it was called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Back {
    /// By a return, which moves the stack pointer by so much more than 8 bytes.
    Return(u16),
    /// By a return that took its address from anywhere between where the call put it and `up` bytes above where the call
    /// before put its own: arguments were taken off before, or return addresses were moved.
    Between {
        /// Bytes above where the call before put its own.
        up: u8,
    },
}

/// At a return that is expected to end the latest call: its cost is charged, and its frame goes. `rcx` and `rdx`
/// are borrowed already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leave {
    /// How it goes back.
    pub back: Back,
    /// How far the thread is ahead of its clock.
    pub ahead: i32,
    /// The exit to leave by if another call is the latest.
    pub exit: u32,
    /// Where [`super::sequence::Sequence::Unmatched`] stands for that.
    pub unmatched: u64,
    /// Whether no flag is read before it is written.
    pub is_free: bool,
    /// The counter for the cost of the call, if it is always the same.
    pub cost: Option<u32>,
    /// The function that returns.
    pub callee: Function,
    /// Whether the frame is held beside the counter for the cost.
    pub held: bool,
}

/// At a jump to another function: the present activation becomes one of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    /// The function that is jumped to; never unknown.
    pub callee: Function,
    /// How far the thread is ahead of its clock.
    pub ahead: i32,
    /// Whether no flag is read before it is written.
    pub is_free: bool,
    /// Whether `rcx` and `rdx` are borrowed already.
    pub borrowed: bool,
}

impl Leave {
    /// What it does.
    pub fn steps(&self) -> Vec<Step> {
        if let (Some(cost), true) = (self.cost, self.held) {
            return self.let_go(COUNTERS + cost);
        }
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
        let mut steps = room();
        steps.push(Step::Load(Rdx, gs!(frame_top)));
        if let Back::Between { up } = self.back {
            self.check_between(up, &mut steps);
            return steps;
        }
        let discard = self.discard();
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

    /// The rest of it, without a flag changed, where the return address may have been anywhere from the latest call's on to
    /// below the one before, which may have been moved up so far.
    fn check_between(&self, up: u8, steps: &mut Vec<Step>) {
        let leave = unmatched(self.exit);
        let unless_zero =
            |part| [Step::Swap(Rcx), part, Step::SkipIfZero(length(&leave))].into_iter().chain(leave);
        steps.extend([Step::Follow(Rcx, Rdx, at!(slot)), Step::Not(Rcx), Step::StackSum(Rcx, Rcx, -7)]);
        // Not negative, and less than 4 GiB: farther up there is another stack.
        steps.extend(unless_zero(Step::LowHalf(Rcx)));
        steps.extend([
            Step::Ahead(Rdx, Rdx, -i32::from(FRAME)),
            Step::Follow(Rdx, Rdx, at!(slot)),
            Step::Stack(Rcx, -8 - i32::from(up)),
            Step::Not(Rcx),
            Step::Sum(Rcx, Rcx, Rdx, 0),
        ]);
        // Addresses differ by less than 56 bits, so this is not negative if its highest byte is 0.
        steps.extend(unless_zero(Step::LowByte(Rcx)));
        steps.push(Step::Load(Rdx, gs!(frame_top)));
    }

    /// What it does if the frame is held, where the counter for the cost is at `place`.
    fn let_go(&self, place: u32) -> Vec<Step> {
        let (slot, clock) = (place + SLOT, place + CLOCK);
        let discard = self.discard();
        let mut steps = room();
        if self.is_free {
            steps.extend([Step::Stack(Rcx, -8 - discard), Step::LeaveUnlessAt(slot, Rcx, self.unmatched)]);
            steps.extend(now(Rcx, self.ahead));
            steps.extend([Step::Less(Rcx, clock), Step::AddTo(place, Rcx)]);
        } else {
            let leave = unmatched(self.exit);
            steps.extend([
                Step::Load(Rcx, slot),
                // `not` subtracts without a flag, but one too many.
                Step::Not(Rcx),
                Step::StackSum(Rcx, Rcx, -7 - discard),
                Step::SkipIfZero(length(&leave)),
            ]);
            steps.extend(leave);
            steps.extend(now(Rcx, self.ahead));
            steps.extend([
                Step::Load(Rdx, clock),
                Step::Not(Rdx),
                Step::Sum(Rcx, Rcx, Rdx, 1),
                Step::Load(Rdx, place),
                Step::Sum(Rdx, Rdx, Rcx, 0),
                Step::Save(place, Rdx),
            ]);
        }
        steps.push(Step::SaveZero(slot));
        steps.extend(GIVE_BACK);
        steps
    }

    /// What is taken off the stack beside the return address, if that is always the same, or nothing.
    fn discard(&self) -> i32 {
        if let Back::Return(discard) = self.back { discard.into() } else { 0 }
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
            Function::Unknown => take_from_older_if_free(steps),
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
    /// What it does: what the activation cost so far is charged as the present function's.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = room();
        if !self.borrowed {
            steps.extend(BORROW);
        }
        if self.is_free {
            steps.push(Step::Load(Rdx, gs!(frame_top)));
            steps.extend(now(Rcx, self.ahead));
            steps.extend([
                Step::Subtract(Rcx, Rdx, at!(clock)),
                Step::AddAt(Rdx, at!(clock), Rcx),
                Step::FollowHalf(Rdx, Rdx, at!(cost)),
                Step::AddToCounter(Rdx, Rcx),
                Step::Load(Rdx, gs!(frame_top)),
            ]);
            take_from_older_if_free(&mut steps);
            self.begin(&mut steps);
        } else {
            steps.extend([Step::Save(spill_slot(RAX_SLOT), Rax), Step::Load(Rdx, gs!(frame_top))]);
            steps.extend(now(Rcx, self.ahead));
            steps.extend([
                Step::Follow(Rax, Rdx, at!(clock)),
                Step::Put(Rdx, at!(clock), Rcx),
                Step::Not(Rax),
                Step::Sum(Rcx, Rcx, Rax, 1),
            ]);
            steps.extend(ADD_TO_COST);
            steps.extend(take_from_older());
            self.begin(&mut steps);
            steps.push(Step::Load(Rax, spill_slot(RAX_SLOT)));
        }
        steps.extend(GIVE_BACK);
        steps
    }

    /// From here on the activation is one of the function that is jumped to.
    fn begin(&self, steps: &mut Vec<Step>) {
        steps.push(Step::Load(Rdx, gs!(frame_top)));
        match self.callee {
            Function::Recurring(function) => steps.extend([
                Step::LoadHalf(Rcx, COUNTERS + function),
                Step::PutHalf(Rdx, at!(older), Rcx),
                Step::PutNumber(Rdx, at!(function), function),
            ]),
            Function::Once | Function::Unknown => steps.push(Step::PutNumber(Rdx, at!(function), 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::sequence::Sequence;
    use alloc::boxed::Box;
    use timewise_abi::thread::{Frame, Registers, ThreadArea};

    /// Counters, by their distance from counter 0.
    const COST: u32 = 8;
    const OLDER: u32 = 16;
    const FUNCTION: u32 = 24;
    const CALLEE: u32 = 32;

    /// A thread's area, with counters 1 to 4.
    #[repr(C, align(64))]
    struct Memory {
        area: [u64; COUNTERS as usize / 8 + 1],
        counters: [u64; 4],
    }

    /// What a jump to another function leaves: its frame, and those counters.
    fn jump(is_free: bool, function: u32, callee: Function) -> (Frame, [u64; 4]) {
        let counters = [10, 5000, 0, OLDER.into()];
        let mut memory = Box::new(Memory { area: [0; COUNTERS as usize / 8 + 1], counters });
        let mut frame = Frame { slot: 1, clock: 700, cost: COST, function, older: OLDER, interrupted: 0 };
        let area = (&raw mut *memory).cast::<ThreadArea>();
        let mut registers = Registers { rax: 11, rcx: 12, rdx: 13, ..Registers::default() };
        let tail = Sequence::Tail(Tail { callee, ahead: 34, is_free, borrowed: false });
        // SAFETY: the memory is as large as an area with its counters, and nobody else's.
        let left = unsafe {
            (*area).clock = 1000;
            (*area).frame_top = &raw mut frame as u64;
            tail.finish(0, &mut registers, area)
        };
        assert_eq!((left, registers.rax, registers.rcx, registers.rdx), (None, 11, 12, 13));
        (frame, memory.counters)
    }

    /// Whether a return to an address that it puts on the stack ends the latest call, whose return address was at 0x1000,
    /// if it leaves the stack pointer somewhere; the call before had its own at another place.
    fn ends(up: u8, before: u64, rsp: u64) -> bool {
        let mut memory = Box::new(Memory { area: [0; COUNTERS as usize / 8 + 1], counters: [10, 0, 0, 0] });
        let frame = |slot| Frame { slot, clock: 700, cost: COST, ..Frame::default() };
        let mut frames = [frame(before), frame(0x1000)];
        let area = (&raw mut *memory).cast::<ThreadArea>();
        let mut registers = Registers { rsp, ..Registers::default() };
        let leave = Leave {
            back: Back::Between { up },
            ahead: 0,
            exit: 7,
            unmatched: 0,
            is_free: true,
            cost: None,
            callee: Function::Once,
            held: false,
        };
        // SAFETY: the memory is as large as an area with its counters, and nobody else's.
        let left = unsafe {
            (*area).clock = 1000;
            (*area).frame_top = &raw mut frames[1] as u64;
            Sequence::Leave(leave).finish(0, &mut registers, area)
        };
        assert_eq!((left.unwrap_or(7), memory.counters[0]), (7, if left.is_some() { 10 } else { 310 }));
        left.is_none()
    }

    #[test]
    fn what_took_its_arguments_off_ends_the_latest_call_below_the_one_before() {
        for up in [0, 16] {
            let most = 0x2000 + u64::from(up);
            assert!([0x1008, 0x1010, most].into_iter().all(|rsp| ends(up, 0x2000, rsp)));
            assert!(![0, 0x1000, most + 8, 0x7fff_ffff_f000].into_iter().any(|rsp| ends(up, 0x2000, rsp)));
            assert!(ends(up, Frame::ABOVE, 0x1008) && !ends(up, Frame::ABOVE, 0x7fff_ffff_f000));
        }
    }

    /// Of 334 instructions that the activation cost so far: they are its call's, and not an older one's of its function.
    #[test]
    fn a_jump_to_another_function_notes_the_same_with_and_without_flags() {
        let older = u64::from(OLDER);
        for is_free in [false, true] {
            let frame =
                |function, older| Frame { slot: 1, clock: 1034, cost: COST, function, older, interrupted: 0 };
            assert_eq!(
                jump(is_free, FUNCTION, Function::Recurring(CALLEE)),
                (frame(CALLEE, OLDER), [344, 5000 - 334, older, older])
            );
            assert_eq!(jump(is_free, 0, Function::Once), (frame(0, OLDER), [344, 5000, 0, older]));
        }
    }
}
