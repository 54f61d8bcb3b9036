//! Functions by what passed while they were on the stack.

use crate::csv;
use crate::heading::heading;
use crate::number::{duration, mean_count, percent, share};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, more};
use serde::Serialize;
use timewise_eventtree::{
    CodeOf, Comparison, Difference, Differing, FunctionRow, Functions, LaneTree, NodeId, has_stacks,
    mostly_in,
};
use timewise_profile::Profile;

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
const SCHEMA: &str = "timewise-ostrace-functions/1";

/// The functions of a comparison's stacks, where stacks were taken.
pub struct Callers<'a>(Option<Functions<'a>>);

impl<'a> Callers<'a> {
    /// Those of both sides, or of one.
    pub fn of(comparison: &Comparison<'a>, code: CodeOf<'a>) -> Callers<'a> {
        let Comparison { base, test, .. } = *comparison;
        let all_have = has_stacks(base) && test.is_none_or(has_stacks);
        Callers(all_have.then(|| Functions::of(base, test, code)))
    }

    /// The function in which most of a node's time passed, or of its difference unless that may be chance.
    pub fn mostly_in(
        &mut self,
        comparison: &Comparison<'a>,
        lane: &LaneTree,
        node: NodeId,
    ) -> Option<String> {
        let functions = self.0.as_mut()?;
        let elapsed_ns = &lane.measures(node).elapsed_ns;
        // Some nodes are found by their CPU time alone.
        let may_be_chance =
            |difference: Difference| difference.within.is_some() && !difference.is_significant();
        if lane.found.is_some()
            && (!lane.is_found(node) || elapsed_ns.difference().is_some_and(may_be_chance))
        {
            return None;
        }
        let times = comparison.functions(functions, lane, node);
        mostly_in(&times, elapsed_ns).map(|time| time.name.clone())
    }

    /// Who made the calls of which one side has more: the one that made most, and how many others did.
    pub fn of_more(&mut self, comparison: &Comparison<'a>, lane: &LaneTree, row: &Differing) -> Vec<String> {
        self.0.as_mut().map_or(Vec::new(), |functions| comparison.callers(functions, lane, row))
    }
}

/// The table for people, with at most `limit` rows; all of an average run.
pub fn text(
    profile: &Profile,
    rows: &[FunctionRow],
    runs: usize,
    limit: Option<usize>,
    style: Style,
) -> String {
    let whole_ns: u64 = rows.iter().map(|row| row.call_ns).sum();
    let titles = ["own calls take", "share", "calls", "total", "in calls"].map(Column::number);
    let mut table = Table::new(titles.into_iter().chain([Column::function("function")]).collect());
    let shown = rows.len().min(limit.unwrap_or(usize::MAX));
    let runs = runs.max(1) as f64;
    let time = |ns: u64| duration(ns as f64 / runs);
    for row in &rows[..shown] {
        let cells = vec![
            time(row.call_ns),
            percent(share(row.call_ns, whole_ns)),
            mean_count(row.calls as f64 / runs),
            time(row.total_ns),
            time(row.total_call_ns),
            row.name.clone(),
        ];
        table.row(Tone::Plain, cells);
    }
    format!("{}\n{}", heading(profile, style), table.render(style))
        + &more(rows.len() - shown, "--limit 0 shows all", style)
}

/// A row as programs read it: sums over all runs.
#[derive(Serialize, Default)]
struct Fields {
    name: String,
    calls: u64,
    call_ns: u64,
    total_ns: u64,
    total_call_ns: u64,
}

impl From<&FunctionRow> for Fields {
    fn from(row: &FunctionRow) -> Fields {
        Fields {
            name: row.name.clone(),
            calls: row.calls,
            call_ns: row.call_ns,
            total_ns: row.total_ns,
            total_call_ns: row.total_call_ns,
        }
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    runs: usize,
    functions: Vec<Fields>,
}

/// All of it as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(rows: &[FunctionRow], runs: usize) -> Result<String, serde_json::Error> {
    let document = Document { schema: SCHEMA, runs, functions: rows.iter().map(Fields::from).collect() };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// The rows as CSV.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(rows: &[FunctionRow]) -> Result<String, ::csv::Error> {
    csv::table(rows.iter().map(Fields::from))
}
