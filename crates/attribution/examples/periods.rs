//! How far profilers are from the reference by how often they sample, all of one simulation:
//! `periods CORE SKIP INSTRUCTIONS PERIODS FILE PROGRAM ARGUMENTS…`.
//!
//! PERIODS are numbers of cycles with commas between. FILE gets a line for each of them with samples of the last cycle of
//! every period, and one with samples of random cycles: the period; `periodic` or `random`; samples; and each technique's
//! name and error by instruction.

use std::collections::HashMap;
use std::fmt::Write;
use timewise_attribution::comparison::Findings;
use timewise_attribution::{Comparison, Schedule, Technique, Units};
use timewise_core_model::{Ended, Processor, Sampling, Simulation};
use timewise_engine::Options;
use timewise_engine::streams::Windows;
use timewise_replay::Replay;
use timewise_target::launch::Launch;
use timewise_trace::{Doctor, Recorder, Room, Seat};

/// Seed of random samples.
const SEED: u64 = 1;

/// Periodic samples, and random ones.
type Pair = Vec<Comparison>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "usage: periods CORE SKIP INSTRUCTIONS PERIODS FILE PROGRAM ARGUMENTS…";
    let mut word = || arguments.next().and_then(|word| word.into_string().ok()).ok_or(usage);
    let (core, skip, length) = (word()?, word()?.parse()?, word()?.parse()?);
    let periods: Vec<u64> = word()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let (file, program) = (word()?, word()?);
    let mut launch = Launch { randomise_addresses: false, ..Launch::new(program) };
    launch.arguments = arguments.collect();

    let mut seats: Vec<Seat<Pair>> = Vec::new();
    let mut seated = |_| {
        let mut doctor = Doctor::new(Room::default());
        for &period in &periods {
            let schedules = [Schedule::periodic(period), Schedule::random(period, SEED)];
            seats.push(doctor.attach(schedules.map(Comparison::new).into()));
        }
        Recorder::new(doctor)
    };
    let mut simulation = Simulation::new(&Processor::named(&core)?, Sampling::ALL)?;
    let (mut replay, mut failed) = (Replay::new(true), None);
    let options = Options { calls: false, ..Options::default() };
    let windows = Windows { skip, length, ..Windows::ALL };
    let (counted, _) = timewise_engine::stream(launch.stopped()?, &options, windows, |chunk| {
        // What records are left goes to the workers.
        let end = |thread: Ended<Recorder>| thread.observer.finish();
        failed = failed.take().or(simulation.chunk(&mut replay, chunk, &mut seated, end).err());
    })?;
    failed.map_or(Ok(()), Err)?;
    let code = simulation.finish();

    // One place in the program may have several numbers in the simulation.
    let mut places = HashMap::new();
    let numbers: Vec<Option<u32>> = (0..code.len() as u32)
        .map(|number| {
            let origin = code.origin(number);
            let block = counted.places.place(origin.image, origin.block)?;
            let next = places.len() as u32;
            let offset = block.offset.0 + u64::from(origin.offset);
            Some(*places.entry((block.module, block.version, offset)).or_insert(next))
        })
        .collect();
    let found = |comparison: &Comparison| comparison.findings().renumbered(|number| numbers[number as usize]);
    let mut by_period: Vec<[Findings; 2]> = Vec::new();
    for (at, seat) in seats.into_iter().enumerate() {
        let pair = seat.join();
        let pair = [found(&pair[0]), found(&pair[1])];
        // Seats of each thread come in the order of the periods.
        match by_period.get_mut(at % periods.len()) {
            Some(known) => known.iter_mut().zip(&pair).for_each(|(known, more)| known.merge(more)),
            None => by_period.push(pair),
        }
    }
    let mut lines = String::new();
    for (mode, findings) in by_period.iter().flat_map(|pair| ["periodic", "random"].into_iter().zip(pair)) {
        write!(lines, "{} {mode} {}", findings.period, findings.samples)?;
        for technique in Technique::all() {
            let error = findings.errors(technique, &Units::Instructions).total;
            write!(lines, " {} {error}", technique.name)?;
        }
        lines.push('\n');
    }
    std::fs::write(file, lines)?;
    Ok(())
}
