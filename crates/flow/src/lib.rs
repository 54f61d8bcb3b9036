//! Control flow and cost of what was measured: dynamic control-flow graphs, loops with their
//! nesting, and cycles per instruction of every instruction, block, loop, line and function.
//!
//! Values in, values out: the crate reads a [`timewise_profile::Profile`], does no input or output,
//! and stores nothing. [`Analysis::new`] does the whole work; the modules hold one idea each:
//!
//! - [`code`]: executed instructions with exact counts, and edges between blocks;
//! - [`routine`]: which function a block belongs to; [`lines`]: which source line a place does;
//! - `graph`, [`dominators`], `strong`, `set`, `natural`, `merge`, `irreducible`, `loops`: from edges to a forest of
//!   loops;
//! - [`samples`], [`attribute`]: from samples to the instructions that caused them;
//! - [`cost`], [`interval`]: from attributed samples to figures with confidence limits;
//! - `frames`, `origin`, `walk`, `inclusive`, `imports`, [`call_sites`], `doubt`, `totals`: from stacks and counted
//!   calls to costs with callees;
//! - [`waiting`], [`kernel`]: where threads waited, and what the kernel was called for;
//! - `modelled`, [`divided`]: what a modelled core spent and why, and measured time divided by that;
//! - [`names`], [`naming`], [`short_name`], [`place_name`]: what functions are called, and which one somebody means who
//!   names it or a place in it;
//! - [`quality`], `work`, [`turns`]: what a reader must know to trust the figures: whether runs that are joined did the
//!   same work, and turns of one program equal work;
//! - [`hints`]: what a reader should look at first;
//! - [`told`], [`correlation`]: how much is on paths that are known, and what these tell that edges do not;
//! - [`windows`]: what windows of a modelled execution tell of all of it;
//! - [`verify`]: whether a profile's counts are true to themselves and to the code.
#![forbid(unsafe_code)]

mod analysis;
pub mod attribute;
pub mod call_sites;
pub mod code;
pub mod correlation;
pub mod cost;
pub mod divided;
pub mod dominators;
mod doubt;
mod frames;
mod graph;
mod hash;
pub mod hints;
mod imports;
mod inclusive;
pub mod interval;
mod irreducible;
pub mod kernel;
pub mod lines;
mod loops;
mod merge;
mod modelled;
pub mod names;
pub mod naming;
mod natural;
mod origin;
mod parallel;
pub mod place_name;
pub mod quality;
mod reach;
pub mod routine;
pub mod samples;
mod set;
pub mod short_name;
mod strays;
mod strong;
pub mod told;
mod totals;
pub mod turns;
pub mod verify;
pub mod waiting;
mod walk;
pub mod windows;
mod work;

#[cfg(feature = "sketch")]
pub mod sketch;

pub use analysis::Analysis;
pub use attribute::Policy;
pub use code::{Code, InstructionId};
pub use cost::{Cost, Estimate};
pub use frames::{Frame, Frames};
pub use graph::Graph;
pub use loops::{Forest, Loop, LoopId};
pub use modelled::{Modelled, ModelledCost};
pub use routine::{Routine, RoutineId};
pub use totals::{Total, Totals};
pub use work::Mismatch;
