//! Recording a launched program from its first instruction to its end, or one that runs already for a while.

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
use crate::tally::Breakpoints;
use crate::waiting::Waiting;
use crate::warnings;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timewise_profile::{Clock, ClockScope, Module, Profile, Run, RunKind};
use timewise_target::attachable;
use timewise_target::cpu_time::monotonic_ns;
use timewise_target::launch::Stopped;
use timewise_target::run::{self, ATTACH_TO_EACH, Period};
use timewise_target::subject::Subject;

/// However large the rings are, progress is told and memory is kept small at this pace.
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
    let Prepared { way, subject, root, probe } = prepare(pid, options, Begun::No)?;
    let started_ns = monotonic_ns();
    let collector = Collector::new(root, started_ns, way.counts_cycles(), options);
    let mut digestion =
        Digestion::start(collector).map_err(|cause| SampleError::System { what: "start a thread", cause })?;
    let running =
        stopped.release().map_err(|cause| SampleError::System { what: "release the program", cause })?;
    let followed = way.follow(|pause| running.ends_within(pause), pid, &mut digestion, options)?;
    let ended =
        running.wait().map_err(|cause| SampleError::System { what: "learn how the program ended", cause })?;
    let run = run::row(RunKind::Sampling, subject, &ended);
    Ok(conclude(followed, digestion, probe, (run, Begun::No)))
}

/// Samples process `pid`, which runs already, all its threads and what it starts from now on, for `time`, or until
/// it ends or `enough` says so, and gives one run likewise. The program notices nothing.
///
/// # Errors
/// [`SampleError`]; the program runs on then.
pub fn attach(
    pid: i32,
    time: Duration,
    options: &Options,
    enough: impl Fn() -> bool,
) -> Result<Profile, SampleError> {
    let Prepared { way, subject, root, probe } = prepare(pid, options, Begun::Yes)?;
    let collector = Collector::new(root, monotonic_ns(), way.counts_cycles(), options);
    let find = |module: &Module, offset| collector.find(module, offset);
    let breakpoints = RefCell::new(Breakpoints::new(pid, &options.tallied, find));
    let period = RefCell::new(Period::begin(pid));
    let others = run::others_not_observed(pid, ATTACH_TO_EACH);
    let deadline = Instant::now() + time;
    let mut digestion =
        Digestion::start(collector).map_err(|cause| SampleError::System { what: "start a thread", cause })?;
    let over = |pause: Duration| {
        std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
        breakpoints.borrow_mut().go_on();
        period.borrow_mut().look(pid);
        Ok(Instant::now() >= deadline || enough() || !attachable::lives(pid))
    };
    let followed = way.follow(over, 0, &mut digestion, options)?;
    let mut period = period.into_inner();
    period.end(pid);
    let breakpoints = breakpoints.into_inner();
    let places = breakpoints.places();
    let tallies = breakpoints.finish();
    let mut run = run::row_of_period(RunKind::Sampling, subject, &period);
    run.warnings.extend(others);
    let mut profile = Profile { tallies, ..conclude(followed, digestion, probe, (run, Begun::Yes)) };
    // What a hit takes is seen where the program goes on, which it would have done at once.
    profile.samples.retain(|sample| sample.place.is_none_or(|place| !places.contains(&place)));
    Ok(profile)
}

/// What was recorded, once it is over.
fn conclude(
    followed: Followed,
    digestion: Digestion,
    probe: Probe,
    (mut run, begun): (Run, Begun),
) -> Profile {
    let mut collector = digestion.finish();
    collector.finish_waits(followed.ended_ns);
    collector.place_waits();
    let core = probe.finish();
    run.clock = Some(Clock {
        core_hz: core.mean_hz,
        core_hz_low: core.low_hz,
        core_hz_high: core.high_hz,
        ..followed.clock
    });
    run.call_stacks = collector.call_stacks.clone();
    run.lost_samples = collector.lost.max(followed.lost_samples);
    let left = if begun == Begun::Yes { 0 } else { collector.alive() };
    run.warnings.extend(warnings::of(&run, &collector, left, true));
    run.warnings.extend(followed.precision);
    run.warnings.extend(warnings::of_waits(&run, &collector, followed.looks.as_ref()));
    let mut processes = collector.processes;
    processes[0].exit = run.exit;
    warnings::with_that_of_time(Profile {
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

/// Whether the program runs already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    No,
    Yes,
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
    Events {
        source: Source,
        frequency_hz: u32,
        channels: Box<Channels>,
        waiting: Box<Waiting>,
        /// What it costs, if that is worth a word.
        slowdown: Option<String>,
    },
    /// By stopping its threads; and why not by events, if that was tried.
    Stops { prepared: stops::Prepared, why: Option<SampleError> },
}

/// What came of a program under sampling.
struct Followed {
    /// When it had ended, on the records' clock.
    ended_ns: u64,
    clock: Clock,
    lost_samples: u64,
    /// How the samples were had, where that is not the usual way, and how even they are.
    precision: Vec<String>,
    /// Why waiting threads were only looked at, where every switch could have been seen.
    looks: Option<Refusal>,
}

fn prepare(pid: i32, options: &Options, begun: Begun) -> Result<Prepared, SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let unknown = "read what the program is (/proc/PID)";
    let subject = match begun {
        Begun::No => Subject::of(pid as u32).map_err(failed(unknown))?,
        Begun::Yes => attachable::subject(pid)?,
    };
    let root = Root::of(pid as u32).map_err(failed(unknown))?;
    let mut way = match (options.means, choose(options, Some(pid))) {
        (Means::Stops, _) => Way::stops(&root, None, begun)?,
        (Means::Automatic, Err(why)) => Way::stops(&root, Some(why), begun)?,
        (_, chosen) => Way::events(chosen?.0, &root, options, begun)?,
    };
    let probe = Probe::start(Arc::clone(&options.progress)).map_err(failed("start a thread"))?;
    if let Way::Events { channels, waiting, .. } = &mut way {
        channels.enable().and_then(|()| waiting.enable()).map_err(failed("start sampling"))?;
    }
    Ok(Prepared { way, subject, root, probe })
}

impl Way {
    fn events(mut source: Source, root: &Root, options: &Options, begun: Begun) -> Result<Way, SampleError> {
        let pid = root.pid as i32;
        let cost = cost::of_sample(&source, options);
        let frequency_hz = cost::affordable_hz(options, cost);
        let slowdown = cost.and_then(|cost| cost::notable(cost, frequency_hz));
        source.set_frequency(frequency_hz);
        let mut channels = Channels::open(&source, pid, options.ring_bytes)?;
        if source.fill(channels.room_for_each(frequency_hz), options) {
            // What the kernel grants for rings, it grants once.
            drop(channels);
            channels = Channels::open(&source, pid, options.ring_bytes)?;
        }
        let waiting = match begun {
            Begun::No => Waiting::of(root, options),
            Begun::Yes => Waiting::of_running(root, options),
        };
        if begun == Begun::Yes {
            channels.add_threads(&source, pid)?;
        }
        let (channels, waiting) = (Box::new(channels), Box::new(waiting));
        Ok(Way::Events { source, frequency_hz, channels, waiting, slowdown })
    }

    fn stops(root: &Root, why: Option<SampleError>, begun: Begun) -> Result<Way, SampleError> {
        if begun == Begun::Yes {
            attachable::check_stops(root.pid as i32)?;
        }
        match stops::prepare(root) {
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

    /// Samples the program until `over`, which waits no longer than it is told. `own_child` is the program if it is a
    /// child of ours, else 0.
    fn follow(
        self,
        over: impl Fn(Duration) -> io::Result<bool>,
        own_child: i32,
        digestion: &mut Digestion,
        options: &Options,
    ) -> Result<Followed, SampleError> {
        match self {
            Way::Events { source, frequency_hz, mut channels, waiting, slowdown } => {
                let pause = channels.longest_pause(frequency_hz).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
                let looks = follow_events(over, &mut channels, *waiting, digestion, pause)?;
                Ok(Followed {
                    ended_ns: monotonic_ns(),
                    looks,
                    clock: Clock {
                        counts_cycles: source.counts_cycles,
                        precise_level: source.precise_level,
                        ..clock(source.event.clone(), frequency_hz, source.scope())
                    },
                    lost_samples: channels.lost_samples(),
                    precision: slowdown.into_iter().collect(),
                })
            }
            Way::Stops { prepared, why } => {
                let stops = stops::follow(over, own_child, prepared, digestion, options)?;
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                Ok(Followed {
                    ended_ns: monotonic_ns(),
                    looks: None,
                    clock: clock("ptrace".into(), stops.frequency_hz, ClockScope::Looks),
                    lost_samples: 0,
                    precision: vec![format!("sampled with ptrace{why}: {OF_STOPS}"), stops.precision],
                })
            }
        }
    }
}

/// What is to be minded of samples that were had by stops.
const OF_STOPS: &str = "kernel time that no system call causes, as of page faults, counts as the program's";

/// A clock that counts time, and whose core frequency is not known yet.
fn clock(event: String, frequency_hz: u32, scope: ClockScope) -> Clock {
    Clock {
        event,
        counts_cycles: false,
        precise_level: 0,
        frequency_hz,
        scope: Some(scope),
        core_hz: 0.0,
        core_hz_low: 0.0,
        core_hz_high: 0.0,
    }
}

/// Collects until it is over: why waiting threads were only looked at, if so.
fn follow_events(
    over: impl Fn(Duration) -> io::Result<bool>,
    channels: &mut Channels,
    mut waiting: Waiting,
    digestion: &mut Digestion,
    pause: Duration,
) -> Result<Option<Refusal>, SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let mut queue = Queue::default();
    loop {
        let rest = waiting.rests_for(monotonic_ns()).map_or(pause, |rest| rest.clamp(SHORTEST_PAUSE, pause));
        if over(rest).map_err(failed("wait for the program"))? {
            break;
        }
        let now_ns = monotonic_ns();
        take_all(channels, &mut waiting, &mut queue);
        waiting.drain(now_ns, |stamped| queue.push(stamped));
        digestion.take(queue.release(now_ns));
    }
    // Who has ended by now is known before the rest is told of what they waited.
    take_all(channels, &mut waiting, &mut queue);
    let looks = waiting.finish(monotonic_ns(), |stamped| queue.push(stamped));
    channels.disable().map_err(failed("stop sampling"))?;
    channels.drain(|stamped| queue.push(stamped));
    digestion.take(queue.release_all());
    Ok(looks)
}

/// Takes what there is, and lets it be known who begins and ends.
fn take_all(channels: &mut Channels, waiting: &mut Waiting, queue: &mut Queue) {
    let mut fresh = Vec::new();
    channels.drain(|stamped| fresh.push(stamped));
    waiting.hear(&fresh);
    fresh.into_iter().for_each(|stamped| queue.push(stamped));
}
