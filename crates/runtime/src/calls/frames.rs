//! The frames of a thread: what becomes of them when calls do not simply return.

use super::{Site, strands};
use crate::state::{Exit, Process};
use crate::sys::filter::is_confined;
use crate::sys::{call, number};
use alloc::collections::BTreeMap;
use core::slice;
use core::sync::atomic::Ordering;
use timewise_abi::log::edge_kind;
use timewise_abi::thread::{COUNTERS, Frame, Registers, ThreadArea, state};

/// How far below its latest frame a thread is taken to be on the same stack.
const NEAR: u64 = 16 << 10;

/// Bytes at the end of a thread area that are made inaccessible.
const GUARD: u64 = 0x1000;

/// The thread left block `from` after so many of its instructions, with the stack pointer at `stack`, and goes
/// on at `address`: by a return that does not end the latest call, or by a jump that moved the stack pointer, maybe
/// into another function.
fn matched(
    process: &Process,
    area: &mut ThreadArea,
    (from, executed): (u32, u16),
    (stack, address): (u64, u64),
    function: Option<u32>,
) {
    let (vertex, ahead) = process.blocks[from as usize].point(from, executed);
    let Some(lead) = process.placing.lead(vertex) else { return };
    let now = area.clock.wrapping_add_signed(lead + ahead);
    let mut frames = Frames { process, area, now };
    // A handler that returned is over when the kernel is told so.
    let is_handler = |frame: Frame| frame.cost == 0 && frame.slot.wrapping_add(8) == stack;
    if frames.latest().is_some_and(is_handler) {
        return;
    }
    let ends = |frames: &Frames, frame: &Frame| {
        let to = frames.returns_to(frame);
        frame.slot.wrapping_add(8) == stack && to.is_none_or(|to| to == address)
    };
    if frames.end_down_to(ends) {
        return;
    }
    if frames.is_near(stack) {
        // Landed in a function further up, by an exception or a long jump.
        frames.drop_below(stack);
        if let Some(function) = function {
            frames.become_another(function);
        }
        return;
    }
    let found = strands::find(&*frames.area, |open| {
        open.iter().rev().any(|frame| ends(&frames, frame)) || frames.holds(open, stack)
    });
    strands::switch(&mut frames, found);
    if found.is_some() && !frames.end_down_to(ends) {
        frames.drop_below(stack);
    }
}

/// The thread left by exit `number`; if that is there for its calls, they are put in order. The stack pointer is
/// `stack`.
pub fn left(process: &Process, area: &mut ThreadArea, number: u32, stack: u64) {
    let Exit { from, executed, kind, target, .. } = process.exits[number as usize];
    if kind == edge_kind::UNMATCHED {
        let function = process.calls.as_ref().and_then(|calls| calls.moved_into(number));
        matched(process, area, (from, executed), (stack, target), function);
    }
}

/// The thread ends after so many instructions of block `from`, or of nothing: all its calls end.
pub fn close(process: &Process, area: &mut ThreadArea, from: Option<(u32, u16)>) {
    let Some(mut frames) = Frames::at(process, area, from) else { return };
    frames.end_all();
    // What made the last outermost call may wait there no more: another thread will use the area.
    let outermost = frames.caller(0);
    *frames.counter(outermost) = 0;
    strands::close(&mut frames);
}

/// The process ends while other threads of it are in system calls: their calls end there.
pub fn close_others(process: &Process, area: &ThreadArea) {
    if process.calls.is_none() {
        return;
    }
    let mut offset = process.record.latest_thread.load(Ordering::Acquire);
    while offset != 0 {
        // SAFETY: a registered area, whose thread is in the kernel or stopped. Should it come back before the
        // process ends, both may write to its frames; neither leaves the area by that.
        let other = unsafe { &mut *process.shared.thread(offset) };
        let in_call = other.state.load(Ordering::Acquire) == state::IN_SYSTEM_CALL;
        if in_call && other.this != area.this && other.sharing == 0 {
            let from = other.position.load(Ordering::Relaxed);
            let executed = process.blocks.get(from as usize).map_or(0, |block| block.instructions);
            settle(process, other, (from, executed));
        }
        offset = process.shared.previous_thread(offset);
    }
}

/// Charges what calls cost so far, when the thread may not come back.
pub fn settle(process: &Process, area: &mut ThreadArea, from: (u32, u16)) {
    let Some(mut frames) = Frames::at(process, area, Some(from)) else { return };
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
    frames.area.settled = frames.area.clock;
}

/// A forked process's first thread starts with the calls of the thread that forked it, before that goes on.
pub fn inherit(process: &Process, area: &ThreadArea, child: &mut ThreadArea) {
    if process.calls.is_none() {
        return;
    }
    let base = area.this + process.shared.header().frames;
    let child_base = child.this + process.shared.header().frames;
    let bytes = area.frame_top - base;
    // SAFETY: the frames of both, and the one below that stands for none.
    unsafe {
        let (from, to) = (base as *const u8, child_base as *mut u8);
        core::ptr::copy_nonoverlapping(from, to, bytes as usize + size_of::<Frame>());
    }
    (child.frame_top, child.clock, child.strands) = (child_base + bytes, area.clock, area.strands);
    Frames { process, area: child, now: 0 }.note_waiting();
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
    strands::start(&mut frames);
}

/// Makes the end of a thread's frames inaccessible, so that too many of them are noticed.
pub fn limit(process: &Process, area: &ThreadArea) {
    let header = process.shared.header();
    if process.calls.is_some() && !is_confined() {
        let guard = area.this + header.thread_area_size - GUARD;
        // SAFETY: nothing but frames lies there, and the handler knows what a fault there means.
        let _ = unsafe { call(number::MPROTECT, [guard, GUARD, 0, 0, 0, 0]) };
    }
}

/// Whether a fault at `address` means that the thread has too many frames. They are dropped then, and the thread
/// can go on, which was about to write the first of a new frame beyond the one in `rcx`, perhaps what is in `rdx`.
pub fn is_overflow(
    process: &Process,
    area: &mut ThreadArea,
    address: u64,
    registers: &mut Registers,
) -> bool {
    let end = area.this + process.shared.header().thread_area_size;
    if process.calls.is_none() || !(end - GUARD..end).contains(&address) {
        return false;
    }
    let base = area.this + process.shared.header().frames;
    area.frame_top = (end - GUARD) - size_of::<Frame>() as u64;
    let mut frames = Frames { process, area, now: 0 };
    let count = frames.open().len();
    frames.forget_waiting();
    for index in 0..count {
        let frame = frames.open()[index];
        frames.end_brief(brief(&frame), frame.clock);
    }
    area.lost_calls += count as u64;
    area.frame_top = base;
    // No older activation of the function waits any more.
    (registers.rcx, registers.rdx) = (base, 0);
    true
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
    let Process { calls, space, shared, record, .. } = &mut *process;
    let Some(calls) = calls else { return };
    let function = calls.handler(space, handler, || shared.take_counter(record));
    let room = area.this + shared.header().thread_area_size - GUARD;
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
    let taken_up = brief_at(process, at, stack);
    if process.calls.is_some() {
        let now = area.clock;
        let mut frames = Frames { process, area, now };
        if frames.end_down_to(|_, frame| frame.cost == 0 && frame.slot == place) {
            frames.begin_brief(taken_up, now);
        }
    }
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

/// The counter for the cost of the call without a frame that a handler interrupted, if a frame is a handler's.
pub fn brief(frame: &Frame) -> u32 {
    if frame.cost == 0 { frame.interrupted } else { 0 }
}

/// The frames of a thread at a moment.
pub struct Frames<'a> {
    pub process: &'a Process,
    pub area: &'a mut ThreadArea,
    /// Instructions that the thread has executed.
    pub now: u64,
}

impl Frames<'_> {
    /// Those of a thread that left block `from` after so many instructions, or is outside; none if they are not
    /// asked for.
    fn at<'a>(
        process: &'a Process,
        area: &'a mut ThreadArea,
        from: Option<(u32, u16)>,
    ) -> Option<Frames<'a>> {
        process.calls.as_ref()?;
        let ahead = from.and_then(|(from, executed)| {
            let (vertex, ahead) = process.blocks.get(from as usize)?.point(from, executed);
            Some(process.placing.lead(vertex)? + ahead)
        });
        let now = area.clock.wrapping_add_signed(ahead.unwrap_or(0));
        Some(Frames { process, area, now })
    }

    /// Calls that have not returned, the outermost first.
    pub fn open(&mut self) -> &mut [Frame] {
        let base = self.area.this + self.process.shared.header().frames;
        let count = self.area.frame_top.saturating_sub(base) / size_of::<Frame>() as u64;
        // SAFETY: the first stands for none; the others follow up to the latest.
        unsafe { slice::from_raw_parts_mut((base as *mut Frame).add(1), count as usize) }
    }

    fn copy(&self, index: usize) -> Frame {
        let base = self.area.this + self.process.shared.header().frames;
        // SAFETY: the caller names one that is open.
        unsafe { *(base as *const Frame).add(1 + index) }
    }

    fn latest(&self) -> Option<Frame> {
        let base = self.area.this + self.process.shared.header().frames;
        // SAFETY: above the first it is one that is open.
        (self.area.frame_top > base).then(|| unsafe { *(self.area.frame_top as *const Frame) })
    }

    /// Replaces all of them.
    pub fn set(&mut self, frames: &[Frame]) {
        let base = self.area.this + self.process.shared.header().frames;
        self.area.frame_top = base + size_of_val(frames) as u64;
        self.open().copy_from_slice(frames);
    }

    /// A counter by its place.
    pub fn counter(&mut self, place: u32) -> &mut u64 {
        let offset = u64::from(COUNTERS) + u64::from(place);
        // SAFETY: counters lie in the area, and are the thread's own.
        unsafe { &mut *((self.area.this + offset) as *mut u64) }
    }

    /// Where a call returns to; none for a handler's.
    fn returns_to(&self, frame: &Frame) -> Option<u64> {
        let site = self.process.calls.as_ref()?.sites.get(&frame.cost)?;
        let block = &self.process.blocks[site.block as usize];
        Some(block.address + u64::from(block.length))
    }

    /// Charges what a call cost until now.
    fn charge(&mut self, frame: &Frame) -> u64 {
        let cost = self.now.wrapping_sub(frame.clock);
        let charged = self.counter(frame.cost);
        *charged = charged.wrapping_add(cost);
        if frame.function != 0 {
            let waiting = self.counter(frame.older);
            *waiting = waiting.wrapping_sub(cost);
        }
        cost
    }

    /// Where the older activation of a frame's function waits is where its latest waits again.
    pub fn wait_again(&mut self, frame: &Frame) {
        if frame.function != 0 {
            *self.counter(frame.function) = frame.older.into();
        }
    }

    /// All calls on this stack end.
    pub fn end_all(&mut self) {
        while self.latest().is_some() {
            self.end();
        }
    }

    /// The latest call ends.
    fn end(&mut self) {
        let Some(frame) = self.latest() else { return };
        let cost = self.charge(&frame);
        self.wait_again(&frame);
        self.area.frame_top -= size_of::<Frame>() as u64;
        if frame.cost == 0 {
            self.end_brief(brief(&frame), frame.clock);
            self.skip(cost);
            self.note_waiting();
        }
    }

    /// A call without a frame, by the counter for its cost, begins at a moment; 0 is none.
    pub fn begin_brief(&mut self, cost: u32, moment: u64) {
        let charged = self.counter(cost);
        *charged = charged.wrapping_sub(moment);
    }

    /// It ends.
    pub fn end_brief(&mut self, cost: u32, moment: u64) {
        let charged = self.counter(cost);
        *charged = charged.wrapping_add(moment);
    }

    /// The latest activation is one of another function from here on: what it cost so far is charged as the present
    /// one's.
    fn become_another(&mut self, function: u32) {
        let Some(frame) = self.latest() else { return };
        self.charge(&frame);
        self.wait_again(&frame);
        let older = self.waiting(function);
        let clock = self.now;
        if let Some(latest) = self.open().last_mut() {
            *latest = Frame { clock, function, older, ..frame };
        }
    }

    /// The site at which the latest activation of a function waits.
    pub fn waiting(&mut self, function: u32) -> u32 {
        if function == 0 { 0 } else { *self.counter(function) as u32 }
    }

    /// The function whose latest activation made an open call, if it may recur.
    pub fn caller(&self, index: usize) -> u32 {
        let known = self.site(index).and_then(|site| site.caller);
        match (known, index.checked_sub(1)) {
            (Some(start), _) => self.process.calls.as_ref().map_or(0, |calls| calls.recurring(start)),
            (None, Some(below)) => self.copy(below).function,
            (None, None) => 0,
        }
    }

    /// Where an open call was made.
    fn site(&self, index: usize) -> Option<Site> {
        self.process.calls.as_ref()?.sites.get(&self.copy(index).cost).copied()
    }

    /// Functions were found to recur, by where they begin with their counters: their activations are noted. The
    /// latest is of a function that begins at an address, if it is known.
    pub fn note_recurring(&mut self, found: &BTreeMap<u64, u32>, latest: Option<u64>) {
        for index in 0..self.open().len() {
            let made = if index + 1 == self.open().len() { latest } else { self.caller_at(index + 1) };
            let active = made.or_else(|| self.site(index)?.callee);
            if let Some(&function) = active.and_then(|start| found.get(&start)) {
                let frame = &mut self.open()[index];
                (frame.function, frame.older) = (function, 0);
            }
        }
    }

    fn caller_at(&self, index: usize) -> Option<u64> {
        self.site(index)?.caller
    }

    /// Notes of each function that is called at which site its latest activation waits, but for what a handler
    /// interrupted.
    pub fn note_waiting(&mut self) {
        let handler = self.open().iter().rposition(|frame| frame.cost == 0);
        for index in handler.map_or(0, |handler| handler + 1)..self.open().len() {
            let (function, site) = (self.caller(index), self.open()[index].cost);
            *self.counter(function) = site.into();
        }
    }

    /// No activation waits for what comes now.
    fn forget_waiting(&mut self) {
        for index in 0..self.open().len() {
            let function = self.caller(index);
            *self.counter(function) = 0;
        }
        let latest = self.latest().map_or(0, |frame| frame.function);
        *self.counter(latest) = 0;
    }

    /// What was executed since is no cost of the calls that are open.
    pub fn skip(&mut self, instructions: u64) {
        for index in 0..self.open().len() {
            let frame = &mut self.open()[index];
            frame.clock = frame.clock.wrapping_add(instructions);
            let interrupted = brief(frame);
            self.begin_brief(interrupted, instructions);
        }
    }

    /// Ends calls down to the one that `ends` picks, and that one too. False if there is none.
    fn end_down_to(&mut self, ends: impl Fn(&Frames, &Frame) -> bool) -> bool {
        let count = self.open().len();
        let Some(index) = (0..count).rev().find(|&index| ends(self, &self.copy(index))) else { return false };
        for _ in index..count {
            self.end();
        }
        true
    }

    /// Whether a stack pointer is on the stack of the open calls, or nothing says otherwise.
    fn is_near(&mut self, stack: u64) -> bool {
        let Some(latest) = self.latest() else { return strands::is_empty(self.area) };
        let lowest = latest.slot.saturating_sub(NEAR);
        let highest = self.copy(0).slot.saturating_add(NEAR);
        (lowest..=highest).contains(&stack)
    }

    /// Whether a stack pointer lies on the stack of these calls.
    fn holds(&self, open: &[Frame], stack: u64) -> bool {
        let ends = open.last().zip(open.first());
        ends.is_some_and(|(low, high)| (low.slot..=high.slot).contains(&stack))
    }

    /// Ends calls whose part of the stack is gone.
    fn drop_below(&mut self, stack: u64) {
        while self.latest().is_some_and(|frame| frame.slot < stack) {
            self.end();
        }
    }
}
