//! Following: processes that a traced one makes, and programs that it executes, itself or in children, are traced as soon
//! as they are seen, by attaching to them.

use crate::attach::trace;
use crate::record::{Options, TraceError, Traced};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};
use timewise_target::attachable::AttachError;
use timewise_target::family;
use timewise_target::keeper;
use timewise_target::status::{ProgramImage, Status};

/// How often is looked for new processes and programs: at most, and at least; in between every second sample. One that is
/// seen twice is traced: whatever ends sooner would give next to nothing.
const LOOKS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_millis(50);

/// How often, where the system has no process or thread that is new: only another program may be executed then. To look
/// costs a processor that the program may share.
const REST: Duration = Duration::from_millis(50);

/// Programs that are traced at once.
const MOST: usize = 64;

/// Refusals that are told.
const TOLD: usize = 4;

/// What follows a process.
pub struct Followers {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Followed>,
}

/// What came of it.
#[derive(Default)]
pub struct Followed {
    /// Programs that were traced.
    pub traced: Vec<Traced>,
    /// Why others were not.
    pub refused: Vec<String>,
    /// Processes that were seen besides the one that is followed.
    pub seen: BTreeSet<i32>,
    /// CPU time of those of them that were other processes, as it was seen last, in clock ticks.
    pub cpu_ticks: u64,
    /// A fault of ours on the way, for whoever takes over the rest.
    pub fault: Option<Box<dyn Any + Send>>,
    root: i32,
}

/// A process, and what is done about the program that it executes.
struct Known {
    image: ProgramImage,
    stage: Stage,
}

enum Stage {
    /// Nothing: it is traced by whoever launched it, or could not be traced.
    Left,
    /// It was seen.
    Seen,
    /// It is traced.
    Traced(JoinHandle<Result<Traced, TraceError>>, Arc<AtomicU64>),
}

impl Followers {
    /// Follows process `root`, whose program is traced by the caller.
    ///
    /// # Errors
    /// The system's, if there can be no further thread.
    pub fn begin(root: i32, options: Options) -> io::Result<Followers> {
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let image = Status::of_process(root).map(|status| status.image).unwrap_or_default();
        let thread = Builder::new().spawn(move || follow((root, image), options, &until))?;
        Ok(Followers { over, thread })
    }

    /// Ends it: what still runs is let go.
    pub fn end(self) -> Followed {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.unwrap_or_else(|fault| Followed { fault: Some(fault), ..Followed::default() })
    }
}

fn follow((root, image): (i32, ProgramImage), options: Options, over: &Arc<AtomicBool>) -> Followed {
    let mut followed = Followed { root, ..Followed::default() };
    let mut known = BTreeMap::new();
    known.insert(root, Known { image, stage: Stage::Left });
    let looks = Duration::from_nanos(2 * options.period_ns).clamp(*LOOKS.start(), *LOOKS.end());
    let (mut latest, mut looked) = (None, Instant::now());
    while !over.load(Ordering::Relaxed) {
        thread::sleep(looks);
        let id = family::latest_id();
        let is_awaited = known.values().any(|known| matches!(known.stage, Stage::Seen));
        if id.is_some() && id == latest && !is_awaited && looked.elapsed() < REST {
            continue;
        }
        (latest, looked) = (id, Instant::now());
        let mut present = BTreeSet::new();
        for pid in family::descendants(root).into_iter().filter(|&pid| !keeper::is_ours(pid)) {
            // One that is about to end seems to execute nothing.
            let Some(status) = Status::of_process(pid).filter(|status| !status.is_at_its_end()) else {
                continue;
            };
            present.insert(pid);
            let traced = known.values().filter(|known| matches!(known.stage, Stage::Traced(..))).count();
            let is_new = known.get(&pid).is_none_or(|known| known.image != status.image);
            if is_new {
                let before = known.insert(pid, Known { image: status.image, stage: Stage::Seen });
                followed.take(pid, before);
            } else if let Some(known) = known.get_mut(&pid)
                && matches!(known.stage, Stage::Seen)
                && traced < MOST
            {
                known.stage = begin(pid, options, Arc::clone(over)).unwrap_or_else(|error| {
                    followed.refused.push(format!("process {pid}: cannot start a thread: {error}"));
                    Stage::Left
                });
            }
        }
        // One that has ended is waited for no more.
        let gone = known
            .iter_mut()
            .filter(|(pid, known)| matches!(known.stage, Stage::Seen) && !present.contains(pid));
        gone.for_each(|(_, known)| known.stage = Stage::Left);
    }
    followed.seen = known.keys().copied().filter(|&pid| pid != root).collect();
    known.into_iter().for_each(|(pid, known)| followed.take(pid, Some(known)));
    followed
}

fn begin(pid: i32, options: Options, over: Arc<AtomicBool>) -> io::Result<Stage> {
    let ticks = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&ticks);
    let traced = Builder::new().spawn(move || {
        let traced = trace(pid, &options, true, |pause| {
            thread::sleep(pause);
            let status = Status::of_process(pid).filter(|status| !status.ended);
            if let Some(status) = &status {
                seen.store(status.cpu_ticks, Ordering::Relaxed);
            }
            over.load(Ordering::Relaxed) || status.is_none()
        });
        // It ended meanwhile: then nobody can tell why it failed.
        let is_gone = || Status::of_process(pid).is_none_or(|status| status.is_at_its_end());
        if traced.is_err() && is_gone() { Err(AttachError::Gone(pid).into()) } else { traced }
    });
    Ok(Stage::Traced(traced?, ticks))
}

impl Followed {
    /// Takes over what came of a program that a process executes no more.
    fn take(&mut self, pid: i32, known: Option<Known>) {
        let Some(Known { stage: Stage::Traced(thread, ticks), .. }) = known else { return };
        match thread.join() {
            Ok(Ok(traced)) => {
                self.traced.push(traced);
                if pid != self.root {
                    self.cpu_ticks += ticks.load(Ordering::Relaxed);
                }
            }
            // It ended before it could be traced.
            Ok(Err(TraceError::Attach(AttachError::Gone(_) | AttachError::NotFound(_)))) => {}
            Ok(Err(_)) if self.refused.len() >= TOLD => {}
            Ok(Err(TraceError::Attach(AttachError::Restricted(pid)))) => self.refused.push(format!(
                "process {pid} was not traced: it has restricted its system calls (seccomp), and could be ended for the \
                 tracer's; timewise sample and timewise count tell what it does"
            )),
            Ok(Err(error)) => {
                self.refused.push(error.to_string());
            }
            Err(fault) => self.fault = Some(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_not_taken_for_a_process_that_ended() {
        let fault = thread::spawn(|| panic!("a fault"));
        let stage = Stage::Traced(fault, Arc::default());
        let mut followed = Followed::default();
        followed.take(7, Some(Known { image: ProgramImage::default(), stage }));
        assert!(followed.fault.is_some());
        let gone = thread::spawn(|| Err(AttachError::Gone(7).into()));
        let stage = Stage::Traced(gone, Arc::default());
        let mut followed = Followed::default();
        followed.take(7, Some(Known { image: ProgramImage::default(), stage }));
        assert!(followed.fault.is_none() && followed.refused.is_empty());
    }
}
