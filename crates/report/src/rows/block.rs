//! Rows of blocks.

use super::ranking::costliest_first;
use super::{Costed, module_ranks};
use crate::labels;
use serde::Serialize;
use timewise_flow::Analysis;
use timewise_flow::lines::line_at;
use timewise_profile::BlockId;

/// A block that was executed: code with one way in at its top and one way out at its bottom.
#[derive(Clone, Default, Debug, Serialize)]
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

/// All blocks that were executed, costliest first.
pub fn blocks(analysis: &Analysis) -> impl ExactSizeIterator<Item = Costed<BlockRow>> {
    let costs = analysis.by_block();
    let modules = module_ranks(analysis.profile);
    let key = move |at: usize| {
        let place = analysis.code.blocks[at].place;
        (modules[place.module.index()], place.offset)
    };
    costliest_first(&costs, key)
        .map(move |at| Costed::new(analysis, row(analysis, BlockId(at as u32)), costs[at]))
}

fn row(analysis: &Analysis, id: BlockId) -> BlockRow {
    let profile = analysis.profile;
    let block = &analysis.code.blocks[id.index()];
    let line = line_at(profile, block.place);
    BlockRow {
        module: labels::module_path(profile, block.place.module),
        offset: block.place.offset.0,
        size: block.end.0 - block.place.offset.0,
        function: analysis.name_of(analysis.owner[id.index()]),
        file: line.map(|line| labels::file_path(profile, line.file).to_string()),
        line: line.map(|line| line.line),
        instructions: block.length,
        executions: block.executions,
    }
}
