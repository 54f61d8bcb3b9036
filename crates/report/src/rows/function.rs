//! Rows of functions.

use super::ranking::costliest_first;
use super::total::{KnownTotal, Totalled};
use super::{compact, compact_option, counted, cycles, module_ranks};
use crate::labels;
use crate::request::Sort;
use serde::Serialize;
use timewise_flow::{Analysis, Cost, RoutineId};

/// A function that was executed or sampled.
#[derive(Clone, Default, Debug, Serialize)]
pub struct FunctionRow {
    /// Path of the module.
    pub module: String,
    /// Link-time address of its first instruction.
    pub offset: u64,
    /// Demangled name.
    pub function: String,
    /// Source file where it is declared, if known.
    pub file: Option<String>,
    /// Line where it is declared, if known.
    pub line: Option<u32>,
    /// How often it was called; null where that was not counted.
    pub calls: Option<u64>,
    /// Instructions executed in it, without callees; null where that was not counted.
    pub instructions_self: Option<u64>,
    /// Instructions executed in it and its callees; null where that was not counted.
    pub instructions_total: Option<u64>,
    /// Cycles in it, without callees; null without samples.
    #[serde(serialize_with = "compact_option")]
    pub cycles_self: Option<f64>,
    /// Cycles in it and its callees; null without stacks, unless it calls nothing.
    #[serde(serialize_with = "compact_option")]
    pub cycles_total: Option<f64>,
    /// Samples in it, without callees.
    #[serde(serialize_with = "compact")]
    pub samples_self: f64,
    /// Samples in it and its callees; likewise.
    #[serde(serialize_with = "compact_option")]
    pub samples_total: Option<f64>,
    /// What it cost without callees.
    #[serde(skip)]
    pub cost: Cost,
    /// Which one it is.
    #[serde(skip)]
    pub routine: RoutineId,
}

/// All functions that were executed or sampled, costliest first.
pub fn functions(analysis: &Analysis, sort: Sort) -> impl ExactSizeIterator<Item = Totalled<FunctionRow>> {
    let own = analysis.by_routine();
    let modules = module_ranks(analysis.profile);
    let key = move |at: usize| {
        let place = analysis.routines[at].place;
        (modules[place.module.index()], place.offset)
    };
    let order = match sort {
        Sort::Own => costliest_first(&own, key),
        Sort::Total => {
            let totals = &analysis.totals().routines;
            costliest_first(&totals.iter().map(|total| total.cost).collect::<Vec<_>>(), key)
        }
    };
    order.map(move |at| row(analysis, RoutineId(at as u32), own[at]))
}

fn row(analysis: &Analysis, routine: RoutineId, cost: Cost) -> Totalled<FunctionRow> {
    let profile = analysis.profile;
    let counted_code = &analysis.routines[routine.index()];
    let place = counted_code.place;
    let function = analysis.function_of(routine).map(|id| &profile.functions[id.index()]);
    let file = function.and_then(|function| function.file);
    let is_known = !counted_code.blocks.is_empty() || analysis.was_surely_not_executed(place);
    let total = *analysis.totals().of_routine(routine);
    let known = KnownTotal::of(analysis, &total);
    let of = FunctionRow {
        module: labels::module_path(profile, place.module),
        offset: place.offset.0,
        function: analysis.name_of(routine),
        file: file.map(|file| labels::file_path(profile, file).to_string()),
        line: function.map(|function| function.line).filter(|&line| line > 0),
        calls: counted(analysis, analysis.calls_of(routine)).filter(|_| is_known),
        instructions_self: counted(analysis, cost.instructions).filter(|_| is_known),
        instructions_total: known.instructions.filter(|_| is_known),
        cycles_self: cycles(analysis, &cost),
        cycles_total: known.cycles,
        samples_self: cost.weight.samples,
        samples_total: known.samples,
        cost,
        routine,
    };
    Totalled::new(analysis, of, total)
}
