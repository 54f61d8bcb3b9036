//! Two sides compared, or one side alone, node by node.

use crate::deterministic::{InRun, common};
use crate::differing::{Differing, differing};
use crate::estimate::{Difference, Estimate, chance_of_times};
use crate::findings;
use crate::functions::{FunctionTime, Functions, Stretch};
use crate::lanes::{Lane, LaneKey, Lanes, Processes, of_runs};
use crate::level::Level;
use crate::tree::{Node, NodeId, Tree};
use std::collections::BTreeSet;
use std::ops::Range;
use timewise_profile::{OsEvent, Profile, ThreadId};

/// One amount of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// In runs of BASE.
    pub base: Estimate,
    /// In runs of TEST, if there are two sides.
    pub test: Option<Estimate>,
    /// With which probability equal programs differ by as much, of times that are judged; `None` where that is not known.
    pub chance: Option<f64>,
}

impl Measured {
    /// How much more it is in TEST; `None` of one side alone.
    pub fn difference(&self) -> Option<Difference> {
        self.test.map(|test| Difference::between(self.base, test))
    }
}

/// What a node took, each amount of an average run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// From its first event to its last, nanoseconds.
    pub elapsed_ns: Measured,
    /// CPU time that the thread used, nanoseconds.
    pub cpu_ns: Measured,
    /// Of the elapsed time what was spent in system calls, nanoseconds.
    pub call_ns: Measured,
    /// Events in it, its first one included.
    pub events: Measured,
}

/// An event that all runs have.
#[derive(Clone, Copy, Debug)]
pub struct CommonEvent<'a> {
    /// As it is in the first run of BASE.
    pub event: &'a OsEvent,
    /// Whether it was about the same in every run.
    pub same_object: bool,
}

/// One thread that all runs have.
#[derive(Clone, Debug)]
pub struct LaneTree<'a> {
    /// Which one.
    pub key: LaneKey,
    /// The thread in the first run of BASE.
    pub thread: ThreadId,
    /// The events that all runs have, in order.
    pub events: Vec<CommonEvent<'a>>,
    /// Its time, divided by them; without nodes if there are fewer than two.
    pub tree: Tree,
    /// What each node took.
    pub measures: Vec<Measures>,
    /// Whether each node differs beyond chance, in elapsed or in CPU time, all nodes of all threads taken together; `None`
    /// where chance is not known.
    pub found: Option<Vec<bool>>,
    /// Events of which there are more on one side.
    pub differing: Vec<Differing>,
    /// Of each run, those of BASE first, where the common events are among all of the thread.
    places: Vec<Vec<usize>>,
}

impl LaneTree<'_> {
    /// What a node took.
    pub fn measures(&self, id: NodeId) -> &Measures {
        &self.measures[id.0 as usize]
    }

    /// Whether a node differs beyond chance, as far as that is known.
    pub fn is_found(&self, id: NodeId) -> bool {
        self.found.as_ref().is_some_and(|found| found[id.0 as usize])
    }
}

/// The trees of all threads.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The profile of BASE, whose names the events of trees have.
    pub base: &'a Profile,
    /// That of TEST; `None` of one side alone.
    pub test: Option<&'a Profile>,
    /// Runs of BASE in which events were recorded.
    pub base_runs: usize,
    /// Runs of TEST; `None` of one side alone.
    pub test_runs: Option<usize>,
    /// Events of an average run, those of threads without a tree included.
    pub events: Measured,
    /// Which process is which.
    pub processes: Processes,
    /// Threads that all runs have, in the order of their processes.
    pub lanes: Vec<LaneTree<'a>>,
    /// Threads that some runs have, or those of one side.
    pub elsewhere: Vec<Elsewhere>,
    of_base: Vec<Lanes<'a>>,
    of_test: Vec<Lanes<'a>>,
}

/// A thread that is not in every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Which one.
    pub key: LaneKey,
    /// How many runs of BASE have it.
    pub base_runs: usize,
    /// How many runs of TEST.
    pub test_runs: usize,
}

impl<'a> Comparison<'a> {
    /// Compares all runs with events of `base` with those of `test`, or divides those of `base` alone.
    pub fn new(base: &'a Profile, test: Option<&'a Profile>) -> Comparison<'a> {
        let mut processes = Processes::default();
        let of_base = of_runs(base, &mut processes);
        let of_test = test.map(|test| of_runs(test, &mut processes)).unwrap_or_default();
        let sides = Sides { base, test, of_base: &of_base, of_test: &of_test };
        let keys: BTreeSet<&LaneKey> = of_base.iter().chain(&of_test).flat_map(Lanes::keys).collect();
        let (mut lanes, mut elsewhere) = (Vec::new(), Vec::new());
        for key in keys {
            let having = |runs: &[Lanes]| runs.iter().filter(|lanes| lanes.contains_key(key)).count();
            let (base_runs, test_runs) = (having(&of_base), having(&of_test));
            if base_runs == of_base.len() && test_runs == of_test.len() {
                lanes.push(sides.tree(key));
            } else {
                elsewhere.push(Elsewhere { key: *key, base_runs, test_runs });
            }
        }
        findings::find(&mut lanes);
        let events = |runs: &[Lanes]| -> Vec<f64> {
            let of_run = |lanes: &Lanes| lanes.values().map(|lane| lane.events.len()).sum::<usize>() as f64;
            runs.iter().map(of_run).collect()
        };
        let events = Measured {
            base: Estimate::of(&events(&of_base)),
            test: test.map(|_| Estimate::of(&events(&of_test))),
            chance: None,
        };
        Comparison {
            base,
            test,
            base_runs: of_base.len(),
            test_runs: test.map(|_| of_test.len()),
            events,
            processes,
            lanes,
            elsewhere,
            of_base,
            of_test,
        }
    }

    /// What passed in a node below each function on the stacks of its events, what takes most first.
    pub fn functions(&self, of: &mut Functions<'a>, lane: &LaneTree, node: NodeId) -> Vec<FunctionTime> {
        let Range { start, end } = lane.tree.node(node).events;
        let mut stretches = Vec::with_capacity(lane.places.len());
        for ((of_test, events), places) in self.events_of(lane).zip(&lane.places) {
            stretches.push(Stretch { of_test, events: &events[places[start]..=places[end]] });
        }
        of.times(&stretches)
    }

    /// Who made the calls of which one side has more, who made most first.
    pub fn callers(&self, of: &mut Functions<'a>, lane: &LaneTree, row: &Differing) -> Vec<String> {
        let has_more = row.events.difference().is_some_and(|difference| difference.amount > 0.0);
        let mut made = Vec::new();
        for ((of_test, events), places) in self.events_of(lane).zip(&lane.places) {
            if of_test != has_more {
                continue;
            }
            let profile = self.test.filter(|_| of_test).unwrap_or(self.base);
            let mut common = places.iter().peekable();
            let is_beside = |&(place, _): &(usize, &&OsEvent)| common.next_if_eq(&&place).is_none();
            let beside = events.iter().enumerate().filter(is_beside).map(|(_, event)| *event);
            let is_it = |event: &&OsEvent| {
                event.kind == row.kind && event.name.map_or(&[][..], |name| profile.os_name(name)) == row.name
            };
            made.extend(beside.filter(is_it));
        }
        of.callers(has_more, &made)
    }

    /// All events of a thread in each run, those of BASE first; whether it is one of TEST.
    fn events_of<'l>(&'l self, lane: &'l LaneTree) -> impl Iterator<Item = (bool, &'l [&'a OsEvent])> {
        let of = |of_test| move |lanes: &'l Lanes<'a>| (of_test, &lanes[&lane.key].events[..]);
        self.of_base.iter().map(of(false)).chain(self.of_test.iter().map(of(true)))
    }
}

struct Sides<'a, 'b> {
    base: &'a Profile,
    test: Option<&'a Profile>,
    of_base: &'b [Lanes<'a>],
    of_test: &'b [Lanes<'a>],
}

impl<'a, 'b> Sides<'a, 'b> {
    /// That of a thread which all runs have.
    fn tree(&self, key: &LaneKey) -> LaneTree<'a> {
        let of_base = self.of_base.iter().map(|lanes| InRun { profile: self.base, lane: &lanes[key] });
        let of_test = self.of_test.iter();
        let of_test = self
            .test
            .into_iter()
            .flat_map(|profile| of_test.clone().map(move |lanes| InRun { profile, lane: &lanes[key] }));
        let runs: Vec<InRun<'a, 'b>> = of_base.chain(of_test).collect();
        let places = common(&runs, self.of_base.len());
        let events: Vec<CommonEvent> = common_events(&runs, &places);
        let levels: Vec<Level> = events.iter().map(|common| Level::of(self.base, common.event)).collect();
        let tree = Tree::new(&levels);
        let sums: Vec<Sums> =
            runs.iter().zip(&places).map(|(run, places)| Sums::new(run.lane, places)).collect();
        let measures = tree.nodes().iter().map(|node| self.measures(&sums, node)).collect();
        let differing = differing(&runs, &places, self.of_base.len());
        LaneTree {
            key: *key,
            thread: runs[0].lane.thread,
            events,
            tree,
            measures,
            found: None,
            differing,
            places,
        }
    }

    fn measures(&self, runs: &[Sums], node: &Node) -> Measures {
        let amounts = |amount: fn(&Sums, &Node) -> u64| -> Vec<f64> {
            runs.iter().map(|sums| amount(sums, node) as f64).collect()
        };
        let told = |amount| self.measured(&amounts(amount));
        let judged = |amount| {
            let amounts = amounts(amount);
            let (base, test) = amounts.split_at(self.of_base.len());
            Measured { chance: chance_of_times(base, test), ..self.measured(&amounts) }
        };
        Measures {
            elapsed_ns: judged(|sums, node| between(&sums.begin_ns, node)),
            cpu_ns: judged(|sums, node| between(&sums.cpu_ns, node)),
            call_ns: told(|sums, node| between(&sums.call_ns, node)),
            events: told(|sums, node| between(&sums.events, node)),
        }
    }

    /// Amounts of the runs of BASE, and then of TEST.
    fn measured(&self, amounts: &[f64]) -> Measured {
        let (base, test) = amounts.split_at(self.of_base.len());
        Measured { base: Estimate::of(base), test: self.test.map(|_| Estimate::of(test)), chance: None }
    }
}

fn common_events<'a>(runs: &[InRun<'a, '_>], places: &[Vec<usize>]) -> Vec<CommonEvent<'a>> {
    let event = |(at, &place): (usize, &usize)| {
        let event = runs[0].lane.events[place];
        let object = |(run, places): (&InRun<'a, '_>, &Vec<usize>)| run.object(run.lane.events[places[at]]);
        let own = runs[0].object(event);
        CommonEvent { event, same_object: runs.iter().zip(places).map(object).all(|object| object == own) }
    };
    places[0].iter().enumerate().map(event).collect()
}

/// Of one run, at each common event, what came before it.
struct Sums {
    begin_ns: Vec<u64>,
    cpu_ns: Vec<u64>,
    call_ns: Vec<u64>,
    events: Vec<u64>,
}

impl Sums {
    fn new(lane: &Lane, places: &[usize]) -> Sums {
        let mut calls = 0;
        let before = lane.events.iter().map(|event| {
            let before = calls;
            calls += event.took_ns();
            before
        });
        let before: Vec<u64> = before.collect();
        Sums {
            begin_ns: places.iter().map(|&place| lane.events[place].begin_ns).collect(),
            cpu_ns: places.iter().map(|&place| lane.events[place].cpu_ns).collect(),
            call_ns: places.iter().map(|&place| before[place]).collect(),
            events: places.iter().map(|&place| place as u64).collect(),
        }
    }
}

/// How much a sum grows in a node.
fn between(sums: &[u64], node: &Node) -> u64 {
    sums[node.events.end].saturating_sub(sums[node.events.start])
}
