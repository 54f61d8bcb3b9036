//! Which function each linkage stub leads to.
//!
//! A stub jumps to an imported function, but the first time, where the loader binds late, to the loader's resolver: by way
//! of the first entry of its table, which all stubs of a module share. The resolver jumps on to the function.

use crate::analysis::Analysis;
use crate::code::Edge;
use crate::routine::RoutineId;
use std::collections::{HashMap, HashSet};
use timewise_profile::{BlockId, EdgeKind};

/// The block where the function begins, by the routine of its stub; of a stub that led to several functions nothing.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    behind: HashMap<RoutineId, BlockId>,
}

impl Imports {
    /// Finds them.
    pub fn new(analysis: &Analysis) -> Imports {
        let jumps = Jumps::new(analysis);
        let mut led: HashMap<RoutineId, Option<BlockId>> = HashMap::new();
        let indirect = jumps.all.iter().filter(|jump| jump.is_indirect);
        for jump in indirect.filter(|jump| jumps.is_stub(jump.from) && !jumps.is_linkage(jump)) {
            let known = led.entry(jumps.routine(jump.from)).or_insert(Some(jump.to));
            *known = known.filter(|same| jumps.routine(*same) == jumps.routine(jump.to));
        }
        let resolved = jumps.resolved();
        for (stub, name) in &jumps.stubs {
            led.entry(*stub).or_insert_with(|| resolved.get(name).copied().flatten());
        }
        Imports { behind: led.into_iter().filter_map(|(stub, to)| Some((stub, to?))).collect() }
    }

    /// Where the function begins that a call of a routine is meant for, if the routine is a stub of it.
    pub fn behind(&self, routine: RoutineId) -> Option<BlockId> {
        self.behind.get(&routine).copied()
    }
}

#[derive(Clone, Copy)]
struct Jump {
    from: BlockId,
    to: BlockId,
    is_indirect: bool,
}

/// All jumps of stubs, tables and resolvers, and others.
struct Jumps<'a> {
    analysis: &'a Analysis<'a>,
    all: Vec<Jump>,
    /// Stubs, and the names of what they are stubs of.
    stubs: HashMap<RoutineId, &'a str>,
}

impl<'a> Jumps<'a> {
    fn new(analysis: &'a Analysis<'a>) -> Jumps<'a> {
        let jump = |edge: &Edge| {
            let is_indirect = edge.kind == EdgeKind::IndirectJump;
            let is_jump = (is_indirect || edge.kind == EdgeKind::Jump) && edge.count > 0;
            let (from, to) = edge.from.zip(edge.to).filter(|_| is_jump)?;
            let leaves = analysis.owner[from.index()] != analysis.owner[to.index()];
            leaves.then_some(Jump { from, to, is_indirect })
        };
        let stub = |routine: RoutineId| Some((routine, name(analysis, routine)?.strip_suffix("@plt")?));
        let stubs = (0..analysis.routines.len() as u32).map(RoutineId).filter_map(stub).collect();
        Jumps { analysis, all: analysis.code.edges.iter().filter_map(jump).collect(), stubs }
    }

    fn routine(&self, block: BlockId) -> RoutineId {
        self.analysis.owner[block.index()]
    }

    fn is_stub(&self, block: BlockId) -> bool {
        self.stubs.contains_key(&self.routine(block))
    }

    /// Whether a jump stays within the table of a module: it leads to a stub, or to what has no name.
    fn is_linkage(&self, jump: &Jump) -> bool {
        let module = |block: BlockId| self.analysis.code.blocks[block.index()].place.module;
        let is_nameless = name(self.analysis, self.routine(jump.to)).is_none();
        self.is_stub(jump.to) || is_nameless && module(jump.from) == module(jump.to)
    }

    /// What the loader found and jumped on to, by name; nothing of a name that is several functions'.
    fn resolved(&self) -> HashMap<&'a str, Option<BlockId>> {
        let mut tables: HashSet<RoutineId> = self.stubs.keys().copied().collect();
        // A stub of two parts comes to the shared entry by its second.
        for _ in 0..2 {
            let within = |jump: &&Jump| tables.contains(&self.routine(jump.from)) && self.is_linkage(jump);
            let found: Vec<_> = self.all.iter().filter(within).map(|jump| self.routine(jump.to)).collect();
            tables.extend(found);
        }
        let is_shared = |block| tables.contains(&self.routine(block)) && !self.is_stub(block);
        let to_resolver = self.all.iter().filter(|jump| is_shared(jump.from) && !self.is_linkage(jump));
        let resolvers: HashSet<RoutineId> = to_resolver.map(|jump| self.routine(jump.to)).collect();
        let mut found: HashMap<&str, Option<BlockId>> = HashMap::new();
        for jump in self.all.iter().filter(|jump| resolvers.contains(&self.routine(jump.from))) {
            let target = self.routine(jump.to);
            let Some(name) = name(self.analysis, target) else { continue };
            let known = found.entry(name).or_insert(Some(jump.to));
            *known = known.filter(|same| self.routine(*same) == target);
        }
        found
    }
}

fn name<'a>(analysis: &'a Analysis, routine: RoutineId) -> Option<&'a str> {
    analysis.function_of(routine).map(|id| analysis.profile.functions[id.index()].name.as_str())
}
