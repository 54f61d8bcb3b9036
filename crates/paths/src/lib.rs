//! Path profiles: how often control went along each path through a function, where a path goes from the function's
//! entry or a loop's next round to its exit or the end of the round.
//!
//! - PP: Ball and Larus, Efficient Path Profiling (MICRO 1996). Every path has a number; few edges add to a
//!   register, and where a path ends the counter of that number is increased.
//! - TPP: Joshi, Bond and Zilles, Targeted Path Profiling (CGO 2004). An edge profile that is known beforehand
//!   tells which paths need no counter of their own.
//!
//! The crate does no input or output. [`Method::plan`] says for a routine's [`Cfg`] what to do on which edges,
//! [`Plan`] also what the counts mean; [`Tally`] executes a plan. [`Walker`] follows threads through a whole program
//! and counts paths as they are, beside executing plans.
#![forbid(unsafe_code)]

pub mod accuracy;
pub mod cfg;
pub mod cold;
pub mod cut;
pub mod dag;
pub mod decoder;
pub mod feed;
pub mod found;
mod increments;
pub mod instrument;
pub mod later;
pub mod obvious;
mod placement;
pub mod plan;
pub mod program;
pub mod same;
pub mod tally;
pub mod targeted;
pub mod transition;
pub mod truncate;
pub mod truth;
pub mod walker;

pub use accuracy::{Accuracy, PathProfile};
pub use cfg::{Cfg, EdgeId};
pub use decoder::Path;
pub use feed::Feed;
pub use found::Found;
pub use instrument::{Instrumented, Instruments};
pub use later::{Later, Strays, at_most};
pub use plan::{Limits, Op, Plan, Store};
pub use program::Program;
pub use tally::{Executed, Tally};
pub use targeted::Method;
pub use walker::Walker;
