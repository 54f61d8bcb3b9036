//! What the operating system did for a program, as trees that can be compared (CQ, section 0.3).
//!
//! A program that spends its time in many small steps has no hot spot to look at. What it asks of the system stands in
//! the same order in every run, though: these deterministic events divide the time of all runs in the same way, coarsely
//! by the programs and libraries that are loaded, each of these parts by the files that are opened, and so on down to
//! single calls. The paper leaves it to the analyst to name such events; here they are found, as what is common to all
//! runs of both sides. Start reading at [`Comparison::new`].
#![forbid(unsafe_code)]

mod chains;
mod compare;
mod deterministic;
mod differing;
mod estimate;
mod findings;
mod functions;
mod gate;
mod lanes;
mod level;
mod summary;
mod tree;

pub use chains::CodeOf;
pub use compare::{CommonEvent, Comparison, Elsewhere, LaneTree, Measured, Measures};
pub use differing::Differing;
pub use estimate::{Difference, Estimate};
pub use functions::{FunctionRow, FunctionTime, Functions, functions, has_stacks, mostly_in};
pub use gate::{Gate, GateError, Metric, Verdict, truncated};
pub use lanes::{LaneKey, ProcessKey, Processes};
pub use level::Level;
pub use summary::{CallRow, calls, runs};
pub use tree::{Node, NodeId, Tree};
