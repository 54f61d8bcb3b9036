//! Sampling without performance events: the program's threads are stopped for a moment, again and again, by
//! `ptrace`, which a user may do to programs of his own, and mostly to those that run already.
//!
//! From time to time those threads that run at that moment are asked to stop. Each gives its registers and its
//! stack, and goes on. A sample weighs the CPU time that its thread used since its sample before, by the
//! scheduler's own account, so that no time is lost or told twice however uneven the intervals turn out.

mod callers;
mod family;
mod pace;
mod rests;
mod sleepers;
mod trial;
mod waiting;

pub use pace::affordable_hz;
pub use sleepers::where_it_waits;
pub use trial::cost_of_stop;
pub use waiting::Bystander;

use crate::SampleError;
use crate::digestion::Digestion;
use crate::options::{CallGraph, LARGEST_STACK, Options};
use crate::record::{RawSample, Record};
use crate::root::Root;
use crate::roster::Roster;
use crate::uneven::Uneven;
use family::{Family, Records, Runs};
use pace::Pace;
use sleepers::{Follower, Sleepers};
use std::io;
use std::thread;
use std::time::{Duration, Instant};
use timewise_callers::UserStack;
use timewise_target::cpu_time::monotonic_ns;
use timewise_target::halt::{Found, Halt, Held};

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

/// What has to be known before the program is sampled.
#[derive(Debug)]
pub struct Prepared {
    family: Family,
    cost: Duration,
}

/// Makes sure that programs may be stopped here, and looks at the one that a recording begins with.
///
/// # Errors
/// The system's.
pub fn prepare(root: &Root) -> io::Result<Prepared> {
    let cost = cost_of_stop()?;
    let family = Family::of(root).ok_or(io::ErrorKind::NotFound)?;
    Ok(Prepared { family, cost })
}

/// Samples a program until `over`, which waits no longer than it is told. `own_child` is the program if it is a child of
/// ours, else 0.
///
/// # Errors
/// [`SampleError::System`].
pub fn follow(
    over: impl Fn(Duration) -> io::Result<bool>,
    own_child: i32,
    prepared: Prepared,
    digestion: &mut Digestion,
    options: &Options,
) -> Result<Stops, SampleError> {
    let failed = |what| move |cause| SampleError::System { what, cause };
    let mut sampler = Sampler::new(own_child, prepared, options);
    let begun = Instant::now();
    let mut due = begun;
    let mut uneven = Uneven::new(monotonic_ns());
    while !over(due.saturating_duration_since(Instant::now())).map_err(failed("wait for the program"))? {
        if Instant::now() < due {
            continue;
        }
        sampler.pace.ticked(due.elapsed());
        // First of all: who is woken from now on may have to wait for the processor that we are on.
        let sleeps = sampler.look_at_sleepers();
        sampler.ask();
        sampler.roster.hear(&sampler.records.0);
        sampler.ask_for_callers(sleeps);
        due = (due + uneven.around(sampler.pace.period())).max(Instant::now());
        sampler.serve(due);
        digestion.take(std::mem::take(&mut sampler.records.0));
    }
    sampler.let_all_go();
    let elapsed = begun.elapsed();
    let Sampler { family, sleepers, roster, records, .. } = &mut sampler;
    sleepers.finish(roster, monotonic_ns(), records, family);
    family.finish(records);
    digestion.take(std::mem::take(&mut sampler.records.0));
    Ok(sampler.pace.summary(elapsed, sampler.untraceable))
}

struct Sampler {
    family: Family,
    pace: Pace,
    sleepers: Sleepers,
    roster: Roster,
    asked: Asked,
    records: Records,
    kernel: bool,
    call_graph: CallGraph,
    /// Of the stack, copied with each sample where callers are found in it.
    stack_bytes: usize,
    /// Threads that run but may not be stopped.
    untraceable: u64,
}

/// Threads that were asked to stop.
struct Asked {
    own_child: i32,
    pending: Vec<Pending>,
}

/// A thread that was asked to stop.
struct Pending {
    halt: Halt,
    asked: Instant,
    purpose: Purpose,
}

/// What a thread was asked to stop for.
#[derive(Clone, Copy)]
enum Purpose {
    /// It ran, on this processor.
    Sample { processor: u32 },
    /// It waited.
    Callers,
}

impl Asked {
    /// Asks a thread to stop; if it was asked already, for this purpose from now on. The number of the system's error if it
    /// does not let us.
    fn ask(&mut self, pid: i32, tid: i32, purpose: Purpose) -> Result<(), i32> {
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.halt.tid() == tid) {
            // What it was last seen to do is what it most likely does when it stops.
            pending.purpose = purpose;
            return Ok(());
        }
        let asked = Instant::now();
        let halt =
            Halt::ask(pid, tid, self.own_child).map_err(|error| error.raw_os_error().unwrap_or_default())?;
        self.pending.push(Pending { halt, asked, purpose });
        Ok(())
    }
}

impl Sampler {
    fn new(own_child: i32, prepared: Prepared, options: &Options) -> Sampler {
        let (family, now_ns) = (prepared.family, monotonic_ns());
        let roster = family.roster(now_ns);
        let sleepers = Sleepers::of(&roster, now_ns, &family);
        Sampler {
            family,
            pace: Pace::new(options, prepared.cost),
            sleepers,
            roster,
            asked: Asked { own_child, pending: Vec::new() },
            records: Records::default(),
            kernel: options.kernel,
            call_graph: options.call_graph,
            stack_bytes: options.unwound_bytes_of(LARGEST_STACK) as usize,
            untraceable: 0,
        }
    }

    /// Asks every thread that runs now to stop.
    fn ask(&mut self) {
        let Sampler { family, asked, records, untraceable, .. } = self;
        family.look(records, |Runs { pid, tid, processor }| {
            if asked.ask(pid, tid, Purpose::Sample { processor }).is_err_and(|why| why == libc::EPERM) {
                *untraceable += 1;
            }
        });
    }

    /// Lets all go that were asked to stop, which must not stand for ever.
    fn let_all_go(&mut self) {
        while !self.asked.pending.is_empty() {
            self.serve(Instant::now() + GLANCE);
        }
    }

    /// Takes samples of those that have stopped, until there are no others or it is time for the next.
    fn serve(&mut self, until: Instant) {
        let begun = Instant::now();
        loop {
            for Pending { halt, asked, purpose } in std::mem::take(&mut self.asked.pending) {
                let (pid, tid) = (halt.pid(), halt.tid());
                match halt.poll() {
                    Found::Pending(halt) => self.asked.pending.push(Pending { halt, asked, purpose }),
                    Found::Stopped(held) => match purpose {
                        Purpose::Callers => self.find_callers(pid, tid, held),
                        Purpose::Sample { processor } => {
                            self.sample(pid, tid, processor, held);
                            self.pace.stopped(asked.elapsed());
                        }
                    },
                    Found::Gone => {}
                }
            }
            let now = Instant::now();
            if self.asked.pending.is_empty() || now >= until {
                return;
            }
            match now - begun < SOON {
                true => thread::yield_now(),
                false => thread::sleep(GLANCE.min(until - now)),
            }
        }
    }

    /// Lets a thread go on.
    fn release(&mut self, held: Held, purpose: Purpose) {
        if let Some(halt) = held.release() {
            self.asked.pending.push(Pending { halt, asked: Instant::now(), purpose });
        }
    }

    fn sample(&mut self, pid: i32, tid: i32, processor: u32, held: Held) {
        let time_ns = monotonic_ns();
        let registers = *held.registers();
        let kernel = held.in_system_call();
        let wanted = self.kernel || !kernel;
        let weight_ns = self.family.time_since_sample(pid, tid, kernel);
        let mut stack = (Vec::new(), None);
        if wanted && weight_ns > 0 {
            stack = self.callers(pid, &held);
            self.family.place(pid, registers.rip, time_ns, &mut self.records);
        }
        self.release(held, Purpose::Sample { processor });
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
            user_callers: stack.0,
            user_stack: stack.1,
        };
        self.records.add(time_ns, Record::Sample(sample));
    }

    /// Who called, or what it takes to find out.
    fn callers(&self, pid: i32, held: &Held) -> (Vec<u64>, Option<Box<UserStack>>) {
        let (registers, kernel) = (held.registers(), held.in_system_call());
        match self.call_graph {
            CallGraph::Off if kernel => (vec![registers.rip], None),
            CallGraph::Off => (Vec::new(), None),
            CallGraph::FramePointers => (callers::by_frame_pointer(pid, registers, kernel), None),
            CallGraph::Automatic | CallGraph::UnwindTables => {
                (Vec::new(), Some(UserStack::of_stopped(pid, registers, self.stack_bytes).into()))
            }
        }
    }
}
