//! Control flow and cost of what was measured: dynamic control-flow graphs, loops with their
//! nesting, and cycles per instruction of every instruction, block, loop, line and function.
//!
//! Values in, values out: the crate reads a [`timewise_profile::Profile`], does no input or output,
//! and stores nothing. [`Analysis::new`] does the whole work; the modules hold one idea each:
//!
//! - [`code`]: executed instructions with exact counts, and edges between blocks;
//! - [`routine`]: which function a block belongs to;
//! - [`graph`], [`dominators`], [`strong`], [`natural`], [`merge`], [`irreducible`], [`loops`]:
//!   from edges to a forest of loops;
//! - [`samples`], [`attribute`]: from samples to the instructions that caused them;
//! - [`cost`], [`interval`]: from attributed samples to figures with confidence limits;
//! - [`frames`], [`origin`], [`walk`], [`inclusive`], [`call_sites`], `doubt`, [`totals`]: from stacks and counted calls
//!   to costs with callees;
//! - [`waiting`]: where threads waited;
//! - [`modelled`], [`divided`]: what a modelled core spent and why, and measured time divided by that;
//! - [`names`], [`naming`], [`short_name`], [`place_name`]: what functions are called, and which one somebody means who
//!   names it or a place in it;
//! - [`quality`]: what a reader must know to trust the figures;
//! - [`hints`]: what a reader should look at first;
//! - [`told`], [`correlation`]: how much is on paths that are known, and what these tell that edges do not;
//! - [`verify`]: whether a profile's counts are true to themselves and to the code.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod attribute;
pub mod call_sites;
pub mod code;
pub mod correlation;
pub mod cost;
pub mod divided;
pub mod dominators;
mod doubt;
pub mod frames;
pub mod graph;
mod hash;
pub mod hints;
pub mod imports;
pub mod inclusive;
pub mod interval;
pub mod irreducible;
pub mod kernel;
pub mod lines;
pub mod loops;
pub mod merge;
pub mod modelled;
pub mod names;
pub mod naming;
pub mod natural;
pub mod origin;
mod parallel;
pub mod place_name;
pub mod quality;
pub mod routine;
pub mod samples;
pub mod set;
pub mod short_name;
mod strays;
pub mod strong;
pub mod told;
pub mod totals;
pub mod turns;
pub mod verify;
pub mod waiting;
pub mod walk;
pub mod work;

#[cfg(feature = "sketch")]
pub mod sketch;

pub use analysis::Analysis;
pub use attribute::Policy;
pub use code::{Code, InstructionId};
pub use cost::{Cost, Estimate};
pub use loops::{Loop, LoopId};
pub use modelled::{Modelled, ModelledCost};
pub use routine::{Routine, RoutineId};
pub use totals::{Total, Totals};
pub use work::Mismatch;
