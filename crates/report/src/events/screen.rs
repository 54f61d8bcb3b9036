//! Trees of events as text: the nodes that take or differ much, below each other.

use super::label;
use crate::heading::heading;
use crate::number::{duration, grouped, quantity};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN, more};
use timewise_eventtree::{Comparison, Difference, Differing, LaneTree, Measured, Measures, NodeId, Tree};
use timewise_profile::Profile;

/// A node is shown if it takes, or differs beyond chance by, this share of what the first of all does.
const SHOWN: f64 = 0.05;

/// Names of events that one side has more of, at most.
const MOST_DIFFERING: usize = 10;

/// Where no tree has a node.
const NOTHING: &str = "no thread has two events that all runs have: there is nothing to divide";

/// What has all of them.
const ALL: &str = "--format json has all";

/// The whole screen: trees of both sides, or of one.
pub fn text(comparison: &Comparison, test: Option<&Profile>, style: Style) -> String {
    let mut out = String::new();
    match test {
        Some(test) => {
            out +=
                &style.wrap(Tone::Heading, &format!("BASE {}", heading(comparison.base, style).trim_end()));
            out += &style.wrap(Tone::Heading, &format!("TEST {}", heading(test, style).trim_end()));
        }
        None => out += &heading(comparison.base, style),
    }
    out += &style.wrap(Tone::Plain, &divided(comparison));
    let mut lanes: Vec<&LaneTree> =
        comparison.lanes.iter().filter(|lane| !lane.measures.is_empty()).collect();
    let weight = |lane: &&LaneTree| weight_of(lane.measures(Tree::ROOT));
    lanes.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let Some(most) = lanes.first().map(weight) else {
        return out + &style.wrap(Tone::Faint, NOTHING);
    };
    let mut table = Table::new(columns(test.is_some()));
    let is_shown = |lane: &&LaneTree| {
        let differs =
            |measures: &Measures| weight_of(measures) >= SHOWN * most && !measures.elapsed_ns.may_be_chance();
        most > 0.0 && lane.measures.iter().any(differs)
    };
    let shown: Vec<&LaneTree> = lanes.iter().copied().filter(is_shown).collect();
    // What the program does as a whole is told in any case.
    for lane in if shown.is_empty() { &lanes[..1] } else { &shown[..] } {
        let title = label::lane(comparison, lane);
        row(&mut table, Tone::Heading, title, lane.measures(Tree::ROOT));
        let steepest = lane.steepest(Tree::ROOT);
        children(comparison, lane, Tree::ROOT, 1, SHOWN * most, &steepest, &mut table);
    }
    let table = table.render(style);
    out += &format!("\n{table}");
    out += &verdict(comparison, table.contains(" (+") || table.contains(" (-"), style);
    out += &differing(comparison, style);
    out + &elsewhere(comparison, style)
}

/// By which events the runs are divided.
fn divided(comparison: &Comparison) -> String {
    let common: usize = comparison.lanes.iter().map(|lane| lane.events.len()).sum();
    let events = |mean: f64| grouped(mean.round() as u64);
    let base = events(comparison.events.base.mean);
    let all = |runs: usize| {
        if runs == 2 { "both runs".into() } else { format!("all {}", quantity(runs as u64, "run")) }
    };
    match (comparison.events.test, comparison.test_runs) {
        (Some(test), Some(test_runs)) => format!(
            "{} in the same order in {} divide them, of {base} in a run of BASE and {} in one of TEST",
            quantity(common as u64, "event"),
            all(comparison.base_runs + test_runs),
            events(test.mean),
        ),
        _ if comparison.base_runs == 1 => format!("{} divide the run", quantity(common as u64, "event")),
        _ => format!(
            "{} in the same order in {} divide them, of {base} in each",
            quantity(common as u64, "event"),
            all(comparison.base_runs),
        ),
    }
}

/// What it differs by, or takes if there is one side.
fn weight_of(measures: &Measures) -> f64 {
    let elapsed = measures.elapsed_ns;
    elapsed.difference().map_or(elapsed.base.mean, |difference| difference.amount.abs())
}

fn columns(is_compared: bool) -> Vec<Column> {
    let titles: &[fn() -> Column] = match is_compared {
        true => &[
            || Column::number("base"),
            || Column::number("test"),
            || Column::number("difference"),
            || Column::detail("(95 %)"),
            || Column::detail("in calls"),
            || Column::detail("CPU"),
            || Column::detail("events"),
        ],
        false => &[
            || Column::number("elapsed"),
            || Column::detail("in calls"),
            || Column::detail("CPU"),
            || Column::detail("events"),
        ],
    };
    titles.iter().map(|column| column()).chain([Column::name("")]).collect()
}

/// Adds the children of a node that take or differ by `least` at least, and those on the steepest way.
fn children(
    comparison: &Comparison,
    lane: &LaneTree,
    parent: NodeId,
    depth: usize,
    least: f64,
    steepest: &[NodeId],
    table: &mut Table,
) {
    for &id in &lane.tree.node(parent).children {
        let (node, measures) = (lane.tree.node(id), lane.measures(id));
        let is_steepest = steepest.contains(&id);
        if !is_steepest && (weight_of(measures) < least || measures.elapsed_ns.may_be_chance()) {
            continue;
        }
        let title = format!("{}{}", "  ".repeat(depth), label::node(comparison.base, lane, node));
        row(table, if is_steepest { Tone::Hot } else { Tone::Plain }, title, measures);
        children(comparison, lane, id, depth + 1, least, steepest, table);
    }
}

fn row(table: &mut Table, tone: Tone, title: String, measures: &Measures) {
    let Measures { elapsed_ns, cpu_ns, call_ns, events } = measures;
    let base: fn(&Measured) -> f64 = |measured| measured.base.mean;
    let test: fn(&Measured) -> f64 = |measured| measured.test.map_or(0.0, |test| test.mean);
    let cells = match elapsed_ns.difference() {
        Some(difference) => vec![
            duration(base(elapsed_ns)),
            duration(test(elapsed_ns)),
            judged(&difference),
            within(&difference),
            signed(test(call_ns) - base(call_ns)),
            signed(test(cpu_ns) - base(cpu_ns)),
            changed(events),
        ],
        None => vec![
            duration(base(elapsed_ns)),
            duration(base(call_ns)),
            duration(base(cpu_ns)),
            mean_count(base(events)),
        ],
    };
    table.row(tone, cells.into_iter().chain([title]).collect());
}

/// A difference, in brackets if it may be chance.
fn judged(difference: &Difference) -> String {
    let amount = signed(difference.amount);
    if difference.within.is_some() && !difference.is_significant() { format!("({amount})") } else { amount }
}

fn within(difference: &Difference) -> String {
    let limits =
        |within| format!("{} to {}", signed(difference.amount - within), signed(difference.amount + within));
    difference.within.map_or(UNKNOWN.into(), limits)
}

/// A time with its sign.
fn signed(ns: f64) -> String {
    match duration(ns.abs()) {
        zero if zero == duration(0.0) => zero,
        amount => format!("{}{amount}", if ns < 0.0 { '-' } else { '+' }),
    }
}

/// How many on each side, or of both if these are equal.
fn changed(events: &Measured) -> String {
    let (base, test) = (mean_count(events.base.mean), mean_count(events.test.map_or(0.0, |test| test.mean)));
    if base == test { base } else { format!("{base} → {test}") }
}

/// How many in an average run: a whole number where all runs have as many.
pub fn mean_count(mean: f64) -> String {
    if mean.fract() == 0.0 { grouped(mean as u64) } else { format!("{mean:.1}") }
}

/// What is to be known of chance, if `brackets` are on the screen or nothing is certain.
fn verdict(comparison: &Comparison, brackets: bool, style: Style) -> String {
    let differences: Vec<Difference> = comparison
        .lanes
        .iter()
        .flat_map(|lane| lane.measures.iter())
        .filter_map(|measures| measures.elapsed_ns.difference())
        .collect();
    let text = if differences.is_empty() {
        return String::new();
    } else if differences.iter().all(|difference| difference.within.is_none()) {
        "one run of a side tells nothing of chance: record several with --rounds"
    } else if !differences.iter().any(|difference| difference.is_significant()) {
        "no node differs by more than chance"
    } else if brackets {
        "in brackets: may be chance"
    } else {
        return String::new();
    };
    style.wrap(Tone::Faint, text)
}

fn differing(comparison: &Comparison, style: Style) -> String {
    let rows = comparison.lanes.iter().flat_map(|lane| lane.differing.iter().map(move |row| (lane, row)));
    let rows: Vec<(&LaneTree, &Differing)> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let titles = ["base", "test", "time in calls"].map(Column::number);
    let mut table = Table::new(titles.into_iter().chain(["event", "of", ""].map(Column::name)).collect());
    for (lane, row) in rows.iter().take(MOST_DIFFERING) {
        let count = |side: Option<f64>| mean_count(side.unwrap_or(0.0));
        let cells = vec![
            count(Some(row.events.base.mean)),
            count(row.events.test.map(|test| test.mean)),
            row.call_ns.difference().map_or(UNKNOWN.into(), |difference| signed(difference.amount)),
            String::from_utf8_lossy(&row.name).into_owned(),
            objects(row),
            label::lane(comparison, lane),
        ];
        table.row(Tone::Plain, cells);
    }
    let title = style.paint(Tone::Heading, "Events beside these, of which one side has more");
    let rest = more(rows.len().saturating_sub(MOST_DIFFERING), ALL, style);
    format!("\n{title}\n{}{rest}", table.render(style))
}

fn objects(row: &Differing) -> String {
    let shown: Vec<_> = row.objects.iter().map(|object| String::from_utf8_lossy(object)).collect();
    let more = row.objects_in_all - shown.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

/// Threads that are not in all runs.
fn elsewhere(comparison: &Comparison, style: Style) -> String {
    if comparison.elsewhere.is_empty() {
        return String::new();
    }
    let sides: &[&str] = if comparison.test_runs.is_some() { &["base", "test"] } else { &["runs"] };
    let columns = sides.iter().copied().map(Column::number).chain([Column::name("thread")]);
    let mut table = Table::new(columns.collect());
    for lane in comparison.elsewhere.iter().take(MOST_DIFFERING) {
        let runs = [lane.base_runs, lane.test_runs].map(|runs| grouped(runs as u64));
        let cells = runs.into_iter().take(sides.len()).chain([label::thread(comparison, &lane.key, b"")]);
        table.row(Tone::Plain, cells.collect());
    }
    let title = style.paint(Tone::Heading, "Threads that are not in every run, and in how many they are");
    let rest = more(comparison.elsewhere.len().saturating_sub(MOST_DIFFERING), ALL, style);
    format!("\n{title}\n{}{rest}", table.render(style))
}
