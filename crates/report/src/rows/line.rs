//! Rows of source lines.

use super::{compact, compact_option, costliest_first, counted, cpi, cycles};
use crate::labels;
use serde::Serialize;
use timewise_flow::{Analysis, Cost};

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
    /// Samples charged to it.
    #[serde(serialize_with = "compact")]
    pub samples: f64,
    /// Cycles charged to it; null without samples.
    #[serde(serialize_with = "compact_option")]
    pub cycles: Option<f64>,
    /// Cycles per instruction; null if it was not executed.
    #[serde(serialize_with = "compact_option")]
    pub cpi: Option<f64>,
    /// Lower limit of the 95 % interval.
    #[serde(serialize_with = "compact_option")]
    pub cpi_low: Option<f64>,
    /// Upper limit of the 95 % interval.
    #[serde(serialize_with = "compact_option")]
    pub cpi_high: Option<f64>,
    /// What it cost.
    #[serde(skip)]
    pub cost: Cost,
}

/// All source lines whose code was executed or sampled.
pub fn lines(analysis: &Analysis) -> Vec<LineRow> {
    let profile = analysis.profile;
    let mut rows = Vec::new();
    for (module, line, cost) in analysis.by_line() {
        let cpi = cpi(analysis, &cost);
        rows.push(LineRow {
            module: labels::module_path(profile, module),
            file: labels::file_path(profile, line.file).to_string(),
            line: line.line,
            instructions: counted(analysis, cost.instructions),
            samples: cost.weight.samples,
            cycles: cycles(analysis, &cost),
            cpi: cpi.map(|cpi| cpi.value),
            cpi_low: cpi.map(|cpi| cpi.low),
            cpi_high: cpi.map(|cpi| cpi.high),
            cost,
        });
    }
    costliest_first(&mut rows, |row| row.cost, |row| (row.module.clone(), row.file.clone(), row.line));
    rows
}
