//! Branch tracing from inside a program (Break Dancing, algorithm 1): the handler of the signals that samples
//! and breakpoints send to the thread that they concern.
//!
//! A sample is where a trace starts. From there instructions are evaluated ahead, in a copy of the thread's
//! registers and memory, to the first that cannot be: behind it a hardware breakpoint is set, and the program goes
//! on natively; there its registers are known again, and so on, until the trace is long enough. The handler runs
//! on a stack of its own, with all signals blocked; it allocates nothing, takes no lock, and reads the program's
//! memory through the kernel, or where it is nothing but memory and that has just found it (`trace.rs`), so that what is
//! not there is an answer rather than a fault. Start reading at [`handler::handle`]; all of [`ahead`] and what it stands
//! on is tested on the host.
#![no_std]

pub mod ahead;
pub mod been;
pub mod bench;
pub mod entry;
pub mod evaluation;
pub mod events;
mod guard;
pub mod handler;
mod restrict;
pub mod shadow;
pub mod shelf;
pub mod slot;
mod timer_ticks;
pub mod trace;
pub mod visits;
