//! Sampling: where a program's time goes, by interrupting it at even intervals while it runs
//! natively.
mod options;
mod period;
mod record;
mod source;
pub use options::{Options, Progress, Scope};
pub use source::{Refusal, Source, choose};
/// Why a program could not be sampled.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// No event to sample with.
    #[error("this machine lets us sample with no clock: {reasons}")]
    Refused {
        /// Each event with its reason.
        reasons: String,
    },
    /// The system refused something that sampling needs.
    #[error("cannot {what}: {source}")]
    System {
        /// The operation.
        what: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
}
