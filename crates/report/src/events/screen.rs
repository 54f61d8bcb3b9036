//! Trees of events as text: the nodes that take or differ much, below each other.

use super::functions::Callers;
use super::label;
use crate::heading::heading;
use crate::number::{duration, grouped, mean_count, quantity};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN, more};
use timewise_eventtree::{
    CodeOf, Comparison, Difference, Differing, LaneTree, Measured, Measures, NodeId, Tree,
};

/// A node is shown if it takes, or differs beyond chance by, this share of what the largest does.
const SHOWN: f64 = 0.05;

/// Of the events, what is less in common is worth a word.
const LITTLE: f64 = 0.5;

/// Names of events that one side has more of, at most.
const MOST_DIFFERING: usize = 10;

/// Where no tree has a node.
const NOTHING: &str = "no thread has two events that all runs have: there is nothing to divide";

/// What has all of them.
const ALL: &str = "--format json has all";

/// What shows all of them.
const ALL_NODES: &str = "--limit 0 shows all";

/// The whole screen: trees of both sides, or of one, with at most `limit` nodes. `code` tells where functions call from again.
pub fn text<'a>(comparison: &Comparison<'a>, code: CodeOf<'a>, limit: Option<usize>, style: Style) -> String {
    let mut out = String::new();
    match comparison.test {
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
    let mut callers = Callers::of(comparison, code);
    let mut table = Table::new(columns(comparison.test.is_some()));
    let (trees, left_out) = shown(&lanes, limit.unwrap_or(usize::MAX));
    let brackets = trees.iter().any(|(lane, shown)| has_brackets(lane, shown));
    for (lane, shown) in trees {
        let place = callers.mostly_in(comparison, lane, Tree::ROOT);
        row(&mut table, Tone::Heading, (label::lane(comparison, lane), place), lane.measures(Tree::ROOT));
        children((comparison, &mut callers), lane, (Tree::ROOT, 1), &shown, &mut table);
    }
    out += &format!("\n{}", table.render(style));
    out += &more(left_out, ALL_NODES, style);
    out += &verdict(comparison, brackets, style);
    out += &elsewhere(comparison, style);
    out + &differing(comparison, &mut callers, style)
}

/// Whether each node of a tree is shown.
type Shown = Vec<bool>;

/// Which nodes are shown, of which threads, those that differ most first, and how many are left out for want of room: what
/// differs beyond chance, or as far as that is not known takes or differs most; what is large enough beside the largest; and
/// all above it. What the program does as a whole is told in any case.
fn shown<'a>(lanes: &[&'a LaneTree<'a>], limit: usize) -> (Vec<(&'a LaneTree<'a>, Shown)>, usize) {
    let mut large: Vec<(f64, usize, NodeId)> = Vec::new();
    for (at, lane) in lanes.iter().enumerate() {
        let may_be = |id: &NodeId| lane.found.as_ref().is_none_or(|found| found[id.0 as usize]);
        let ids = (0..lane.measures.len() as u32).map(NodeId).filter(may_be);
        large.extend(ids.map(|id| (weight(lane.measures(id)), at, id)));
    }
    // Of equals, parents come first, and threads as they began.
    large.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let most = large.first().map_or(0.0, |&(weight, ..)| weight);
    let least = if limit == usize::MAX { 0.0 } else { SHOWN * most };
    let all = large.len();
    large.retain(|&(weight, ..)| weight > 0.0 && weight >= least);
    let mut shown: Vec<Shown> = lanes.iter().map(|lane| vec![false; lane.measures.len()]).collect();
    // Small ones are worth a word where they were found.
    let is_found = lanes.iter().any(|lane| lane.found.is_some());
    let (mut rows, mut left_out) = (0, if is_found { all - large.len() } else { 0 });
    for (_, at, id) in large {
        if shown[at][id.0 as usize] {
            continue;
        }
        let way = lanes[at].tree.way(id);
        let more = way.iter().filter(|above| !shown[at][above.0 as usize]).count();
        if rows + more > limit {
            left_out += 1;
            continue;
        }
        rows += more;
        way.iter().for_each(|above| shown[at][above.0 as usize] = true);
    }
    let mut lanes: Vec<(&LaneTree, Shown)> = lanes.iter().copied().zip(shown).collect();
    if rows == 0 {
        lanes.truncate(1);
        lanes[0].1[Tree::ROOT.0 as usize] = true;
    }
    lanes.retain(|(_, shown)| shown[Tree::ROOT.0 as usize]);
    lanes.sort_by(|(a, _), (b, _)| heaviest(b).total_cmp(&heaviest(a)));
    (lanes, left_out)
}

/// What the node of a thread differs by that differs most, or takes.
fn heaviest(lane: &LaneTree) -> f64 {
    lane.measures.iter().map(weight).fold(0.0, f64::max)
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
    if may_be_chance(difference) { format!("({amount})") } else { amount }
}

fn may_be_chance(difference: &Difference) -> bool {
    difference.within.is_some_and(|within| within > 0.0) && !difference.is_significant()
}

/// Whether any of the nodes that are shown has a difference in brackets.
fn has_brackets(lane: &LaneTree, shown: &Shown) -> bool {
    let judged = lane.measures.iter().zip(shown).filter(|(_, is_shown)| **is_shown);
    let mut differences = judged.flat_map(|(measures, _)| [measures.elapsed_ns, measures.cpu_ns]);
    differences.any(|measured| measured.difference().as_ref().is_some_and(may_be_chance))
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
