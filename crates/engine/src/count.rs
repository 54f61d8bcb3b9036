//! Counting a program's execution from its first instruction to its end.

use crate::arena::Arena;
use crate::follow::{Uncounted, follow};
use crate::harvest::{self, ProcessCounts};
use crate::inject::inject;
use crate::payload;
use std::io;
use timewise_abi::Failure;
use timewise_target::launch::{Ended, Launch, LaunchError};

/// Why a program could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The program could not be launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The system refused something that counting needs.
    #[error("cannot count: {what}: {source}")]
    System {
        /// The operation.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Shared memory is full.
    #[error("cannot count: the memory shared with the program is full; count a shorter run")]
    Full,
    /// The runtime that goes into the program is unusable: a fault of the build.
    #[error("cannot count: the in-target runtime is unusable: {0}; rebuild timewise")]
    Payload(String),
}

/// What a counted run gives.
#[derive(Debug)]
pub struct Counted {
    /// How the program ended.
    pub ended: Ended,
    /// Counts of each process image, in the order of their start.
    pub processes: Vec<ProcessCounts>,
    /// Programs that ran without being counted.
    pub uncounted: Vec<Uncounted>,
    /// Why counts are incomplete, if they are.
    pub failure: Option<Failure>,
}

/// Runs a program under count.
///
/// # Errors
/// See [`CountError`]. Once the program has started it always runs to its end.
pub fn count(launch: Launch) -> Result<Counted, CountError> {
    let payload = payload::load()?;
    let arena = Arena::new(&payload)?;
    let stopped = launch.stopped()?;
    inject(&arena, &payload, stopped.pid(), 0)?;
    let system = |what| move |source| CountError::System { what, source };
    let running = stopped.release().map_err(system("release the program"))?;
    let uncounted = follow(&arena, &payload, &running)?;
    let ended = running.wait().map_err(system("wait for the program"))?;
    let (processes, failure) = harvest::harvest(arena.shared());
    Ok(Counted { ended, processes, uncounted, failure })
}
