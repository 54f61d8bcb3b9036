//! Rows of blocks.

use super::{compact, compact_option, costliest_first, cpi, cycles};
use crate::labels;
use serde::Serialize;
use timewise_flow::lines::line_at;
use timewise_flow::{Analysis, Cost, RoutineId};

/// A block that was executed: code with one way in at its top and one way out at its bottom.
#[derive(Clone, Debug, Serialize)]
pub struct BlockRow {
    /// Path of the module.
    pub module: String,
    /// Link-time address of its first instruction.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Name of the function.
    pub function: String,
    /// Source file of its first instruction, if known.
    pub file: Option<String>,
    /// Source line of its first instruction, if known.
    pub line: Option<u32>,
    /// Instructions in the block.
    pub instructions: u32,
    /// How often it was executed.
    pub executions: u64,
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
    /// Its function.
    #[serde(skip)]
    pub routine: RoutineId,
}

/// All blocks that were executed.
pub fn blocks(analysis: &Analysis) -> Vec<BlockRow> {
    let profile = analysis.profile;
    let mut rows = Vec::new();
    for ((block, cost), routine) in analysis.code.blocks.iter().zip(analysis.by_block()).zip(&analysis.owner)
    {
        let line = line_at(profile, block.place);
        let cpi = cpi(analysis, &cost);
        rows.push(BlockRow {
            module: labels::module_path(profile, block.place.module),
            offset: block.place.offset.0,
            size: block.end.0 - block.place.offset.0,
            function: analysis.name_of(*routine),
            file: line.map(|line| labels::file_path(profile, line.file).to_string()),
            line: line.map(|line| line.line),
            instructions: block.length,
            executions: block.executions,
            samples: cost.weight.samples,
            cycles: cycles(analysis, &cost),
            cpi: cpi.map(|cpi| cpi.value),
            cpi_low: cpi.map(|cpi| cpi.low),
            cpi_high: cpi.map(|cpi| cpi.high),
            cost,
            routine: *routine,
        });
    }
    costliest_first(&mut rows, |row| row.cost, |row| (row.module.clone(), row.offset));
    rows
}
