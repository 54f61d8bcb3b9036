//! By how much executions differ, and so by how much the costs of calls may.
//!
//! What a call costs is the executions of all instructions below it. So where they all are executed equally
//! often on both sides, all calls from outside of these functions must cost the same, and else they can differ by no
//! more than those executions do.

use super::super::compare;
use super::super::dump::Dump;
use super::counted::Counted;
use super::graph::Graph;
use crate::check::executions::Executed;
use crate::check::segments::Place;
use std::collections::{BTreeSet, HashMap};
use std::ops::AddAssign;

/// Executions that differ, by why they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubt {
    /// Of the block in flight at the end, which callgrind does not see.
    pub in_flight: i64,
    /// Of instructions with a repeating prefix, whose iterations callgrind counts.
    pub repeats: i64,
    /// Of others: they depend on where the stack lies, or are Valgrind's own doing. That they do is what the check of
    /// executions shows.
    pub layout: i64,
}

impl Doubt {
    /// All together.
    pub fn sum(self) -> i64 {
        self.in_flight + self.repeats + self.layout
    }
}

impl AddAssign for Doubt {
    fn add_assign(&mut self, other: Doubt) {
        self.in_flight += other.in_flight;
        self.repeats += other.repeats;
        self.layout += other.layout;
    }
}

/// The functions of both sides, and what is in doubt of each.
pub struct Doubts<'a> {
    counted: &'a Counted,
    dump: &'a Dump,
    /// Calls as callgrind sees them.
    calls: Graph,
    /// These, and all ways that were counted.
    ways: Graph,
    own: HashMap<usize, Doubt>,
    below: HashMap<usize, Doubt>,
}

impl<'a> Doubts<'a> {
    /// Compares executions.
    pub fn new(counted: &'a Counted, dump: &'a Dump) -> Doubts<'a> {
        let mut calls = Graph::default();
        // In their order, so that the numbers are the dump's.
        dump.functions.iter().for_each(|function| {
            calls.number(function);
        });
        dump.calls.iter().for_each(|call| calls.add(call.from.0, call.to.0));
        let ways = calls.clone();
        let mut doubts = Doubts { counted, dump, calls, ways, own: HashMap::new(), below: HashMap::new() };
        for (from, to) in &counted.ways {
            for from in doubts.holders(from) {
                for to in doubts.holders(to) {
                    doubts.ways.add(from, to);
                }
            }
        }
        doubts.compare_executions();
        doubts
    }

    fn compare_executions(&mut self) {
        let places: BTreeSet<&Place> =
            self.counted.executions.keys().chain(self.dump.executions.keys()).collect();
        let modules = places.iter().map(|(module, _)| module.clone()).collect();
        let theirs = std::slice::from_ref(&self.dump.executions);
        let compared = compare::compare(&self.counted.executions, theirs, &modules);
        let in_flight: BTreeSet<&Place> = compared.in_flight.iter().collect();
        for place in places {
            let differs = self.difference(place).abs();
            if differs == 0 {
                continue;
            }
            let mut doubt = Doubt::default();
            let repeats = self.counted.executions.get(place).is_some_and(Executed::repeats);
            match (in_flight.contains(place), repeats) {
                (true, _) => doubt.in_flight = differs,
                (_, true) => doubt.repeats = differs,
                _ => doubt.layout = differs,
            }
            for holder in self.holders(place) {
                *self.own.entry(holder).or_default() += doubt;
            }
        }
    }

    /// By how much more often an instruction was counted than callgrind says.
    pub fn difference(&self, place: &Place) -> i64 {
        self.counted.times(place) - self.dump.executions.get(place).copied().unwrap_or(0)
    }

    /// The functions that executed an instruction.
    pub fn holders(&mut self, place: &Place) -> Vec<usize> {
        match self.dump.holders.get(place) {
            Some(holders) => holders.clone(),
            None => vec![self.ways.number(&self.counted.function(place))],
        }
    }

    /// What is in doubt in a function and all that it leads to.
    pub fn below(&mut self, function: usize) -> Doubt {
        if let Some(&known) = self.below.get(&function) {
            return known;
        }
        let mut sum = Doubt::default();
        for reached in self.ways.reached_from(function) {
            sum += self.own.get(&reached).copied().unwrap_or_default();
        }
        self.below.insert(function, sum);
        sum
    }

    /// A number for each of callgrind's functions, the same for those that call each other in a cycle.
    pub fn cycles(&self) -> Vec<usize> {
        self.calls.components()
    }
}
