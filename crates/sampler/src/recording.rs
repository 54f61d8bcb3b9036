//! Recording a launched program from its first instruction to its end.

use crate::SampleError;
use crate::channels::Channels;
use crate::collector::Collector;
use crate::core_clock::Probe;
use crate::cost;
use crate::digestion::Digestion;
use crate::options::{Means, Options};
use crate::order::Queue;
use crate::refusal::Refusal;
use crate::root::Root;
use crate::source::{Source, choose};
use crate::stops;
use crate::waiting::Waiting;
use crate::warnings;
use std::sync::Arc;
use std::time::Duration;
use timewise_profile::{Clock, Profile, RunKind};
use timewise_target::launch::{Ended, Running, Stopped};
use timewise_target::run;
use timewise_target::subject::Subject;

/// However large the rings are, progress is told, memory is kept small and waiting threads are looked at, at this
/// pace.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Lets a launched program run to its end under sampling, and gives one run with its processes,
/// threads, modules, stacks and samples. How the program ended is in [`timewise_profile::Run::exit`].
///
/// Descendants are recorded as long as the program itself lives. The calling thread must be the
/// one that launched it.
///
/// # Errors
/// [`SampleError`]; the program is ended then unless it already ran.
pub fn record(stopped: Stopped, options: &Options) -> Result<Profile, SampleError> {
    let pid = stopped.pid();
    let Prepared { way, subject, root, probe } = match prepare(pid, options) {
        Ok(prepared) => prepared,
        Err(error) => {
            stopped.kill();
            return Err(error);
        }
    };
    let started_ns = monotonic_ns();
    let collector = Collector::new(root, started_ns, way.counts_cycles(), options);
    let running =
        stopped.release().map_err(|cause| SampleError::System { what: "release the program", cause })?;
    let digestion =
        Digestion::start(collector).map_err(|cause| SampleError::System { what: "start a thread", cause })?;
    let followed = way.follow(running, &digestion, options)?;
    let mut collector = digestion.finish();
    collector.finish_waits(followed.ended_ns);
    let core = probe.finish();

    let mut run = run::row(RunKind::Sampling, subject, &followed.ended);
    run.clock = Some(Clock {
        core_hz: core.mean_hz,
        core_hz_low: core.low_hz,
        core_hz_high: core.high_hz,
        ..followed.clock
    });
    run.call_stacks = collector.call_stacks.clone();
    run.lost_samples = collector.lost.max(followed.lost_samples);
    run.warnings = warnings::of(&run, &collector, collector.alive(), followed.whole_processors);
    run.warnings.extend(followed.precision);
    run.warnings.extend(warnings::of_waits(&run, &collector, followed.looks.as_ref()));
    let mut processes = collector.processes;
    processes[0].exit = run.exit;
    Ok(Profile {
        runs: vec![run],
        processes,
        threads: collector.threads,
        modules: collector.modules.into_vec(),
        stacks: collector.stacks.into_vec(),
        samples: collector.samples.into_vec(),
        waits: collector.waits.into_vec(),
        ..Profile::default()
    })
}

/// All that a recording needs before its program may run.
struct Prepared {
    way: Way,
    subject: Subject,
    root: Root,
    probe: Probe,
}

/// How the program is sampled.
enum Way {
    /// By performance events.
    Events { source: Source, frequency_hz: u32, channels: Channels, waiting: Box<Waiting> },
    /// By stopping its threads; and why not by events, if that was tried.
    Stops { prepared: stops::Prepared, why: Option<SampleError> },
}

/// What came of a program under sampling.
struct Followed {
    ended: Ended,
    /// When it had ended, on the records' clock.
    ended_ns: u64,
    clock: Clock,
    lost_samples: u64,
    whole_processors: bool,
    /// How the samples were had, where that is not the usual way.
    precision: Option<String>,
    /// Why waiting threads were only looked at, where every switch could have been seen.
    looks: Option<Refusal>,
}

fn prepare(pid: i32, options: &Options) -> Result<Prepared, SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let unknown = "read what the program is (/proc/PID)";
    let subject = Subject::of(pid as u32).map_err(failed(unknown))?;
    let root = Root::of(pid as u32).map_err(failed(unknown))?;
    let way = match (options.means, choose(options, Some(pid))) {
        (Means::Stops, _) => Way::stops(&root, None)?,
        (Means::Automatic, Err(why)) => Way::stops(&root, Some(why))?,
        (_, chosen) => Way::events(chosen?.0, &root, options)?,
    };
    let probe = Probe::start(Arc::clone(&options.progress)).map_err(failed("start a thread"))?;
    if let Way::Events { channels, waiting, .. } = &way {
        channels.enable().and_then(|()| waiting.enable()).map_err(failed("start sampling"))?;
    }
    Ok(Prepared { way, subject, root, probe })
}

impl Way {
    fn events(mut source: Source, root: &Root, options: &Options) -> Result<Way, SampleError> {
        let pid = root.pid as i32;
        let cost = options.cost_limit.and_then(|_| cost::of_sample(&source));
        let frequency_hz = cost::affordable_hz(options, cost);
        source.set_frequency(frequency_hz);
        let channels = Channels::open(&source, pid, options.ring_bytes)?;
        let waiting = Box::new(Waiting::of(pid, options));
        Ok(Way::Events { source, frequency_hz, channels, waiting })
    }

    fn stops(root: &Root, why: Option<SampleError>) -> Result<Way, SampleError> {
        let prepared = stops::prepare(root.pid as i32, root.mappings.clone());
        match prepared {
            Ok(prepared) => Ok(Way::Stops { prepared, why }),
            Err(stops) => {
                let events = why.map_or(String::new(), |why| format!(" ({why})"));
                Err(SampleError::NoMeans { events, stops })
            }
        }
    }

    fn counts_cycles(&self) -> bool {
        matches!(self, Way::Events { source, .. } if source.counts_cycles)
    }

    /// Samples the program to its end.
    fn follow(
        self,
        running: Running,
        digestion: &Digestion,
        options: &Options,
    ) -> Result<Followed, SampleError> {
        match self {
            Way::Events { source, frequency_hz, mut channels, waiting } => {
                let pause = channels.longest_pause(frequency_hz).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
                let (ended, looks) = follow_events(running, &mut channels, *waiting, digestion, pause)?;
                Ok(Followed {
                    ended,
                    ended_ns: monotonic_ns(),
                    looks,
                    clock: clock(source.event, frequency_hz, source.counts_cycles, source.precise_level),
                    lost_samples: channels.lost_samples(),
                    whole_processors: source.whole_processors,
                    precision: None,
                })
            }
            Way::Stops { prepared, why } => {
                let (ended, stops) = stops::follow(running, prepared, digestion, options)?;
                let ended_ns = monotonic_ns();
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                Ok(Followed {
                    ended,
                    ended_ns,
                    looks: None,
                    clock: clock("ptrace".into(), stops.frequency_hz, false, 0),
                    lost_samples: 0,
                    whole_processors: false,
                    precision: Some(format!("sampled with ptrace{why}: {}", stops.precision)),
                })
            }
        }
    }
}

/// A clock whose core frequency is not known yet.
fn clock(event: String, frequency_hz: u32, counts_cycles: bool, precise_level: u8) -> Clock {
    Clock {
        event,
        counts_cycles,
        precise_level,
        frequency_hz,
        core_hz: 0.0,
        core_hz_low: 0.0,
        core_hz_high: 0.0,
    }
}

/// Collects until the program ends; and why waiting threads were only looked at, if so.
fn follow_events(
    running: Running,
    channels: &mut Channels,
    mut waiting: Waiting,
    digestion: &Digestion,
    pause: Duration,
) -> Result<(Ended, Option<Refusal>), SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let mut queue = Queue::default();
    loop {
        let over = running.ends_within(pause).map_err(failed("wait for the program"))?;
        if over {
            break;
        }
        let now_ns = monotonic_ns();
        channels.drain(|stamped| queue.push(stamped));
        waiting.drain(now_ns, |stamped| queue.push(stamped));
        digestion.take(queue.release(now_ns));
    }
    let looks = waiting.finish(monotonic_ns(), |stamped| queue.push(stamped));
    let ended = running.wait().map_err(failed("learn how the program ended"))?;
    channels.disable().map_err(failed("stop sampling"))?;
    channels.drain(|stamped| queue.push(stamped));
    digestion.take(queue.release_all());
    Ok((ended, looks))
}

/// Now, on the clock that the records carry.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for the result; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
