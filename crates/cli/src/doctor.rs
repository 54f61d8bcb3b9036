//! `timewise doctor`: what this machine can do, and how to enable what it cannot.

mod abilities;
mod text;
mod tools;

use crate::screen::{self, Colour};
use timewise_sampler::core_clock::CoreFrequency;
use timewise_target::machine;

/// Say what this machine can do, and how to enable what it cannot
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise doctor
  timewise doctor --json | jq '.abilities[] | select(.available | not) | .enable'")]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One thing that a profiler may need of a machine.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
struct Ability {
    /// Its name, the same in text and JSON.
    name: &'static str,
    /// True if it serves another one, which stands before it.
    detail: bool,
    /// Whether it is there.
    available: bool,
    /// What exactly is there; what we do instead if it is not.
    note: String,
    /// Why it is not there; empty if it is.
    cause: String,
    /// The command that enables it, if there is one and it is needed.
    enable: Option<String>,
}

/// The machine as a report's head names it.
#[derive(Debug, serde::Serialize)]
struct Host {
    processor: String,
    design: Option<&'static str>,
    processors: usize,
    kernel: String,
    hypervisor: Option<String>,
}

#[derive(Debug, serde::Serialize)]
struct Diagnosis {
    schema: &'static str,
    version: &'static str,
    host: Host,
    /// Cycles per second, measured now.
    core_hz: f64,
    core_hz_low: f64,
    core_hz_high: f64,
    perf_event_paranoid: Option<i32>,
    perf_event_max_sample_rate_hz: Option<u32>,
    /// What one sample costs the program.
    sample_cost_ns: Option<u64>,
    default_frequency_hz: Option<u32>,
    abilities: Vec<Ability>,
}

/// Examines the machine and prints what was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let facts = timewise_sampler::doctor::examine();
    let CoreFrequency { mean_hz, low_hz, high_hz } = facts.core;
    let diagnosis = Diagnosis {
        schema: "timewise-doctor/1",
        version: env!("CARGO_PKG_VERSION"),
        host: Host {
            processor: machine::processor_name(),
            design: machine::microarchitecture(),
            processors: machine::online_processors().len(),
            kernel: machine::kernel_release(),
            hypervisor: machine::hypervisor(),
        },
        core_hz: mean_hz,
        core_hz_low: low_hz,
        core_hz_high: high_hz,
        perf_event_paranoid: facts.paranoid,
        perf_event_max_sample_rate_hz: facts.max_rate_hz,
        sample_cost_ns: facts.sample_cost.map(|cost| cost.as_nanos() as u64),
        default_frequency_hz: facts.default_rate_hz,
        abilities: abilities::all(&facts),
    };
    let printed = match arguments.json {
        true => serde_json::to_string_pretty(&diagnosis)? + "\n",
        false => text::render(&diagnosis, screen::style(&std::io::stdout(), Colour::Never).width),
    };
    screen::show(&printed)
}
