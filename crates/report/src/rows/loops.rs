//! Rows of loops.

use super::ranking::costliest_first;
use super::total::{KnownTotal, Totalled};
use super::{compact_option, cycles, module_ranks};
use crate::labels;
use crate::request::Sort;
use serde::Serialize;
use timewise_flow::{Analysis, Cost, LoopId};
use timewise_profile::Place;

/// A loop that was executed.
#[derive(Clone, Default, Debug, Serialize)]
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

/// All loops that were executed, costliest first.
pub fn loops(analysis: &Analysis, sort: Sort) -> impl ExactSizeIterator<Item = Totalled<LoopRow>> {
    let own = analysis.by_loop_self();
    let modules = module_ranks(analysis.profile);
    let key = move |at: usize| {
        let place = header(analysis, LoopId(at as u32));
        (modules[place.module.index()], place.offset, analysis.forest.loops[at].depth)
    };
    let order = match sort {
        Sort::Own => costliest_first(&own, key),
        Sort::Total => {
            let totals = &analysis.totals().loops;
            costliest_first(&totals.iter().map(|total| total.cost).collect::<Vec<_>>(), key)
        }
    };
    order.map(move |at| row(analysis, LoopId(at as u32), own[at]))
}

/// The first instruction of a loop.
fn header(analysis: &Analysis, id: LoopId) -> Place {
    analysis.code.blocks[analysis.forest.loops[id.index()].header.index()].place
}

fn row(analysis: &Analysis, id: LoopId, own: Cost) -> Totalled<LoopRow> {
    let one = &analysis.forest.loops[id.index()];
    let place = header(analysis, id);
    let total = *analysis.totals().of_loop(id);
    let known = KnownTotal::of(analysis, &total);
    let lines = analysis.lines_of_loop(id);
    let of = LoopRow {
        module: labels::module_path(analysis.profile, place.module),
        function: analysis.name_of(one.routine),
        header_offset: place.offset.0,
        depth: one.depth,
        parent: one.parent.map(|parent| header(analysis, parent).offset.0),
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
    Totalled::new(analysis, of, total)
}
