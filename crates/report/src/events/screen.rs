//! Trees of events as text: the nodes that take or differ much, below each other.

use super::functions::Callers;
use super::label;
use crate::heading::heading;
use crate::number::{duration, grouped, quantity};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN, more};
use timewise_eventtree::{Comparison, Difference, Differing, LaneTree, Measured, Measures, NodeId, Tree};
use timewise_profile::Profile;

/// A node is shown if it takes, or differs beyond chance by, this share of what the largest does.
const SHOWN: f64 = 0.05;

/// Of the events, what is less in common is worth a word.
const LITTLE: f64 = 0.5;

/// So many rows at most: of more, the smaller ones are left out.
const MOST_ROWS: usize = 40;

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
    out += &little_in_common(comparison, style);
    let lanes: Vec<&LaneTree> = comparison.lanes.iter().filter(|lane| !lane.measures.is_empty()).collect();
    if lanes.is_empty() {
        return out + &style.wrap(Tone::Faint, NOTHING);
    }
    let mut callers = Callers::of(comparison);
    let mut table = Table::new(columns(test.is_some()));
    for (lane, shown) in shown(&lanes) {
        let place = callers.mostly_in(comparison, lane, Tree::ROOT);
        row(&mut table, Tone::Heading, (label::lane(comparison, lane), place), lane.measures(Tree::ROOT));
        children((comparison, &mut callers), lane, (Tree::ROOT, 1), &shown, &mut table);
    }
    let table = table.render(style);
    out += &format!("\n{table}");
    out += &verdict(comparison, table.contains(" (+") || table.contains(" (-"), style);
    out += &elsewhere(comparison, style);
    out + &differing(comparison, &mut callers, style)
}

/// Whether each node of a tree is shown.
type Shown = Vec<bool>;

/// Which nodes are shown, of which threads, those that differ most first: what differs beyond chance, or as far as that is
/// not known the way to the leaf that differs or takes most; what is large enough beside the largest; and all above it. What
/// the program does as a whole is told in any case.
fn shown<'a>(lanes: &[&'a LaneTree<'a>]) -> Vec<(&'a LaneTree<'a>, Shown)> {
    let candidates = |lane: &LaneTree| -> Shown {
        match &lane.found {
            Some(found) => found.clone(),
            None => vec![true; lane.measures.len()],
        }
    };
    let weights = lanes.iter().flat_map(|lane| {
        lane.measures
            .iter()
            .zip(candidates(lane))
            .filter(|(_, may_be)| *may_be)
            .map(|(measures, _)| weight(measures))
    });
    let most = weights.fold(0.0, f64::max);
    let mut least = SHOWN * most;
    loop {
        let of_lane = |&lane: &&'a LaneTree<'a>| {
            let may_be = candidates(lane);
            let way = if lane.found.is_none() { lane.steepest(Tree::ROOT) } else { Vec::new() };
            let is_large = |id: usize| may_be[id] && most > 0.0 && weight(&lane.measures[id]) >= least;
            let is_large_as_a_whole = is_large(Tree::ROOT.0 as usize);
            let on_way = |id: usize| is_large_as_a_whole && way.contains(&NodeId(id as u32));
            (lane, with_those_above(lane, |id| is_large(id) || on_way(id)))
        };
        let mut shown: Vec<(&LaneTree, Shown)> = lanes.iter().map(of_lane).collect();
        shown.retain(|(_, shown)| shown[Tree::ROOT.0 as usize]);
        let rows = |(_, shown): &(&LaneTree, Shown)| shown.iter().filter(|is_shown| **is_shown).count();
        if shown.iter().map(rows).sum::<usize>() > MOST_ROWS {
            least *= 1.5;
            continue;
        }
        shown.sort_by(|(a, _), (b, _)| heaviest(b).total_cmp(&heaviest(a)));
        if shown.is_empty() {
            let first = lanes[0];
            shown.push((first, with_those_above(first, |id| id == Tree::ROOT.0 as usize)));
        }
        return shown;
    }
}

/// What the node of a thread differs by that differs most, or takes.
fn heaviest(lane: &LaneTree) -> f64 {
    lane.measures.iter().map(weight).fold(0.0, f64::max)
}

/// Nodes that are wanted, and those that hold them.
fn with_those_above(lane: &LaneTree, is_wanted: impl Fn(usize) -> bool) -> Shown {
    let nodes = lane.tree.nodes();
    let mut shown = vec![false; nodes.len()];
    // Children stand behind their parents.
    for (id, node) in nodes.iter().enumerate().rev() {
        shown[id] = is_wanted(id) || node.children.iter().any(|child| shown[child.0 as usize]);
    }
    shown
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

/// A word where runs are so different that a tree of what they have in common says little.
fn little_in_common(comparison: &Comparison, style: Style) -> String {
    let common = comparison.lanes.iter().map(|lane| lane.events.len()).sum::<usize>() as f64;
    let most = comparison.events.test.map_or(0.0, |test| test.mean).max(comparison.events.base.mean);
    if common >= LITTLE * most {
        return String::new();
    }
    let text = "less than half of the events are in the same order in all runs: nodes hold what is different on each side";
    style.wrap(Tone::Warning, text)
}

/// What it differs by, in elapsed or in CPU time, or takes if there is one side.
fn weight(measures: &Measures) -> f64 {
    let amount = |measured: &Measured| measured.difference().map(|difference| difference.amount.abs());
    match (amount(&measures.elapsed_ns), amount(&measures.cpu_ns)) {
        (Some(elapsed), Some(cpu)) => elapsed.max(cpu),
        _ => measures.elapsed_ns.base.mean,
    }
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
    let words = [Column::name(""), Column::function("mostly in")];
    titles.iter().map(|column| column()).chain(words).collect()
}

/// Adds the children of a node that are shown.
fn children<'a>(
    (comparison, callers): (&Comparison<'a>, &mut Callers<'a>),
    lane: &LaneTree,
    (parent, depth): (NodeId, usize),
    shown: &Shown,
    table: &mut Table,
) {
    for &id in lane.tree.node(parent).children.iter().filter(|id| shown[id.0 as usize]) {
        let title =
            format!("{}{}", "  ".repeat(depth), label::node(comparison.base, lane, lane.tree.node(id)));
        let tone = if lane.is_found(id) { Tone::Hot } else { Tone::Plain };
        let place = callers.mostly_in(comparison, lane, id);
        row(table, tone, (title, place), lane.measures(id));
        children((comparison, callers), lane, (id, depth + 1), shown, table);
    }
}

/// With what it is called, and where most of it passed.
fn row(table: &mut Table, tone: Tone, (title, place): (String, Option<String>), measures: &Measures) {
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
            cpu_ns.difference().map_or(UNKNOWN.into(), |difference| judged(&difference)),
            changed(events),
        ],
        None => vec![
            duration(base(elapsed_ns)),
            duration(base(call_ns)),
            duration(base(cpu_ns)),
            mean_count(base(events)),
        ],
    };
    let words = [title, place.unwrap_or(UNKNOWN.into())];
    table.row(tone, cells.into_iter().chain(words).collect());
}

/// A difference, in brackets if it may be chance.
fn judged(difference: &Difference) -> String {
    let amount = signed(difference.amount);
    let may_be_chance = difference.within.is_some_and(|within| within > 0.0) && !difference.is_significant();
    if may_be_chance { format!("({amount})") } else { amount }
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
    let is_compared = comparison.test_runs.is_some();
    let text = if !is_compared {
        return String::new();
    } else if comparison.lanes.iter().all(|lane| lane.found.is_none()) {
        "one run of a side tells nothing of chance: record several with --rounds"
    } else if !comparison.lanes.iter().flat_map(|lane| &lane.found).flatten().any(|found| *found) {
        "no node differs by more than chance"
    } else if brackets {
        "in brackets: may be chance"
    } else {
        return String::new();
    };
    style.wrap(Tone::Faint, text)
}

fn differing<'a>(comparison: &Comparison<'a>, callers: &mut Callers<'a>, style: Style) -> String {
    let rows = comparison.lanes.iter().flat_map(|lane| lane.differing.iter().map(move |row| (lane, row)));
    let mut rows: Vec<(&LaneTree, &Differing)> = rows.collect();
    let more_ns =
        |row: &Differing| row.call_ns.difference().map_or(0.0, |difference| difference.amount.abs());
    rows.sort_by(|(_, a), (_, b)| more_ns(b).total_cmp(&more_ns(a)));
    if rows.is_empty() {
        return String::new();
    }
    let titles = ["base", "test", "time in calls"].map(Column::number);
    let words = ["event", "of", ""].map(Column::name).into_iter().chain([Column::function("made by")]);
    let mut table = Table::new(titles.into_iter().chain(words).collect());
    for (lane, row) in rows.iter().take(MOST_DIFFERING) {
        let count = |side: Option<f64>| mean_count(side.unwrap_or(0.0));
        let cells = vec![
            count(Some(row.events.base.mean)),
            count(row.events.test.map(|test| test.mean)),
            row.call_ns.difference().map_or(UNKNOWN.into(), |difference| signed(difference.amount)),
            String::from_utf8_lossy(&row.name).into_owned(),
            objects(row),
            label::lane(comparison, lane),
            made_by_whom(&callers.of_more(comparison, lane, row)),
        ];
        table.row(Tone::Plain, cells);
    }
    let title = style.paint(Tone::Heading, "Events beside these, of which one side has more");
    let rest = more(rows.len().saturating_sub(MOST_DIFFERING), ALL, style);
    format!("\n{title}\n{}{rest}", table.render(style))
}

/// The function that made most of them.
fn made_by_whom(functions: &[String]) -> String {
    match functions {
        [] => UNKNOWN.into(),
        [only] => only.clone(),
        [most, others @ ..] => format!("{most} and {}", quantity(others.len() as u64, "other")),
    }
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
