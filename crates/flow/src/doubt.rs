//! Where recursion may have been counted otherwise than functions are told apart here.

use crate::analysis::Analysis;
use crate::graph::is_call;
use crate::routine::RoutineId;
use crate::strong::cyclic_components;
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use timewise_profile::{BlockId, EdgeKind, Offset, Run, RunKind};

/// What the counting runtime takes an activation for: a function that something tells of, or else code that was called,
/// by its routine and offset.
type Name = (RoutineId, Offset);

/// Routines that no function of the profile tells of, that may call themselves by way of whatever others, and in which
/// activations have several names to the counting runtime: it knows no more of such code than where calls led, and a
/// jump changes nothing. So some of what calls in it cost may be counted twice. Of a program that was attached to, any
/// such code may have been active before by no name at all.
pub(crate) fn doubtful(analysis: &Analysis) -> Vec<RoutineId> {
    let is_told = |routine: RoutineId| analysis.routines[routine.index()].function.is_some();
    let owner = |block: BlockId| analysis.owner[block.index()];
    // A jump that moved the stack pointer goes back to an activation or to another stack, and leads to nothing.
    let moves_stack =
        |block: BlockId| timewise_isa::moves_stack(&analysis.profile.blocks[block.index()].code);
    let edges = analysis.code.edges.iter().filter(|edge| edge.count > 0 && edge.kind != EdgeKind::Return);
    let between = edges.filter_map(|edge| Some((edge.kind, edge.from?, edge.to?)));
    let (mut calls, mut jumps): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    for (kind, from, to) in between {
        let (caller, callee) = (owner(from), owner(to));
        if is_call(kind) {
            calls.push((caller, callee, analysis.code.blocks[to.index()].place.offset));
        } else if caller != callee && !(kind == EdgeKind::IndirectJump && moves_stack(from)) {
            jumps.push((caller, callee));
        }
    }

    let mut names = Names::default();
    calls
        .iter()
        .filter(|(_, callee, _)| !is_told(*callee))
        .for_each(|&(_, callee, at)| names.add(callee, (callee, at)));
    let into: BTreeSet<(RoutineId, RoutineId)> =
        jumps.iter().copied().filter(|&(_, to)| !is_told(to)).collect();
    for &(from, to) in into.iter().filter(|(from, _)| is_told(*from)) {
        names.add(to, (from, analysis.routines[from.index()].place.offset));
    }
    names.pass_on(&into);
    // What no call led to was active before counting began, of which the runtime knows no more.
    for &(from, _) in into.iter().filter(|(from, _)| !is_told(*from)) {
        names.add_first(from, (from, analysis.routines[from.index()].place.offset));
        names.pass_on(&into);
    }
    let is_of_a_period = |run: &Run| run.kind == RunKind::Counting && run.is_of_a_period();
    let was_attached_to = analysis.profile.runs.iter().any(is_of_a_period);
    let is_doubted =
        |routine: RoutineId| names.several.contains(&routine) || was_attached_to && !is_told(routine);
    if names.several.is_empty() && !was_attached_to {
        return Vec::new();
    }

    let leads: BTreeSet<(u32, u32)> = calls
        .iter()
        .map(|&(from, to, _)| (from.0, to.0))
        .chain(jumps.iter().map(|&(from, to)| (from.0, to.0)))
        .collect();
    let nodes: Vec<u32> = (0..analysis.routines.len() as u32).collect();
    let successors = |node: u32| leads.range((node, 0)..=(node, u32::MAX)).map(|&(_, to)| to);
    let cyclic = cyclic_components(&nodes, nodes.len(), successors).into_iter().flatten().map(RoutineId);
    cyclic.filter(|&routine| is_doubted(routine)).collect()
}

/// By what names routines are active.
#[derive(Default)]
struct Names {
    first: BTreeMap<RoutineId, Name>,
    /// Those that have more than the first.
    several: BTreeSet<RoutineId>,
    /// What has not been passed on yet.
    fresh: Vec<(RoutineId, Name)>,
}

impl Names {
    /// Gives a routine a name that has none.
    fn add_first(&mut self, routine: RoutineId, name: Name) {
        if !self.first.contains_key(&routine) {
            self.add(routine, name);
        }
    }

    /// By jumps, an activation goes on under its name.
    fn pass_on(&mut self, jumps: &BTreeSet<(RoutineId, RoutineId)>) {
        while let Some((routine, name)) = self.fresh.pop() {
            let onward = jumps.range((routine, RoutineId(0))..=(routine, RoutineId(u32::MAX)));
            onward.for_each(|&(_, to)| self.add(to, name));
        }
    }

    fn add(&mut self, routine: RoutineId, name: Name) {
        match self.first.entry(routine) {
            Entry::Vacant(none) => {
                none.insert(name);
                self.fresh.push((routine, name));
            }
            // Two are as good as more for whatever they are passed on to.
            Entry::Occupied(first) => {
                if *first.get() != name && self.several.insert(routine) {
                    self.fresh.push((routine, name));
                }
            }
        }
    }
}
