//! Simulates a program on a core: `simulate CORE [--skip S] [--length N] [--windows K] [--execute X --every E]
//! [--check] PROGRAM ARGUMENTS…` prints what each thread's core did and how fast that was. CORE is a name or a TOML file.
//! With `--every`, X of every E instructions are executed and the others warm caches and predictors; `--check` looks whether records keep
//! their promises.
use std::time::Instant;
use timewise_core_model::{Ended, Processor, Sampling, Simulation, Totals};
use timewise_engine::Options;
use timewise_engine::streams::Windows;
use timewise_replay::Replay;
use timewise_trace::{Observer, Record};

/// Adds up cycles, and with `checks` looks whether records keep their promises.
#[derive(Default)]
struct Cycles {
    checks: bool,
    records: u64,
    next: u64,
    computing: u64,
    stalled: u64,
    empty: u64,
    /// Cycles in which the oldest entry waits, by what it was subject to.
    waiting: std::collections::BTreeMap<String, u64>,
}

impl Observer for Cycles {
    fn observe(&mut self, records: &[Record]) {
        records.iter().for_each(|record| self.add(record));
    }
}

impl Cycles {
    fn add(&mut self, record: &Record) {
        if self.checks {
            record.check().expect("a record");
            assert_eq!(record.cycle, self.next);
        }
        self.records += 1;
        self.next = record.end();
        let cycles = match (record.committing, record.valid) {
            (0, 0) => &mut self.empty,
            (0, _) => &mut self.stalled,
            _ => &mut self.computing,
        };
        *cycles += u64::from(record.repeat);
        if record.committing == 0 && record.valid > 0 {
            *self.waiting.entry(record.entries[0].events.to_string()).or_default() +=
                u64::from(record.repeat);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let core = arguments.next().ok_or("usage: simulate CORE [OPTIONS] PROGRAM ARGUMENTS…")?;
    let core = core.to_string_lossy();
    let processor = match core.ends_with(".toml") {
        true => Processor::parse(&std::fs::read_to_string(&*core)?)?,
        false => Processor::named(&core)?,
    };
    let mut windows = Windows::ALL;
    let (mut checks, mut executed, mut every) = (false, u64::MAX, 0);
    while let Some(option) = arguments.next_if(|a| a.to_string_lossy().starts_with("--")) {
        let option = option.to_string_lossy().into_owned();
        if option == "--check" {
            checks = true;
            continue;
        }
        let number = arguments.next().and_then(|n| n.to_string_lossy().parse().ok()).ok_or("a number")?;
        match option.as_str() {
            "--skip" => windows.skip = number,
            "--execute" => executed = number,
            "--every" => every = number,
            "--length" => windows.length = number,
            "--windows" => windows.windows = number as u32,
            _ => return Err(format!("no option {option}").into()),
        }
    }
    let mut launch = timewise_target::launch::Launch::new(arguments.next().ok_or("no program")?);
    launch.arguments = arguments.collect();
    let mut replay = Replay::new(true);
    let sampling = match every {
        0 => Sampling::ALL,
        every => Sampling { warmed: every.saturating_sub(executed), executed: executed.max(1) },
    };
    let mut simulation = Simulation::new(&processor, sampling)?;
    let (mut threads, mut failed) = (Vec::new(), None);
    let begun = Instant::now();
    let mut inside = std::time::Duration::ZERO;
    timewise_engine::stream(launch.stopped()?, &Options::default(), windows, |chunk| {
        let begun = Instant::now();
        let observer = |_| Cycles { checks, ..Cycles::default() };
        let simulated = simulation.chunk(&mut replay, chunk, observer, |thread| threads.push(thread));
        failed = failed.take().or(simulated.err());
        inside += begun.elapsed();
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let code = simulation.finish();
    let mut instructions = 0;
    for Ended { tid, totals, observer, .. } in threads {
        instructions += totals.instructions;
        print(tid, &totals, &observer);
    }
    eprintln!(
        "{instructions} instructions, {} static; {:.2} million a second, {:.2} without waiting for the program",
        code.len(),
        instructions as f64 / begun.elapsed().as_secs_f64() / 1e6,
        instructions as f64 / inside.as_secs_f64() / 1e6
    );
    Ok(())
}

fn print(tid: u32, totals: &Totals, cycles: &Cycles) {
    let per = |count: u64| 1000.0 * count as f64 / totals.instructions.max(1) as f64;
    let share = |count: u64| 100.0 * count as f64 / totals.cycles.max(1) as f64;
    eprintln!(
        "thread {tid}: {} instructions, CPI {:.3}; computing {:.1} %, stalled {:.1} %, empty {:.1} %",
        totals.instructions,
        totals.cycles as f64 / totals.instructions.max(1) as f64,
        share(cycles.computing),
        share(cycles.stalled),
        share(cycles.empty)
    );
    eprintln!(
        "  per 1000: entries {:.0}, mispredicted {:.2}, loads {:.0}, L1D {:.2}, LLC {:.2}, DTLB {:.2}, order \
         {:.3}, L1I {:.2}, rewritten {:.2}; {} cycles, {} records",
        per(totals.entries),
        per(totals.mispredicted),
        per(totals.loads),
        per(totals.missed_first),
        per(totals.missed_last),
        per(totals.missed_tlb),
        per(totals.violations),
        per(totals.missed_instructions),
        per(totals.rewritten),
        totals.cycles,
        cycles.records
    );
    let mut waiting: Vec<_> = cycles.waiting.iter().map(|(events, count)| (share(*count), events)).collect();
    waiting.sort_by(|a, b| b.0.total_cmp(&a.0));
    let waiting: Vec<_> =
        waiting.iter().take(6).map(|(share, events)| format!("{events} {share:.1} %")).collect();
    eprintln!("  stalled by {}", waiting.join(", "));
}
