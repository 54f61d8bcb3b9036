//! What workers cost that look at a simulated core: `workers CORE SEATING INSTRUCTIONS FILE PROGRAM ARGUMENTS…`.
//!
//! SEATING is `unseen` for records that nobody sees, `apart` for the reference and TIP on a thread each, `together` for
//! both on one. FILE gets a line: instructions; nanoseconds in all; nanoseconds of CPU time of the thread that simulates;
//! those of the busiest worker; the most memory that was resident, in KiB; and a number for what was found.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};
use timewise_attribution::policy::{Sharing, TimeProportional};
use timewise_attribution::{Profiler, Schedule};
use timewise_core_model::{Ended, Processor, Sampling, Simulation, Totals, Turn};
use timewise_engine::Options;
use timewise_engine::streams::Windows;
use timewise_replay::Replay;
use timewise_target::cpu_time;
use timewise_target::launch::Launch;
use timewise_trace::{Doctor, Observer, Record, Recorder, Room, Seat, Worker};

/// Cycles between samples of TIP.
const PERIOD: u64 = 1000;

/// A worker, and the CPU time that it took.
struct Timed<W> {
    worker: W,
    cpu: Duration,
}

impl<W: Worker<Record>> Worker<Record> for Timed<W> {
    fn take(&mut self, part: &[Record]) {
        let begun = cpu_time::of_this_thread();
        self.worker.take(part);
        self.cpu += cpu_time::of_this_thread().saturating_sub(begun);
    }
}

/// The reference, or TIP.
type Tip = Profiler<TimeProportional>;

/// Who sees the records. It is one type, so that a core runs the same code whoever that is: where code lies in memory
/// makes simulations faster or slower by up to a tenth, so copies of it cannot be compared.
enum Watcher {
    Nobody,
    Workers(Recorder),
}

impl Observer for Watcher {
    #[inline]
    fn observe(&mut self, records: &[Record]) {
        match self {
            Self::Nobody => _ = black_box(records),
            Self::Workers(recorder) => recorder.observe(records),
        }
    }
}

/// A seat, for workers that share its thread.
type Bench = Seat<Timed<Vec<Tip>>>;

/// Seats the reference and TIP.
fn seated(doctor: &mut Doctor<Record>, seating: &str) -> Vec<Bench> {
    let tip = || Profiler::new(TimeProportional::new(Sharing::Equal), Schedule::periodic(PERIOD));
    let groups = match seating {
        "together" => vec![vec![Profiler::oracle(), tip()]],
        _ => vec![vec![Profiler::oracle()], vec![tip()]],
    };
    groups.into_iter().map(|worker| doctor.attach(Timed { worker, cpu: Duration::ZERO })).collect()
}

/// What a simulation took.
struct Took {
    totals: Vec<Totals>,
    elapsed: Duration,
    cpu: Duration,
}

/// Simulates the first `length` instructions of each thread. Observers are dropped where threads end, which ends their traces.
fn simulate(
    processor: &Processor,
    length: u64,
    launch: Launch,
    mut make: impl FnMut(Turn) -> Watcher + Send,
) -> Result<Took, Box<dyn std::error::Error>> {
    let mut simulation = Simulation::new(processor, Sampling::ALL)?;
    let mut replay = Replay::new(true);
    let windows = Windows { length, ..Windows::ALL };
    let (mut totals, mut failed) = (Vec::new(), None);
    let (mut cpu, mut elapsed) = (Duration::ZERO, Duration::ZERO);
    let began = Instant::now();
    let options = Options { calls: false, ..Options::default() };
    timewise_engine::stream(launch.stopped()?, &options, windows, |chunk| {
        let begun = cpu_time::of_this_thread();
        let end = |thread: Ended<Watcher>| totals.push(thread.totals);
        failed = failed.take().or(simulation.chunk(&mut replay, chunk, &mut make, end).err());
        cpu += cpu_time::of_this_thread().saturating_sub(begun);
        // The program goes on behind what is simulated.
        elapsed = began.elapsed();
    })?;
    failed.map_or(Ok(()), Err)?;
    Ok(Took { totals, elapsed, cpu })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let mut word = |what: &'static str| arguments.next().ok_or(what);
    let usage = "usage: workers CORE SEATING INSTRUCTIONS FILE PROGRAM ARGUMENTS…";
    let [core, seating, length] = [word(usage)?, word(usage)?, word(usage)?].map(OsString::into_string);
    let (core, seating, length) = match (core, seating, length) {
        (Ok(core), Ok(seating), Ok(length)) => (core, seating, length.parse()?),
        _ => return Err(usage.into()),
    };
    let (file, program) = (word(usage)?, word(usage)?);
    let mut launch = Launch { randomise_addresses: false, ..Launch::new(program) };
    launch.arguments = arguments.collect();
    let processor = Processor::named(&core)?;
    let mut benches = Vec::new();
    let took = simulate(&processor, length, launch, |_| {
        if seating == "unseen" {
            return Watcher::Nobody;
        }
        let mut doctor = Doctor::new(Room::default());
        benches.extend(seated(&mut doctor, &seating));
        Watcher::Workers(Recorder::new(doctor))
    })?;
    let done: Vec<Timed<Vec<Tip>>> = benches.into_iter().map(Seat::join).collect();
    let worker = done.iter().map(|timed| timed.cpu).max().unwrap_or_default();
    let mut hash = DefaultHasher::new();
    for profiler in done.iter().flat_map(|timed| &timed.worker) {
        profiler.stacks().iter().for_each(|part| format!("{part:?}").hash(&mut hash));
    }
    let instructions: u64 = took.totals.iter().map(|totals| totals.instructions).sum();
    let [elapsed_ns, cpu_ns, worker_ns] = [took.elapsed, took.cpu, worker].map(|time| time.as_nanos());
    let peak = peak_kib();
    std::fs::write(
        file,
        format!("{instructions} {elapsed_ns} {cpu_ns} {worker_ns} {peak} {}\n", hash.finish()),
    )?;
    Ok(())
}

/// The most memory of this process that was resident.
fn peak_kib() -> u64 {
    // SAFETY: all zeroes are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the result goes to a live local.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    usage.ru_maxrss as u64
}
