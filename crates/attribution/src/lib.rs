//! Which instructions a core's cycles go to, and why, from the records of its commit stage.
//!
//! A [`Profiler`] attributes cycles to instructions by a [`Policy`], every cycle or those of a
//! [`Schedule`], and keeps for each instruction a cycle stack ([`Stacks`]): how many cycles by commit state
//! and by the events that the instruction was subject to. With the time-proportional policy and every
//! cycle it is the reference: Oracle of TIP (thesis, paper A) and the golden reference of TEA (paper B) in
//! one, as dropping events or states from its stacks gives either.
//!
//! - [`policy`]: one file each, who is blamed for a sampled cycle;
//! - [`schedule`]: which cycles are sampled;
//! - [`technique`]: the profilers of both papers: a policy and the events that it reports;
//! - [`comparison`], [`mod@error`]: all of them at the same cycles, and how far each is from the reference;
//! - [`parts`], [`component`], [`stacks`], [`units`]: cycles in exact fractions, what a cycle stack is made
//!   of, and sums by block or function;
//! - [`category`]: cycle stacks in the categories of paper A, figure A.7;
//! - [`event_counts`]: how often events occurred, and whether that tells their cost;
//! - [`calls`]: cycles by call stack, for flame graphs.
//!
//! Values in, values out: all of these are [`timewise_trace::Worker`]s or plain functions. Instructions
//! are numbers throughout; the caller's tables say what they mean.
#![forbid(unsafe_code)]

mod by_instruction;
pub mod calls;
pub mod category;
pub mod comparison;
pub mod component;
pub mod error;
pub mod event_counts;
pub mod parts;
pub mod policy;
pub mod profiler;
pub mod schedule;
pub mod stacks;
pub mod technique;
pub mod units;

pub use category::{Category, Kind};
pub use comparison::Comparison;
pub use component::{Component, State};
pub use error::{Weighted, error};
pub use parts::Parts;
pub use policy::Policy;
pub use profiler::Profiler;
pub use schedule::Schedule;
pub use stacks::Stacks;
pub use technique::Technique;
pub use units::Units;
