//! Software branch tracing (Break Dancing): short traces of the branches that an unmodified program takes, from
//! starting points chosen by time, on processors and in machines without a last-branch record.
//!
//! [`record()`] puts the tracer (`crates/tracer`) into a program that is stopped at its first instruction, takes
//! what its threads find out of shared memory while it runs, and adds it up. `docs/branches.md` says what is
//! traced, how, and what is not.

mod aggregate;
mod guard;
mod inherited;
mod inject;
mod modules;
mod pick_up;
mod rate;
mod record;
mod rings;
mod statistics;

pub use timewise_abi::tracing::{End, LONGEST_TRACE};

pub use record::{Options, TraceError, Traced, record};
pub use statistics::Statistics;
