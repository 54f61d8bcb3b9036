//! The trace under way, as it is written into a thread's ring.

use crate::ahead::Branches;
use core::sync::atomic::Ordering;
use timewise_abi::tracing::{End, RING, RING_WORDS, TraceSlot, head_word};

/// Words of a trace before its branches.
const HEAD_WORDS: u64 = 2;

/// The trace of one thread: it stands in the ring beyond what the host may read, until it is published.
pub struct Trace<'a> {
    slot: &'a mut TraceSlot,
    length: u32,
}

impl<'a> Trace<'a> {
    /// The one under way in a thread's slot, of at most `length` branches.
    pub fn of(slot: &'a mut TraceSlot, length: u32) -> Trace<'a> {
        Trace { slot, length }
    }

    /// Begins a trace at `start`, if there is room for it.
    pub fn begin(&mut self, start: u64) -> bool {
        let slot = &mut *self.slot;
        let used = slot.head.load(Ordering::Relaxed).wrapping_sub(slot.tail.load(Ordering::Acquire));
        let wanted = HEAD_WORDS + 2 * u64::from(self.length);
        if used.saturating_add(wanted) > RING_WORDS as u64 {
            slot.lost.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        slot.begun.fetch_add(1, Ordering::Relaxed);
        (slot.written, slot.sure, slot.start) = (0, 0, start);
        true
    }

    /// All that was noted has been executed.
    pub fn confirm(&mut self) {
        self.slot.sure = self.slot.written;
    }

    /// Ends the trace: the host gets what is sure of it.
    pub fn publish(&mut self, end: End) {
        let branches = self.slot.sure;
        self.slot.ends[end as usize].fetch_add(1, Ordering::Relaxed);
        let head = self.slot.head.load(Ordering::Relaxed);
        if branches > 0 {
            self.put(0, head_word(branches as u32, end));
            self.put(1, self.slot.start);
            // Release: what was put there is complete before the host may look.
            self.slot.head.store(head + HEAD_WORDS + 2 * branches, Ordering::Release);
        }
        (self.slot.written, self.slot.sure) = (0, 0);
    }

    /// Puts a word where the trace under way has its `at`-th.
    fn put(&mut self, at: u64, word: u64) {
        let position = self.slot.head.load(Ordering::Relaxed).wrapping_add(at) as usize % RING_WORDS;
        let slot: *mut TraceSlot = self.slot;
        // SAFETY: the ring lies behind the slot's head within the slot, and this part of it is the thread's:
        // there was room when the trace began.
        unsafe { slot.cast::<u8>().add(RING as usize).cast::<u64>().add(position).write(word) };
    }
}

impl Branches for Trace<'_> {
    fn push(&mut self, from: u64, to: u64) {
        let at = HEAD_WORDS + 2 * self.slot.written;
        self.put(at, from);
        self.put(at + 1, to);
        self.slot.written += 1;
    }

    fn decided(&mut self) {
        self.slot.decided.fetch_add(1, Ordering::Relaxed);
    }

    fn full(&self) -> bool {
        self.slot.written >= u64::from(self.length)
    }
}
