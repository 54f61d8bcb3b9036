//! What changed between two profiles, BASE and TEST: two runs of a program, or runs of two builds of it.
//!
//! A change of time is two changes: code ran more or less often (at its old cost), and an execution of it
//! became dearer or cheaper (at its new count). Executions are counted, so that they changed is a fact; time
//! is sampled, so a change of it is one only if it is more than sampling and the differences between runs of
//! the same program explain, for all rows of a report together.
//!
//! The crate is one of its own, not a part of `flow`: `flow` says what follows from one profile, and must not
//! come to know of a second one. Values in, values out, as there.
//!
//! - `pairing`, `modules`, `functions`, `similar`, [`align`], `loops`, `lines`, `matching`: which
//!   code of BASE is which code of TEST;
//! - `things`: what rows are of;
//! - `sums`, `parts`, `side`, [`noise`], `counts`, [`limits`], `change`: from samples and counts
//!   to changes with their limits;
//! - [`elapsed`], [`waiting`], `waiters`: time that no CPU time shows;
//! - `modelled`: changes of a modelled core's cycles, which have no noise where both sides are the same work;
//! - `one_program`: whether the sides are builds of one program;
//! - `repeated`: whether two profiles of one side are of the same run;
//! - [`comparison`]: all of it together, where reading starts;
//! - [`gate`]: conditions that a comparison must meet.
#![forbid(unsafe_code)]

pub mod align;
mod body;
mod chain;
mod change;
pub mod comparison;
mod copies;
mod counts;
pub mod elapsed;
mod functions;
pub mod gate;
pub mod limits;
mod lines;
mod loops;
mod matching;
mod modelled;
mod modules;
mod moves;
mod namesakes;
pub mod noise;
mod one_program;
mod pairing;
mod parts;
mod repeated;
mod side;
mod similar;
mod sums;
mod things;
mod waiters;
pub mod waiting;

pub use change::{Change, Difference, RunCounts};
pub use comparison::{CompareError, Comparison, Row, Unit};
pub use elapsed::Passed;
pub use gate::{Gate, GateError, Verdict};
pub use lines::{Lines, ModuleLine};
pub use matching::Matching;
pub use modelled::{ModelledChange, ModelledRow, Work};
pub use noise::Noise;
pub use pairing::{Both, Pairing};
pub use repeated::share_a_run;
pub use things::{Grain, Thing};
pub use waiting::WaitingRow;
