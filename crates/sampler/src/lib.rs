//! Sampling: where a program's time goes, by interrupting it at even intervals while it runs
//! natively.
//!
//! [`record`] takes a program that was launched and stopped, and gives a profile with one sampling
//! run. The clock is the processor's cycle counter where there is one, else the system's time; then
//! [`core_clock`] says how many cycles that was, and how surely. Samples are places in modules, so
//! that they can be joined with the counts of another run. `docs/sampling.md` says what is measured
//! and what the numbers mean. [`import`] makes the same of what `perf record` wrote.
//!
//! What this crate does not do: read symbols, or judge what the samples say.

mod channels;
mod collector;
pub mod core_clock;
mod cost;
mod digestion;
pub mod doctor;
pub mod import;
mod kernel_record;
mod layout;
mod options;
mod order;
mod period;
mod record;
mod recording;
mod refusal;
mod root;
mod roster;
mod source;
mod spells;
mod stops;
mod switches;
pub mod tally;
mod thinning;
mod uneven;
mod waiting;
mod waits;
mod warnings;

pub use options::{CallGraph, Means, Options, Progress, Scope};
pub use recording::{attach, record};
pub use refusal::Refusal;
pub use source::{Source, choose};

use timewise_target::untraceable::Untraceable;

/// Why a program could not be sampled.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// No event to sample with.
    #[error("this machine lets us sample with no clock: {reasons}")]
    Refused {
        /// Each event with its reason.
        reasons: String,
    },
    /// Nor may programs be stopped.
    #[error(
        "this machine lets us sample neither with performance events{events} nor by stopping programs ({stops}: {})",
        Untraceable::here()
    )]
    NoMeans {
        /// Why not with events, if that was tried: in parentheses.
        events: String,
        /// Why not by stopping.
        stops: std::io::Error,
    },
    /// A program that runs already cannot be attached to.
    #[error(transparent)]
    Attach(#[from] timewise_target::attachable::AttachError),
    /// The system refused something that sampling needs.
    #[error("cannot {what}: {cause}; {}", timewise_target::remedy::remedy(.cause))]
    System {
        /// The operation.
        what: &'static str,
        /// The system's reason.
        cause: std::io::Error,
    },
}
