//! Rows of instructions.

use super::{Costed, costliest_first, counted};
use crate::code_text::CodeText;
use crate::labels;
use serde::Serialize;
use timewise_flow::lines::line_at;
use timewise_flow::{Analysis, Cost, InstructionId, RoutineId};
use timewise_profile::Place;

/// An instruction that was executed or sampled.
#[derive(Clone, Debug, Serialize)]
pub struct InstructionRow {
    /// Path of the module.
    pub module: String,
    /// Link-time address within the module.
    pub offset: u64,
    /// Name of the function.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Source line, if known.
    pub line: Option<u32>,
    /// Intel syntax; empty for code that was sampled but not counted.
    pub text: String,
    /// How often it was executed; null where that was not counted.
    pub executions: Option<u64>,
    /// Which one it is; `None` for code that was sampled but not counted.
    #[serde(skip)]
    pub id: Option<InstructionId>,
    /// Its function.
    #[serde(skip)]
    pub routine: RoutineId,
}

/// All instructions that were executed or sampled.
pub fn instructions(analysis: &Analysis) -> Vec<Costed<InstructionRow>> {
    let text = CodeText::new(analysis);
    let mut rows = Vec::new();
    for (index, cost) in analysis.by_instruction().into_iter().enumerate() {
        let id = InstructionId(index as u32);
        let routine = analysis.owner[analysis.code.instructions[index].block.index()];
        let row = row(analysis, analysis.code.place(id), routine, &cost);
        rows.push(Costed::new(analysis, InstructionRow { text: text.of(id), id: Some(id), ..row }, cost));
    }
    for (place, routine, weight) in analysis.strays() {
        let cost = Cost { weight, ..Cost::default() };
        let mut row = row(analysis, place, routine, &cost);
        row.executions = row.executions.filter(|_| analysis.was_surely_not_executed(place));
        rows.push(Costed::new(analysis, row, cost));
    }
    costliest_first(&mut rows, |row| row.cost, |row| (row.of.module.clone(), row.of.offset));
    rows
}

fn row(analysis: &Analysis, place: Place, routine: RoutineId, cost: &Cost) -> InstructionRow {
    let profile = analysis.profile;
    let line = line_at(profile, place);
    InstructionRow {
        module: labels::module_path(profile, place.module),
        offset: place.offset.0,
        function: analysis.name_of(routine),
        file: line.map(|line| labels::file_path(profile, line.file).to_string()),
        line: line.map(|line| line.line),
        text: String::new(),
        executions: counted(analysis, cost.instructions),
        id: None,
        routine,
    }
}
