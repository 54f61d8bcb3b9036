//! Changes of a modelled core's cycles: by category, by function, loop, instruction or line, and in one sentence.

use super::Grain;
use super::screen::{name, place, what_and_where};
use super::shares::signed;
use super::things::Sites;
use crate::code_text::CodeText;
use crate::labels::file_name;
use crate::number::{count, duration};
use crate::simulated::{Reason, Sums, reasons, undisturbed};
use crate::site::{self, Site};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, more};
use serde::Serialize;
use std::collections::BTreeMap;
use timewise_attribution::{Category, Parts};
use timewise_diff::gate::Named;
use timewise_diff::limits::Interval;
use timewise_diff::{Both, Comparison, Gate, ModelledChange, ModelledRow, Thing, Work};
use timewise_flow::{Analysis, Estimate, InstructionId};

/// Changes below this share of BASE's cycles are not worth a row.
const WORTH_SHOWING: f64 = 0.0005;

/// Rows that changed, most first.
fn rows(comparison: &Comparison, by: Grain) -> Vec<ModelledRow> {
    let mut rows = comparison.modelled_rows(by);
    rows.retain(|row| row.change.base != row.change.test);
    rows
}

/// The section of the screen: the whole program, categories that changed, and rows.
pub fn text(comparison: &Comparison, by: Grain, limit: Option<usize>, style: Style) -> String {
    let Some((whole, (simulation, _))) = comparison.modelled_whole().zip(comparison.simulations()) else {
        let is_one_simulated = comparison.base.modelled.is_some() || comparison.test.modelled.is_some();
        let said = "modelled cycles are left out: the two sides were not both simulated, on the same core in the \
                    same part";
        return if is_one_simulated { style.wrap(Tone::Warning, said) } else { String::new() };
    };
    let old = whole.base.cycles().as_cycles();
    let cycles = |parts: Parts| count(parts.as_cycles().round() as u64);
    let (base, test) = (cycles(whole.base.cycles()), cycles(whole.test.cycles()));
    let mut line =
        format!("cycles modelled on {} {base} → {test}: {}", simulation.core, signed(whole.cycles(), old));
    for category in Category::ALL {
        if whole.of(category).abs() >= WORTH_SHOWING * old {
            line += &format!(" · {} {}", category.name(), signed(whole.of(category), old));
        }
    }
    let mut out = style.wrap(Tone::Plain, &line);
    if let Some(Work::Estimated { base, test }) = comparison.modelled_work() {
        out += &style.wrap(Tone::Plain, &estimated(base, test));
    }
    out += &style.wrap(Tone::Faint, &beside(comparison));
    let mut rows = rows(comparison, by);
    rows.retain(|row| row.change.cycles().abs() >= WORTH_SHOWING * old);
    if rows.is_empty() {
        return out + &format!("\nNo {} differs in modelled cycles.\n", by.name());
    }
    let shown = limit.unwrap_or(usize::MAX).min(rows.len());
    let mut columns = vec![Column::number("cycles"), Column::detail("in BASE"), Column::detail("in TEST")];
    columns.extend(Category::ALL.map(|category| Column::detail(category.name())));
    columns.extend(what_and_where(by));
    let mut table = Table::new(columns);
    let sites = Sites::new(comparison);
    for ModelledRow { what, change } in &rows[..shown] {
        let mut cells = vec![signed(change.cycles(), old)];
        cells.extend([change.base, change.test].map(|cost| cycles(cost.cycles())));
        cells.extend(Category::ALL.map(|category| match change.of(category) {
            grown if grown.abs() < WORTH_SHOWING * old => String::new(),
            grown => signed(grown, old),
        }));
        let what = sites.of(*what);
        cells.extend([name(by, &what), place(by, &what)]);
        table.row(Tone::Plain, cells);
    }
    out +=
        &format!("\n{}\n{}", style.paint(Tone::Heading, "Changes of modelled cycles"), table.render(style));
    out + &more(rows.len() - shown, "--limit 0 shows all", style)
}

/// What windows of both sides tell of the whole program.
fn estimated(base: Estimate, test: Estimate) -> String {
    let grown = Interval::between(base, test).estimate;
    let share = |grown: f64| signed(grown, base.value);
    let cycles = |cycles: f64| count(cycles.round() as u64);
    format!(
        "of all that was executed, estimated from windows: {} → {} cycles: {} ({} to {})",
        cycles(base.value),
        cycles(test.value),
        share(grown.value),
        share(grown.low),
        share(grown.high)
    )
}

/// What a model does not know of.
fn beside(comparison: &Comparison) -> String {
    let (base, test) = comparison.system_calls();
    let waited = |analysis: &Analysis| {
        let is_sampled = analysis.quality.sampling_runs > 0;
        let waits = analysis.profile.waits.iter();
        is_sampled.then(|| duration(waits.map(|wait| wait.duration_ns as f64).sum()))
    };
    let waiting = match (waited(comparison.base), waited(comparison.test)) {
        (Some(base), Some(test)) => format!("waiting ({base} → {test})"),
        _ => "waiting (not measured)".into(),
    };
    let undisturbed = [comparison.base, comparison.test].map(|analysis| undisturbed(analysis.profile));
    format!(
        "not modelled: what the kernel does in {} → {} system calls, which take a fixed time each; {waiting}{}",
        count(base),
        count(test),
        undisturbed[0].max(undisturbed[1])
    )
}

/// What of a growth of modelled cycles is to blame: the loop, or the function, that grew most; the category of its
/// cycles that grew most; and there the instruction and its reason. Nothing if nothing grew, or if what was simulated is
/// other work on each side.
pub fn culprit(comparison: &Comparison, gate: &Gate) -> Option<String> {
    comparison.modelled_work().filter(|work| *work == Work::Same)?;
    let named = gate.function.as_deref().map(|name| Named::new(comparison, name));
    let is_named = |row: &ModelledRow| named.as_ref().is_none_or(|named| named.holds(comparison, row.what));
    let spot =
        comparison.modelled_spots().into_iter().find(|row| is_named(row) && row.change.cycles() > 0.0)?;
    let category =
        Category::ALL.into_iter().max_by(|a, b| spot.change.of(*a).total_cmp(&spot.change.of(*b)))?;
    let analysis = comparison.test;
    let title = match spot.what.test? {
        Thing::Loop(id) => {
            let site = site::a_loop(analysis, id);
            format!("the loop {} in {}", site.lines(), site.function)
        }
        thing => site::function(analysis, thing.function(analysis)?).function,
    };
    // Its code may have stood in another loop there.
    let alone = if spot.what.base.is_none() { ", which BASE has not as such," } else { "" };
    let whole = comparison.modelled_whole()?.base.cycles().as_cycles();
    let mut text = format!(
        "{title}{alone} {} of all cycles in BASE, of them {} {}",
        signed(spot.change.cycles(), whole),
        category.name(),
        signed(spot.change.of(category), whole)
    );
    if let Some((id, reason)) = instruction(comparison, spot.what.test?, category) {
        let site = site::instruction(&CodeText::new(analysis), analysis, id);
        let source = site.source();
        text += &format!(": {source} {}: {reason}", site.text.unwrap_or_default());
    }
    Some(text)
}

/// The instruction of a spot of TEST whose cycles of a category grew most, and the reason that grew most.
fn instruction(comparison: &Comparison, spot: Thing, category: Category) -> Option<(InstructionId, String)> {
    let analysis = comparison.test;
    let is_in = |id: InstructionId| {
        let block = analysis.block_of(id);
        match (spot, analysis.forest.innermost[block.index()]) {
            (Thing::Loop(id), innermost) => innermost == Some(id),
            (Thing::Function(id), None) => analysis.owner[block.index()] == id,
            _ => false,
        }
    };
    let id = |thing: Option<Thing>| match thing? {
        Thing::Instruction(id) => Some(id),
        _ => None,
    };
    let rows = comparison.modelled_rows(Grain::Instruction).into_iter();
    let of_spot = rows.filter_map(|row| Some((id(row.what.test).filter(|id| is_in(*id))?, row)));
    let (worst, row) = of_spot.max_by(|a, b| a.1.change.of(category).total_cmp(&b.1.change.of(category)))?;
    let mut grown: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |analysis: &Analysis, id: Option<InstructionId>, sign: f64| {
        let of = id.zip(analysis.modelled.as_ref());
        let all = of.into_iter().flat_map(|(id, modelled)| reasons(analysis, modelled, id));
        all.for_each(|Reason { words, cycles }| {
            *grown.entry(words).or_default() += sign * cycles.as_cycles()
        });
    };
    add(comparison.base, id(row.what.base), -1.0);
    add(analysis, Some(worst), 1.0);
    let most = grown.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((worst, most.0))
}

/// Modelled cycles for programs.
#[derive(Serialize)]
pub struct Document {
    core: String,
    /// Whether what was simulated is the same work on both sides.
    same_work: bool,
    base_cycles: f64,
    test_cycles: f64,
    /// Of the whole program, where it is not.
    estimated: Option<Estimated>,
    /// By how many cycles each category grew.
    categories: Sums,
    base_system_calls: u64,
    test_system_calls: u64,
    rows: Vec<Fields>,
}

/// Cycles of the whole program, and by how many they grew, with limits.
#[derive(Serialize)]
struct Estimated {
    base_cycles: f64,
    base_cycles_low: f64,
    base_cycles_high: f64,
    test_cycles: f64,
    test_cycles_low: f64,
    test_cycles_high: f64,
    cycles: f64,
    cycles_low: f64,
    cycles_high: f64,
}

impl Estimated {
    fn of(base: Estimate, test: Estimate) -> Estimated {
        let grown = Interval::between(base, test).estimate;
        Estimated {
            base_cycles: base.value,
            base_cycles_low: base.low,
            base_cycles_high: base.high,
            test_cycles: test.value,
            test_cycles_low: test.low,
            test_cycles_high: test.high,
            cycles: grown.value,
            cycles_low: grown.low,
            cycles_high: grown.high,
        }
    }
}

#[derive(Serialize)]
struct Fields {
    module: String,
    function: String,
    file: Option<String>,
    line: Option<u32>,
    line_last: Option<u32>,
    text: Option<String>,
    base_cycles: f64,
    test_cycles: f64,
    categories: Sums,
}

/// The same for programs, of rows that changed; `None` unless both sides were simulated alike.
pub fn document(comparison: &Comparison, by: Grain) -> Option<Document> {
    let whole = comparison.modelled_whole()?;
    let (base_system_calls, test_system_calls) = comparison.system_calls();
    let sites = Sites::new(comparison);
    let work = comparison.modelled_work()?;
    Some(Document {
        core: comparison.simulations()?.0.core.clone(),
        same_work: work == Work::Same,
        base_cycles: whole.base.cycles().as_cycles(),
        test_cycles: whole.test.cycles().as_cycles(),
        estimated: match work {
            Work::Estimated { base, test } => Some(Estimated::of(base, test)),
            Work::Same | Work::Unequal => None,
        },
        categories: grown(&whole),
        base_system_calls,
        test_system_calls,
        rows: rows(comparison, by)
            .into_iter()
            .filter_map(|row| fields(sites.of(row.what), &row.change))
            .collect(),
    })
}

fn fields(what: Both<Site>, change: &ModelledChange) -> Option<Fields> {
    let site = what.test.or(what.base)?;
    Some(Fields {
        module: file_name(&site.module).to_owned(),
        function: site.function,
        file: site.file,
        line: site.line,
        line_last: site.last_line,
        text: site.text,
        base_cycles: change.base.cycles().as_cycles(),
        test_cycles: change.test.cycles().as_cycles(),
        categories: grown(change),
    })
}

fn grown(change: &ModelledChange) -> Sums {
    Sums::by(|category| change.of(category))
}
