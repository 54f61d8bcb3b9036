//! Plans put into the program: what the engine is to do where, so that its counters count what a [`Plan`] counts.

use crate::cfg::Cfg;
use crate::plan::{Limits, Op, Plan, REGISTER, Store};
use crate::program::Program;
use crate::tally::{Executed, Tally};
use crate::targeted::Method;
use crate::transition::Transition;
use std::collections::HashMap;
use timewise_engine::paths::{
    self, BIAS, Instrumentation, NONE, POISON, PathCounts, Planned, Site, kind, op, table,
};
use timewise_flow::RoutineId;
use timewise_isa::Control;
use timewise_profile::{BlockId, EdgeKind, ModuleKind, Place, Profile};

/// What a plan has registers come to hold is less than what they hold beside that.
const _: () = assert!(REGISTER == BIAS as i64);

/// A routine with a plan.
#[derive(Clone, Debug)]
pub struct Instrumented {
    /// What its counters mean.
    pub plan: Plan,
    /// Where these lie; none if the plan counts nothing.
    counters: Option<u32>,
}

/// All routines of a program, as the engine is to instrument them.
#[derive(Clone, Debug)]
pub struct Instruments {
    /// By routine; none of code that is in no file, or not the file's, or whose blocks overlap.
    pub routines: Vec<Option<Instrumented>>,
    /// What the engine is to do.
    pub instrumentation: Instrumentation,
}

impl Instruments {
    /// For all routines of a program, whose edges were counted in `profile`.
    pub fn new(program: &Program, profile: &Profile, method: Method, limits: Limits) -> Instruments {
        let mut ends = HashMap::new();
        for block in &program.blocks.code.blocks {
            *ends.entry(Place { offset: block.end, ..block.place }).or_default() += 1;
        }
        let mut building = Building { program, made: Instrumentation::default(), ends };
        building.made.modules.clone_from(&profile.modules);
        let routines = (0..program.graphs.len() as u32).map(|number| {
            let routine = RoutineId(number);
            building.can_be_named(profile, routine).then(|| building.instrument(routine, method, limits))
        });
        let routines: Vec<Option<Instrumented>> = routines.collect();
        building.land(&routines);
        Instruments { routines, instrumentation: building.made }
    }

    /// Takes the counts of obvious paths from other counts of the routines' edges.
    pub fn recount(&mut self, graphs: &[Cfg]) {
        for (routine, graph) in self.routines.iter_mut().zip(graphs) {
            routine.iter_mut().for_each(|routine| routine.plan.recount(graph));
        }
    }

    /// Of all paths that were counted, the share of those without a number.
    pub fn cold_share(&self, counts: &PathCounts) -> f64 {
        let routines = (0..self.routines.len() as u32).map(RoutineId);
        let mut executed = Executed::default();
        routines
            .filter_map(|routine| self.tally(routine, counts))
            .for_each(|tally| executed.add(tally.executed));
        let Executed { array_counts, hash_counts, cold_counts, .. } = executed;
        cold_counts as f64 / (array_counts + hash_counts + cold_counts).max(1) as f64
    }

    /// The share of all instructions that are in routines without plans.
    pub fn share_apart(&self, program: &Program) -> f64 {
        let routines = (0..).map(RoutineId).zip(&self.routines);
        program.share(routines.filter(|(_, routine)| routine.is_none()).map(|(number, _)| number))
    }

    /// What the counters of a routine say, if it has a plan.
    pub fn tally(&self, routine: RoutineId, counts: &PathCounts) -> Option<Tally> {
        let Instrumented { plan, counters } = self.routines[routine.index()].as_ref()?;
        let mut tally = Tally::default();
        let Some(counters) = *counters else { return Some(tally) };
        match plan.store {
            Store::Nothing => {}
            Store::Array => {
                let counter = |number: u64| counts.counter(counters + 8 * number as u32);
                let counted = (0..plan.numbered()).map(|number| (number, counter(number)));
                tally.add(plan, counted, counter(plan.numbered()));
            }
            Store::Hash => {
                let counted = counts.table(counters).map(|(number, count)| (number.into(), count));
                tally.add(plan, counted, counts.counter(counters + table::COLD));
            }
        }
        Some(tally)
    }
}

/// An [`Instrumentation`] in the making.
struct Building<'a> {
    program: &'a Program<'a>,
    made: Instrumentation,
    /// How many blocks end at a place.
    ends: HashMap<Place, u32>,
}

/// Where something is to be done, in terms of a routine's graph.
#[derive(Clone, Copy)]
struct Spot {
    kind: u64,
    from: BlockId,
    to: BlockId,
    site: u32,
}

impl Building<'_> {
    /// Whether all of a routine is a file's, as it was read, and its blocks are told apart by where they end: not two
    /// that begin differently, one in the middle of the other's instruction.
    fn can_be_named(&self, profile: &Profile, routine: RoutineId) -> bool {
        let routine = &self.program.blocks.routines[routine.index()];
        let can_be = |id: &BlockId| {
            let block = &self.program.blocks.code.blocks[id.index()];
            let place = block.place;
            place.version.0 == 0
                && profile.modules[place.module.index()].kind == ModuleKind::File
                && self.ends.get(&Place { offset: block.end, ..place }) == Some(&1)
        };
        !routine.blocks.is_empty() && routine.blocks.iter().all(can_be)
    }

    fn instrument(&mut self, routine: RoutineId, method: Method, limits: Limits) -> Instrumented {
        let graph = &self.program.graphs[routine.index()];
        let plan = method.plan(graph, limits);
        let counters = match plan.store {
            Store::Nothing => return Instrumented { plan, counters: None },
            Store::Array => room(&mut self.made.size, 8 * (plan.numbered() as u32 + 1)),
            Store::Hash => {
                let table = room(&mut self.made.size, table::SIZE);
                self.made.tables.push(table);
                table
            }
        };
        let lowering = Lowering { counters, limit: plan.numbered() as u32, store: plan.store };
        self.places(routine, graph, &plan, lowering);
        Instrumented { plan, counters: Some(counters) }
    }

    fn places(&mut self, routine: RoutineId, graph: &Cfg, plan: &Plan, lowering: Lowering) {
        let matters = matters(graph, plan);
        let block = |node: u32| self.program.block(routine, node);
        let blocks: Vec<BlockId> = (0..graph.blocks()).map(block).collect();
        let mut sites = vec![NONE; blocks.len()];
        for (node, &id) in blocks.iter().enumerate() {
            let block = &self.program.blocks.code.blocks[id.index()];
            let bytes = (block.end.0 - block.place.offset.0) as u32;
            self.put(Spot { kind: kind::KNOWN, from: id, to: id, site: NONE }, (0, bytes));
            let node = node as u32;
            let leaves = graph.find(node, graph.exit());
            if let Some(edge) = leaves {
                let ops = self.ops(&plan.ops[edge.index()], lowering);
                self.put(Spot { kind: kind::EXIT, from: id, to: id, site: routine.0 }, ops);
            }
            if self.program.blocks.code.ends_in_call(id) {
                let returns = |&edge: &crate::cfg::EdgeId| graph.edge(edge).to;
                let enters = |to: u32| to < graph.blocks() && graph.find(graph.entry(), to).is_some();
                let is_entered = graph.out(node).iter().map(returns).any(enters);
                if leaves.is_some() || is_entered || matters[node as usize] {
                    let (first, count) =
                        leaves.map_or((0, 0), |edge| self.ops(&plan.ops[edge.index()], lowering));
                    let site = self.made.sites.len() as u32;
                    self.made.sites.push(Site { first, count, function: routine.0, reserved: 0 });
                    self.put(Spot { kind: kind::CALL, from: id, to: id, site }, (0, 0));
                    sites[node as usize] = site;
                }
            }
        }
        for edge in graph.ids() {
            let ends = graph.edge(edge);
            if ends.to == graph.exit() {
                continue;
            }
            let ops = self.ops(&plan.ops[edge.index()], lowering);
            let to = blocks[ends.to as usize];
            if ends.from == graph.entry() {
                self.put(Spot { kind: kind::ENTRY, from: to, to, site: NONE }, ops);
                continue;
            }
            let from = blocks[ends.from as usize];
            let kind = if self.is_return(from, to) { kind::RETURN } else { kind::WITHIN };
            self.put(Spot { kind, from, to, site: sites[ends.from as usize] }, ops);
        }
    }

    /// Whether control goes from a block to another of its routine by the return of the call that ends it.
    fn is_return(&self, from: BlockId, to: BlockId) -> bool {
        let blocks = &self.program.blocks;
        let end = blocks.code.blocks[from.index()].end;
        // A call of the next instruction reads the program counter.
        let reads = matches!(blocks.code.control(from), Some(Control::Call { target }) if target == end.0);
        blocks.call_before(to) == Some(from) && !reads
    }

    /// Where exceptions and long jumps land.
    fn land(&mut self, routines: &[Option<Instrumented>]) {
        let blocks = &self.program.blocks;
        let mut landings: Vec<BlockId> = Vec::new();
        let edges = blocks.code.edges.iter();
        for edge in edges.filter(|edge| edge.count > 0 && edge.kind != EdgeKind::External) {
            let (Some(from), Some(to)) = (edge.from, edge.to) else { continue };
            // What returns to where a function begins calls it, perhaps on a new stack: nothing is over by that.
            if blocks.transition(from, to, edge.kind) == Transition::Unwinding && !blocks.is_start(to) {
                landings.push(to);
            }
        }
        landings.sort_unstable();
        landings.dedup();
        for to in landings {
            let owner = blocks.owner(to);
            let has_plan = routines[owner.index()].as_ref().is_some_and(|made| made.counters.is_some());
            let site = if has_plan { owner.0 } else { NONE };
            self.put(Spot { kind: kind::LANDING, from: to, to, site }, (0, 0));
        }
    }

    fn put(&mut self, spot: Spot, (first, count): (u32, u32)) {
        let code = &self.program.blocks.code.blocks;
        let (from, to) = (&code[spot.from.index()], &code[spot.to.index()]);
        let (from, to) = match spot.kind {
            kind::WITHIN => (from.end.0, to.place.offset.0),
            kind::EXIT | kind::CALL | kind::KNOWN => (from.end.0, 0),
            _ => (to.place.offset.0, 0),
        };
        let module = code[spot.to.index()].place.module;
        self.made.places.push(Planned { kind: spot.kind, module, from, to, first, count, site: spot.site });
    }

    /// Adds a plan's operations: the first, and how many they are.
    fn ops(&mut self, ops: &[Op], lowering: Lowering) -> (u32, u32) {
        let first = self.made.ops.len() as u32;
        self.made.ops.extend(ops.iter().map(|op| lowering.lower(op)));
        (first, ops.len() as u32)
    }
}

/// How a plan's operations are said to the engine.
#[derive(Clone, Copy)]
struct Lowering {
    counters: u32,
    limit: u32,
    store: Store,
}

impl Lowering {
    fn lower(self, what: &Op) -> paths::Op {
        let Lowering { counters, limit, store } = self;
        let place = counters;
        let is_hashed = store == Store::Hash;
        match *what {
            Op::Add(by) => paths::Op { kind: op::ADD, place: 0, value: by as i32, limit: 0 },
            Op::Set(to) => paths::Op { kind: op::SET, place: 0, value: to as i32 + BIAS, limit: 0 },
            Op::Poison => paths::Op { kind: op::SET, place: 0, value: POISON, limit: 0 },
            Op::Count(plus) => {
                let kind = if is_hashed { op::HASH } else { op::COUNT };
                paths::Op { kind, place, value: plus as i32 - BIAS, limit }
            }
            Op::CountThis(number) if is_hashed => {
                paths::Op { kind: op::HASH_THIS, place, value: number as i32, limit: 0 }
            }
            Op::CountThis(number) => {
                paths::Op { kind: op::INCREMENT, place: place + 8 * number as u32, value: 0, limit: 0 }
            }
            Op::CountCold => {
                let cold = if is_hashed { table::COLD } else { 8 * limit };
                paths::Op { kind: op::INCREMENT, place: place + cold, value: 0, limit: 0 }
            }
        }
    }
}

/// Takes so many bytes more for counters: where they lie. When numbers end, all there is is taken: that is more than a
/// thread has room for, so the engine refuses.
fn room(size: &mut u32, bytes: u32) -> u32 {
    let end = size.checked_add(bytes.next_multiple_of(8));
    let place = end.map_or(0, |_| *size);
    *size = end.unwrap_or(u32::MAX);
    place
}

/// Of each node, whether it matters what the register holds there.
fn matters(graph: &Cfg, plan: &Plan) -> Vec<bool> {
    // Of each edge: whether it reads the register first, or sets it first.
    let first = |ops: &[Op]| {
        ops.iter().find_map(|op| match op {
            Op::Add(_) | Op::Count(_) => Some(true),
            Op::Set(_) | Op::Poison => Some(false),
            Op::CountThis(_) | Op::CountCold => None,
        })
    };
    let first: Vec<Option<bool>> = plan.ops.iter().map(|ops| first(ops)).collect();
    let reading = graph.ids().filter(|id| first[id.index()] == Some(true)).map(|id| graph.edge(id).from);
    graph.reach(reading, true, |id| first[id.index()].is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_beyond_what_numbers_reach_share_no_place_unseen() {
        let mut size = 0;
        assert_eq!([room(&mut size, 20), room(&mut size, 8)], [0, 24]);
        for _ in 0..u32::MAX / table::SIZE + 2 {
            room(&mut size, table::SIZE);
        }
        assert_eq!((room(&mut size, 8), size), (0, u32::MAX));
    }
}
