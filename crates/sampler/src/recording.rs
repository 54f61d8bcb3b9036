//! Recording a launched program from its first instruction to its end.

use crate::SampleError;
use crate::channels::Channels;
use crate::collector::Collector;
use crate::core_clock::Probe;
use crate::cost;
use crate::digestion::Digestion;
use crate::options::Options;
use crate::order::Queue;
use crate::root::Root;
use crate::source::{Source, choose};
use crate::warnings;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use timewise_profile::{Clock, Profile, RunKind};
use timewise_target::launch::{Ended, Running, Stopped};
use timewise_target::run;
use timewise_target::subject::Subject;

/// However large the rings are, progress is told and memory is kept small at this pace.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
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
    let Prepared { source, frequency_hz, subject, root, mut channels, probe, end } =
        match prepare(pid, options) {
            Ok(prepared) => prepared,
            Err(error) => {
                stopped.kill();
                return Err(error);
            }
        };
    let started_ns = monotonic_ns();
    let collector = Collector::new(root, started_ns, source.counts_cycles, options);
    let running =
        stopped.release().map_err(|cause| SampleError::System { what: "release the program", cause })?;
    let digestion =
        Digestion::start(collector).map_err(|cause| SampleError::System { what: "start a thread", cause })?;
    let pause = channels.longest_pause(frequency_hz).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    let ended = follow(running, &end, &mut channels, &digestion, pause)?;
    let collector = digestion.finish();
    let processes_left = collector.alive();
    let core = probe.finish();

    let mut run = run::row(RunKind::Sampling, subject, &ended);
    run.clock = Some(Clock {
        event: source.event.clone(),
        counts_cycles: source.counts_cycles,
        precise_level: source.precise_level,
        frequency_hz,
        core_hz: core.mean_hz,
        core_hz_low: core.low_hz,
        core_hz_high: core.high_hz,
    });
    run.call_stacks = collector.call_stacks.clone();
    run.lost_samples = collector.lost.max(channels.lost_samples());
    run.warnings = warnings::of(&run, &collector, processes_left, source.whole_processors);
    let mut processes = collector.processes;
    processes[0].exit = run.exit;
    Ok(Profile {
        runs: vec![run],
        processes,
        threads: collector.threads,
        modules: collector.modules.into_vec(),
        stacks: collector.stacks.into_vec(),
        samples: collector.samples.into_vec(),
        ..Profile::default()
    })
}

/// All that a recording needs before its program may run.
struct Prepared {
    source: Source,
    frequency_hz: u32,
    subject: Subject,
    root: Root,
    channels: Channels,
    probe: Probe,
    /// Becomes readable when the program ends.
    end: OwnedFd,
}

fn prepare(pid: i32, options: &Options) -> Result<Prepared, SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let (mut source, _refusals) = choose(options, Some(pid))?;
    let cost = options.cost_limit.and_then(|_| cost::of_sample(&source));
    let frequency_hz = cost::affordable_hz(options, cost);
    source.set_frequency(frequency_hz);
    let unknown = "read what the program is (/proc/PID)";
    let subject = Subject::of(pid as u32).map_err(failed(unknown))?;
    let root = Root::of(pid as u32).map_err(failed(unknown))?;
    let channels = Channels::open(&source, pid, options.ring_bytes)?;
    let probe = Probe::start(Arc::clone(&options.progress)).map_err(failed("start a thread"))?;
    let end = pid_descriptor(pid).map_err(failed("watch the program"))?;
    channels.enable().map_err(failed("start sampling"))?;
    Ok(Prepared { source, frequency_hz, subject, root, channels, probe, end })
}

/// Collects until the program ends.
fn follow(
    running: Running,
    end: &OwnedFd,
    channels: &mut Channels,
    digestion: &Digestion,
    pause: Duration,
) -> Result<Ended, SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let mut queue = Queue::default();
    loop {
        let over = readable_within(end, pause).map_err(failed("wait for the program"))?;
        if over {
            break;
        }
        let now_ns = monotonic_ns();
        channels.drain(|stamped| queue.push(stamped));
        digestion.take(queue.release(now_ns));
    }
    let ended = running.wait().map_err(failed("learn how the program ended"))?;
    channels.disable().map_err(failed("stop sampling"))?;
    channels.drain(|stamped| queue.push(stamped));
    digestion.take(queue.release_all());
    Ok(ended)
}

/// Now, on the clock that the records carry.
fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for the result; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A descriptor that becomes readable when the process ends.
fn pid_descriptor(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just returned this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn readable_within(fd: &OwnedFd, pause: Duration) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one live structure, as the count says.
    match unsafe { libc::poll(&mut polled, 1, pause.as_millis() as i32) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}
