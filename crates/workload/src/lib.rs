//! What executed instructions were, and what they were executed for (code-quality analysis, CQ section 0.2.3).
//!
//! - [`mix`]: of which kinds they were, and where control went; [`footprint`]: how much code that is;
//! - [`waste()`]: instructions that did nothing for what came after, on the paths that were taken;
//! - `path`: which these are on one path, from `forward`: what registers and memory hold along it, and then [`backward`]:
//!   what is read later;
//! - `value`, `location`: equal values and places in memory;
//! - `ways`, `exact`: paths that were counted, and blocks that always follow each other;
//! - `liveness`: what is read behind the end of a path.
//!
//! Values in, values out: a [`timewise_flow::Analysis`] is read, and nothing else.
#![forbid(unsafe_code)]

pub mod backward;
mod exact;
pub mod footprint;
mod forward;
mod liveness;
mod location;
pub mod mix;
mod path;
mod value;
pub mod waste;
mod ways;

pub use backward::Kind;
pub use waste::{Waste, Wasted, waste};
