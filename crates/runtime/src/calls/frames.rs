//! The frames of a thread: its calls that have not returned, at a moment when translated code does not run.

use super::call::Call;
use crate::state::Process;
use crate::sys::memory::{is_checked, read};
use alloc::collections::BTreeMap;
use core::slice;
use timewise_abi::thread::{COUNTERS, Frame, ThreadArea};

/// How far below its latest frame a thread is taken to be on the same stack.
pub const NEAR: u64 = 16 << 10;

/// The counter for the cost of the call without a frame that a handler interrupted, if a frame is a handler's.
pub fn brief(frame: &Frame) -> u32 {
    if frame.cost == 0 { frame.interrupted } else { 0 }
}

/// Whether a call's return address is on the stack where that of the next one may be.
pub fn is_next(outer: u64, inner: u64) -> bool {
    (outer.saturating_sub(NEAR)..=outer.saturating_sub(8)).contains(&inner)
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
    pub fn at<'a>(
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
        let count = self.all().len();
        // SAFETY: as to look at them, and they are the thread's own.
        unsafe { slice::from_raw_parts_mut((base as *mut Frame).add(1), count) }
    }

    /// The same, to look at.
    pub fn all(&self) -> &[Frame] {
        let base = self.area.this + self.process.shared.header().frames;
        let count = self.area.frame_top.saturating_sub(base) / size_of::<Frame>() as u64;
        // SAFETY: the first stands for none; the others follow up to the latest.
        unsafe { slice::from_raw_parts((base as *const Frame).add(1), count as usize) }
    }

    /// One of them, or what was the first before it ended.
    pub fn copy(&self, index: usize) -> Frame {
        let base = self.area.this + self.process.shared.header().frames;
        // SAFETY: the caller names one that is open, or the first, for which there is always room.
        unsafe { *(base as *const Frame).add(1 + index) }
    }

    pub fn latest(&self) -> Option<Frame> {
        self.all().last().copied()
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

    /// So many counters from a place on.
    pub fn row<const N: usize>(&self, place: u32) -> &[u64; N] {
        let offset = u64::from(COUNTERS) + u64::from(place);
        // SAFETY: as for one of them.
        unsafe { &*((self.area.this + offset) as *const [u64; N]) }
    }

    /// Where a call returns to; none for a handler's.
    pub fn returns_to(&self, frame: &Frame) -> Option<u64> {
        let call = self.process.calls.as_ref()?.with_cost(frame.cost)?;
        let block = &self.process.blocks[call.block as usize];
        Some(block.address + u64::from(block.length))
    }

    /// Whether the return address of a call stands where it was, or that cannot be asked.
    pub fn is_intact(&self, frame: &Frame) -> bool {
        let mut word = [0; 8];
        let mut stands = |to| read(frame.slot, &mut word) == word.len() && u64::from_le_bytes(word) == to;
        !is_checked() || self.returns_to(frame).is_none_or(&mut stands)
    }

    /// Charges what a call cost until now.
    pub fn charge(&mut self, frame: &Frame) -> u64 {
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
    pub fn end(&mut self) {
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
    pub fn become_another(&mut self, function: u32) {
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
        let known = self.call(index).and_then(|call| call.caller());
        match (known, index.checked_sub(1)) {
            (Some(start), _) => self.process.calls.as_ref().map_or(0, |calls| calls.recurring(start)),
            (None, Some(below)) => self.copy(below).function,
            (None, None) => 0,
        }
    }

    /// An open call.
    fn call(&self, index: usize) -> Option<Call> {
        self.process.calls.as_ref()?.with_cost(self.copy(index).cost)
    }

    /// Functions were found to recur, by where they begin with their counters: their activations are noted. The
    /// latest is of a function that begins at an address, if it is known.
    pub fn note_recurring(&mut self, found: &BTreeMap<u64, u32>, latest: Option<u64>) {
        for index in 0..self.open().len() {
            let made = if index + 1 == self.open().len() { latest } else { self.caller_at(index + 1) };
            let active = made.or_else(|| self.call(index)?.callee());
            if let Some(&function) = active.and_then(|start| found.get(&start)) {
                let frame = &mut self.open()[index];
                (frame.function, frame.older) = (function, 0);
            }
        }
    }

    /// Where the function begins that a call leads to, if it is known.
    pub fn callee_of(&self, frame: &Frame) -> Option<u64> {
        self.process.calls.as_ref()?.with_cost(frame.cost)?.callee()
    }

    /// Where the function begins that made an open call, if it is known.
    pub fn caller_at(&self, index: usize) -> Option<u64> {
        self.call(index)?.caller()
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
    pub fn forget_waiting(&mut self) {
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
    pub fn end_down_to(&mut self, ends: impl Fn(&Frames, &Frame) -> bool) -> bool {
        let count = self.open().len();
        let Some(index) = (0..count).rev().find(|&index| ends(self, &self.copy(index))) else { return false };
        for _ in index..count {
            self.end();
        }
        true
    }

    /// Whether no other stack is known on which a thread might go on.
    pub fn is_only_stack(&self) -> bool {
        self.process.calls.as_ref().is_none_or(|calls| calls.left.borrow().is_empty())
    }

    /// Whether calls were put aside that a thread may come back to by a return.
    pub fn may_come_back(&self, stack: u64) -> bool {
        self.process.calls.as_ref().is_some_and(|calls| calls.left.borrow().aside.may_go_on(stack))
    }

    /// Whether stacks were found elsewhere than where they were left.
    pub fn are_moved(&self) -> bool {
        self.process.calls.as_ref().is_some_and(|calls| calls.left.borrow().are_moved())
    }

    /// Whether a stack pointer is on the stack of the open calls, or nothing says otherwise.
    pub fn is_near(&mut self, stack: u64) -> bool {
        let Some((lowest, highest)) = self.extent() else { return self.is_only_stack() };
        (lowest.saturating_sub(NEAR)..=highest.saturating_add(NEAR)).contains(&stack)
    }

    /// Whether a stack pointer lies between the latest calls that may be on one stack.
    pub fn spans(&mut self, stack: u64) -> bool {
        self.extent().is_some_and(|(lowest, highest)| (lowest..=highest).contains(&stack))
    }

    /// Where the latest call has its return address, and where the first of those before it, each of which is below the one
    /// before.
    fn extent(&mut self) -> Option<(u64, u64)> {
        let (latest, rest) = self.open().split_last()?;
        let mut highest = latest.slot;
        for slot in rest.iter().rev().map(|frame| frame.slot) {
            if slot <= highest {
                break;
            }
            highest = slot;
        }
        Some((latest.slot, highest))
    }

    /// Ends calls whose part of the stack is gone.
    pub fn drop_below(&mut self, stack: u64) {
        while self.latest().is_some_and(|frame| frame.slot < stack) {
            self.end();
        }
    }
}
