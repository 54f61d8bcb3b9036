//! Import of what `perf record` wrote, as the sampling half of a profile.
//!
//! A file of `perf` holds the kernel's own records, so they take the same way as those of a recording of
//! ours: modules, build ids and link-time offsets come out alike, and samples meet counts.
//!
//! - `file`: the two forms of the file, and what it says of the machine and its events;
//! - `stream`: its records one by one, unpacked where they are compressed;
//! - `attribute`: what the kernel was asked for;
//! - `event`: what a record means, whatever was asked of the kernel to put into it;
//! - `rounds`: records in order of time.
//!
//! Files are read with bounded memory, and no damage in them is more than an error.

mod attribute;
mod event;
mod file;
mod rounds;
mod stream;

use crate::collector::Collector;
use crate::core_clock;
use crate::record::Stamped;
use crate::warnings;
use event::Clock as EventClock;
use file::Description;
use rounds::Rounds;
use std::io;
use std::path::Path;
use stream::Kind;
use timewise_profile::{CallStacks, Clock, Inconsistency, Machine, Profile, Run, RunKind};
use timewise_target::machine;

/// Why a file of `perf` could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The system's reason.
    #[error("cannot read: {0}")]
    Read(io::Error),
    /// A directory, in which `perf record --threads` leaves several files.
    #[error("a directory; record without --threads")]
    Directory,
    /// There is nothing in it.
    #[error("empty; record again, and look at what perf record says: perf record -g PROGRAM")]
    Empty,
    /// It begins with something else.
    #[error("not a file of perf record; make one: perf record -g PROGRAM")]
    NotPerf,
    /// It comes from a machine of the other byte order.
    #[error("recorded on a machine of another byte order; only x86-64 is understood")]
    OtherByteOrder,
    /// `perf` could not write what it writes last.
    #[error("perf record was ended before it finished the file; record again, and end it with Ctrl-C")]
    Unfinished,
    /// Something in it contradicts the format.
    #[error("damaged: {0}; record again")]
    Damaged(&'static str),
    /// What it tells cannot be.
    #[error("damaged: {0}; record again")]
    Inconsistent(#[from] Inconsistency),
    /// Its events count something else than time.
    #[error("its samples count {0}, not time; record with -e cycles or -e cpu-clock")]
    NotTime(String),
}

impl From<io::Error> for ImportError {
    fn from(error: io::Error) -> ImportError {
        match error.kind() {
            io::ErrorKind::IsADirectory => ImportError::Directory,
            _ => ImportError::Read(error),
        }
    }
}

/// Reads the file at `path`, in either form that `perf record` writes; `-` is standard input. Keeps at most
/// `sample_limit` samples, as a recording does.
///
/// Of several events the first is taken that measures time or cycles.
///
/// # Errors
/// [`ImportError`].
pub fn perf_data(path: &Path, sample_limit: usize) -> Result<Profile, ImportError> {
    let (mut description, mut records) = file::open(path)?;
    let mut collector = Collector::of_strangers(sample_limit);
    let mut rounds = Rounds::default();
    let mut events = None;
    while let Some((header, body)) = records.next()? {
        match header.kind {
            Kind::Attribute => description.add_event(body)?,
            Kind::Feature => description.add_feature(body),
            Kind::RoundFinished => take(&mut collector, rounds.finish()),
            Kind::Event(number) => {
                let events = match &mut events {
                    Some(events) => events,
                    // All descriptions of events stand before their first record.
                    none => none.insert(description.events()?),
                };
                collector.counts_cycles = events.clock().counts_cycles;
                if collector.call_stacks.is_none() {
                    collector.call_stacks = events.clock().call_stacks.map(CallStacks::by);
                }
                if let Some(stamped) = events.read(number, header.misc, body, &description.build_ids) {
                    rounds.push(stamped);
                }
                if rounds.is_full() {
                    take(&mut collector, rounds.finish_all());
                }
            }
            Kind::Other => {}
        }
    }
    take(&mut collector, rounds.finish_all());
    check_lost(&collector)?;
    let events = match events {
        Some(events) => events,
        None => description.events()?,
    };
    let profile = profile(&description, events.clock(), collector);
    match profile.check() {
        Ok(()) => Ok(warnings::with_that_of_time(profile)),
        Err(why) => Err(why.into()),
    }
}

/// Samples that a recording can lose: a million a second for as many years as anyone records.
const MOST_LOST: u64 = 1 << 48;

/// Expects that not more samples were lost than can be.
fn check_lost(collector: &Collector) -> Result<(), ImportError> {
    if collector.lost <= MOST_LOST {
        return Ok(());
    }
    Err(ImportError::Damaged("its records say that more samples were lost than there can be"))
}

fn take(collector: &mut Collector, records: Vec<Stamped>) {
    for Stamped { time_ns, record } in records {
        collector.admit(time_ns, &record);
        collector.take(time_ns, record);
    }
}

fn profile(file: &Description, clock: &EventClock, collector: Collector) -> Profile {
    let machine = file.machine();
    let mut run = Run::new(RunKind::Sampling);
    let (core, whence) = core_frequency(&machine);
    run.clock = Some(Clock {
        event: clock.name.clone(),
        counts_cycles: clock.counts_cycles,
        precise_level: clock.precise_level,
        frequency_hz: clock.frequency_hz(core.mean_hz),
        scope: None,
        core_hz: core.mean_hz,
        core_hz_low: core.low_hz,
        core_hz_high: core.high_hz,
    });
    run.machine = machine;
    run.elapsed_ns = collector.elapsed_ns();
    run.call_stacks = collector.call_stacks.clone();
    run.lost_samples = collector.lost;
    run.warnings = warnings::of(&run, &collector, 0, false);
    run.warnings.extend(whence);
    if let Some(others) = clock.others() {
        run.warnings.push(format!("samples of other events were left out: {others}"));
    }
    let Collector { processes, threads, modules, stacks, samples, .. } = collector;
    let samples = samples.into_vec();
    for sample in &samples {
        let spent = if sample.kernel { &mut run.kernel_ns } else { &mut run.user_ns };
        let ns = match sample.weight_cycles {
            Some(cycles) => (cycles as f64 / core.mean_hz * 1e9) as u64,
            None => sample.weight_ns,
        };
        *spent = spent.saturating_add(ns);
    }
    let executable = processes.first().map(|process| &process.executable[..]).unwrap_or_default();
    run.command = file.command(executable);
    Profile {
        runs: vec![run],
        processes,
        threads,
        modules: modules.into_vec(),
        stacks: stacks.into_vec(),
        samples,
        ..Profile::default()
    }
}

/// The core's frequency, of which `perf` writes nothing, and what must be said of it.
fn core_frequency(recorded_on: &Machine) -> (core_clock::CoreFrequency, Option<String>) {
    if recorded_on.processor == machine::processor_name() {
        let warning = "perf does not record how fast the core ran: its frequency is that of this machine now";
        return (core_clock::measure(), Some(warning.into()));
    }
    let mean_hz = 1e9;
    let unknown = core_clock::CoreFrequency { mean_hz, low_hz: mean_hz, high_hz: mean_hz };
    let warning = format!(
        "recorded on another machine ({}), whose frequency is unknown: cycles are given as at 1 GHz",
        recorded_on.processor
    );
    (unknown, Some(warning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn no_more_samples_are_lost_than_there_can_be() {
        let mut collector = Collector::of_strangers(1);
        collector.take(0, Record::Lost { count: 1_000_000 });
        assert!(check_lost(&collector).is_ok());
        for _ in 0..2 {
            collector.take(0, Record::Lost { count: u64::MAX });
            assert!(matches!(check_lost(&collector), Err(ImportError::Damaged(_))));
        }
    }
}
