//! Where a modelled core's cycles go and why, as text, JSON and CSV.
//!
//! All figures are of a model, which every form of them says.

mod accuracy;
mod bars;
mod csv;
mod impact;
mod json;
mod rows;
mod screen;
mod why;
mod words;

pub use accuracy::accuracy;
pub use bars::bar;
pub use csv::csv;
pub use impact::impact;
pub use json::{SCHEMA, Sums, json};
pub use rows::{Row, rows, tells};
pub use screen::{listing, text};
pub use why::{Reason, reasons, why};

use crate::number::count;
use timewise_attribution::Units;
use timewise_attribution::comparison::Findings;
use timewise_attribution::event_counts::EventCounts;
use timewise_flow::{Analysis, Modelled};
use timewise_profile::{Run, SimulatedPart};

/// What a program did on a core model.
pub struct Simulated<'a> {
    /// The program's code, with functions and lines.
    pub analysis: &'a Analysis<'a>,
    /// What the core spent on it.
    pub modelled: &'a Modelled,
    /// What else was profiled by sampling, if that was asked for, by the ids of the analysis.
    pub compared: Option<&'a Findings>,
    /// How often instructions were subject to events, likewise.
    pub events: Option<&'a EventCounts>,
}

impl<'a> Simulated<'a> {
    /// The simulation of an analysis, if there was one.
    pub fn of(analysis: &'a Analysis<'a>) -> Option<Simulated<'a>> {
        Some(Simulated { analysis, modelled: analysis.modelled.as_ref()?, compared: None, events: None })
    }

    fn run(&self) -> &'a Run {
        &self.analysis.profile.runs[self.modelled.simulation.run.index()]
    }

    fn blocks(&self) -> Units {
        Units::Table(self.analysis.code.instructions.iter().map(|instruction| instruction.block.0).collect())
    }

    fn functions(&self) -> Units {
        let owner = |block: usize| self.analysis.owner[block].0;
        let of = self.analysis.code.instructions.iter().map(|instruction| owner(instruction.block.index()));
        Units::Table(of.collect())
    }
}

/// The part of each thread's execution that was simulated, in words; nothing if it was all of it.
pub fn part(part: SimulatedPart) -> Option<String> {
    let length = match part.length {
        None => "the rest".to_string(),
        Some(instructions) => format!("at most {} instructions", count(instructions)),
    };
    match (part.length, part.skipped, part.windows) {
        (None, 0, _) => None,
        (_, 0, 1) => Some(format!("of each thread {length} from its start")),
        (_, skipped, 1) => Some(format!("of each thread {length} after the first {}", count(skipped))),
        (_, skipped, windows) => Some(format!(
            "of each thread {windows} windows of {length}, each after {} that pass",
            count(skipped)
        )),
    }
}
