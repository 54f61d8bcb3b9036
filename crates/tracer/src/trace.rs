//! The trace under way, as it is written into a thread's ring.

use crate::ahead::Branches;
use crate::bench::Bench;
use crate::evaluation::{Evaluation, Visited, Work};
use crate::handler::time_stamp;
use crate::shadow::{As, GROUP, LINE, Source};
use crate::slot::bench_page;
use core::sync::atomic::{AtomicU64, Ordering};
use timewise_abi::tracing::{
    Effort, End, HEAD_WORDS, RING, RING_WORDS, Reach, TIME_MARK, TraceSlot, WORK, head_word,
};
use timewise_runtime::sys::{Errno, call, memory, number};

/// Memory of the calling process, read so that what is not there is an answer rather than a fault: by the kernel for one
/// of its threads, or, if that is the only one, without its help where it has just found a page there.
pub struct OwnMemory {
    /// The calling thread: by a first thread that has ended, the kernel finds no memory.
    tid: u32,
    /// The page that the stack pointer is in, where nobody else changes what is mapped.
    stack: Option<u64>,
}

/// Bytes of a page.
const PAGE: u64 = 4096;

impl OwnMemory {
    /// For a thread; `alone` is where its stack pointer is, if the process has no other.
    pub fn of(tid: u32, alone: Option<u64>) -> OwnMemory {
        OwnMemory { tid, stack: alone.map(|stack| stack / PAGE) }
    }

    /// Whether this can be read without the kernel's help, which takes several times as long: if nobody else is there to
    /// take it away, and if reading it does nothing, as it may do to devices. There remains another process that cuts
    /// short a file in this very moment: of code that would have been executed, or of a stack.
    fn is_plain(&self, address: u64, kind: As) -> bool {
        let is_harmless = |stack: u64| kind == As::Code || address / PAGE == stack;
        self.stack.is_some_and(is_harmless) && is_readable(address)
    }
}

/// Whether the kernel can read at an address.
fn is_readable(address: u64) -> bool {
    const NO_CHANGE: u64 = 99;
    const INVALID: Errno = Errno(22);
    // SAFETY: there is no such change of the signal mask, which the kernel finds out once it has read the mask.
    unsafe { call(number::RT_SIGPROCMASK, [NO_CHANGE, address, 0, 8, 0, 0]) == Err(INVALID) }
}

impl Source for OwnMemory {
    fn fetch(&mut self, address: u64, kind: As, lines: &mut [[u8; LINE]; GROUP]) -> bool {
        const FAULT: Errno = Errno(14);
        let bytes = lines.as_flattened_mut();
        if self.is_plain(address, kind) {
            // SAFETY: within a page that can be read, which stays while this thread is here; the bytes are the tracer's.
            unsafe { core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
            return true;
        }
        let (local, remote) =
            ([bytes.as_mut_ptr() as u64, bytes.len() as u64], [address, bytes.len() as u64]);
        let arguments = [self.tid.into(), local.as_ptr() as u64, 1, remote.as_ptr() as u64, 1, 0];
        // SAFETY: writes to these bytes alone.
        match unsafe { call(number::PROCESS_VM_READV, arguments) } {
            Ok(count) => count as usize == bytes.len(),
            Err(FAULT) => false,
            // The call is refused: there are other ways.
            Err(_) => memory::read(address, bytes) == bytes.len(),
        }
    }
}

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
        // A mark may come before the last branch.
        let wanted = HEAD_WORDS + 2 * (u64::from(self.length) + 1);
        if used.saturating_add(wanted) > RING_WORDS as u64 {
            slot.lost.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        slot.begun.fetch_add(1, Ordering::Relaxed);
        (slot.written, slot.sure) = (Reach::default(), Reach::default());
        (slot.start, slot.ticks) = (start, time_stamp());
        true
    }

    /// All that was noted has been executed.
    pub fn confirm(&mut self) {
        self.slot.sure = self.slot.written;
    }

    /// What follows is found now, after the thread went on for a while: meanwhile other code may have been mapped.
    pub fn goes_on(&mut self) {
        let now = time_stamp();
        let pairs = self.slot.written.pairs;
        let at = HEAD_WORDS + 2 * pairs;
        if pairs == 0 {
            self.slot.ticks = now;
        } else if self.word(at - 2) == TIME_MARK {
            self.put(at - 1, now);
        } else {
            self.push(TIME_MARK, now);
        }
    }

    /// Evaluation for the thread, with room in its slot; `vectors` is what the kernel's frame has of its registers,
    /// `alone` its stack pointer if the process has no other thread.
    pub fn evaluation(
        &self,
        vectors: *const u8,
        alone: Option<u64>,
        visited: Visited,
    ) -> Evaluation<'static, OwnMemory> {
        let memory = OwnMemory::of(self.slot.tid.load(Ordering::Relaxed), alone);
        let slot: *const TraceSlot = self.slot;
        let vectors = (!vectors.is_null()).then_some(vectors);
        // SAFETY: behind the slot's head there is room for it within the slot, and the bench's pages are mapped by
        // the host; both are this thread's alone, and used during one signal at a time.
        unsafe {
            let work = slot.cast::<u8>().cast_mut().add(WORK as usize).cast::<Work>();
            let bench = Bench::new(bench_page(self.slot), vectors);
            Evaluation::new(&mut *work, memory, Some(bench), visited)
        }
    }

    /// What was noted since the last evaluation takes so much of the processor.
    pub fn takes(&mut self, effort: Effort) {
        self.slot.written.effort = self.slot.written.effort + effort;
    }

    /// Takes back what was noted beyond.
    pub fn take_back(&mut self, reach: Reach) {
        self.slot.written = reach;
    }

    /// Ends the trace: the host gets what is sure of it.
    pub fn publish(&mut self, end: End) {
        let Reach { pairs, conditional, effort: Effort { instructions, stores, lines } } = self.slot.sure;
        self.slot.ends[end as usize].fetch_add(1, Ordering::Relaxed);
        let head = self.slot.head.load(Ordering::Relaxed);
        if pairs > 0 {
            self.put(0, head_word(pairs as u32, end));
            for (at, word) in (1..).zip([self.slot.start, instructions, stores, lines, self.slot.ticks]) {
                self.put(at, word);
            }
            count(&self.slot.conditional, conditional);
            // Release: what was put there is complete before the host may look.
            self.slot.head.store(head + HEAD_WORDS + 2 * pairs, Ordering::Release);
        }
        (self.slot.written, self.slot.sure) = (Reach::default(), Reach::default());
    }

    /// Puts a word where the trace under way has its `at`-th.
    fn put(&mut self, at: u64, word: u64) {
        // SAFETY: this part of the ring is the thread's: there was room when the trace began.
        unsafe { self.place(at).write(word) };
    }

    /// The `at`-th word of the trace under way.
    fn word(&mut self, at: u64) -> u64 {
        // SAFETY: as above.
        unsafe { self.place(at).read() }
    }

    fn place(&mut self, at: u64) -> *mut u64 {
        let position = self.slot.head.load(Ordering::Relaxed).wrapping_add(at) as usize % RING_WORDS;
        let slot: *mut TraceSlot = self.slot;
        // SAFETY: the ring lies behind the slot's head within the slot.
        unsafe { slot.cast::<u8>().add(RING as usize).cast::<u64>().add(position) }
    }
}

/// Adds to what this thread alone writes to.
fn count(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

impl Branches for Trace<'_> {
    fn push(&mut self, from: u64, to: u64) {
        let at = HEAD_WORDS + 2 * self.slot.written.pairs;
        self.put(at, from);
        self.put(at + 1, to);
        self.slot.written.pairs += 1;
    }

    fn decided(&mut self) {
        self.slot.written.conditional += 1;
    }

    fn reach(&self) -> Reach {
        self.slot.written
    }

    fn full(&self) -> bool {
        self.slot.written.pairs >= u64::from(self.length)
    }
}
