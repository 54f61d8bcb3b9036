//! Where a modelled core's cycles go and why, as text, JSON and CSV.
//!
//! All figures are of a model, which every form of them says.

mod accuracy;
mod bars;
mod covered;
mod csv;
mod impact;
mod json;
mod numbers;
mod rows;
mod screen;
mod threads;
mod why;
mod words;

pub use accuracy::accuracy;
pub use bars::bar;
pub use csv::csv;
pub use impact::impact;
pub use json::{SCHEMA, Sums, json};
pub use numbers::{Numbered, numbers};
pub use rows::{Row, rows, tells};
pub use screen::{listing, text};
pub use threads::undisturbed;
pub use why::{Reason, reasons, why};

use crate::number::{count, instructions};
use timewise_attribution::Units;
use timewise_attribution::category::Class;
use timewise_attribution::comparison::Findings;
use timewise_attribution::event_counts::EventCounts;
use timewise_flow::{Analysis, Modelled};
use timewise_profile::{Exit, Run, SimulatedPart};

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

    /// What the program mostly does on the core; nothing where none of it was simulated.
    fn class(&self) -> Option<Class> {
        (self.modelled.simulation.instructions > 0).then(|| self.analysis.modelled_whole().class())
    }

    fn run(&self) -> &'a Run {
        &self.analysis.profile.runs[self.modelled.simulation.run.index()]
    }

    /// The signal that ended the run: what was simulated is less than the whole program then.
    fn signal(&self) -> Option<i32> {
        match self.run().exit {
            Exit::Signal(signal) => Some(signal),
            Exit::Code(_) | Exit::Unknown => None,
        }
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
        Some(length) => format!("at most {}", instructions(length)),
    };
    match (part.length, part.skipped, part.windows) {
        (None, 0, _) => None,
        (_, 0, Some(1)) => Some(format!("of each thread {length} from its start")),
        (_, skipped, Some(1)) => Some(format!("of each thread {length} after the first {}", count(skipped))),
        (_, skipped, windows) => Some(format!(
            "of each thread {} windows of {length}, each after {} that pass",
            windows.map_or("all".into(), |windows| count(windows.into())),
            instructions(skipped)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_said_in_words() {
        let said = |skipped, length, windows| part(SimulatedPart { skipped, length, windows: Some(windows) });
        assert_eq!(said(0, None, 1), None);
        assert_eq!(said(0, Some(1), 1).unwrap(), "of each thread at most 1 instruction from its start");
        assert_eq!(said(1000, None, 1).unwrap(), "of each thread the rest after the first 1,000");
        assert_eq!(
            said(18_447, Some(20), 12_345).unwrap(),
            "of each thread 12,345 windows of at most 20 instructions, each after 18,447 instructions that pass"
        );
        let all = SimulatedPart { skipped: 7, length: Some(20), windows: None };
        assert_eq!(
            part(all).unwrap(),
            "of each thread all windows of at most 20 instructions, each after 7 instructions that pass"
        );
    }
}
