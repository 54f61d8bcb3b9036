//! Profiles in the formats that other tools read: one module a format, each a pure function from an
//! [`Analysis`](timewise_flow::Analysis) to text or bytes.
//!
//! Two kinds of formats tell two kinds of things. Those made of stacks ([`folded`], [`speedscope`],
//! [`firefox`]) hold the samples, each with the CPU time that it stands for. Those made of code ([`callgrind`], [`csv`],
//! `parquet`) hold exact counts of executed instructions as well, and charge samples to instructions as
//! reports do; [`pprof`] has both. [`bolt`], [`llvm_profgen`] and [`autofdo`] hold branches, of traces or counted.
//! [`simpoint`] has basic block vectors, and the intervals that were chosen by them, rather than an analysis.
//! `docs/exchange.md` says what each carries.
//!
//! What this crate does not do: write files, or judge what the numbers say.
#![forbid(unsafe_code)]

pub mod autofdo;
pub mod bolt;
pub mod callgrind;
mod calls;
mod costs;
pub mod csv;
pub mod firefox;
pub mod folded;
pub mod llvm_profgen;
mod owners;
#[cfg(feature = "parquet")]
pub mod parquet;
mod places;
pub mod pprof;
mod rounding;
pub mod simpoint;
pub mod speedscope;
mod stacks;
pub mod traced;
mod weights;
