//! A program's routines as another of its runs found them, or a later part of the same run: how often control went
//! along the edges that are known, and which blocks the known ones are there.

use crate::cfg::Cfg;
use crate::decoder::Path;
use crate::program::Program;
use std::collections::HashMap;
use timewise_flow::RoutineId;
use timewise_flow::code::ExecutedBlock;
use timewise_profile::{BlockId, Module, ModuleId, Offset, Place};

/// How often a path can have been taken at most, by counts of its routine's edges. A path that is told by its end alone
/// may have left the edges that were known, and come back.
pub fn at_most(graph: &Cfg, path: &Path) -> u64 {
    let entered = path.blocks.first().filter(|_| path.entered).map(|&first| (graph.entry(), first));
    let left = path.blocks.last().filter(|_| path.left).map(|&last| (last, graph.exit()));
    let within = path.blocks.windows(2).map(|pair| (pair[0], pair[1]));
    let edges = within.chain(entered).chain(left).filter_map(|(from, to)| graph.find(from, to));
    edges.map(|edge| graph.edge(edge).count).min().unwrap_or(u64::MAX)
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
        let modules = modules.iter().map(|module| by_module.get(module).copied()).collect();
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
        Later { known, later, modules, within, entered, left }
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

    /// The later blocks that a way through known blocks of a routine goes along.
    pub fn blocks(&self, routine: RoutineId, known: &[u32]) -> Vec<BlockId> {
        let code = self.later.blocks.code;
        let mut blocks = Vec::new();
        for &number in known {
            let Some((start, end)) = self.ends(self.known.block(routine, number)) else { continue };
            let mut at = start;
            while at.offset < end.offset
                && let Some(id) = code.block_at(at)
            {
                blocks.push(id);
                at.offset = code.blocks[id.index()].end;
            }
        }
        blocks.dedup();
        blocks
    }

    /// Of all instructions executed later, the share of those that are not known.
    pub fn unknown_share(&self) -> f64 {
        let known: HashMap<ModuleId, ModuleId> = self
            .modules
            .iter()
            .zip((0..).map(ModuleId))
            .filter_map(|(later, known)| Some(((*later)?, known)))
            .collect();
        let code = self.later.blocks.code;
        let is_known = |place: Place| {
            let module = known.get(&place.module).copied();
            module.is_some_and(|module| self.known.blocks.code.block_at(Place { module, ..place }).is_some())
        };
        let executed = |block: &ExecutedBlock| block.executions as f64 * f64::from(block.length);
        let unknown: f64 = code.blocks.iter().filter(|block| !is_known(block.place)).map(executed).sum();
        unknown / (code.instructions_executed() as f64).max(1.0)
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
