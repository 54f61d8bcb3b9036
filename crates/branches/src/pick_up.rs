//! The event by which threads are picked up as the program makes them.

use crate::inherited;
use std::io;
use timewise_abi::tracing::{TICK_NS, signal_data};
use timewise_target::family;
use timewise_target::perf::{Event, Watched, sys};

/// CPU time between two of its signals in a process's only thread, nanoseconds. That is traced from the start, and each
/// signal costs as much as a small trace.
const ALONE_NS: u64 = 100_000_000;

/// Opens the event, switched off, for a process's first thread and all that it will make. Other processes do
/// not inherit it, and a successful `execve` removes it.
///
/// # Errors
/// The kernel's: `EINVAL` before Linux 5.13.
pub fn open(tid: i32) -> io::Result<Event> {
    let mut attributes = inherited::attributes(signal_data::PICK_UP);
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.config = sys::PERF_COUNT_SW_CPU_CLOCK as u64;
    attributes.__bindgen_anon_1.sample_period = TICK_NS;
    attributes.set_disabled(1);
    Event::open(&attributes, Watched::Thread(tid), None)
}

/// Lets the event come seldom: the thread that it was opened for has no other beside it. CPU time between two of its
/// signals, nanoseconds.
///
/// # Errors
/// The kernel's.
pub fn slow_down(event: &Event) -> io::Result<u64> {
    event.set_period(ALONE_NS).map(|()| ALONE_NS)
}

/// Lets an event that came seldom come often again, as process `pid` has other threads now; those that it made meanwhile
/// get events of their own, which are added to `events`. CPU time between two of its signals, nanoseconds.
pub fn speed_up(event: &Event, pid: i32, events: &mut Vec<Event>) -> u64 {
    // What fails here does so because the thread, or the whole process, has ended.
    let _ = event.set_period(TICK_NS);
    let made = family::threads(pid).into_iter().filter(|&tid| tid != pid);
    let opened = made.filter_map(|tid| open(tid).ok()).filter(|event| event.enable().is_ok());
    events.extend(opened);
    TICK_NS
}
