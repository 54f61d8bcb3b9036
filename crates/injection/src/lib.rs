//! What is put into programs that we watch, and putting it there: the in-target image, built and embedded
//! with this crate, and the memory that it shares with the host.
//!
//! Start reading at [`map()`].

mod hand_over;
mod left_alone;
mod map;
mod occupant;
pub mod payload;
mod shared_file;

pub use left_alone::{await_left_alone, await_uncounted, stop_left_alone};
pub use map::{DESCRIPTORS, Image, map};
pub use occupant::{Host, Occupant};
pub use payload::{Payload, PayloadFault};
pub use shared_file::{SharedFile, SharedFileError};
