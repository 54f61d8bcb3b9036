//! Which slot of the shared memory is the calling thread's.

use crate::handler::{SIGTRAP, SignalInfo};
use core::arch::asm;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use timewise_abi::plain::{PLAIN, PlainMemory};
use timewise_abi::tracing::{BENCH_BYTES, BENCHES, SLOT_BYTES, SLOTS, TraceHeader, TraceSlot};
use timewise_runtime::sys::{Errno, call, number};

const TGKILL: u64 = 234;

/// Where the shared memory lies, once the host said so.
static HEADER: AtomicU64 = AtomicU64::new(0);

/// Sets where the shared memory lies.
///
/// # Safety
/// It begins with a header that is filled in, and stays as long as the process.
pub unsafe fn set_header(address: u64) {
    HEADER.store(address, Ordering::Release);
}

/// The header.
pub fn header() -> &'static TraceHeader {
    // SAFETY: as promised to `set_header`, which is called before any signal arrives.
    unsafe { &*(HEADER.load(Ordering::Acquire) as *const TraceHeader) }
}

/// What is memory and nothing else.
pub fn plain_memory() -> &'static PlainMemory {
    // SAFETY: as for `header`; it stands in the same file, and all of its fields are atomic.
    unsafe { &*((header().base + PLAIN) as *const PlainMemory) }
}

fn slot_at(header: &TraceHeader, position: usize) -> *mut TraceSlot {
    (header.base + header.slots + SLOT_BYTES * position as u64) as *mut TraceSlot
}

/// The slots that threads of this process use or used.
pub fn used(header: &TraceHeader) -> impl Iterator<Item = *mut TraceSlot> {
    header.used().filter(|&position| OPENED.has(position)).map(|position| slot_at(header, position))
}

/// The process that was made ready for tracing, as it numbers itself. One that it forks has all of this, too, until it is
/// made ready for itself or the tracer is taken out of it: its threads take no slots.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The calling process is the one that is traced.
pub fn set_process() {
    PROCESS.store(process(), Ordering::Relaxed);
}

fn process() -> u32 {
    // SAFETY: asks for a number.
    unsafe { call(number::GETPID, [0; 6]) }.unwrap_or_default() as u32
}

/// The thread's slot, taking a free one or that of a thread that has ended; null if there is none.
pub fn find() -> *mut TraceSlot {
    let header = header();
    // SAFETY: asks for a number.
    let tid = unsafe { call(number::GETTID, [0; 6]) }.unwrap_or_default() as u32;
    let may_take = || process() == PROCESS.load(Ordering::Relaxed);
    let Some(position) = header.slot_of(tid, may_take, has_ended) else { return core::ptr::null_mut() };
    if !OPENED.has(position) && !open(header, position) {
        header.turned_away.fetch_add(1, Ordering::Relaxed);
        return core::ptr::null_mut();
    }
    let slot = slot_at(header, position);
    // SAFETY: it is open as long as the process lives, and this thread's alone but for atomic fields.
    unsafe { (*slot).make_ready_for(tid) };
    slot
}

/// Positions of slots. Not shared: what a process may touch is copied with this where it forks.
struct Positions([AtomicU64; SLOTS / 64]);

impl Positions {
    const fn none() -> Positions {
        Positions([const { AtomicU64::new(0) }; SLOTS / 64])
    }

    fn has(&self, position: usize) -> bool {
        self.0[position / 64].load(Ordering::Acquire) >> (position % 64) & 1 == 1
    }

    fn add(&self, position: usize) {
        self.0[position / 64].fetch_or(1 << (position % 64), Ordering::Release);
    }
}

/// The slots that the process may touch. What no thread uses is out of reach: a program that locks all of its memory has
/// it filled otherwise.
static OPENED: Positions = Positions::none();

/// Those with a bench that it may write to and execute.
static WITH_BENCH: Positions = Positions::none();

/// Lets the process touch a slot: false if the kernel does not. A program may have given up making memory executable
/// (`PR_SET_MDWE`): its threads do without a bench.
fn open(header: &TraceHeader, position: usize) -> bool {
    const READ_WRITE: u64 = 3;
    const EXECUTE: u64 = 4;
    let protect = |start: u64, size: u64, protection: u64| {
        // SAFETY: addresses of the tracer's own, which nobody else looks at.
        unsafe { call(number::MPROTECT, [start, size, protection, 0, 0, 0]) }.is_ok()
    };
    if !protect(slot_at(header, position) as u64, SLOT_BYTES, READ_WRITE) {
        return false;
    }
    if protect(BENCHES + BENCH_BYTES * position as u64, BENCH_BYTES, READ_WRITE | EXECUTE) {
        WITH_BENCH.add(position);
    }
    OPENED.add(position);
    true
}

/// The bench of a thread's slot, if it has one.
pub fn bench_page(slot: &TraceSlot) -> Option<*mut u8> {
    let header = header();
    let position = (core::ptr::from_ref(slot) as u64 - header.base - header.slots) / SLOT_BYTES;
    WITH_BENCH.has(position as usize).then_some((BENCHES + BENCH_BYTES * position) as *mut u8)
}

/// The base of the calling thread's `fs` segment.
pub fn fs_base() -> u64 {
    let base;
    // SAFETY: reads a register; the host said that programs may.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// Whether the process has one thread, and had one since the host first looked: nobody else changes its memory, or what
/// is mapped, while that is in the handler.
pub fn is_alone(header: &TraceHeader) -> bool {
    // The host looks now and then only, and a thread may have been made since.
    if header.alone.load(Ordering::Relaxed) == 1 && shares_memory() {
        header.alone.store(0, Ordering::Relaxed);
    }
    header.alone.load(Ordering::Relaxed) == 1
}

/// Whether another thread has the calling one's memory as well, of this process or of another that was made with it in
/// common; not if the kernel does not say.
fn shares_memory() -> bool {
    const UNSHARE: u64 = 272;
    const THREADS_AND_MEMORY: u64 = 0x1_0000 | 0x100;
    const INVALID: Errno = Errno(22);
    // SAFETY: changes nothing: the only thread has nothing to be parted from, and one of several cannot be.
    unsafe { call(UNSHARE, [THREADS_AND_MEMORY, 0, 0, 0, 0, 0]) == Err(INVALID) }
}

/// Whether a thread of this process has ended.
fn has_ended(tid: u32) -> bool {
    const ESRCH: Errno = Errno(3);
    // SAFETY: this changes nothing: signal 0 is not sent.
    unsafe { call(TGKILL, [process().into(), tid.into(), 0, 0, 0, 0]) == Err(ESRCH) }
}

/// Sends a signal that somebody sent once more, as it was: to the calling thread, or to the process. Where that has one
/// thread only, both are the same, but for this: none of ours joins one that waits for the thread. It is not delivered
/// before the handler that calls this has returned.
pub fn queue_again(info: &SignalInfo) {
    const RT_SIGQUEUEINFO: u64 = 129;
    const RT_TGSIGQUEUEINFO: u64 = 297;
    /// Sent to a thread, as by `tgkill`.
    const TO_THREAD: i32 = -6;
    let at = core::ptr::from_ref(info) as u64;
    // SAFETY: the kernel reads what it wrote itself where the handler was called.
    unsafe {
        let process = process().into();
        let thread = call(number::GETTID, [0; 6]).unwrap_or_default();
        let _ = if info.code == TO_THREAD || is_alone(header()) {
            call(RT_TGSIGQUEUEINFO, [process, thread, SIGTRAP.into(), at, 0, 0])
        } else {
            call(RT_SIGQUEUEINFO, [process, SIGTRAP.into(), at, 0, 0, 0])
        };
    }
}

/// Sends a signal to the calling thread.
pub fn raise(signal: u32) {
    // SAFETY: what the signal brings about is what the caller wants.
    unsafe {
        let process = process().into();
        let thread = call(number::GETTID, [0; 6]).unwrap_or_default();
        let _ = call(TGKILL, [process, thread, signal.into(), 0, 0, 0]);
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    extern crate std;

    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn other_threads_are_seen_as_soon_as_there_are_some() {
        // SAFETY: all zeros is a value of it.
        let header = unsafe { Box::<TraceHeader>::new_zeroed().assume_init() };
        header.alone.store(1, Ordering::Relaxed);
        std::thread::spawn(move || assert!(!is_alone(&header))).join().unwrap();
    }
}
