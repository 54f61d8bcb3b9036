//! Rows of loops.

use super::{compact_option, costliest_first, cycles};
use crate::labels;
use serde::Serialize;
use timewise_flow::{Analysis, Cost, LoopId};

/// A loop that was executed.
#[derive(Clone, Debug, Serialize)]
pub struct LoopRow {
    /// Path of the module.
    pub module: String,
    /// Name of the function.
    pub function: String,
    /// Link-time address of the first instruction of its header.
    pub header_offset: u64,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// `header_offset` of the loop around it, whose depth is one less; null for an outermost loop.
    pub parent: Option<u64>,
    /// How often it was entered.
    pub invocations: u64,
    /// Rounds over all invocations.
    pub iterations: u64,
    /// Instructions executed in the loop, without those of inner loops and callees.
    pub instructions_self: u64,
    /// Instructions executed in the loop with its inner loops; null if it calls, because callees
    /// belong to it and are not known.
    pub instructions_total: Option<u64>,
    /// Cycles of `instructions_self`; null without samples.
    #[serde(serialize_with = "compact_option")]
    pub cycles_self: Option<f64>,
    /// Cycles of `instructions_total`.
    #[serde(serialize_with = "compact_option")]
    pub cycles_total: Option<f64>,
    /// First source line in the file of its header, if known.
    pub line_first: Option<u32>,
    /// Last source line in the file of its header, if known.
    pub line_last: Option<u32>,
    /// What it cost without inner loops.
    #[serde(skip)]
    pub own: Cost,
    /// What it cost with inner loops, without callees.
    #[serde(skip)]
    pub whole: Cost,
    /// Which one it is.
    #[serde(skip)]
    pub id: LoopId,
}

/// All loops that were executed.
pub fn loops(analysis: &Analysis) -> Vec<LoopRow> {
    let profile = analysis.profile;
    let (own, whole) = (analysis.by_loop_self(), analysis.by_loop_total());
    let calls = analysis.loops_that_call();
    let header = |id: LoopId| analysis.code.blocks[analysis.forest.loops[id.index()].header.index()].place;
    let mut rows = Vec::new();
    for (index, one) in analysis.forest.loops.iter().enumerate() {
        let id = LoopId(index as u32);
        let (own, whole) = (own[index], whole[index]);
        let is_whole = !calls[index];
        let lines = analysis.lines_of_loop(id);
        rows.push(LoopRow {
            module: labels::module_path(profile, header(id).module),
            function: analysis.name_of(one.routine),
            header_offset: header(id).offset.0,
            depth: one.depth,
            parent: one.parent.map(|parent| header(parent).offset.0),
            invocations: one.invocations,
            iterations: one.iterations,
            instructions_self: own.instructions,
            instructions_total: is_whole.then_some(whole.instructions),
            cycles_self: cycles(analysis, &own),
            cycles_total: cycles(analysis, &whole).filter(|_| is_whole),
            line_first: lines.map(|lines| lines.0.line),
            line_last: lines.map(|lines| lines.1.line),
            own,
            whole,
            id,
        });
    }
    costliest_first(&mut rows, |row| row.own, |row| (row.module.clone(), row.header_offset, row.depth));
    rows
}
