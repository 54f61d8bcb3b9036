//! Rows of loops.

use super::total::{KnownTotal, Totalled};
use super::{compact_option, costliest_first, cycles};
use crate::labels;
use crate::request::Sort;
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
    /// Instructions executed in the loop with its inner loops and callees; null if it calls and what calls cost
    /// was not counted.
    pub instructions_total: Option<u64>,
    /// Cycles of `instructions_self`; null without samples.
    #[serde(serialize_with = "compact_option")]
    pub cycles_self: Option<f64>,
    /// Cycles in the loop with its inner loops and callees; null without samples, or if it calls and there are no
    /// stacks.
    #[serde(serialize_with = "compact_option")]
    pub cycles_total: Option<f64>,
    /// First source line in the file of its header, if known.
    pub line_first: Option<u32>,
    /// Last source line in the file of its header, if known.
    pub line_last: Option<u32>,
    /// What it cost without inner loops.
    #[serde(skip)]
    pub own: Cost,
    /// Which one it is.
    #[serde(skip)]
    pub id: LoopId,
}

/// All loops that were executed.
pub fn loops(analysis: &Analysis, sort: Sort) -> Vec<Totalled<LoopRow>> {
    let profile = analysis.profile;
    let own = analysis.by_loop_self();
    let header = |id: LoopId| analysis.code.blocks[analysis.forest.loops[id.index()].header.index()].place;
    let mut rows = Vec::new();
    for (index, one) in analysis.forest.loops.iter().enumerate() {
        let id = LoopId(index as u32);
        let (own, total) = (own[index], *analysis.totals().of_loop(id));
        let known = KnownTotal::of(analysis, &total);
        let lines = analysis.lines_of_loop(id);
        let of = LoopRow {
            module: labels::module_path(profile, header(id).module),
            function: analysis.name_of(one.routine),
            header_offset: header(id).offset.0,
            depth: one.depth,
            parent: one.parent.map(|parent| header(parent).offset.0),
            invocations: one.invocations,
            iterations: one.iterations,
            instructions_self: own.instructions,
            instructions_total: known.instructions,
            cycles_self: cycles(analysis, &own),
            cycles_total: known.cycles,
            line_first: lines.map(|lines| lines.0.line),
            line_last: lines.map(|lines| lines.1.line),
            own,
            id,
        };
        rows.push(Totalled::new(analysis, of, total));
    }
    let cost = |row: &Totalled<LoopRow>| if sort == Sort::Total { row.total.cost } else { row.of.own };
    costliest_first(&mut rows, cost, |row| (row.of.module.clone(), row.of.header_offset, row.of.depth));
    rows
}
