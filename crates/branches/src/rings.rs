//! The memory shared with the program, from the host's side: its threads' slots, and what stands in their
//! rings.

use crate::extensions;
use crate::guard::Place;
use crate::record::{Options, TraceError};
use crate::statistics::Statistics;
use crate::trace::Trace;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::time::Duration;
use timewise_abi::plain::{PLAIN, PlainMemory};
use timewise_abi::tracing::{
    Effort, HEAD_WORDS, LET_THROUGH, LONGEST_TRACE, MAGIC, RING, RING_WORDS, SLOT_BYTES, SLOTS, TICK_NS,
    TraceHeader, TraceSlot, VERSION, branches_of, restriction,
};
use timewise_abi::{GRANULE, LARGE_PAGE};
use timewise_injection::{Payload, SharedFile, payload};
use timewise_target::limits;

/// Where the shared file is mapped in the program: where counting has its own.
pub const BASE: u64 = timewise_abi::SHARED;

/// Where in the file there is room for what is handed to system calls made in the program's name.
pub const SCRATCH: u64 = PLAIN - 0x100;

const _: () = assert!(size_of::<TraceHeader>() as u64 <= SCRATCH);

/// The shared file.
#[derive(Debug)]
pub struct Rings {
    file: SharedFile,
    image_offset: u64,
    slots: u64,
}

impl Rings {
    /// Makes the file, with the image in it, for process `pid`.
    ///
    /// # Errors
    /// The system's.
    pub fn new(payload: &Payload, options: &Options, pid: i32) -> Result<Rings, TraceError> {
        let image_offset = GRANULE;
        let slots = (image_offset + payload.image.len() as u64).next_multiple_of(GRANULE);
        let file = SharedFile::new(slots + SLOTS as u64 * SLOT_BYTES)
            .map_err(|error| TraceError::System { what: error.what, cause: error.cause })?;
        let written = file.file().write_all_at(&payload.image, image_offset);
        written.map_err(|cause| TraceError::System { what: "write shared memory", cause })?;
        // SAFETY: the mapping starts with zero pages, which are a valid header; nobody else has it yet.
        let header = unsafe { &mut *file.mapping().cast::<TraceHeader>() };
        header.magic = MAGIC;
        header.version = VERSION;
        header.length = options.length.clamp(1, LONGEST_TRACE);
        header.base = BASE;
        header.slots = slots;
        // What the image leaves of its page.
        header.heap = [payload.image.len() as u64, LARGE_PAGE].map(|offset| payload::BASE + offset);
        header.period_ns = options.period_ns;
        header.timer_tick_ns = options.timer_tick_ns;
        header.tick_ns.store(TICK_NS, Ordering::Relaxed);
        header.pid = pid as u32;
        header.host_pid = std::process::id();
        header.descriptors = lowest_descriptor(pid);
        header.confirm = options.confirm;
        header.reads_bases = u32::from(programs_read_bases());
        header.extensions = extensions::here().bits();
        header.alone.store(1, Ordering::Relaxed);
        header.active.store(1, Ordering::Relaxed);
        Ok(Rings { file, image_offset, slots })
    }

    /// Notes where the program is watched.
    pub fn guard(&self, guarded: &[Place]) {
        for (noted, place) in self.header().guarded.iter().zip(guarded) {
            noted.store(place.address, Ordering::Relaxed);
        }
    }

    /// The file itself.
    pub fn file(&self) -> &SharedFile {
        &self.file
    }

    /// Where the image lies in it.
    pub fn image_offset(&self) -> u64 {
        self.image_offset
    }

    /// Puts words where the program can read them at the address that is returned.
    pub fn hand_over(&self, words: &[u64; 4]) -> u64 {
        // SAFETY: within the first granule, behind the header, where nobody else writes.
        unsafe { self.file.mapping().add(SCRATCH as usize).cast::<[u64; 4]>().write(*words) };
        BASE + SCRATCH
    }

    /// Keeps for the program what the kernel wrote over what was handed over last: its own action for the signal,
    /// unless it is the handler `ours`.
    pub fn keep_action_but(&self, ours: u64) {
        // SAFETY: where `hand_over` wrote. Volatile: the program may write it.
        let action = unsafe { self.file.mapping().add(SCRATCH as usize).cast::<[u64; 4]>().read_volatile() };
        if action[0] == ours {
            return;
        }
        for (place, word) in self.header().action.iter().zip(action) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Descriptors that threads opened.
    pub fn descriptors(&self) -> Vec<i32> {
        // SAFETY: within the file; plain fields that their threads, which stand, do not write meanwhile.
        let both = |slot: *const TraceSlot| unsafe { [(*slot).sampling, (*slot).breakpoint] };
        self.used().flat_map(both).collect()
    }

    /// The top of a stack for the code that makes the first thread ready.
    pub fn first_stack(&self) -> u64 {
        BASE + GRANULE
    }

    /// What the program's side says.
    pub fn header(&self) -> &TraceHeader {
        // SAFETY: the file begins with it; fields that change are atomic.
        unsafe { &*self.file.mapping().cast::<TraceHeader>() }
    }

    /// What the program's side may read by itself.
    pub fn plain_memory(&self) -> &PlainMemory {
        // SAFETY: within the first granule of the file; all fields are atomic.
        unsafe { &*self.file.mapping().add(PLAIN as usize).cast::<PlainMemory>() }
    }

    /// Whether the program restricted its system calls, or is about to: none is to be made in its name.
    pub fn is_restricted(&self) -> bool {
        self.header().restriction.load(Ordering::SeqCst) != restriction::NONE
    }

    fn slot(&self, position: usize) -> *const TraceSlot {
        let at = self.slots + SLOT_BYTES * position as u64;
        // SAFETY: within the file.
        unsafe { self.file.mapping().add(at as usize).cast() }
    }

    /// Notes the mask that thread `tid`, which stands outside of the tracer, is given so that `SIGTRAP` comes through to
    /// it: false if there is no slot for it. `threads` are those of its process.
    pub fn note_let_through(&self, tid: i32, mask: u64, threads: &[i32]) -> bool {
        let has_ended = |owner: u32| !threads.contains(&(owner as i32));
        let Some(position) = self.header().slot_of(tid as u32, || true, has_ended) else {
            return false;
        };
        // SAFETY: within the file; the thread stands, and no other uses the slot.
        let slot = unsafe { &mut *self.slot(position).cast_mut() };
        slot.make_ready_for(tid as u32);
        slot.let_through.store(mask | LET_THROUGH, Ordering::Relaxed);
        true
    }

    /// The slots that threads use or used.
    fn used(&self) -> impl Iterator<Item = *const TraceSlot> {
        self.header().used().map(|position| self.slot(position))
    }

    /// How often they are to be emptied, so that a busy thread fills a small part of its own meanwhile.
    pub fn collection(&self) -> Duration {
        const OFTEN: Duration = Duration::from_millis(5);
        const SELDOM: Duration = Duration::from_millis(40);
        let header = self.header();
        let words = HEAD_WORDS + 2 * u64::from(header.length);
        let full_after = Duration::from_nanos(header.period_ns.saturating_mul(RING_WORDS as u64 / words));
        (full_after / 16).clamp(OFTEN, SELDOM)
    }

    /// How much of a new thread's CPU time passes before a trace begins in it, at least, nanoseconds: it is picked up,
    /// and has half a period before its first sample.
    pub fn blind_ns(&self) -> u64 {
        TICK_NS + self.header().period_ns / 2
    }

    /// Takes all finished traces out. A program may write here too: a ring that makes no sense is skipped, and
    /// counted.
    pub fn drain(&self, traces: &mut Vec<Trace>) -> u64 {
        let mut senseless = 0;
        for slot in self.used() {
            // SAFETY: these fields are atomic.
            let (head, tail) = unsafe { (&(*slot).head, &(*slot).tail) };
            // Acquire: what was put there before the head moved on is complete.
            let end = head.load(Ordering::Acquire);
            let mut at = tail.load(Ordering::Relaxed);
            while at != end {
                let left = end.wrapping_sub(at);
                let count = u64::from(branches_of(self.word(slot, at)));
                let length = HEAD_WORDS + 2 * count;
                if left > RING_WORDS as u64 || length > left {
                    senseless += 1;
                    at = end;
                    break;
                }
                let pairs = (0..count).map(|number| {
                    let place = at.wrapping_add(HEAD_WORDS + 2 * number);
                    [self.word(slot, place), self.word(slot, place.wrapping_add(1))]
                });
                let [instructions, stores, lines, time] =
                    [2, 3, 4, 5].map(|word| self.word(slot, at.wrapping_add(word)));
                traces.push(Trace::new(Effort { instructions, stores, lines }, time, pairs));
                at = at.wrapping_add(length);
            }
            // Release: all of it is read before the thread may write there again.
            tail.store(at, Ordering::Release);
        }
        senseless
    }

    /// A word of a slot's ring, by how many were put there before it.
    fn word(&self, slot: *const TraceSlot, number: u64) -> u64 {
        let position = number as usize % RING_WORDS;
        // SAFETY: the ring lies behind the slot's head within the file. Volatile: the program may write it.
        unsafe { slot.cast::<u8>().add(RING as usize).cast::<u64>().add(position).read_volatile() }
    }

    /// What threads counted.
    pub fn statistics(&self) -> Statistics {
        let header = self.header();
        let mut sum = Statistics {
            turned_away: header.turned_away.load(Ordering::Relaxed),
            refusal: header.refusal.load(Ordering::Relaxed),
            ..Statistics::default()
        };
        for slot in self.used() {
            // SAFETY: within the file; only the atomic fields are read.
            unsafe {
                sum.threads += 1;
                sum.begun += (*slot).begun.load(Ordering::Relaxed);
                sum.lost += (*slot).lost.load(Ordering::Relaxed);
                sum.at_ticks += (*slot).at_ticks.load(Ordering::Relaxed);
                sum.hits += (*slot).hits.load(Ordering::Relaxed);
                sum.conditional += (*slot).conditional.load(Ordering::Relaxed);
                for (sum, end) in sum.ends.iter_mut().zip(&(*slot).ends) {
                    *sum += end.load(Ordering::Relaxed);
                }
            }
        }
        sum.between_ns = (sum.begun + sum.lost).saturating_mul(header.period_ns);
        sum
    }
}

/// Whether programs may read the bases of their segments by an instruction.
fn programs_read_bases() -> bool {
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: changes nothing.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}

/// Descriptors that threads open are numbered from here on: high, so that the program's own are numbered as
/// they would be natively, but below the limit of most systems, and of process `pid`.
fn lowest_descriptor(pid: i32) -> u32 {
    const USUAL_LIMIT: u64 = 1024;
    let limit = limits::listed(pid, "Max open files").map_or(USUAL_LIMIT, |[soft, _]| soft);
    (limit.min(USUAL_LIMIT) / 2) as u32
}
