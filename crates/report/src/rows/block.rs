//! Rows of blocks.

use super::{Costed, costliest_first};
use crate::labels;
use serde::Serialize;
use timewise_flow::Analysis;
use timewise_flow::lines::line_at;

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
}

/// All blocks that were executed.
pub fn blocks(analysis: &Analysis) -> Vec<Costed<BlockRow>> {
    let profile = analysis.profile;
    let mut rows = Vec::new();
    for ((block, cost), routine) in analysis.code.blocks.iter().zip(analysis.by_block()).zip(&analysis.owner)
    {
        let line = line_at(profile, block.place);
        let of = BlockRow {
            module: labels::module_path(profile, block.place.module),
            offset: block.place.offset.0,
            size: block.end.0 - block.place.offset.0,
            function: analysis.name_of(*routine),
            file: line.map(|line| labels::file_path(profile, line.file).to_string()),
            line: line.map(|line| line.line),
            instructions: block.length,
            executions: block.executions,
        };
        rows.push(Costed::new(analysis, of, cost));
    }
    costliest_first(&mut rows, |row| row.cost, |row| (row.of.module.clone(), row.of.offset));
    rows
}
