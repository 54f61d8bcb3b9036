//! Things that instructions take for some cycles, booked in program order at any cycle from now on.
//!
//! The core computes each instruction's times once, oldest first, so that an older one has the first choice of
//! every cycle, as it has in a scheduler that prefers the oldest. A younger one may still get an earlier cycle,
//! if it is ready earlier.

mod distribution;
mod entries;
mod links;
mod ports;

pub use distribution::Distribution;
pub use entries::{InOrder, OutOfOrder, Spans};
pub use links::Link;
pub use ports::Ports;
