//! What becomes of a thread's calls when they do not simply return: by long jumps, exceptions, switches of stacks,
//! handlers, forks and ends.

use super::aside::{self, put_aside, put_aside_gone};
use super::elsewhere::{self, Place};
use super::frames::{Frames, brief};
use super::relink;
use super::strands::{self, TAKEN};
use crate::guard;
use crate::state::{Exit, Process};
use crate::unlink;
use timewise_abi::log::edge_kind;
use timewise_abi::thread::{Frame, Registers, ThreadArea, returned};
use timewise_isa::MAX_LENGTH;

/// How many calls one return may end of which none is come back to: a function may return for its caller.
const DROPPED: usize = 2;

/// Where a thread goes on by a return that does not end the latest call, or by a jump that moved the stack pointer,
/// maybe into another function.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    /// The stack pointer.
    pub stack: u64,
    /// The address.
    pub address: u64,
    /// The counter for the cost of the call without a frame that goes on there, which a handler interrupted, or 0.
    pub brief: u32,
    /// Where the function begins that holds the address, or that made that call, if it is known.
    pub within: Option<u64>,
    /// The counter of the function that begins at the address, if one does, or 0 if that does not recur.
    pub begins: Option<u32>,
    /// The counter of the function that the thread was in before, or 0.
    pub left: u32,
    /// Whether it returns behind a call.
    pub is_return: bool,
    /// Whether it may have moved its return address, as nothing is told of where it comes from and goes.
    pub may_be_moved: bool,
    /// Whether it was seen to, before.
    pub was_moved: bool,
}

/// What a return ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// So many calls, of which the last returned from where its return address was put; or none.
    Put(usize),
    /// So many, of which the last had moved it.
    Moved(usize),
}

impl Landing {
    /// The counter of the function that holds the address, or 0 if it does not recur, if it is known.
    fn function(self, process: &Process) -> Option<u32> {
        process.calls.as_ref().zip(self.within).map(|(calls, within)| calls.recurring(within))
    }

    /// Whether a call returned there, by where its return address was and what that is.
    pub fn ends(self, frames: &Frames, frame: &Frame) -> bool {
        frame.slot.wrapping_add(8) == self.stack
            && frames.returns_to(frame).is_none_or(|to| to == self.address)
    }
}

/// The thread left block `from` after so many of its instructions. Of calls made until the moment `rest` frames may be
/// held. What returned there: the latest call, and those in which it was made.
fn matched(
    process: &Process,
    area: &mut ThreadArea,
    (from, executed): (u32, u16),
    landing: Landing,
    rest: u64,
) -> Ended {
    let (vertex, ahead) = process.blocks[from as usize].point(from, executed);
    let Some(lead) = process.placing.lead(vertex) else { return Ended::Put(0) };
    let now = area.clock.wrapping_add_signed(lead + ahead);
    let mut frames = Frames { process, area, now };
    // Mostly nothing but what is over has to be known.
    let is_plain = landing.begins.is_none() && !landing.was_moved;
    let over = is_plain.then(|| end_those_over(&mut frames, landing, rest)).flatten();
    let ended = over.map(Ended::Put).unwrap_or_else(|| {
        frames.gather();
        let ended = put_in_order(&mut frames, landing);
        frames.release();
        ended
    });
    let now = frames.now;
    frames.begin_brief(landing.brief, now);
    ended
}

/// Ends the calls that are over, if the thread has one stack and is in no handler: how many returned there. None if that
/// cannot be told: only frames made after `rest` are known.
fn end_those_over(frames: &mut Frames, landing: Landing, rest: u64) -> Option<usize> {
    let stack = landing.stack;
    let open = frames.open();
    let is_latest_known = open.last().is_some_and(|latest| latest.clock > rest);
    let is_plain = open.iter().all(|frame| frame.cost != 0 && frame.slot != TAKEN);
    if !is_latest_known || !is_plain || !frames.is_only_stack() {
        return None;
    }
    let count = frames.open().len();
    let below = frames.open().iter().rposition(|frame| frame.slot >= stack).map_or(0, |above| above + 1);
    let ended = frames.all().iter().rposition(|frame| landing.ends(frames, frame));
    if ended.is_none() && !frames.is_near(stack) {
        return None;
    }
    let first = ended.unwrap_or(below);
    let leaves_some = ended.is_none_or(|ended| count - ended > DROPPED);
    if landing.is_return && (leaves_some || frames.may_come_back(stack)) {
        return None;
    }
    let back = first.checked_sub(1).map(|back| frames.copy(back)).filter(|_| ended.is_none());
    let function = landing.function(frames.process);
    if back.zip(function).is_some_and(|(back, function)| is_of_another(&back, function)) {
        return None;
    }
    let is_known = frames.open().get(first).is_none_or(|frame| frame.clock > rest);
    (first..count).filter(|_| is_known).for_each(|_| frames.end());
    is_known.then(|| ended.map_or(0, |ended| count - ended))
}

/// Ends the call that returned there, and those that it made: how many these are. Others may have been where the thread's
/// own are, if that is doubted.
fn end_returned(frames: &mut Frames, place: &Place, is_doubted: bool) -> usize {
    let ended = place.ended(frames, frames.all(), is_doubted);
    let over = ended.map_or(0, |ended| frames.all().len() - ended);
    (0..over).for_each(|_| frames.end());
    over
}

/// The same of the thread's own calls. Those that the one made which returned may be such as it comes back to.
fn end_own(frames: &mut Frames, place: &Place, is_doubted: bool, may_come_back: bool) -> usize {
    let count = frames.all().len();
    let Some(ended) = place.ended(frames, frames.all(), is_doubted) else { return 0 };
    if may_come_back && count - ended > DROPPED {
        put_aside(frames, ended + 1);
    }
    (ended..frames.all().len()).for_each(|_| frames.end());
    count - ended
}

/// Finds out on which stack the thread is, and which of its calls are over: what returned there.
fn put_in_order(frames: &mut Frames, landing: Landing) -> Ended {
    let Landing { stack, begins, address, .. } = landing;
    // A handler that returned is over when the kernel is told so.
    let is_handler = |frame: Frame| frame.cost == 0 && frame.slot.wrapping_add(8) == stack;
    if frames.latest().is_some_and(is_handler) {
        return Ended::Put(0);
    }
    // Where this return was seen to come from elsewhere, it may come from where the call before put its own by chance.
    if landing.was_moved
        && let Some(over) = frames.end_moved(stack, address)
    {
        return Ended::Moved(over);
    }
    let place = Place::new(landing);
    let is_doubted = !frames.is_only_stack() || frames.are_moved() || frames.may_come_back(stack);
    let may_come_back = landing.is_return && frames.is_only_stack();
    let returned = end_own(frames, &place, is_doubted, may_come_back);
    if returned > 0 {
        return Ended::Put(returned);
    }
    if aside::come_back(frames, &place, stack) {
        return Ended::Put(end_returned(frames, &place, false));
    }
    if frames.open().is_empty() {
        // If the function that the stack began with is over, it waits no more.
        *frames.counter(landing.left) = 0;
    }
    let process = frames.process;
    let Some(left) = process.calls.as_ref().map(|calls| &calls.left) else { return Ended::Put(0) };
    let back = left
        .borrow_mut()
        .take_ended(frames, stack, |open, is_doubted| place.ended(frames, open, is_doubted).is_some());
    if back.is_some() {
        strands::switch(frames, back);
        return Ended::Put(end_returned(frames, &place, false));
    }
    if landing.may_be_moved
        && let Some(over) = frames.end_moved(stack, address)
    {
        return Ended::Moved(over);
    }
    if begins.is_none() && !returns_from_before(frames, landing) && elsewhere::follow(frames, &place) {
        return Ended::Put(end_returned(frames, &place, false));
    }
    // By an exception, a long jump or a jump into another function.
    let stays = match frames.is_only_stack() {
        // Where a function begins that does not return to one of these calls, it is the first on another stack.
        true => (begins.is_none() || frames.spans(stack)) && frames.is_near(stack),
        false => strands::go_back(frames, landing),
    };
    if stays {
        if !(may_come_back && put_aside_gone(frames, stack)) {
            frames.drop_below(stack);
        }
        if let Some(function) = begins {
            frames.become_another(function);
        }
    } else {
        let next = left.borrow_mut().take_around(frames, landing);
        strands::switch(frames, next);
        strands::go_back(frames, landing);
    }
    if let Some(function) = landing.function(process).filter(|_| begins.is_none())
        && frames.latest().is_some_and(|latest| is_of_another(&latest, function))
    {
        frames.become_another(function);
    }
    Ended::Put(0)
}

/// Whether a thread that was taken over comes back from a call that was open then, of which nobody knows: in a program of
/// many threads that each does, so no other one is asked for it.
fn returns_from_before(frames: &mut Frames, landing: Landing) -> bool {
    // Most frames are smaller; what lies further up may be another stack, and is asked for.
    const FRAME: u64 = 4 << 10;
    let joined = frames.area.joined;
    let is_further_up = joined != 0 && landing.stack > joined;
    let is_before = landing.is_return && frames.open().is_empty() && is_further_up;
    if is_before {
        frames.area.joined = landing.stack;
    }
    is_before && landing.stack - joined <= FRAME
}

/// Whether an activation in which a thread goes on, in a function by its counter, was made one of another by what a
/// handler sent the thread to.
fn is_of_another(frame: &Frame, function: u32) -> bool {
    frame.cost != 0 && frame.function != 0 && frame.function != function
}

/// A thread leaves by exit `number` with its stack pointer at `stack`: if that exit is there for its calls, they are put
/// in order.
pub fn left(process: &mut Process, area: &mut ThreadArea, number: u32, stack: u64) {
    let Exit { from, executed, kind, target, .. } = process.exits[number as usize];
    if kind == edge_kind::UNMATCHED {
        let rest = relink::land(process, area, number, stack);
        let Process { calls, space, blocks, .. } = &mut *process;
        let Some(calls) = calls else { return };
        let begins = calls.moved_into(number);
        let end = blocks[from as usize].end();
        let is_return = calls.is_site(space, target) && blocks[from as usize].returns();
        let (left, within) = (calls.function_at(space, end), calls.function_at(space, target));
        let may_be_moved = is_return && (left, within) == (None, None);
        // Where it is already, nothing begins.
        let interrupted = (left != within).then(|| calls.brief_at(space, target, stack)).flatten();
        let caller = interrupted.and_then(|cost| calls.with_cost(cost)).and_then(|call| call.caller());
        let landing = Landing {
            stack,
            address: target,
            brief: interrupted.unwrap_or(0),
            within: caller.or(within),
            begins,
            left: left.map_or(0, |start| calls.recurring(start)),
            is_return,
            may_be_moved,
            was_moved: may_be_moved && calls.is_moved(space, (end, target)),
        };
        let ended = matched(process, area, (from, executed), landing, rest);
        let Process { calls: Some(calls), space, blocks, .. } = &mut *process else { return };
        match ended {
            Ended::Put(1) if calls.returned(space, target, end) => unlink::renew_returns(process, target),
            // A stack that is switched by a return may lie anywhere.
            Ended::Moved(1)
                if !timewise_isa::moves_stack(blocks[from as usize].code())
                    && calls.add_moved(space, (end, target)) =>
            {
                unlink::renew_return(process, from, target);
            }
            _ => {}
        }
    }
}

/// The thread ends after so many instructions of block `from`, or of nothing: all its calls end.
pub fn close(process: &Process, area: &mut ThreadArea, from: Option<(u32, u16)>) {
    let Some(mut frames) = Frames::at(process, area, from) else { return };
    frames.gather();
    frames.end_all();
    // What made the last outermost call may wait there no more: another thread will use the area.
    let outermost = frames.caller(0);
    *frames.counter(outermost) = 0;
    strands::settle(&mut frames);
}

/// The process ends while other threads of it are in system calls: their calls end there.
pub fn close_others(process: &Process, area: &ThreadArea) {
    if process.calls.is_some() {
        process.each_in_system_call(area, |other, from| {
            let executed = process.blocks.get(from as usize).map_or(0, |block| block.instructions);
            settle(process, other, (from, executed));
        });
    }
}

/// Charges what calls cost so far, when the thread may not come back.
pub fn settle(process: &Process, area: &mut ThreadArea, from: (u32, u16)) {
    let Some(mut frames) = Frames::at(process, area, Some(from)) else { return };
    frames.gather();
    for index in (0..frames.open().len()).rev() {
        let frame = frames.open()[index];
        if frame.cost == 0 {
            // What a handler executes is no cost of those below.
            frames.now = frame.clock;
        } else {
            frames.charge(&frame);
            frames.open()[index].clock = frames.now;
        }
    }
    strands::settle(&mut frames);
    frames.area.settled = frames.area.clock;
}

/// A forked process's first thread starts with the calls of the thread that forked it, before that goes on.
pub fn inherit(process: &Process, area: &mut ThreadArea, child: &mut ThreadArea) {
    if process.calls.is_none() {
        return;
    }
    Frames { process, area, now: 0 }.gather();
    let base = area.this + process.shared.header().frames;
    let child_base = child.this + process.shared.header().frames;
    let bytes = area.frame_top - base;
    // SAFETY: the frames of both, and the one below that stands for none.
    unsafe {
        let (from, to) = (base as *const u8, child_base as *mut u8);
        core::ptr::copy_nonoverlapping(from, to, bytes as usize + size_of::<Frame>());
    }
    (child.frame_top, child.clock) = (child_base + bytes, area.clock);
    Frames { process, area: child, now: 0 }.note_waiting();
    Frames { process, area, now: 0 }.release();
}

/// A thread is about to take its first step, or the copy of one its next, from outside: what its calls cost
/// counts from here.
pub fn start(process: &Process, area: &mut ThreadArea) {
    let Some(mut frames) = Frames::at(process, area, None) else { return };
    let now = frames.now;
    for index in 0..frames.open().len() {
        let frame = &mut frames.open()[index];
        frame.clock = now;
        let interrupted = brief(frame);
        frames.begin_brief(interrupted, now);
    }
    if frames.area.returned == returned::FORK {
        strands::start(&mut frames);
    }
}

/// Makes the end of a thread's frames inaccessible, so that too many of them are noticed.
pub fn limit(process: &Process, area: &ThreadArea) {
    if process.calls.is_some() {
        guard::raise(process, area);
    }
}

/// Whether a fault at `address` means that the thread has too many frames. They are dropped then, and the thread
/// can go on, which was about to write the first of a new frame beyond the one whose address is in a register, perhaps
/// what is in another.
pub fn is_overflow(
    process: &Process,
    area: &mut ThreadArea,
    address: u64,
    registers: &mut Registers,
) -> bool {
    if process.calls.is_none() || !guard::holds(process, area, address) {
        return false;
    }
    let base = area.this + process.shared.header().frames;
    let by_rax = is_based_on_rax(process.cache.bytes_at(registers.rip, MAX_LENGTH));
    area.frame_top = guard::begins(process, area) - size_of::<Frame>() as u64;
    let mut frames = Frames { process, area, now: 0 };
    let count = frames.open().len();
    frames.forget_waiting();
    for index in 0..count {
        let frame = frames.open()[index];
        frames.end_brief(brief(&frame), frame.clock);
    }
    area.lost_calls += count as u64;
    area.frame_top = base;
    // No older activation of the function waits any more. Direct calls borrow other registers than indirect ones.
    match by_rax {
        true => (registers.rax, registers.r8_to_r15[3]) = (base, 0),
        false => (registers.rcx, registers.rdx) = (base, 0),
    }
    true
}

/// Whether an instruction that stores something beyond the address in a register does so by `rax`.
fn is_based_on_rax(code: &[u8]) -> bool {
    let prefix = usize::from(code.first().is_some_and(|byte| byte & 0xf0 == 0x40));
    code.get(prefix + 1).is_some_and(|operands| operands & 7 == 0)
}

/// A handler at an address is about to run, with the address of what it returns to at the top of its stack, `place`.
/// What it executes is no cost of the calls that it interrupts, with the thread at `at` and its stack pointer at
/// `stack`.
pub fn mark_handler(
    process: &mut Process,
    area: &mut ThreadArea,
    (handler, place): (u64, u64),
    (at, stack): (u64, u64),
) {
    let interrupted = brief_at(process, at, stack);
    let room = guard::begins(process, area);
    let Process { calls, space, shared, record, .. } = &mut *process;
    let Some(calls) = calls else { return };
    let function = calls.handler(space, handler, || shared.take_counter(record));
    // The handler's own calls may be held where those are that it interrupted.
    Frames { process, area, now: 0 }.gather();
    if area.frame_top + 2 * size_of::<Frame>() as u64 > room {
        return;
    }
    let clock = area.clock;
    let mut frames = Frames { process, area, now: clock };
    // And the handler's own calls are none of theirs.
    frames.forget_waiting();
    frames.area.frame_top += size_of::<Frame>() as u64;
    // SAFETY: there is room for it.
    let frame = unsafe { &mut *(frames.area.frame_top as *mut Frame) };
    *frame = Frame { slot: place, clock, function, interrupted, ..Frame::default() };
}

/// The handler marked with `place` is over, and its thread outside: it goes on at `at`, with its stack pointer at
/// `stack`.
pub fn end_handler(process: &mut Process, area: &mut ThreadArea, place: u64, (at, stack): (u64, u64)) {
    let is_its = |frame: &Frame| frame.cost == 0 && frame.slot == place;
    let mut taken_up = brief_at(process, at, stack);
    if process.calls.is_none() {
        return;
    }
    let now = area.clock;
    let mut frames = Frames { process, area, now };
    frames.gather();
    let marked = frames.open().iter().rfind(|frame| is_its(frame)).copied();
    let Some(marked) = marked else { return frames.release() };
    if taken_up == 0 && is_within(process, marked.interrupted, at) {
        taken_up = marked.interrupted;
    }
    let mut frames = Frames { process, area, now };
    frames.end_down_to(|_, frame| is_its(frame));
    frames.begin_brief(taken_up, now);
    frames.release();
}

/// Whether `at` is in the leaf whose call without a frame has a counter: a handler may have sent the thread to code
/// in it that nothing leads to.
fn is_within(process: &mut Process, cost: u32, at: u64) -> bool {
    let Process { calls, space, .. } = process;
    calls.as_mut().is_some_and(|calls| calls.is_in_callee(space, cost, at))
}

/// The thread ends at `at`, with its stack pointer at `stack`, and so do all its calls.
pub fn end(process: &mut Process, area: &mut ThreadArea, (at, stack): (u64, u64)) {
    let interrupted = brief_at(process, at, stack);
    if process.calls.is_some() {
        let now = area.clock;
        Frames { process, area, now }.end_brief(interrupted, now);
        close(process, area, None);
    }
}

/// The counter for the cost of the call without a frame that a thread is in at `at`, or 0.
fn brief_at(process: &mut Process, at: u64, stack: u64) -> u32 {
    let Process { calls, space, .. } = process;
    calls.as_mut().and_then(|calls| calls.brief_at(space, at, stack)).unwrap_or(0)
}
