//! From the streams of a counted run to the instructions that each thread executed, in order, with the
//! memory that they accessed.
//!
//! [`Replay::chunk`] takes the chunks that `timewise_engine::stream` gives, of all threads as they come, and
//! tells of each thread's [`Event`]s. Memory in use depends on how much code there is, not on how long it runs.
#![forbid(unsafe_code)]

mod block;
mod memory;
mod replay;

pub use memory::Access;
pub use replay::{Event, Executed, Replay};
