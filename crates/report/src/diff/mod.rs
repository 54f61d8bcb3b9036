//! `timewise diff`: what changed between two profiles, as text, JSON and CSV (`docs/diff.md`).

mod fields;
mod inlined;
mod mix;
mod modelled;
mod rows;
mod screen;
mod shares;
mod things;
mod verdict;
mod waiting;

pub use screen::text;
pub use timewise_diff::Grain;
pub use verdict::{cautions, lost, narrowed, other_programs, parts, uncompared, verdict};

use crate::origin::{ClockFacts, Measurement, clock, measurement};
use crate::rows::compact_option;
use fields::{ChangeFields, PassedFields};
use rows::Rows;
use serde::Serialize;
use timewise_diff::gate::Metric;
use timewise_diff::{Comparison, Gate, Noise, Unit};
use timewise_flow::Analysis;
use waiting::{WaitingFields, Waits};

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-diff/1";

/// What a comparison has one row for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Code of one grain.
    Code(Grain),
    /// What threads waited for.
    Waiting,
}

impl By {
    /// All there are.
    pub const ALL: [By; 5] = [
        By::Code(Grain::Function),
        By::Code(Grain::Loop),
        By::Code(Grain::Instruction),
        By::Code(Grain::Line),
        By::Waiting,
    ];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Code(grain) => grain.name(),
            By::Waiting => "waiting",
        }
    }

    /// Of which code, if of code.
    fn grain(self) -> Option<Grain> {
        match self {
            By::Code(grain) => Some(grain),
            By::Waiting => None,
        }
    }
}

#[derive(Serialize)]
struct Side {
    clock: Option<ClockFacts>,
    measurement: Measurement,
}

impl Side {
    fn of(analysis: &Analysis) -> Side {
        Side { clock: clock(analysis), measurement: measurement(analysis) }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    by: &'static str,
    unit: Option<&'static str>,
    #[serde(serialize_with = "compact_option")]
    noise: Option<f64>,
    base: Side,
    test: Side,
    whole: ChangeFields,
    elapsed: Option<PassedFields>,
    cpu_time: Option<PassedFields>,
    in_kernel: Option<PassedFields>,
    modelled: Option<modelled::Document>,
    warnings: Vec<String>,
    compared: bool,
    rows: AnyRows<'a>,
}

/// Rows of code, or of waiting, which has other fields.
#[derive(Serialize)]
#[serde(untagged)]
enum AnyRows<'a> {
    Code(Box<Rows<'a>>),
    Waiting(Vec<WaitingFields>),
}

/// What is most to blame for a condition that fails, in a few words: of modelled cycles the loop, of elapsed time what
/// waits longer.
pub fn culprit(comparison: &Comparison, gate: &Gate) -> Option<String> {
    match gate.metric {
        Metric::ModelledCycles => modelled::culprit(comparison, gate),
        Metric::Elapsed => Waits::new(comparison).worst(),
        Metric::Time | Metric::CpuTime | Metric::TimeByCount | Metric::Instructions => None,
    }
}

/// The comparison as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(comparison: &Comparison, by: By) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        by: by.name(),
        unit: comparison.unit.map(|unit| match unit {
            Unit::Nanoseconds => "ns",
            Unit::Cycles => "cycles",
        }),
        noise: match comparison.noise {
            Noise::Measured(share) => Some(share),
            Noise::Unknown => None,
        },
        base: Side::of(comparison.base),
        test: Side::of(comparison.test),
        whole: ChangeFields::of(&comparison.whole()),
        elapsed: comparison.elapsed().map(PassedFields::from),
        cpu_time: comparison.cpu_time().map(PassedFields::from),
        in_kernel: comparison.in_kernel().map(PassedFields::from),
        // A modelled core does not wait.
        modelled: by.grain().and_then(|grain| modelled::document(comparison, grain)),
        warnings: verdict::warnings(comparison),
        compared: verdict::is_compared(comparison, by),
        rows: match by {
            By::Code(grain) => AnyRows::Code(Box::new(Rows::new(comparison, grain))),
            By::Waiting => AnyRows::Waiting(Waits::new(comparison).fields().collect()),
        },
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// The rows as CSV, with one header line.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(comparison: &Comparison, by: By) -> Result<String, csv::Error> {
    match by {
        By::Code(grain) => crate::csv::table(Rows::new(comparison, grain).fields()),
        By::Waiting => crate::csv::table(Waits::new(comparison).fields()),
    }
}
