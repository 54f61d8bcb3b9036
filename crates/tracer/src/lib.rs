//! Branch tracing from inside a program (Break Dancing, algorithm 1): the handler of the signals that samples
//! and breakpoints send to the thread that they concern.
//!
//! A sample is where a trace starts. From there instructions are decoded ahead to the next branch whose way is
//! not known, a hardware breakpoint is set on it, and the program goes on natively; at the breakpoint the
//! registers tell the way, and so on, until the trace is long enough. The handler runs on a stack of its own,
//! with all signals blocked; it allocates nothing, takes no lock, and reads the program's memory through the
//! kernel, so that what is not there is an answer rather than a fault. Start reading at [`handler::handle`];
//! what is pure, in [`ahead`], is tested on the host.
#![no_std]

pub mod ahead;
pub mod entry;
pub mod events;
mod guard;
pub mod handler;
pub mod peek;
pub mod slot;
pub mod trace;
