//! Counting a program's execution from its first instruction to its end.

use crate::arena::Arena;
use crate::census::{Census, Found};
use crate::follow::{Uncounted, follow, spawn, wait_for};
use crate::harvest::Harvest;
use crate::inject::inject;
use crate::paths::{Instrumentation, PathCounts};
use crate::streams::{self, Beat, Chunk, Places, Recording, Stream, Vectors, Windows};
use crate::translation::{Ticks, Translation};
use crate::warnings;
use std::collections::BTreeSet;
use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use timewise_abi::Failure;
use timewise_image::sanitiser;
use timewise_injection::{PayloadFault, payload};
use timewise_profile::{Profile, Run, RunKind};
use timewise_target::attachable::AttachError;
use timewise_target::control_groups::memory_limit;
use timewise_target::first_instruction::NoFirstInstruction;
use timewise_target::launch::{Ended, Launch, LaunchError, Stopped};
use timewise_target::run::outlived_by;
use timewise_target::subject::Subject;

/// Why a program could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The program could not be launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The system refused something that counting needs.
    #[error("cannot {what}: {cause}; {}", timewise_target::remedy::remedy(.cause))]
    System {
        /// The operation.
        what: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
    /// The first instruction is nowhere.
    #[error(transparent)]
    NoFirstInstruction(#[from] NoFirstInstruction),
    /// The program has something where the runtime is to be.
    #[error(
        "the program has mapped addresses that counting needs, as it is linked to lie there; \
         sample it: timewise sample …"
    )]
    NoRoom,
    /// A limit on the address space leaves no room, and cannot be raised.
    #[error(
        "counting reserves more addresses than the limit of {0} bytes allows; raise it with: \
         ulimit -v unlimited"
    )]
    AddressLimit(u64),
    /// Shared memory is full.
    #[error("the memory shared with the program is full; count a shorter run")]
    Full,
    /// A program that runs already cannot be taken over.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The runtime that goes into the program is unusable: a fault of the build.
    #[error(transparent)]
    Payload(#[from] PayloadFault),
}

/// How to count.
#[derive(Clone, Debug)]
pub struct Options {
    /// Processes with rows of their own in the profile. Those that come later are added up by executable,
    /// so that the profile of a tree of thousands of processes stays small.
    pub process_limit: usize,
    /// Find out what calls cost. It takes time of its own.
    pub calls: bool,
    /// Find out how long translation takes. The program must not forbid itself to read the time stamp counter.
    pub time_translation: bool,
    /// Count paths as this says, and no costs of calls.
    pub paths: Option<Arc<Instrumentation>>,
    /// Keep how much of each block was executed in every so many instructions of each thread.
    pub intervals: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options { process_limit: 256, calls: true, time_translation: false, paths: None, intervals: None }
    }
}

/// What a counted run gives.
#[derive(Debug)]
pub struct Counted {
    /// How the program ended.
    pub ended: Ended,
    /// One counting run with its processes, threads, modules, blocks and counts. What a reader must know
    /// to trust them is in [`Run::warnings`].
    pub profile: Profile,
    /// Why counts are incomplete, if they are.
    pub failure: Option<Failure>,
    /// By how much the flow of control fails to balance in all processes together: 0 if every count is
    /// exact to within its process's uncertainty.
    pub imbalance: u64,
    /// Of a run with streams: what the blocks are that they name.
    pub places: Places,
    /// Bytes of memory that counters and records held at the end, of the processes that had not ended long
    /// before.
    pub shared_bytes: u64,
    /// What counters of paths say, if there were any.
    pub paths: PathCounts,
    /// How much code was translated, and how long that took if it was asked for.
    pub translation: Translation,
}

/// Launches a program and counts it.
///
/// # Errors
/// See [`CountError`].
pub fn count(launch: Launch, options: &Options) -> Result<Counted, CountError> {
    record(launch.stopped()?, options)
}

/// Lets a launched program run to its end under count. The calling thread must be the one that launched
/// it.
///
/// Descendants are counted as long as the program itself lives.
///
/// # Errors
/// See [`CountError`]; the program is ended then unless it already ran.
pub fn record(stopped: Stopped, options: &Options) -> Result<Counted, CountError> {
    let Some(length) = options.intervals else {
        let (counted, _) = run(stopped, options, Recording::Nothing, |_| {}, Vec::new)?;
        return Ok(counted);
    };
    let vectors = Mutex::new(Vectors::default());
    let locked = || vectors.lock().unwrap_or_else(PoisonError::into_inner);
    let mut made_sense = true;
    let take = |chunk: &Chunk| made_sense &= locked().take(chunk);
    let intervals = || std::mem::take(&mut *locked()).into_streams();
    let (mut counted, is_whole) = run(stopped, options, Recording::Intervals(length), take, intervals)?;
    if let Some(run) = counted.profile.runs.first_mut().filter(|_| !is_whole || !made_sense) {
        run.warnings.push("some of the intervals are missing or incomplete".to_string());
    }
    Ok(counted)
}

/// Lets a launched program run to its end under count, as [`record`] does, and gives every chunk of its
/// threads' streams to `take`, on a thread of its own. The program waits for it. Also tells whether the streams
/// are whole: nothing is missing, unless a host that stood still for half a minute was taken for gone.
///
/// # Errors
/// See [`CountError`].
pub fn stream(
    stopped: Stopped,
    options: &Options,
    windows: Windows,
    take: impl FnMut(&Chunk) + Send,
) -> Result<(Counted, bool), CountError> {
    run(stopped, options, Recording::Windows(windows), take, Vec::new)
}

fn run(
    stopped: Stopped,
    options: &Options,
    recording: Recording,
    take: impl FnMut(&Chunk) + Send,
    intervals: impl FnOnce() -> Vec<Stream>,
) -> Result<(Counted, bool), CountError> {
    let system = |what| move |cause| CountError::System { what, cause };
    let prepare = || {
        let subject = Subject::of(stopped.pid() as u32).map_err(system("read what the program is"))?;
        let executable = PathBuf::from(format!("/proc/{}/exe", stopped.pid()));
        if let Some(sanitiser) = sanitiser(&executable) {
            return Err(LaunchError::no_room(&executable, sanitiser).into());
        }
        let payload = payload::load()?;
        // The paths of functions that wait stand where open calls would.
        let calls = options.calls && options.paths.is_none();
        let memory = memory_limit(stopped.pid());
        let arena = Arena::new(&payload, calls, recording.plan(), options.paths.as_deref(), memory)?;
        let times = &arena.shared().header().times_translation;
        times.store(options.time_translation.into(), Ordering::Relaxed);
        inject(&arena, &payload, stopped.pid(), 0)?;
        Ok::<_, CountError>((subject, payload, arena))
    };
    let (subject, payload, arena) = prepare()?;
    let ticks = Ticks::begin();
    let mut harvest = Harvest::new(&arena, options.process_limit, recording != Recording::Nothing);
    let child = stopped.pid();
    let mut running = None;
    let begin = || {
        running = Some(stopped.release().map_err(system("release the program"))?);
        Ok(())
    };
    let (ended, beat) = (AtomicBool::new(false), Beat::new(&arena));
    let (uncounted, is_whole) = std::thread::scope(|scope| {
        if recording == Recording::Nothing {
            let uncounted = follow(&arena, &payload, child, Some(&mut harvest), begin, || wait_for(child));
            return uncounted.map(|uncounted| (uncounted, true));
        }
        let beating = spawn(scope, || beat.go_on())?;
        let drained = spawn(scope, || streams::drain(&arena, &ended, take));
        // Blocks of processes that have ended are still to be told.
        let followed = drained.and_then(|drained| {
            let uncounted = follow(&arena, &payload, child, None, begin, || wait_for(child));
            ended.store(true, Ordering::Release);
            Ok((uncounted?, drained.join()))
        });
        beat.end();
        beating.thread().unpark();
        let (uncounted, is_whole) = followed?;
        // Whoever takes chunks has no results then that could be taken for some.
        Ok((uncounted, is_whole.unwrap_or_else(|panic| resume_unwind(panic))))
    })?;
    let running = running.expect("it was released");
    let ended = running.wait().map_err(system("wait for the program"))?;
    let run = timewise_target::run::row(RunKind::Counting, subject, &ended);
    let Conclusion { mut profile, failure, imbalance, places, paths, shared_bytes, translated_in } =
        conclude(&arena, (harvest, intervals()), &uncounted, run);
    profile.runs[0].warnings.extend(outlived_by(still_running(&arena)));
    let (blocks, taken) = translated_in;
    let translation = Translation { blocks, elapsed: ticks.duration(taken) };
    Ok((Counted { ended, profile, failure, imbalance, places, shared_bytes, paths, translation }, is_whole))
}

/// How many processes are under count still.
fn still_running(arena: &Arena) -> usize {
    let census = Census::take(arena);
    let found = arena.records().into_iter().map(|record| census.find(record));
    let pids = found.flat_map(|Found { counted, hidden }| if counted.is_empty() { hidden } else { counted });
    pids.collect::<BTreeSet<i32>>().len()
}

/// What [`Counted`] says, but for the program's end.
pub struct Conclusion {
    /// The profile.
    pub profile: Profile,
    failure: Option<Failure>,
    imbalance: u64,
    places: Places,
    /// What counters of paths say.
    pub paths: PathCounts,
    shared_bytes: u64,
    /// Blocks translated, and the processor's ticks that it took.
    translated_in: (u64, u64),
}

/// What was counted, once the program has ended or was given back. `run` has the warnings that are known already.
pub fn conclude(
    arena: &Arena,
    (harvest, intervals): (Harvest, Vec<Stream>),
    uncounted: &[Uncounted],
    mut run: Run,
) -> Conclusion {
    let shared = arena.shared();
    let shared_bytes = arena.used();
    let (mut converter, damage) = harvest.finish();
    let paths = std::mem::take(&mut converter.paths);
    let failure = shared.header().failure();
    let imbalance = converter.balance.imbalance;
    let translated_in = converter.translated_in;
    let address = shared.header().failure_address.load(Ordering::Relaxed);
    let [unfollowed, unnamed] =
        [&shared.header().unfollowed, &shared.header().unnamed_pages].map(|n| n.load(Ordering::Relaxed));
    let failed = failure.map(|failure| (failure, address));
    run.warnings.extend(warnings::of(failed, &converter, damage, (uncounted, unfollowed), unnamed));
    let lost_calls = arena.has_frames().then(|| converter.lost_calls());
    let (mut profile, places) = converter.into_profile(intervals);
    if let Some(first) = profile.processes.first_mut() {
        first.exit = run.exit;
    }
    let counts_complete = failure.is_none() && damage == 0 && imbalance == 0;
    profile.runs.push(Run { counts_complete, lost_calls, ..run });
    Conclusion { profile, failure, imbalance, places, paths, shared_bytes, translated_in }
}
