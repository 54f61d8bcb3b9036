//! What a modelled core says of instructions, beside what was measured of them.

use crate::figures::Figures;
use crate::number::{figure, percent};
use crate::simulated;
use crate::style::{Style, Tone};
use crate::table::{Column, UNKNOWN};
use timewise_attribution::Parts;
use timewise_flow::divided::Divided;
use timewise_flow::{Analysis, InstructionId, Modelled, RoutineId};

/// Instructions with less of their function's modelled cycles have no bar.
const WORTH_A_BAR: f64 = 0.005;

/// The columns of one function.
pub struct Beside<'a> {
    analysis: &'a Analysis<'a>,
    modelled: &'a Modelled,
    divided: Vec<Option<Divided>>,
    measured_cycles: f64,
    /// Of the function's instructions the one with the most cycles, and all of them.
    longest: Parts,
    all: Parts,
}

impl<'a> Beside<'a> {
    /// What there is of a function, if its program was simulated.
    pub fn of(analysis: &'a Analysis<'a>, routine: RoutineId) -> Option<Beside<'a>> {
        let modelled = analysis.modelled.as_ref()?;
        let blocks = analysis.routines[routine.index()].blocks.iter();
        let ids = blocks.flat_map(|block| analysis.code.blocks[block.index()].instructions());
        let heights: Vec<Parts> = ids.map(|id| modelled.stacks.height(id.0)).collect();
        Some(Beside {
            analysis,
            modelled,
            divided: analysis.divided(),
            measured_cycles: analysis.whole().weight.cycles,
            longest: heights.iter().copied().max().unwrap_or_default(),
            all: heights.into_iter().sum(),
        })
    }

    /// Headings of [`Beside::cells`].
    pub fn columns(&self) -> Vec<Column> {
        vec![
            Column::number("time divided"),
            Column::number("cycles modelled"),
            Column::name(&format!("why, modelled on {}", self.modelled.simulation.core)),
        ]
    }

    /// The measured time that falls to an instruction, its modelled cycles for each execution, and its stack.
    pub fn cells(&self, id: InstructionId) -> Vec<String> {
        let divided = self.divided[id.index()].map(|divided| percent(divided.cycles / self.measured_cycles));
        let height = self.modelled.stacks.height(id.0);
        let each = match self.modelled.executions[id.index()] {
            0 => UNKNOWN.into(),
            executions => figure(height.as_cycles() / executions as f64),
        };
        let bar = match height.of(self.all) >= WORTH_A_BAR {
            true => simulated::bar(self.analysis, self.modelled, id, self.longest),
            false => String::new(),
        };
        vec![divided.unwrap_or(UNKNOWN.into()), each, bar]
    }

    /// What the columns mean.
    pub fn legend(&self, style: Style) -> String {
        let core = &self.modelled.simulation.core;
        let mut text = format!("cycles modelled: of each execution, on {core}, not measured");
        if Figures::new(self.analysis).is_sampled() {
            text += " · time divided: what was measured of a loop, or of a block in none, divided as the \
                     model's cycles are";
        }
        style.wrap(Tone::Faint, &text)
    }
}
