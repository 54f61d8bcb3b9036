//! A cycle-level model of an out-of-order core, fed by the instructions that a program executed.
//!
//! A [`Processor`] is a record of sizes and latencies, from `processors/*.toml` or one's own. [`Simulation`]
//! takes the streams of a run that `timewise-engine` gives, decodes each static instruction once ([`Code`]), and
//! lets a [`Core`] for each thread execute what that executed. Each core gives a
//! [`timewise_trace::Record`] of every cycle of its commit stage to an observer.
//!
//! What is modelled, how, and what is not: `docs/simulate.md`. Start reading at [`Core::step`].
//!
//! The same input gives the same records. Memory in use depends on the amount of code and the sizes of the
//! processor's caches, not on the length of the run; with page faults, also on the pages that are touched.
#![forbid(unsafe_code)]

mod chance;
mod code;
mod core;
mod memory;
mod predict;
mod processor;
mod resources;
mod simulation;

pub use code::{Code, Origin};
pub use core::{Core, Totals};
pub use processor::{Processor, ProcessorError, name_of, names};
pub use simulation::{Ended, Sampling, Simulation, SimulationError, Turn, Window};
