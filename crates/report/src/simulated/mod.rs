//! Where a modelled core's cycles go and why, as text and JSON.
//!
//! All figures are of a model, which every form of them says.

mod accuracy;
mod json;
mod screen;
mod words;

pub use accuracy::accuracy;
pub use json::{SCHEMA, json};
pub use screen::text;

use std::collections::BTreeMap;
use timewise_attribution::category::by_category;
use timewise_attribution::comparison::Findings;
use timewise_attribution::{Category, Kind, Parts, Stacks, Units};
use timewise_flow::{Analysis, InstructionId, RoutineId};
use timewise_isa::Control;
use timewise_profile::Run;

/// What a program did on a core model.
pub struct Simulated<'a> {
    /// The program's code, with functions and lines: of the run that was simulated.
    pub analysis: &'a Analysis<'a>,
    /// That run.
    pub run: &'a Run,
    /// The core's name.
    pub core: &'a str,
    /// The part of the run that was simulated, if not all of it.
    pub part: Option<String>,
    /// Threads, each on a core of its own.
    pub threads: usize,
    /// Instructions that were executed.
    pub instructions: u64,
    /// Cycles of all threads' cores together.
    pub cycles: u64,
    /// Executions of each instruction, by id.
    pub executions: &'a [u64],
    /// Cycle stacks by the analysis's instruction ids.
    pub stacks: &'a Stacks,
    /// What else was profiled by sampling, if that was asked for, by the same ids.
    pub compared: Option<&'a Findings>,
}

impl Simulated<'_> {
    /// What an instruction does, as far as it says why it waits.
    fn kind(&self, id: u32) -> Kind {
        let Some(instruction) = self.analysis.code.instructions.get(id as usize) else { return Kind::Other };
        let step = &instruction.step;
        if step.loads || matches!(step.control, Control::Return { .. }) {
            Kind::Load
        } else if step.stores || matches!(step.control, Control::Call { .. }) {
            Kind::Store
        } else {
            Kind::Other
        }
    }

    /// All cycles that are attributed to code of the profile.
    fn attributed(&self) -> Parts {
        self.stacks.total()
    }

    fn blocks(&self) -> Units {
        Units::Table(self.analysis.code.instructions.iter().map(|instruction| instruction.block.0).collect())
    }

    fn functions(&self) -> Units {
        let owner = |block: usize| self.analysis.owner[block].0;
        let of = self.analysis.code.instructions.iter().map(|instruction| owner(instruction.block.index()));
        Units::Table(of.collect())
    }

    /// Cycles of the whole program by category.
    fn categories(&self) -> BTreeMap<Category, Parts> {
        let sums = by_category(self.stacks, &Units::Whole, |id| self.kind(id));
        sums.into_iter().map(|((_, category), parts)| (category, parts)).collect()
    }

    /// Functions, those with the most cycles first.
    fn function_rows(&self) -> Vec<FunctionRow> {
        let mut rows: BTreeMap<u32, FunctionRow> = BTreeMap::new();
        let new = |routine| FunctionRow {
            routine: RoutineId(routine),
            instructions: 0,
            categories: BTreeMap::new(),
        };
        for ((routine, category), parts) in by_category(self.stacks, &self.functions(), |id| self.kind(id)) {
            if routine != Units::ELSEWHERE {
                *rows
                    .entry(routine)
                    .or_insert_with(|| new(routine))
                    .categories
                    .entry(category)
                    .or_default() += parts;
            }
        }
        for (instruction, executions) in self.analysis.code.instructions.iter().zip(self.executions) {
            if let Some(row) = rows.get_mut(&self.analysis.owner[instruction.block.index()].0) {
                row.instructions += executions;
            }
        }
        let mut rows: Vec<FunctionRow> = rows.into_values().collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.cycles()), row.routine));
        rows
    }

    /// Instructions, those with the most cycles first.
    fn instruction_rows(&self) -> Vec<(InstructionId, Parts)> {
        let ids = 0..self.analysis.code.instructions.len() as u32;
        let heights = ids.map(|id| (InstructionId(id), self.stacks.height(id)));
        let mut rows: Vec<_> = heights.filter(|(_, parts)| *parts != Parts::ZERO).collect();
        rows.sort_by_key(|&(id, parts)| (std::cmp::Reverse(parts), id));
        rows
    }
}

/// What a function costs by itself.
struct FunctionRow {
    routine: RoutineId,
    instructions: u64,
    categories: BTreeMap<Category, Parts>,
}

impl FunctionRow {
    fn cycles(&self) -> Parts {
        self.categories.values().copied().sum()
    }

    fn of(&self, category: Category) -> Parts {
        self.categories.get(&category).copied().unwrap_or_default()
    }
}
