//! Layout of the memory that branch tracing shares: a header, then one slot for each thread.
//!
//! The file is mapped whole into the host and into the program, at [`TraceHeader::base`]. A thread writes
//! what it found into the ring of its own slot, and the host takes it from there; neither waits for the other.

use crate::{IMAGE, LARGE_PAGE};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"twtracer");

/// Version of this layout.
pub const VERSION: u32 = 11;

/// Where the image begins, in multiples of this: one entry each.
pub const ENTRY_BYTES: u64 = 16;

/// What the image's entries are, in order.
pub mod entry {
    /// Of counting: the program goes on under the translator.
    pub const COUNT: u64 = 0;
    /// Of tracing: makes the calling thread ready, and stops it with a trap. `rdi` is the address of the
    /// header.
    pub const PREPARE: u64 = 1;
    /// Of tracing: the handler of `SIGTRAP`.
    pub const HANDLE: u64 = 2;
    /// What that handler returns to.
    pub const RESTORE: u64 = 3;
    /// Of counting: a thread that the host stopped does a [`crate::visit::task`].
    pub const VISIT: u64 = 4;
    /// Of counting: a thread that ran already goes on under the translator.
    pub const JOIN: u64 = 5;
}

/// Threads that can be traced at once.
pub const SLOTS: usize = 1024;

/// Words of a slot's ring; a power of two.
pub const RING_WORDS: usize = 1 << 16;

/// Branches that one trace can hold: with its head and a mark it fits into half a ring.
pub const LONGEST_TRACE: u32 = (RING_WORDS / 4 - 4) as u32;

/// Traces a second, at most: where a thread is stopped more often, hardly anything else happens.
pub const MOST_TRACES_A_SECOND: u32 = 50_000;

/// Where in a slot the stack ends that the handler runs on.
pub const STACK_END: u32 = 0x8000;

/// Where in a slot the room begins in which the tracer evaluates code ahead if no large page is free.
pub const WORK: u32 = STACK_END;

/// Bytes of that room.
pub const WORK_BYTES: u32 = 0x1f_8000;

/// Where in a slot its ring begins.
pub const RING: u32 = WORK + WORK_BYTES;

/// Bytes of a slot.
pub const SLOT_BYTES: u64 = RING as u64 + 8 * RING_WORDS as u64;

/// Where the host maps executable and writable memory in the program, up to behind the image: [`BENCH_BYTES`] for each
/// slot, in which single instructions of the program are executed away from it; then large pages, [`LARGE_WORKS`] and that
/// of the image. What is needed seldom lies scattered, and is found sooner if the processor looks one page up rather than
/// a hundred.
pub const BENCHES: u64 = LARGE_WORK - SLOTS as u64 * BENCH_BYTES;

/// See [`BENCHES`].
pub const BENCH_BYTES: u64 = 0x1_0000;

/// Large pages to evaluate in, each for whichever thread takes it for a moment: hardly ever are more in the handler, unless
/// samples come at ticks, which all processors have at once; and what one has decoded the next need not.
pub const LARGE_WORKS: usize = 4;

/// Where the first of them begins.
pub const LARGE_WORK: u64 = IMAGE - LARGE_WORKS as u64 * LARGE_PAGE;

const _: () = assert!(IMAGE.is_multiple_of(LARGE_PAGE) && WORK_BYTES as u64 <= LARGE_PAGE);

/// CPU time between two signals of the event that threads inherit, nanoseconds, where there are several.
pub const TICK_NS: u64 = 10_000_000;

/// Breakpoints of a thread that watch system calls which concern the tracer: the processor has four, and traces need
/// one.
pub const GUARDS: usize = 3;

/// The code of the signals that events send (`si_code`).
pub const TRAP_PERF: i32 = 6;

/// What signals carry, to tell apart the events that sent them (`sig_data`).
pub mod signal_data {
    /// The event that new threads inherit.
    pub const PICK_UP: u64 = 1;
    /// The event that starts a thread's traces.
    pub const SAMPLE: u64 = 2;
    /// A breakpoint.
    pub const BREAKPOINT: u64 = 3;
    /// A breakpoint on a system call that sets handlers or restricts system calls.
    pub const GUARD: u64 = 4;
}

/// What was done about a program that restricts its system calls ([`TraceHeader::restriction`]).
pub mod restriction {
    /// It has not.
    pub const NONE: u32 = 0;
    /// It is about to, and waits: nothing of the tracer makes a system call in it any more.
    pub const ANNOUNCED: u32 = 1;
    /// The host has closed its events; the process has several threads.
    pub const AMONG_THREADS: u32 = 2;
    /// The host has closed its events; the process has one thread.
    pub const ALONE: u32 = 3;
}

/// Why a trace ended; also the index of its counter in [`TraceSlot::ends`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum End {
    /// It has all branches that were asked for.
    Full = 0,
    /// The thread came to an instruction from which control is not followed.
    NotFollowed = 1,
    /// The thread was elsewhere when the breakpoint's signal came: a handler ran, or the signal was blocked.
    Elsewhere = 2,
    /// The breakpoint was never reached.
    NotReached = 3,
    /// Code or memory that cannot be read.
    Unreadable = 4,
    /// The system refused a breakpoint.
    Refused = 5,
    /// As much was evaluated as one signal may take, or as there is room for.
    Patience = 6,
    /// The thread reached the breakpoint with other registers than were evaluated.
    Otherwise = 7,
}

/// Number of [`End`]s.
pub const ENDS: usize = 8;

/// All registers in [`TraceSlot::expected`].
pub const ALL_REGISTERS: u32 = 0xffff;

/// What the file begins with.
#[repr(C)]
pub struct TraceHeader {
    /// [`MAGIC`]; host, once.
    pub magic: u64,
    /// [`VERSION`]; host, once.
    pub version: u32,
    /// Branches of a trace; host, once.
    pub length: u32,
    /// Where the file is mapped in the program; host, once.
    pub base: u64,
    /// Offset of the first slot; host, once.
    pub slots: u64,
    /// CPU time from the end of a trace to the start of the next, on average, nanoseconds; host, once.
    pub period_ns: u64,
    /// Where traces start at the kernel's timer ticks: the time between two of these, of which each falls on a multiple of
    /// it, nanoseconds; 0 where they start at any moment; host, once.
    pub timer_tick_ns: u64,
    /// The lowest number for the descriptors that threads open; host, once.
    pub descriptors: u32,
    /// CPU time between two signals of the event that threads inherit, nanoseconds; host.
    pub tick_ns: AtomicU64,
    /// 0 once nothing more is to be traced; host.
    pub active: AtomicU32,
    /// Which of the large pages are taken, 1 each; tracer.
    pub taken: [AtomicU32; LARGE_WORKS],
    /// Where the memory begins and ends in which the decoder makes its tables; host, once.
    pub heap: [u64; 2],
    /// Threads for which there was no free slot, each time that one was looked for; both.
    pub turned_away: AtomicU64,
    /// The system's error number when a thread could not open its events, 0 for none; tracer.
    pub refusal: AtomicU32,
    /// 1 while the process has had one thread only: what it will do follows from its memory; both.
    pub alone: AtomicU32,
    /// Of so many traces that need no breakpoint one is confirmed by one all the same, 0 for none; host, once.
    pub confirm: u32,
    /// 1 if programs may read the base of `fs`; host, once.
    pub reads_bases: u32,
    /// Which extensions of the instruction set the machine has, as a number of `timewise_isa::Extensions`; host, once.
    pub extensions: u64,
    /// The process whose tracer it is, as the host numbers it: one that was forked from it has it mapped, too; host, once.
    pub pid: u32,
    /// Process id of the host; host, once.
    pub host_pid: u32,
    /// Threads that are in the tracer's handler; tracer.
    pub inside: AtomicU32,
    /// One of [`restriction`]: the tracer announces, the host answers.
    pub restriction: AtomicU32,
    /// Where the system calls stand that are watched, 0 for nowhere more; host, while the program stands.
    pub guarded: [AtomicU64; GUARDS],
    /// What the program asked to be done about `SIGTRAP`, as `rt_sigaction` has it: the kernel knows the
    /// tracer's handler instead; tracer.
    pub action: [AtomicU64; 4],
    /// Which thread uses each slot, 0 for none yet; both. A thread may take one from another that has ended.
    pub owners: [AtomicU32; SLOTS],
}

impl TraceHeader {
    /// The slots that threads use or used, by position. To look at the slots themselves would take longer than all else.
    pub fn used(&self) -> impl Iterator<Item = usize> {
        (0..SLOTS).filter(|&position| self.owners[position].load(Ordering::Acquire) != 0)
    }

    /// The position of the slot of thread `tid`: its own, or else, if it may take one, one that is free, or that of a thread
    /// that has ended, which is its own from then on. The thread itself asks, or stands outside of the tracer.
    pub fn slot_of(
        &self,
        tid: u32,
        may_take: impl FnOnce() -> bool,
        has_ended: impl Fn(u32) -> bool,
    ) -> Option<usize> {
        let first = tid.wrapping_mul(0x9e37_79b1) as usize % SLOTS;
        let positions = || (0..SLOTS).map(|step| (first + step) % SLOTS);
        // Slots are never given back, so the thread's own lies before the first free one.
        for position in positions() {
            match self.owners[position].load(Ordering::Acquire) {
                owner if owner == tid => return Some(position),
                0 => break,
                _ => {}
            }
        }
        let take = |&position: &usize| {
            let owner = &self.owners[position];
            let seen = owner.load(Ordering::Acquire);
            let free = seen == 0 || has_ended(seen);
            free && owner.compare_exchange(seen, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        if !may_take() {
            return None;
        }
        let taken = positions().find(take);
        if taken.is_none() {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// The shortest time from one sample to the next, nanoseconds: half of what it is on average, and so much less as a tick
    /// of the kernel's timer may be sooner, but not one that is about to come.
    pub fn shortest_wait_ns(&self) -> u64 {
        let tick = self.timer_tick_ns;
        (self.period_ns.saturating_sub(tick) / 2).max(tick / 4)
    }

    /// Whether the sampling event stays on while a trace is taken. Where traces are far longer apart than they take, the
    /// next sample is put off in time; others must wait for the end of one.
    pub fn samples_go_on(&self) -> bool {
        const SELDOM_NS: u64 = 400_000;
        const SHORT: u32 = 64;
        self.period_ns >= SELDOM_NS && self.length <= SHORT
    }
}

/// Start of what is kept for a thread; its stack and its ring follow, at [`STACK_END`] and [`RING`].
#[repr(C, align(4096))]
pub struct TraceSlot {
    /// Thread that it is made ready for, 0 for none yet; whoever comes first to one that [`TraceHeader::owners`] says is
    /// another's.
    pub tid: AtomicU32,
    /// 1 while a trace is under way; tracer.
    pub tracing: u32,
    /// Descriptors of its sampling event and its breakpoint, 0 for none; tracer.
    pub sampling: i32,
    /// See `sampling`.
    pub breakpoint: i32,
    /// By what the kernel knows the two events: the program may have closed a descriptor, and opened something of its own
    /// there; tracer.
    pub identities: [u64; 2],
    /// Where the breakpoint is set, 0 if it is not; tracer.
    pub armed: u64,
    /// At which of its hits the breakpoint tells of it; tracer.
    pub period: u64,
    /// The general registers expected there, by number, and which of them are known; tracer.
    pub expected: [u64; 16],
    /// See `expected`.
    pub known: u32,
    /// Why the trace ends there, if it does; tracer.
    pub ends_there: Option<End>,
    /// State of its random numbers; tracer.
    pub random: u64,
    /// Words that were ever put into the ring; tracer.
    pub head: AtomicU64,
    /// Words that were ever taken out of it; host.
    pub tail: AtomicU64,
    /// How far the trace under way was evaluated: it stands in the ring beyond its head; tracer.
    pub written: Reach,
    /// How far it is sure to have been executed; tracer.
    pub sure: Reach,
    /// Where that trace began; tracer.
    pub start: u64,
    /// When, in ticks of the processor; tracer.
    pub ticks: u64,
    /// CPU time that has passed at least since a trace went on, or a sample came, nanoseconds; tracer.
    pub passed_ns: u64,
    /// 1 if a tick has come since then: the next one says how long it is since that; tracer.
    pub ticked: u32,
    /// Where samples come at the kernel's timer ticks, how many of the latest came when they were due; tracer.
    pub on_time: u32,
    /// When the next one is due if the thread runs until then, by the monotonic clock, nanoseconds; tracer.
    pub due_ns: u64,
    /// How long that was when it was asked for, nanoseconds; tracer.
    pub wait_ns: u64,
    /// The signal mask that the host gave it, with [`LET_THROUGH`], so that `SIGTRAP` comes through to it, which the
    /// program has it block; 0 for none; both.
    pub let_through: AtomicU64,
    /// How often its events were opened; tracer.
    pub openings: u32,
    /// Samples in a row for which the ring had no room; tracer.
    pub unheard: u32,
    /// Breakpoints that were reached; tracer.
    pub hits: AtomicU64,
    /// Traces that began; tracer.
    pub begun: AtomicU64,
    /// Samples for which the ring had no room; tracer.
    pub lost: AtomicU64,
    /// Samples that came at a tick of the kernel's timer for which they had waited; tracer.
    pub at_ticks: AtomicU64,
    /// Branches decided in traces, taken or not, that algorithm 1 sets a breakpoint for: all but direct jumps and calls;
    /// tracer.
    pub conditional: AtomicU64,
    /// Why traces ended, by [`End`]; tracer.
    pub ends: [AtomicU64; ENDS],
}

impl TraceSlot {
    /// Makes it ready for the thread whose slot it is now. What one that has ended left there is none of the next one's, but
    /// for the ring and what was counted; its descriptors are closed when the next one opens its own.
    pub fn make_ready_for(&mut self, tid: u32) {
        if *self.tid.get_mut() == tid {
            return;
        }
        (self.openings, self.passed_ns, self.ticked, self.unheard) = (0, 0, 0, 0);
        (self.tracing, self.armed, self.on_time) = (0, 0, 0);
        self.let_through.store(0, Ordering::Relaxed);
        self.tid.store(tid, Ordering::Release);
    }
}

/// What tells a mask in [`TraceSlot::let_through`] from none: the bit of `SIGKILL`, which no mask has.
pub const LET_THROUGH: u64 = 1 << 8;

/// How far a trace comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Reach {
    /// Taken branches and marks, of two words each.
    pub pairs: u64,
    /// Branches decided, taken or not, that algorithm 1 sets a breakpoint for.
    pub conditional: u64,
    /// What it takes of the processor.
    pub effort: Effort,
}

/// What a trace takes of the processor, as far as evaluation tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Effort {
    /// Its instructions.
    pub instructions: u64,
    /// Those of them that write memory.
    pub stores: u64,
    /// Lines of data that it used and had not used in the last [`RECENT`] branches or more, nor one beside them: those
    /// of its first [`RECENT`] branches, of which that is not known, left out.
    pub lines: u64,
}

impl core::ops::Add for Effort {
    type Output = Effort;

    fn add(self, other: Effort) -> Effort {
        Effort {
            instructions: self.instructions + other.instructions,
            stores: self.stores + other.stores,
            lines: self.lines + other.lines,
        }
    }
}

/// Branches in which lines of data are taken to stay in the nearest cache.
pub const RECENT: u32 = 800;

/// Words of a trace in a ring before its branches: what [`head_word`] says, the address where it began, its
/// [`Effort`], and when it began. Branches have two words each: where from and where to.
pub const HEAD_WORDS: u64 = 6;

/// In the place of where a branch comes from: what follows was found later, at so many ticks of the processor as
/// the word behind says. A thread may have waited for anything meanwhile.
pub const TIME_MARK: u64 = 0;

/// The first word of a trace in a ring: how many branches and marks follow.
pub fn head_word(branches: u32, end: End) -> u64 {
    u64::from(branches) | (end as u64) << 32
}

/// The number of branches and marks that a first word announces.
pub fn branches_of(head: u64) -> u32 {
    head as u32
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::boxed::Box;

    #[test]
    fn threads_find_their_own_slots_and_take_those_of_ended_ones_ready_for_use() {
        // SAFETY: all zeros is a value of both.
        let (header, mut slot) = unsafe {
            (Box::<TraceHeader>::new_zeroed().assume_init(), Box::<TraceSlot>::new_zeroed().assume_init())
        };
        let find = |tid, has_ended: &dyn Fn(u32) -> bool| header.slot_of(tid, || true, has_ended);
        let all: std::vec::Vec<_> = (1..=SLOTS as u32).map(|tid| find(tid, &|_| false).unwrap()).collect();
        assert!((1..=SLOTS as u32).all(|tid| find(tid, &|_| false) == Some(all[tid as usize - 1])));
        assert_eq!(header.used().count(), SLOTS);
        assert_eq!((find(5000, &|_| false), header.turned_away.load(Ordering::Relaxed)), (None, 1));
        // One that may not take any is not turned away, and takes none.
        let none = header.slot_of(5000, || false, |_| true);
        assert_eq!((none, header.turned_away.load(Ordering::Relaxed)), (None, 1));
        slot.make_ready_for(7);
        (slot.openings, slot.passed_ns, slot.unheard, slot.tracing, slot.armed) = (16, 9, 4096, 1, 0x1000);
        (slot.sampling, slot.breakpoint, slot.on_time) = (600, 601, 16);
        slot.let_through.store(LET_THROUGH, Ordering::Relaxed);
        slot.make_ready_for(7);
        assert_eq!((slot.openings, slot.let_through.load(Ordering::Relaxed)), (16, LET_THROUGH));
        assert_eq!(find(5000, &|tid| tid == 7), Some(all[6]));
        slot.make_ready_for(5000);
        // Openings: the first tick of one that has none opens its events.
        assert_eq!((slot.openings, slot.passed_ns, slot.unheard, slot.tracing, slot.armed), (0, 0, 0, 0, 0));
        assert_eq!((slot.let_through.load(Ordering::Relaxed), slot.on_time), (0, 0));
        assert_eq!((slot.sampling, slot.breakpoint), (600, 601), "still to be closed");
    }
}
