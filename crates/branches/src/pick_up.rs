//! The event by which threads are picked up as the program makes them.

use crate::inherited;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use timewise_abi::tracing::{TICK_NS, signal_data};
use timewise_target::family;
use timewise_target::perf::{Event, Watched, sys};

/// CPU time between two of its signals in a process's only thread, nanoseconds. That is traced from the start, and each
/// signal costs as much as a small trace.
const ALONE_NS: u64 = 500_000_000;

/// Opens the event, switched off, for a process's first thread and all that it will make. Other processes do
/// not inherit it, and a successful `execve` removes it.
///
/// # Errors
/// The kernel's: `EINVAL` before Linux 5.13.
pub fn open(tid: i32) -> io::Result<Event> {
    Event::open(&attributes(), Watched::Thread(tid), None)
}

/// Opens it for a thread alone: those that it makes inherit what it has itself.
fn open_alone(tid: i32) -> io::Result<Event> {
    let mut attributes = attributes();
    attributes.set_inherit(0);
    attributes.set_inherit_thread(0);
    Event::open(&attributes, Watched::Thread(tid), None)
}

fn attributes() -> sys::perf_event_attr {
    let mut attributes = inherited::attributes(signal_data::PICK_UP);
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.config = sys::PERF_COUNT_SW_CPU_CLOCK as u64;
    attributes.__bindgen_anon_1.sample_period = TICK_NS;
    attributes.set_disabled(1);
    attributes
}

/// Lets the event come seldom: the thread that it was opened for has no other beside it. `tick_ns` is where it is noted
/// how often.
///
/// # Errors
/// The kernel's.
pub fn slow_down(event: &Event, tick_ns: &AtomicU64) -> io::Result<()> {
    event.set_period(ALONE_NS)?;
    tick_ns.store(ALONE_NS, Ordering::Relaxed);
    Ok(())
}

/// Lets an event that came seldom come often again, as process `pid` has other threads now; those that it made meanwhile,
/// which inherited the seldom one, get events of their own, which are added to `events`.
pub fn speed_up(event: &Event, pid: i32, tick_ns: &AtomicU64, events: &mut Vec<Event>) {
    // First: a signal that counts for too little does no harm.
    tick_ns.store(TICK_NS, Ordering::Relaxed);
    // A thread that has ended, or is refused another event, is looked after less often.
    let _ = event.set_period(TICK_NS);
    let made = family::threads(pid).into_iter().filter(|&tid| tid != pid);
    let opened = made.filter_map(|tid| open_alone(tid).ok()).filter(|event| event.enable().is_ok());
    events.extend(opened);
}
