//! Recording a program to its end.

use crate::price::{Price, price};
use crate::recorder::Recorder;
use crate::warnings;
use std::io;
use timewise_profile::{Profile, Run, RunKind};
use timewise_target::attachable::AttachError;
use timewise_target::group::apart;
use timewise_target::launch::{Ended, Halted, Stopped};
use timewise_target::subject::Subject;
use timewise_target::{run, tracees};

/// How to record.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// So many events are kept at most; of more, only the number is told.
    pub most_events: usize,
    /// What recording a call cost before, by which warnings say how far times are to be trusted.
    pub price: Price,
    /// Whether the call stack of each event is taken.
    pub stacks: bool,
}

/// Why a program could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system refused something that recording needs.
    #[error("cannot record what the system does for the program: {what}: {cause}")]
    System {
        /// The operation.
        what: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
    /// A process that runs already cannot be attached to.
    #[error(transparent)]
    Attach(#[from] AttachError),
}

/// Lets a program run that was launched, to its end: what the system did for it. The first warning of the run tells what
/// recording cost.
///
/// # Errors
/// If it cannot be traced. What goes wrong later is told in the profile.
pub fn record(stopped: Stopped, options: &Options) -> Result<Profile, RecordError> {
    let failed = |what| move |cause| RecordError::System { what, cause };
    let subject = Subject::of(stopped.pid() as u32).map_err(failed("look at it"))?;
    let halted = stopped.halt().map_err(failed("halt it"))?;
    // When that thread ends, whatever still runs is traced no longer.
    let (recorder, ended) = apart(|| recorded(halted, options))?;
    let run = run::row(RunKind::Events, subject, &ended);
    let left = run::outlived_by(recorder.outliving());
    Ok(concluded(recorder, run, options, left))
}

/// By the calling thread, to its end.
fn recorded(halted: Halted, options: &Options) -> Result<(Recorder, Ended), RecordError> {
    let failed = |what| move |cause| RecordError::System { what, cause };
    let pid = tracees::seize_launched(halted).map_err(failed("trace it"))?;
    let mut recorder = Recorder::new(pid, options.most_events, options.stacks);
    recorder.began_program();
    let ended = recorder.follow(pid).map_err(failed("follow it"))?;
    Ok((recorder, ended))
}

/// What was recorded, with what limits it.
pub fn concluded(recorder: Recorder, mut run: Run, options: &Options, left: Option<String>) -> Profile {
    // Other work on the machine makes it dearer, before the run or behind it.
    let price = price(options.stacks).map_or(options.price, |price| price.lower(options.price));
    run.warnings = warnings::of(&recorder, run.elapsed_ns, price);
    run.warnings.extend(left);
    run.lost_samples = recorder.lost;
    run.call_stacks = recorder.walk.as_ref().map(|walk| walk.taken().clone());
    Profile { runs: vec![run], ..recorder.into_profile() }
}
