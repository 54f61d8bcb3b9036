//! The host's side of counting: launches a program under the in-target runtime, follows it, and turns
//! what the runtime recorded into exact counts.
//!
//! Start reading at [`count::count`].

pub mod arena;
pub mod count;
pub mod follow;
pub mod harvest;
mod inject;
mod payload;
mod solve;
