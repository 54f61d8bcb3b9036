//! The host's side of counting: launches a program under the in-target runtime, follows it, and turns
//! what the runtime recorded into exact counts.
//!
//! [`count()`] launches a program and gives a profile with one counting run; [`attach()`] counts one that runs
//! already, for a while. `docs/counting.md` says what
//! is counted, and how exactly.

mod address_limit;
mod arena;
mod attach;
mod census;
mod code;
mod convert;
mod count;
mod executable;
mod follow;
mod harvest;
mod inject;
pub mod paths;
mod records;
mod solve;
pub mod streams;
mod translation;
mod unlisted;
mod unseen;
mod warnings;

pub use attach::{Attached, Meanwhile, attach};
pub use count::{CountError, Counted, Options, count, record, stream};
pub use translation::Translation;
