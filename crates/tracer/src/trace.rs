//! The trace under way, as it is written into a thread's ring.

use crate::ahead::Branches;
use crate::bench::Bench;
use crate::evaluation::{Evaluation, Visited, Work};
use crate::handler::time_stamp;
use crate::shadow::{GROUP, LINE, Source};
use crate::slot::{bench_page, header, plain_memory};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use timewise_abi::LARGE_PAGE;
use timewise_abi::plain::PlainMemory;
use timewise_abi::tracing::{
    Effort, End, HEAD_WORDS, LARGE_WORK, RING, RING_WORDS, Reach, TIME_MARK, TraceSlot, WORK, WORK_BYTES,
    head_word,
};
use timewise_isa::Extensions;
use timewise_runtime::sys::{Errno, call, memory, number};

/// Memory of the calling process, read so that what is not there is an answer rather than a fault: by the kernel for one
/// of its threads, or, if that is the only one, without its help in pages that it has just found.
pub struct OwnMemory<'a> {
    /// The calling thread: by a first thread that has ended, the kernel finds no memory.
    tid: u32,
    /// What is memory and nothing else, if the process has no other thread: nobody else changes what is mapped while it
    /// evaluates.
    plain: Option<&'a PlainMemory>,
    /// Pages of it that were found during this signal.
    found: [u64; FOUND],
}

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Pages that are remembered during a signal: more than most short traces come by.
const FOUND: usize = 32;

/// The address of no page.
const NOWHERE: u64 = 1;

impl OwnMemory<'_> {
    /// For a thread, with what is memory and nothing else if it is the only one.
    pub fn of(tid: u32, plain: Option<&PlainMemory>) -> OwnMemory<'_> {
        OwnMemory { tid, plain, found: [NOWHERE; FOUND] }
    }

    /// Whether a line can be read without the kernel's help, which takes several times as long: if it is memory, as the
    /// host found, and not a device's, where reading may do something; if it is still there; and if nobody is there to
    /// take it away. There remains another process that cuts short a file in this very moment.
    fn is_plain(&mut self, address: u64) -> bool {
        let page = address & !(PAGE - 1);
        let Some(plain) = self.plain else { return false };
        let found = &mut self.found[(page / PAGE) as usize % FOUND];
        if *found != page && plain.holds(page) && is_readable(page) {
            *found = page;
        }
        *found == page
    }
}

/// Whether the kernel can read at an address.
fn is_readable(address: u64) -> bool {
    const NO_CHANGE: u64 = 99;
    const INVALID: Errno = Errno(22);
    // SAFETY: there is no such change of the signal mask, which the kernel finds out once it has read the mask.
    unsafe { call(number::RT_SIGPROCMASK, [NO_CHANGE, address, 0, 8, 0, 0]) == Err(INVALID) }
}

impl Source for OwnMemory<'_> {
    fn line(&mut self, address: u64, line: &mut [u8; LINE]) -> bool {
        let is_plain = self.is_plain(address);
        if is_plain {
            // Word by word: what is volatile would be copied byte by byte otherwise.
            for (to, from) in line.as_chunks_mut::<8>().0.iter_mut().zip((address..).step_by(8)) {
                // SAFETY: within a page of memory, which stays while this thread is here; a line crosses no border of pages.
                *to = unsafe { (from as *const u64).read_volatile() }.to_ne_bytes();
            }
        }
        is_plain
    }

    fn fetch(&mut self, address: u64, lines: &mut [[u8; LINE]; GROUP]) -> bool {
        const FAULT: Errno = Errno(14);
        let bytes = lines.as_flattened_mut();
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

const _: () = assert!(size_of::<Work>() <= WORK_BYTES as usize, "there is room in a slot");

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

    /// Evaluation for the thread, in that room; `vectors` is what the kernel's frame has of its registers, `alone` says
    /// whether the process has no other thread.
    pub fn evaluation<'room>(
        &self,
        room: &'room mut Room,
        vectors: *const u8,
        alone: bool,
        visited: Visited,
    ) -> Evaluation<'room, OwnMemory<'static>> {
        let tid = self.slot.tid.load(Ordering::Relaxed);
        let vectors = (!vectors.is_null()).then_some(vectors);
        let memory = OwnMemory::of(tid, alone.then(plain_memory));
        let extensions = Extensions::from_bits(header().extensions);
        let bench = bench_page(self.slot).map(|page| {
            // SAFETY: the bench's pages are mapped by the host, this thread's alone, and used during one signal at a time.
            unsafe { Bench::new(page, vectors, extensions) }
        });
        Evaluation::new(room.work(), memory, bench, visited)
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

/// Room to evaluate in: a large page that no other thread has, as long as this lives, or else what the slot has.
pub struct Room {
    work: *mut Work,
    taken: Option<&'static AtomicU32>,
}

impl Room {
    /// For the thread of a slot.
    pub fn of(slot: &TraceSlot) -> Room {
        let is_free = |taken: &AtomicU32| {
            // Acquire: what the thread before did there is complete.
            taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let mut pages = header().taken.iter().zip((LARGE_WORK..).step_by(LARGE_PAGE as usize));
        if let Some((taken, page)) = pages.find(|(taken, _)| is_free(taken)) {
            return Room { work: page as *mut Work, taken: Some(taken) };
        }
        // SAFETY: it lies within the slot.
        let work = unsafe { core::ptr::from_ref(slot).cast::<u8>().cast_mut().add(WORK as usize) };
        Room { work: work.cast(), taken: None }
    }

    fn work(&mut self) -> &mut Work {
        // SAFETY: mapped by the host, with zeros at first, which are a value of it; nobody else has it now, as said above,
        // and a thread handles one signal at a time.
        unsafe { &mut *self.work }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(taken) = self.taken {
            // Release: what was done here is complete for the next.
            taken.store(0, Ordering::Release);
        }
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

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

    /// A page without a file, with such rights.
    fn mapped(protection: u64) -> u64 {
        const PRIVATE_ANONYMOUS: u64 = 0x22;
        const NO_FILE: u64 = u64::MAX;
        // SAFETY: a new mapping, which nobody else knows.
        unsafe { call(number::MMAP, [0, PAGE, protection, PRIVATE_ANONYMOUS, NO_FILE, 0]) }.unwrap()
    }

    #[test]
    fn what_is_there_is_told_from_what_is_not() {
        const READ: u64 = 1;
        // No program has anything there.
        const NOTHING: u64 = 1 << 63;
        assert!(is_readable(mapped(READ)) && !is_readable(mapped(0)) && !is_readable(NOTHING));
    }

    #[test]
    fn lines_are_read_as_they_stand_where_memory_is_plain() {
        let bytes: Box<[u8]> = (0..=u8::MAX).cycle().take(2 * LINE).collect();
        let start = bytes.as_ptr() as u64;
        let at = start.next_multiple_of(LINE as u64);
        // SAFETY: all zeros is a value of it.
        let plain = unsafe { Box::<PlainMemory>::new_zeroed().assume_init() };
        let page = at & !(PAGE - 1);
        plain.replace(core::slice::from_ref(&(page..page + PAGE)));
        let (mut line, mut own) = ([0; LINE], OwnMemory::of(0, Some(&plain)));
        assert!(own.line(at, &mut line));
        let within = (at - start) as usize;
        assert_eq!(line, bytes[within..within + LINE]);
        // Beside it nothing is known, and where other threads are nothing is plain.
        assert!(!own.line(page + PAGE, &mut line) && !own.line(page - LINE as u64, &mut line));
        assert!(!OwnMemory::of(0, None).line(at, &mut line));
    }
}
