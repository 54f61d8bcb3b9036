//! Software branch tracing (Break Dancing): short traces of the branches that an unmodified program takes, from
//! starting points chosen by time, on processors and in machines without a last-branch record.
//!
//! [`record()`] puts the tracer (`crates/tracer`) into a program that is stopped at its first instruction, [`attach()`]
//! into one that runs already; what its threads find is taken out of shared memory meanwhile, and added up.
//! `docs/branches.md` says what is traced, how, and what is not.

mod aggregate;
mod attach;
mod clock;
mod collect;
mod costs;
mod extensions;
mod followers;
mod forked;
mod former;
mod guard;
mod inherited;
mod inject;
mod mappings;
mod modules;
mod offspring;
mod outside;
mod pace;
mod pick_up;
mod plain;
mod record;
mod rings;
mod rounds;
mod signal_sets;
mod statistics;
mod taken_up;
mod threads;
mod trace;
mod unmask;

pub use timewise_abi::tracing::{End, LONGEST_TRACE, MOST_TRACES_A_SECOND};

pub use attach::{Reach, attach};
pub use record::{Options, TraceError, Traced, record};
pub use statistics::Statistics;
pub use threads::Threads;
