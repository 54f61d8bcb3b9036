//! What was measured, and how well: the head of the page.

use crate::figures::Figures;
use crate::origin::{self, ClockFacts, Measurement};
use crate::visible::command_line;
use serde::Serialize;
use timewise_flow::Analysis;
use timewise_profile::RunKind;

/// A longer command is cut.
const LONGEST_COMMAND: usize = 4096;

#[derive(Serialize)]
pub struct Summary {
    /// The program with its arguments.
    pub command: String,
    machine: Option<Machine>,
    started_unix_ms: Option<i64>,
    measurement: Measurement,
    clock: Option<ClockFacts>,
    /// How well executions were counted; null if they were not.
    counted: Option<&'static str>,
    processes: usize,
    threads: usize,
    /// All cycles in user mode, of which shares of time are shares; 0 without samples.
    cycles: f64,
    instructions: Option<u64>,
    /// The interval of `cycles`, before the clock's drift.
    cycles_low: f64,
    cycles_high: f64,
    /// Nanoseconds of a cycle, and by how much the clock's drift widens an interval of cycles.
    cycle_ns: f64,
    clock_low: f64,
    clock_high: f64,
    /// Costs per execution mean nothing: the runs did different work.
    doubtful: bool,
    /// Below so many samples a figure is marked.
    enough_samples: f64,
    /// The lines that every text report begins with.
    origin: Vec<String>,
}

#[derive(Serialize)]
struct Machine {
    processor: String,
    kernel: String,
    cpus: u32,
}

impl Summary {
    pub fn new(analysis: &Analysis) -> Summary {
        let (quality, figures) = (&analysis.quality, Figures::new(analysis));
        let runs = &analysis.profile.runs;
        let run = runs.iter().find(|run| run.kind == RunKind::Sampling).or(runs.first());
        let whole = analysis.whole();
        let (cycles_low, cycles_high) = analysis.ruler.sampled_limits(&whole);
        Summary {
            command: run.map_or("?".into(), |run| command_line(run, LONGEST_COMMAND)),
            machine: run.map(|run| Machine {
                processor: run.machine.processor.clone(),
                kernel: run.machine.kernel.clone(),
                cpus: run.machine.cpus,
            }),
            started_unix_ms: run.map(|run| run.started_unix_ns / 1_000_000).filter(|&started| started > 0),
            measurement: origin::measurement(analysis),
            clock: origin::clock(analysis),
            counted: figures.is_counted().then(|| origin::counted(analysis)),
            processes: quality.processes,
            threads: quality.threads,
            cycles: whole.weight.cycles,
            instructions: figures.is_counted().then_some(whole.instructions),
            cycles_low,
            cycles_high,
            cycle_ns: analysis.ruler.cycle_ns,
            clock_low: analysis.ruler.clock_low,
            clock_high: analysis.ruler.clock_high,
            doubtful: figures.is_doubtful(),
            enough_samples: timewise_flow::cost::ENOUGH_SAMPLES,
            origin: origin::facts(analysis),
        }
    }
}
