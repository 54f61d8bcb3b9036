//! What a simulated core shows of its commit stage, cycle by cycle, and the way to those who look at it.
//!
//! A core model fills a [`Record`] for every cycle and gives it to an [`Observer`]. The record is a plain
//! value of fixed size. It names instructions by number: [`Entry::instruction`] is the index of a static
//! instruction in a table that whoever feeds the core keeps, a sequence number counts the dynamic
//! instructions in program order.
//!
//! - [`record`]: the record, which cycles it stands for and what must hold in it;
//! - [`psv`]: the events that an instruction was subject to;
//! - [`trigger`]: when tracing starts and stops;
//! - [`doctor`]: the queue of buffers between one source and many [`Worker`]s, each on a thread of its own;
//!   it knows nothing of records, so that any stream may take this way;
//! - [`committed`]: from entries to instructions;
//! - [`csv`], [`binary`]: workers that write tables and bytes.
//!
//! Results do not depend on how many workers there are nor on how threads take turns: each worker sees
//! the whole trace in order and shares nothing.
#![forbid(unsafe_code)]

pub mod binary;
pub mod committed;
pub mod csv;
pub mod doctor;
pub mod psv;
pub mod record;
pub mod trigger;
pub mod worker;

#[cfg(feature = "sketch")]
pub mod sketch;

pub use committed::Committed;
pub use doctor::{Doctor, Recorder, Room, Seat};
pub use psv::Psv;
pub use record::{Entry, Flags, Observer, Record, WIDTH};
pub use trigger::{Gate, Moment, Numbers};
pub use worker::Worker;
