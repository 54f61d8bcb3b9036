//! The event by which threads are picked up as the program makes them.

use crate::inherited;
use std::io;
use timewise_abi::tracing::signal_data;
use timewise_target::perf::{Event, Watched, sys};

/// CPU time between two of its signals in a thread, nanoseconds. Each costs a few microseconds.
const PERIOD_NS: u64 = 10_000_000;

/// Opens the event, switched off, for a process's first thread and all that it will make. Other processes do
/// not inherit it, and a successful `execve` removes it.
///
/// # Errors
/// The kernel's: `EINVAL` before Linux 5.13.
pub fn open(pid: i32) -> io::Result<Event> {
    let mut attributes = inherited::attributes(signal_data::PICK_UP);
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.config = sys::PERF_COUNT_SW_CPU_CLOCK as u64;
    attributes.__bindgen_anon_1.sample_period = PERIOD_NS;
    attributes.set_disabled(1);
    Event::open(&attributes, Watched::Thread(pid), None)
}
