//! Sampling without performance events: the program's threads are stopped for a moment, again and again, by
//! `ptrace`, which a user may do to programs of his own.
//!
//! At even intervals those threads that run at that moment are asked to stop. Each gives its registers and its
//! stack, and goes on. A sample weighs the CPU time that its thread used since its sample before, by the
//! scheduler's own account, so that no time is lost or told twice however uneven the intervals turn out.

mod callers;
mod family;
mod pace;
mod trial;

pub use pace::affordable_hz;
pub use trial::cost_of_stop;

use crate::SampleError;
use crate::digestion::Digestion;
use crate::options::{CallGraph, Options};
use crate::record::{RawMapping, RawSample, Record};
use crate::recording::monotonic_ns;
use family::{Family, Records, Runs};
use pace::Pace;
use std::io;
use std::thread;
use std::time::{Duration, Instant};
use timewise_target::halt::{Found, Halt, Held};
use timewise_target::launch::{Ended, Running};

/// How long a thread on a processor takes to stop, at most: while that lasts, waiting is no use.
const SOON: Duration = Duration::from_micros(50);
/// Between looks at one that is not on a processor.
const GLANCE: Duration = Duration::from_micros(100);

/// What came of it.
#[derive(Debug)]
pub struct Stops {
    /// Samples a second that each running thread gave, on average.
    pub frequency_hz: u32,
    /// What was done to the program, and how even the samples are, in words.
    pub precision: String,
}

/// What has to be known before the program runs.
#[derive(Debug)]
pub struct Prepared {
    family: Family,
    cost: Duration,
}

/// Makes sure that programs may be stopped here, and looks at the one that stands before its first instruction
/// with these mappings.
///
/// # Errors
/// The system's.
pub fn prepare(pid: i32, mappings: Vec<RawMapping>) -> io::Result<Prepared> {
    let cost = cost_of_stop()?;
    let family = Family::of(pid, mappings).ok_or(io::ErrorKind::NotFound)?;
    Ok(Prepared { family, cost })
}

/// Samples a program that was just released, to its end.
///
/// # Errors
/// [`SampleError::System`].
pub fn follow(
    running: Running,
    prepared: Prepared,
    digestion: &Digestion,
    options: &Options,
) -> Result<(Ended, Stops), SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let mut sampler = Sampler {
        root: running.pid(),
        family: prepared.family,
        pace: Pace::new(options, prepared.cost),
        pending: Vec::new(),
        records: Records::default(),
        kernel: options.kernel,
        call_graph: options.call_graph,
        stack_bytes: options.stack_bytes as usize,
        untraceable: 0,
    };
    let begun = Instant::now();
    let mut due = begun;
    while !running
        .ends_within(due.saturating_duration_since(Instant::now()))
        .map_err(failed("wait for the program"))?
    {
        if Instant::now() < due {
            continue;
        }
        sampler.pace.ticked(due.elapsed());
        sampler.ask();
        due = (due + sampler.pace.period()).max(Instant::now());
        sampler.serve(due);
        digestion.take(std::mem::take(&mut sampler.records.0));
    }
    // What was asked to stop must not stand for ever.
    while !sampler.pending.is_empty() {
        sampler.serve(Instant::now() + GLANCE);
    }
    let elapsed = begun.elapsed();
    sampler.family.note_ends(&mut sampler.records);
    digestion.take(std::mem::take(&mut sampler.records.0));
    let ended = running.wait().map_err(failed("learn how the program ended"))?;
    Ok((ended, sampler.pace.summary(elapsed, sampler.untraceable)))
}

struct Sampler {
    root: i32,
    family: Family,
    pace: Pace,
    pending: Vec<Pending>,
    records: Records,
    kernel: bool,
    call_graph: CallGraph,
    /// Of the stack, copied with each sample where callers are found in it.
    stack_bytes: usize,
    /// Threads that run but may not be stopped.
    untraceable: u64,
}

/// A thread that was asked to stop.
struct Pending {
    halt: Halt,
    asked: Instant,
    processor: u32,
}

impl Sampler {
    /// Asks every thread that runs now to stop.
    fn ask(&mut self) {
        for Runs { pid, tid, processor } in self.family.look(&mut self.records) {
            if self.pending.iter().any(|pending| pending.halt.tid() == tid) {
                continue;
            }
            let asked = Instant::now();
            match Halt::ask(pid, tid, self.root) {
                Ok(halt) => self.pending.push(Pending { halt, asked, processor }),
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => self.untraceable += 1,
                // It is gone.
                Err(_) => {}
            }
        }
    }

    /// Takes samples of those that have stopped, until there are no others or it is time for the next.
    fn serve(&mut self, until: Instant) {
        let begun = Instant::now();
        loop {
            for Pending { halt, asked, processor } in std::mem::take(&mut self.pending) {
                let (pid, tid) = (halt.pid(), halt.tid());
                match halt.poll() {
                    Found::Pending(halt) => self.pending.push(Pending { halt, asked, processor }),
                    Found::Stopped(held) => {
                        self.sample(pid, tid, processor, held);
                        self.pace.stopped(asked.elapsed());
                    }
                    Found::Gone => {}
                }
            }
            let now = Instant::now();
            if self.pending.is_empty() || now >= until {
                return;
            }
            match now - begun < SOON {
                true => thread::yield_now(),
                false => thread::sleep(GLANCE.min(until - now)),
            }
        }
    }

    fn sample(&mut self, pid: i32, tid: i32, processor: u32, held: Held) {
        let time_ns = monotonic_ns();
        let registers = *held.registers();
        let kernel = held.in_system_call();
        let wanted = self.kernel || !kernel;
        let weight_ns = self.family.time_since_sample(pid, tid);
        let (mut user_callers, mut user_stack) = (Vec::new(), None);
        if wanted && weight_ns > 0 {
            match self.call_graph {
                CallGraph::Off => {}
                CallGraph::FramePointers => user_callers = callers::by_frame_pointer(pid, &registers, kernel),
                CallGraph::Automatic | CallGraph::UnwindTables => {
                    user_stack = Some(callers::copy(pid, &registers, self.stack_bytes).into());
                }
            }
            self.family.place(pid, registers.rip, &mut self.records);
        }
        held.release();
        if !wanted || weight_ns == 0 {
            return;
        }
        self.pace.weighed(weight_ns);
        let sample = RawSample {
            // Where in the kernel it was, nobody tells.
            address: if kernel { 0 } else { registers.rip },
            pid: pid as u32,
            tid: tid as u32,
            cpu: processor,
            period: weight_ns,
            kernel,
            kernel_callers: Vec::new(),
            user_callers,
            user_stack,
        };
        self.records.add(time_ns, Record::Sample(sample));
    }
}
