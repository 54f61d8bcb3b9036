//! Rows of source lines.

use super::{Costed, costliest_first, counted};
use crate::labels;
use serde::Serialize;
use timewise_flow::Analysis;

/// A source line whose code was executed.
#[derive(Clone, Debug, Serialize)]
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

/// All source lines whose code was executed or sampled.
pub fn lines(analysis: &Analysis) -> Vec<Costed<LineRow>> {
    let profile = analysis.profile;
    let mut rows = Vec::new();
    for (module, line, cost) in analysis.by_line() {
        let of = LineRow {
            module: labels::module_path(profile, module),
            file: labels::file_path(profile, line.file).to_string(),
            line: line.line,
            instructions: counted(analysis, cost.instructions),
        };
        rows.push(Costed::new(analysis, of, cost));
    }
    costliest_first(
        &mut rows,
        |row| row.cost,
        |row| (row.of.module.clone(), row.of.file.clone(), row.of.line),
    );
    rows
}
