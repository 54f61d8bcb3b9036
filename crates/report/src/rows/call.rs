//! Rows of calls.

use super::ranking::costliest_first;
use super::total::{KnownTotal, Totalled};
use super::{compact_option, module_ranks};
use crate::labels;
use crate::request::Calls;
use serde::Serialize;
use timewise_flow::call_sites::CallSite;
use timewise_flow::lines::line_at;
use timewise_flow::{Analysis, Cost, Total};
use timewise_profile::Place;

/// A call site and a function that was called there.
#[derive(Clone, Default, Debug, Serialize)]
pub struct CallRow {
    /// Path of the module that the call is in.
    pub module: String,
    /// Link-time address of the call; of its last byte where its code was not counted.
    pub offset: u64,
    /// The function that the call is in.
    pub caller: String,
    /// Source file of the call, if known.
    pub file: Option<String>,
    /// Source line of the call, if known.
    pub line: Option<u32>,
    /// Path of the module of the function that was called; null if it is not known.
    pub callee_module: Option<String>,
    /// Link-time address of its first instruction; likewise.
    pub callee_offset: Option<u64>,
    /// Its name; likewise.
    pub callee: Option<String>,
    /// How often it was called there; null where that was not counted.
    pub calls: Option<u64>,
    /// Instructions executed in these calls; null where that was not counted.
    pub instructions_total: Option<u64>,
    /// Cycles of these calls; null without stacks.
    #[serde(serialize_with = "compact_option")]
    pub cycles_total: Option<f64>,
    /// Samples in these calls; likewise.
    #[serde(serialize_with = "compact_option")]
    pub samples_total: Option<f64>,
    /// Where the call is.
    #[serde(skip)]
    pub place: Place,
}

/// The calls that were executed or seen on stacks, costliest first.
pub fn calls(analysis: &Analysis, which: Calls) -> impl ExactSizeIterator<Item = Totalled<CallRow>> {
    let totals = analysis.totals();
    let is_wanted = |(site, _): &(&CallSite, &Total)| match which {
        Calls::All => true,
        Calls::Of(callee) => site.callee == Some(callee),
        Calls::From(caller) => site.caller == caller,
    };
    let wanted: Vec<(&CallSite, &Total)> =
        totals.call_sites.iter().zip(&totals.calls).filter(is_wanted).collect();
    let costs: Vec<Cost> = wanted.iter().map(|(_, total)| total.cost).collect();
    let modules = module_ranks(analysis.profile);
    let rank = move |place: Place| (modules[place.module.index()], place.offset);
    let sites = wanted.clone();
    let key = move |at: usize| {
        (rank(sites[at].0.place(&analysis.code)), callee_of(analysis, sites[at].0).map(&rank))
    };
    costliest_first(&costs, key).map(move |at| row(analysis, wanted[at].0, wanted[at].1))
}

fn callee_of(analysis: &Analysis, site: &CallSite) -> Option<Place> {
    site.callee.map(|routine| analysis.routines[routine.index()].place)
}

fn row(analysis: &Analysis, site: &CallSite, total: &Total) -> Totalled<CallRow> {
    let profile = analysis.profile;
    let place = site.place(&analysis.code);
    let line = line_at(profile, place);
    let callee = callee_of(analysis, site);
    let known = KnownTotal::of(analysis, total);
    let of = CallRow {
        module: labels::module_path(profile, place.module),
        offset: place.offset.0,
        caller: analysis.name_of(site.caller),
        file: line.map(|line| labels::file_path(profile, line.file).to_string()),
        line: line.map(|line| line.line),
        callee_module: callee.map(|callee| labels::module_path(profile, callee.module)),
        callee_offset: callee.map(|callee| callee.offset.0),
        callee: site.callee.map(|routine| analysis.name_of(routine)),
        calls: site.calls,
        instructions_total: known.instructions,
        cycles_total: known.cycles,
        samples_total: known.samples,
        place,
    };
    Totalled::new(analysis, of, *total)
}
