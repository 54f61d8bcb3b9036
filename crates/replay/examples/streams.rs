//! Streams a program's execution, replays it, and compares executions of every instruction with the counts of
//! the same run: `streams [--skip S] [--length N] [--windows K] [--no-memory] [--raw] FILE PROGRAM ARGUMENTS…`.
//! With `--raw`, chunks are thrown away unread; with `--list FILE`, the first stream's instructions go to FILE, a
//! line each: address, and of each access what it does, its address and its size.
//!
//! For `cargo xtask check streams`: it prints nothing of its own and ends as the program ended. FILE gets lines
//! of a name and a number each; `difference` lines name instructions whose counts differ.
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;
use timewise_engine::streams::{Chunk, Windows};
use timewise_engine::{Counted, Options};
use timewise_profile::{CodeVersion, Exit, ModuleId, Offset, Place};
use timewise_replay::{Event, Executed, Replay};

/// Differences that are shown.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let mut windows = Windows::ALL;
    let mut raw = false;
    let mut list = None;
    while let Some(option) = arguments.next_if(|a| a.to_string_lossy().starts_with("--")) {
        let mut number =
            || arguments.next().and_then(|n| n.to_string_lossy().parse().ok()).expect("a number");
        match option.to_string_lossy().as_ref() {
            "--skip" => windows.skip = number(),
            "--length" => windows.length = number(),
            "--windows" => windows.windows = number() as u32,
            "--no-memory" => windows.memory = false,
            "--raw" => raw = true,
            "--list" => list = arguments.next(),
            other => panic!("no option {other}"),
        }
    }
    let (Some(file), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!(
            "usage: streams [--skip S] [--length N] [--windows K] [--no-memory] [--raw] FILE PROGRAM ARGUMENTS…"
        );
        return ExitCode::from(125);
    };
    match run(&file, program, arguments.collect(), windows, raw, list) {
        Ok(exit) => timewise_target::end::like(exit).unwrap_or(ExitCode::from(125)),
        Err(error) => {
            eprintln!("streams: {error}");
            ExitCode::from(125)
        }
    }
}

/// What streams told.
#[derive(Default)]
struct Told {
    /// By image and block, of each position in it: where it begins behind the block's first byte, and its
    /// executions.
    executions: HashMap<u64, Vec<Vec<(u64, u64)>>>,
    instructions: u64,
    accesses: u64,
    bytes: u64,
    threads: u64,
    signals: u64,
    lost: u64,
    /// Instructions that were streamed of each window that ended, and where it began and ended.
    windows: Vec<(u64, u64, u64)>,
    open: BTreeMap<usize, (u64, u64)>,
    senseless: u64,
    list: Option<std::io::BufWriter<std::fs::File>>,
}

impl Told {
    fn take(&mut self, replay: &mut Replay, chunk: &Chunk) {
        self.bytes += chunk.bytes.len() as u64;
        let mut blocks = self.executions.remove(&chunk.image).unwrap_or_default();
        let told = &mut *self;
        let mut start = 0;
        let sense = replay.chunk(chunk, |event| match event {
            Event::Executed(step) => {
                if let Some(list) = told.list.as_mut().filter(|_| chunk.stream == 0) {
                    write_step(list, &step);
                }
                told.instructions += 1;
                told.accesses += step.accesses.len() as u64;
                if step.position == 0 {
                    start = step.address;
                }
                if blocks.len() <= step.block as usize {
                    blocks.resize(step.block as usize + 1, Vec::new());
                }
                let positions = &mut blocks[step.block as usize];
                if positions.len() <= step.position.into() {
                    positions.push((step.address - start, 0));
                }
                positions[usize::from(step.position)].1 += 1;
                if let Some((_, streamed)) = told.open.get_mut(&chunk.stream) {
                    *streamed += 1;
                }
            }
            Event::GivenUp(step) => told.accesses += step.accesses.len() as u64,
            Event::Thread { .. } => told.threads += 1,
            Event::Signal { .. } => told.signals += 1,
            Event::Begin { executed } => {
                if let Some(list) = told.list.as_mut().filter(|_| chunk.stream == 0) {
                    writeln!(list, "begin {executed}").expect("the list");
                }
                _ = told.open.insert(chunk.stream, (executed, 0));
            }
            Event::End { executed } => {
                if let Some((begun, streamed)) = told.open.remove(&chunk.stream) {
                    told.windows.push((begun, executed, streamed));
                }
            }
            Event::Handled => {}
            Event::Lost { .. } => told.lost += 1,
        });
        self.senseless += u64::from(!sense);
        self.executions.insert(chunk.image, blocks);
    }
}

/// Writes a line of the list.
fn write_step(list: &mut impl Write, step: &Executed) {
    write!(list, "{:x}", step.address).expect("the list");
    for access in step.accesses {
        let kind = match (access.reads, access.writes) {
            (true, true) => 'M',
            (true, false) => 'R',
            (false, true) => 'W',
            (false, false) => 'P',
        };
        write!(list, " {kind} {:x} {}", access.address, access.size).expect("the list");
    }
    writeln!(list).expect("the list");
}

fn run(
    file: &OsString,
    program: OsString,
    arguments: Vec<OsString>,
    windows: Windows,
    raw: bool,
    list: Option<OsString>,
) -> Result<Exit, Box<dyn std::error::Error>> {
    let mut launch = timewise_target::launch::Launch::new(program);
    launch.arguments = arguments;
    let mut replay = Replay::new(windows.memory);
    let mut told = Told::default();
    if let Some(list) = list {
        told.list = Some(std::io::BufWriter::new(std::fs::File::create(list)?));
    }
    let begun = Instant::now();
    let (counted, is_whole) =
        timewise_engine::stream(launch.stopped()?, &Options::default(), windows, |chunk| match raw {
            true => told.bytes += chunk.bytes.len() as u64,
            false => told.take(&mut replay, chunk),
        })?;
    let elapsed = begun.elapsed();
    let is_all = windows == (Windows { memory: windows.memory, ..Windows::ALL });
    let differences = if is_all && !raw { compare(&counted, &told) } else { Vec::new() };
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    for (name, number) in [
        ("instructions", told.instructions),
        ("accesses", told.accesses),
        ("bytes", told.bytes),
        ("threads", told.threads),
        ("signals", told.signals),
        ("lost", told.lost),
        ("senseless", told.senseless),
        ("whole", u64::from(is_whole)),
        ("imbalance", counted.imbalance),
        ("uncertain", counted.profile.processes.iter().map(|p| u64::from(p.count_uncertainty)).sum()),
        ("microseconds", elapsed.as_micros() as u64),
        ("differences", differences.len() as u64),
    ] {
        writeln!(out, "{name} {number}")?;
    }
    for (begun, ended, streamed) in &told.windows {
        writeln!(out, "window {begun} {ended} {streamed}")?;
    }
    for (place, counted_times, streamed) in differences.iter().take(SHOWN) {
        let module = counted.profile.modules.get(place.module.index());
        let module = module.map_or_else(String::new, |m| String::from_utf8_lossy(&m.path).into_owned());
        let (offset, version) = (place.offset.0, place.version.0);
        writeln!(
            out,
            "difference {module} {version} {offset:#x}: counted {counted_times}, streamed {streamed}"
        )?;
    }
    for warning in counted.profile.runs.iter().flat_map(|run| &run.warnings) {
        writeln!(out, "warning {warning}")?;
    }
    out.flush()?;
    if let Some(failure) = counted.failure {
        return Err(format!("counts are incomplete: {failure:?}").into());
    }
    Ok(counted.profile.runs[0].exit)
}

/// Instructions whose executions differ, with those that were counted and those that were streamed.
fn compare(counted: &Counted, told: &Told) -> Vec<(Place, u64, u64)> {
    let mut all: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
    let profile = &counted.profile;
    for count in &profile.block_counts {
        let block = &profile.blocks[count.block.index()];
        for step in timewise_isa::walk(&block.code, block.place.offset.0) {
            let place = Place { offset: Offset(step.offset), ..block.place };
            all.entry(place).or_default().0 += count.executions;
        }
    }
    for (&image, blocks) in &told.executions {
        for (block, positions) in blocks.iter().enumerate().filter(|(_, positions)| !positions.is_empty()) {
            // What is not in the profile at all differs from it, too.
            let nowhere = Place { module: ModuleId(u32::MAX), version: CodeVersion(0), offset: Offset(0) };
            let place = counted.places.place(image, block as u32).unwrap_or(nowhere);
            for &(offset, executions) in positions {
                let place = Place { offset: Offset(place.offset.0.wrapping_add(offset)), ..place };
                all.entry(place).or_default().1 += executions;
            }
        }
    }
    let differs = |(place, (counted, streamed)): (Place, (u64, u64))| {
        (counted != streamed).then_some((place, counted, streamed))
    };
    all.into_iter().filter_map(differs).collect()
}
