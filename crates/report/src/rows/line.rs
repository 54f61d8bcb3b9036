//! Rows of source lines.

use super::ranking::{costliest_first, ranks};
use super::{Costed, counted, module_ranks};
use crate::labels;
use serde::Serialize;
use timewise_flow::lines::SourceLine;
use timewise_flow::{Analysis, Cost};
use timewise_profile::ModuleId;

/// A source line whose code was executed.
#[derive(Clone, Default, Debug, Serialize)]
pub struct LineRow {
    /// Path of the module.
    pub module: String,
    /// Source file.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Instructions executed for it; null without a counting run.
    pub instructions: Option<u64>,
}

/// All source lines whose code was executed or sampled, costliest first.
pub fn lines(analysis: &Analysis) -> impl ExactSizeIterator<Item = Costed<LineRow>> {
    let profile = analysis.profile;
    let found = analysis.by_line();
    let costs: Vec<Cost> = found.iter().map(|(_, _, cost)| *cost).collect();
    let modules = module_ranks(profile);
    let files = ranks(&profile.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>());
    let places: Vec<(ModuleId, SourceLine)> =
        found.iter().map(|(module, line, _)| (*module, *line)).collect();
    let key = move |at: usize| {
        let (module, line) = places[at];
        (modules[module.index()], files[line.file.index()], line.line)
    };
    costliest_first(&costs, key).map(move |at| {
        let (module, line, cost) = found[at];
        let of = LineRow {
            module: labels::module_path(profile, module),
            file: labels::file_path(profile, line.file).to_string(),
            line: line.line,
            instructions: counted(analysis, cost.instructions),
        };
        Costed::new(analysis, of, cost)
    })
}
