//! Trees of events as programs read them.

use super::functions::Callers;
use super::label;
use crate::csv;
use serde::Serialize;
use timewise_eventtree::{CodeOf, CommonEvent, Comparison, Differing, LaneTree, Measured, NodeId};
use timewise_profile::Profile;

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
const SCHEMA: &str = "timewise-ostrace/1";

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    base_runs: usize,
    test_runs: Option<usize>,
    base_events: f64,
    test_events: Option<f64>,
    threads: Vec<Lane>,
    threads_elsewhere: Vec<Elsewhere>,
}

#[derive(Serialize)]
struct Lane {
    thread: String,
    common_events: usize,
    nodes: Vec<NodeFields>,
    differing: Vec<DifferingFields>,
}

#[derive(Serialize)]
struct Elsewhere {
    thread: String,
    base_runs: usize,
    test_runs: usize,
}

/// An event that begins or ends a node.
#[derive(Serialize)]
struct Event {
    kind: &'static str,
    name: String,
    object: String,
}

#[derive(Serialize)]
struct NodeFields {
    node: u32,
    parent: Option<u32>,
    depth: u32,
    /// Whether it differs beyond chance, all nodes taken together; null where chance is not known.
    beyond_chance: Option<bool>,
    /// The function in which most of it passed, or of what it differs by; null where that is not known.
    mostly_in: Option<String>,
    from: Event,
    to: Event,
    elapsed_ns: Amount,
    cpu_ns: Amount,
    call_ns: Amount,
    events: Amount,
}

/// An amount of an average run of each side.
#[derive(Serialize, Default)]
struct Amount {
    base: f64,
    test: Option<f64>,
    difference: Option<f64>,
    /// Half the width of the difference's 95 % interval.
    within: Option<f64>,
}

impl From<Measured> for Amount {
    fn from(measured: Measured) -> Amount {
        let difference = measured.difference();
        Amount {
            base: measured.base.mean,
            test: measured.test.map(|test| test.mean),
            difference: difference.map(|difference| difference.amount),
            within: difference.and_then(|difference| difference.within).filter(|within| within.is_finite()),
        }
    }
}

#[derive(Serialize)]
struct DifferingFields {
    kind: &'static str,
    name: String,
    events: Amount,
    call_ns: Amount,
    objects: Vec<String>,
    objects_in_all: usize,
    /// Functions that made the calls of which one side has more, the one that made most first.
    made_by: Vec<String>,
}

impl DifferingFields {
    fn new(row: &Differing, made_by: Vec<String>) -> DifferingFields {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        DifferingFields {
            kind: row.kind.name(),
            name: text(&row.name),
            events: row.events.into(),
            call_ns: row.call_ns.into(),
            objects: row.objects.iter().map(text).collect(),
            objects_in_all: row.objects_in_all,
            made_by,
        }
    }
}

fn event(profile: &Profile, common: &CommonEvent) -> Event {
    Event {
        kind: common.event.kind.name(),
        name: label::name(profile, common.event.name),
        object: label::object(profile, common),
    }
}

/// Parents before their children.
fn nodes<'a>(comparison: &Comparison<'a>, lane: &LaneTree, callers: &mut Callers<'a>) -> Vec<NodeFields> {
    let profile = comparison.base;
    let mut places: Vec<(Option<u32>, u32)> = vec![(None, 0); lane.tree.nodes().len()];
    let mut rows = Vec::with_capacity(places.len());
    for (id, node) in lane.tree.nodes().iter().enumerate() {
        let (parent, depth) = places[id];
        for child in &node.children {
            places[child.0 as usize] = (Some(id as u32), depth + 1);
        }
        let measures = lane.measures(NodeId(id as u32));
        rows.push(NodeFields {
            node: id as u32,
            parent,
            depth,
            beyond_chance: lane.found.as_ref().map(|found| found[id]),
            mostly_in: callers.mostly_in(comparison, lane, NodeId(id as u32)),
            from: event(profile, &lane.events[node.events.start]),
            to: event(profile, &lane.events[node.events.end]),
            elapsed_ns: measures.elapsed_ns.into(),
            cpu_ns: measures.cpu_ns.into(),
            call_ns: measures.call_ns.into(),
            events: measures.events.into(),
        });
    }
    rows
}

/// All of it as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json<'a>(comparison: &Comparison<'a>, code: CodeOf<'a>) -> Result<String, serde_json::Error> {
    let mut callers = Callers::of(comparison, code);
    let mut threads = Vec::with_capacity(comparison.lanes.len());
    for lane in &comparison.lanes {
        let row = |row| DifferingFields::new(row, callers.of_more(comparison, lane, row));
        threads.push(Lane {
            thread: label::lane(comparison, lane),
            common_events: lane.events.len(),
            differing: lane.differing.iter().map(row).collect(),
            nodes: nodes(comparison, lane, &mut callers),
        });
    }
    let elsewhere = |row: &timewise_eventtree::Elsewhere| Elsewhere {
        thread: label::thread(comparison, &row.key, b""),
        base_runs: row.base_runs,
        test_runs: row.test_runs,
    };
    let document = Document {
        schema: SCHEMA,
        base_runs: comparison.base_runs,
        test_runs: comparison.test_runs,
        base_events: comparison.events.base.mean,
        test_events: comparison.events.test.map(|test| test.mean),
        threads,
        threads_elsewhere: comparison.elsewhere.iter().map(elsewhere).collect(),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// A node, flat.
#[derive(Serialize, Default)]
struct Row {
    thread: String,
    node: u32,
    parent: Option<u32>,
    depth: u32,
    beyond_chance: Option<bool>,
    from: String,
    to: String,
    base_elapsed_ns: f64,
    test_elapsed_ns: Option<f64>,
    difference_ns: Option<f64>,
    within_ns: Option<f64>,
    base_cpu_ns: f64,
    test_cpu_ns: Option<f64>,
    base_call_ns: f64,
    test_call_ns: Option<f64>,
    base_events: f64,
    test_events: Option<f64>,
    mostly_in: Option<String>,
}

/// The nodes of all trees as CSV.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv<'a>(comparison: &Comparison<'a>, code: CodeOf<'a>) -> Result<String, ::csv::Error> {
    let profile = comparison.base;
    let mut callers = Callers::of(comparison, code);
    let rows = comparison.lanes.iter().flat_map(|lane| {
        let thread = label::lane(comparison, lane);
        let nodes = nodes(comparison, lane, &mut callers).into_iter();
        nodes.zip(lane.tree.nodes()).map(move |(fields, node)| Row {
            thread: thread.clone(),
            node: fields.node,
            parent: fields.parent,
            depth: fields.depth,
            beyond_chance: fields.beyond_chance,
            from: label::event(profile, &lane.events[node.events.start]),
            to: label::event(profile, &lane.events[node.events.end]),
            base_elapsed_ns: fields.elapsed_ns.base,
            test_elapsed_ns: fields.elapsed_ns.test,
            difference_ns: fields.elapsed_ns.difference,
            within_ns: fields.elapsed_ns.within,
            base_cpu_ns: fields.cpu_ns.base,
            test_cpu_ns: fields.cpu_ns.test,
            base_call_ns: fields.call_ns.base,
            test_call_ns: fields.call_ns.test,
            base_events: fields.events.base,
            test_events: fields.events.test,
            mostly_in: fields.mostly_in,
        })
    });
    csv::table(rows)
}
