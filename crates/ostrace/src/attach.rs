//! Recording a process that runs already, for a time.

use crate::record::{Options, RecordError, concluded};
use crate::recorder::Recorder;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use timewise_profile::{Exit, Profile, RunKind};
use timewise_target::child::{self, Awaited};
use timewise_target::group::apart;
use timewise_target::run::{self, ATTACH_TO_EACH, Period};
use timewise_target::subject::Subject;
use timewise_target::tracees;

/// How often is looked whether it is over.
const GLANCE: Duration = Duration::from_millis(5);

/// What the system does for a process that runs already, all its threads and what descends from it meanwhile, until `enough`
/// or for `time` at most. It runs on then as if nothing had been. The first warning of the run tells what recording cost.
///
/// # Errors
/// If it cannot be traced. What goes wrong later is told in the profile.
pub fn attach(
    pid: i32,
    time: Duration,
    options: &Options,
    enough: impl Fn() -> bool + Sync,
) -> Result<Profile, RecordError> {
    let failed = |what| move |cause| RecordError::System { what, cause };
    let subject = Subject::of(pid as u32).map_err(failed("look at it"))?;
    let others = run::others_not_observed(pid, ATTACH_TO_EACH);
    let (ender, awaited) = child::awaited().map_err(failed("make a pipe"))?;
    let has_ended = AtomicBool::new(false);
    let began = OnceLock::new();
    let is_over = || began.get().is_some_and(|began: &Instant| began.elapsed() >= time);
    let (recorder, period) = thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut period = Period::begin(pid);
            while !is_over() && !enough() && !has_ended.load(Ordering::Relaxed) {
                thread::sleep(GLANCE);
                period.look(pid);
            }
            drop(ender);
            period.end(pid);
            period
        });
        // When that thread ends, all of them are traced no longer.
        let recorder = apart(|| recorded(pid, options, &awaited, &began));
        has_ended.store(true, Ordering::Relaxed);
        recorder.map(|recorder| {
            (recorder, watching.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault)))
        })
    })?;
    let mut run = run::row_of_period(RunKind::Events, subject, &period);
    run.elapsed_ns = recorder.elapsed_ns;
    run.exit = recorder.processes().first().map_or(Exit::Unknown, |process| process.exit);
    Ok(concluded(recorder, run, options, others))
}

/// By the calling thread, until the process has ended, or what is awaited.
fn recorded(
    pid: i32,
    options: &Options,
    awaited: &Awaited,
    began: &OnceLock<Instant>,
) -> Result<Recorder, RecordError> {
    let failed = |what| move |cause| RecordError::System { what, cause };
    let child = awaited.child().map_err(failed("make a process"))?;
    let threads = tracees::seize_running(pid)?;
    let mut recorder = Recorder::new(pid, options.most_events, options.stacks);
    recorder.began();
    threads.iter().filter(|&&tid| tid != pid).for_each(|&tid| recorder.joined(pid, tid));
    began.get_or_init(Instant::now);
    let ended = recorder.follow_until(&threads, &[pid, child.pid()]).map_err(failed("follow it"))?;
    if ended.is_some_and(|(tid, _)| tid == child.pid()) {
        child.has_ended();
    }
    Ok(recorder)
}
