//! `timewise diff`: what changed between two profiles, as text, JSON and CSV (`docs/diff.md`).

mod fields;
mod modelled;
mod rows;
mod screen;
mod shares;
mod things;
mod verdict;

pub use modelled::culprit;
pub use screen::text;
pub use verdict::{cautions, narrowed, parts, uncompared, verdict};

use crate::origin::{ClockFacts, Measurement, clock, measurement};
use crate::rows::compact_option;
use fields::ChangeFields;
use rows::Rows;
use serde::Serialize;
use timewise_diff::{Comparison, Noise, Unit};
use timewise_flow::Analysis;

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-diff/1";

/// What a comparison has one row for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// A function.
    Function,
    /// A loop.
    Loop,
    /// An instruction.
    Instruction,
    /// A source line.
    Line,
}

impl By {
    /// All there are.
    pub const ALL: [By; 4] = [By::Function, By::Loop, By::Instruction, By::Line];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Function => "function",
            By::Loop => "loop",
            By::Instruction => "instruction",
            By::Line => "line",
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
    modelled: Option<modelled::Document>,
    warnings: Vec<String>,
    compared: bool,
    rows: Rows<'a>,
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
        modelled: modelled::document(comparison, by),
        warnings: verdict::warnings(comparison),
        compared: verdict::is_compared(comparison, by),
        rows: Rows::new(comparison, by),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// The rows as CSV, with one header line.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(comparison: &Comparison, by: By) -> Result<String, csv::Error> {
    crate::csv::table(Rows::new(comparison, by).fields())
}
