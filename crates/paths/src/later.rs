//! A program's routines as another of its runs found them, or a later part of the same run: how often control went
//! along the edges that are known, and which blocks the known ones are there.

use crate::cfg::{Cfg, EdgeId};
use crate::decoder::Path;
use crate::found::Found;
use crate::instrument::Instruments;
use crate::plan::{Op, Plan};
use crate::program::Program;
use std::collections::HashMap;
use timewise_engine::paths::PathCounts;
use timewise_flow::RoutineId;
use timewise_flow::code::ExecutedBlock;
use timewise_profile::{BlockId, EdgeKind, Module, ModuleId, Offset, Place};

/// How often a path can have been taken at most, by counts of its routine's edges. A path that is told by its end alone
/// may have left the edges that were known, and come back.
pub fn at_most(graph: &Cfg, path: &Path) -> u64 {
    let entered = path.blocks.first().filter(|_| path.entered).map(|&first| (graph.entry(), first));
    let left = path.blocks.last().filter(|_| path.left).map(|&last| (last, graph.exit()));
    let within = path.blocks.windows(2).map(|pair| (pair[0], pair[1]));
    let edges = within.chain(entered).chain(left).filter_map(|(from, to)| graph.find(from, to));
    edges.map(|edge| graph.edge(edge).count).min().unwrap_or(u64::MAX)
}

/// Where later ways through a routine join those that are known, and leave them.
#[derive(Debug)]
pub struct Strays {
    /// Of each known block, whether control came to it, or into it, by a way that is not known.
    joined: Vec<bool>,
    /// Of each, whether control left it by such.
    left: Vec<bool>,
}

impl Strays {
    /// Whether ways that were not known may have been counted for a path of a plan. They have no number, unless they
    /// join where a path begins or gets its number, or leave where it was counted already.
    pub fn may_count_as(&self, path: &Path, plan: &Plan, graph: &Cfg) -> bool {
        let (Some(&first), Some(&last)) = (path.blocks.first(), path.blocks.last()) else { return false };
        if path.entered && self.joined[first as usize] || path.left && self.left[last as usize] {
            return true;
        }
        let ops = |from, to| graph.find(from, to).map_or(&[][..], |id| &plan.ops[id.index()]);
        let cut = |edges: &[EdgeId]| edges.iter().copied().find(|id| plan.cuts[id.index()]);
        let begin = match path.entered {
            true => ops(graph.entry(), first),
            false => cut(graph.into(first)).map_or(&[][..], |id| plan.beginning(id)),
        };
        let end = match path.left {
            true => ops(last, graph.exit()),
            false => cut(graph.out(last)).map_or(&[][..], |id| plan.ending(id)),
        };
        let within = path.blocks.windows(2).map(|pair| ops(pair[0], pair[1]));
        let numbers = |ops: &[Op]| ops.iter().any(|op| matches!(op, Op::Set(_) | Op::CountThis(_)));
        let counts = |ops: &[Op]| ops.iter().any(|op| matches!(op, Op::Count(_) | Op::CountThis(_)));
        let (mut is_joined, mut is_counted) = (false, counts(begin));
        path.blocks.iter().zip(within.chain([end])).any(|(&block, ops)| {
            is_joined |= self.joined[block as usize];
            let is_wrong = is_counted && self.left[block as usize] || is_joined && numbers(ops);
            is_counted |= counts(ops);
            is_wrong
        })
    }
}

/// What is known, beside what was counted later.
#[derive(Debug)]
pub struct Later<'a> {
    known: &'a Program<'a>,
    later: &'a Program<'a>,
    /// Of each module that is known, which it is later.
    modules: Vec<Option<ModuleId>>,
    /// How often control went from where a block ends to where one begins, within a routine.
    within: HashMap<(Place, Place), u64>,
    /// How often control came to where a block begins from outside its routine.
    entered: HashMap<Place, u64>,
    /// How often control left a routine where a block ends.
    left: HashMap<Place, u64>,
}

impl<'a> Later<'a> {
    /// Of two programs, each with its modules.
    pub fn new(
        (known, modules): (&'a Program<'a>, &[Module]),
        (later, later_modules): (&'a Program<'a>, &[Module]),
    ) -> Later<'a> {
        let by_module: HashMap<&Module, ModuleId> = later_modules.iter().zip((0..).map(ModuleId)).collect();
        let modules: Vec<Option<ModuleId>> =
            modules.iter().map(|module| by_module.get(module).copied()).collect();
        let (mut within, mut entered, mut left) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (routine, graph) in (0..).map(RoutineId).zip(&later.graphs) {
            let block = |number| &later.blocks.code.blocks[later.block(routine, number).index()];
            let is_block = |node: &u32| *node < graph.blocks();
            for edge in &graph.edges {
                let start = Some(edge.to).filter(is_block).map(|to| block(to).place);
                let from = Some(edge.from).filter(is_block).map(block);
                let end = from.map(|from| Place { offset: from.end, ..from.place });
                let sum: &mut u64 = match (end, start) {
                    (Some(end), Some(start)) => within.entry((end, start)).or_default(),
                    (None, Some(start)) => entered.entry(start).or_default(),
                    (Some(end), None) => left.entry(end).or_default(),
                    (None, None) => continue,
                };
                *sum += edge.count;
            }
        }
        let mut all = Later { known, later, modules, within, entered, left };
        all.divide_as_known();
        all
    }

    /// Where functions are told by calls alone, one may be another's part later, or two what was one: what goes from a
    /// known routine to another leaves the one and enters the other, and what goes within one stays there.
    fn divide_as_known(&mut self) {
        let (code, known) = (self.later.blocks.code, self.known_modules());
        let owner = |place: Place| {
            let module = *known.get(&place.module)?;
            let block = self.known.blocks.code.block_at(Place { module, ..place })?;
            Some(self.known.blocks.owner(block))
        };
        for edge in &code.edges {
            let (Some(from), Some(to)) = (edge.from, edge.to) else { continue };
            let is_call = matches!(edge.kind, EdgeKind::Call | EdgeKind::IndirectCall | EdgeKind::Return);
            if is_call || edge.kind == EdgeKind::External {
                continue;
            }
            let (from_place, to_place) = (code.blocks[from.index()].place, code.blocks[to.index()].place);
            let (Some(before), Some(behind)) = (owner(from_place), owner(to_place)) else { continue };
            let is_within = self.later.blocks.owner(from) == self.later.blocks.owner(to);
            let end = Place { offset: code.blocks[from.index()].end, ..from_place };
            if is_within && before != behind {
                *self.left.entry(end).or_default() += edge.count;
                *self.entered.entry(to_place).or_default() += edge.count;
            } else if !is_within && before == behind {
                *self.within.entry((end, to_place)).or_default() += edge.count;
            }
        }
    }

    /// Of each later module that is known, which it is there.
    fn known_modules(&self) -> HashMap<ModuleId, ModuleId> {
        let modules = self.modules.iter().zip((0..).map(ModuleId));
        modules.filter_map(|(later, known)| Some(((*later)?, known))).collect()
    }

    /// A routine's graph as it is known, with the later counts. Its ways over blocks that are not known have no edges
    /// here: so more may come to a block than leaves it, or less.
    pub fn graph(&self, routine: RoutineId) -> Cfg {
        let graph = &self.known.graphs[routine.index()];
        let ends: Vec<Option<(Place, Place)>> =
            (0..graph.blocks()).map(|number| self.ends(self.known.block(routine, number))).collect();
        let executions: Vec<u64> =
            ends.iter().map(|ends| ends.map_or(0, |(start, _)| self.executions(start))).collect();
        let within = |from: u32, to: u32| {
            let (Some((_, end)), Some((start, _))) = (ends[from as usize], ends[to as usize]) else {
                return 0;
            };
            match self.within.get(&(end, start)) {
                Some(&count) => count,
                // Nothing led there otherwise, so nothing told the two blocks apart.
                None if end == start && self.is_inside(start) => executions[to as usize],
                None => 0,
            }
        };
        let count = |counts: &HashMap<Place, u64>, place: Place| counts.get(&place).copied().unwrap_or(0);
        let entered = |to: u32| ends[to as usize].map_or(0, |(start, _)| count(&self.entered, start));
        let left = |from: u32| {
            // Others may end where it does, that begin in its middle.
            ends[from as usize].map_or(0, |(_, end)| count(&self.left, end).min(executions[from as usize]))
        };
        graph.recounted(|edge| match (edge.from < graph.blocks(), edge.to < graph.blocks()) {
            (true, true) => within(edge.from, edge.to),
            (false, true) => entered(edge.to),
            (true, false) => left(edge.from),
            (false, false) => 0,
        })
    }

    /// Where ways that are not known join and leave those of a routine's graph, as [`Later::graph`] gives it.
    pub fn strays(&self, routine: RoutineId, graph: &Cfg) -> Strays {
        let code = self.later.blocks.code;
        let counted =
            |edges: &[EdgeId]| edges.iter().fold(0, |sum: u64, &id| sum.saturating_add(graph.edge(id).count));
        let strays = |number: u32| {
            let Some((start, _)) = self.ends(self.known.block(routine, number)) else {
                return (false, false);
            };
            let executions = self.executions(start);
            let joins_within = self.blocks(routine, &[number]).into_iter().any(|id| {
                let block = &code.blocks[id.index()];
                let entered = self.entered.get(&block.place).copied().unwrap_or(0);
                block.executions.saturating_sub(entered) > executions
            });
            (
                counted(graph.into(number)) < executions || joins_within,
                counted(graph.out(number)) < executions,
            )
        };
        let (joined, left) = (0..graph.blocks()).map(strays).unzip();
        Strays { joined, left }
    }

    /// The later blocks that begin on a way through known blocks of a routine. A known block may begin in the middle of
    /// a later one, as where a thread stood once; that one is on the way that leads to there.
    pub fn blocks(&self, routine: RoutineId, known: &[u32]) -> Vec<BlockId> {
        let code = self.later.blocks.code;
        let mut blocks = Vec::new();
        for &number in known {
            let Some((start, end)) = self.ends(self.known.block(routine, number)) else { continue };
            let mut at = start;
            while at.offset < end.offset
                && let Some(id) = code.block_at(at)
            {
                let block = &code.blocks[id.index()];
                blocks.extend(Some(id).filter(|_| block.place == at));
                at.offset = block.end;
            }
        }
        blocks
    }

    /// Of all instructions executed later, the share of those that are not known.
    pub fn unknown_share(&self) -> f64 {
        let known = self.known_modules();
        let code = self.later.blocks.code;
        let is_known = |place: Place| {
            let module = known.get(&place.module).copied();
            module.is_some_and(|module| self.known.blocks.code.block_at(Place { module, ..place }).is_some())
        };
        let executed = |block: &ExecutedBlock| block.executions as f64 * f64::from(block.length);
        let unknown: f64 = code.blocks.iter().filter(|block| !is_known(block.place)).map(executed).sum();
        unknown / (code.instructions_executed() as f64).max(1.0)
    }

    /// What counters say of the time in which the later edges were counted. `instruments`, made of what is known, take
    /// these for the counts of obvious paths.
    pub fn found(&self, instruments: &mut Instruments, counts: &PathCounts) -> Found {
        let routines = (0..self.known.graphs.len() as u32).map(RoutineId);
        let graphs: Vec<Cfg> = routines.clone().map(|routine| self.graph(routine)).collect();
        let strays: Vec<Strays> =
            routines.zip(&graphs).map(|(routine, graph)| self.strays(routine, graph)).collect();
        instruments.recount(&graphs);
        let blocks = |routine, blocks: &[u32]| self.blocks(routine, blocks);
        let at_most = |routine: RoutineId, plan: &_, path: &_| {
            let (graph, strays) = (&graphs[routine.index()], &strays[routine.index()]);
            (at_most(graph, path), strays.may_count_as(path, plan, graph))
        };
        Found::counted(instruments, counts, blocks, at_most)
    }

    /// Where a known block begins and ends later.
    fn ends(&self, block: BlockId) -> Option<(Place, Place)> {
        let block = &self.known.blocks.code.blocks[block.index()];
        let module = self.modules[block.place.module.index()]?;
        let start = Place { module, ..block.place };
        Some((start, Place { offset: block.end, ..start }))
    }

    fn executions(&self, place: Place) -> u64 {
        let code = self.later.blocks.code;
        code.instruction_at(place).map_or(0, |instruction| code.executions(instruction))
    }

    /// Whether a place is in a block that begins before it.
    fn is_inside(&self, place: Place) -> bool {
        let code = self.later.blocks.code;
        let before = |offset: Offset| offset < place.offset;
        code.block_at(place).is_some_and(|block| before(code.blocks[block.index()].place.offset))
    }
}
