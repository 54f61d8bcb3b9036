//! What children of one process begin with, and what such a child executed of it. Servers and shells fork by the
//! thousand, from processes with tens of thousands of blocks, so that equations for these are not solved for each child
//! anew: what is unknown follows, edge by edge, from the counters that are not zero, and where nothing flowed is never
//! looked at.

use super::calls;
use super::flow::{self, Flow};
use super::pieces::{PieceId, Pieces};
use super::process::Code;
use super::rows::ImageFlow;
use crate::harvest::Area;
use crate::solve::{Elimination, Equations, Point, brings_in};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use timewise_abi::NONE;
use timewise_abi::log::{BlockRecord, EdgeRecord};

/// Blocks and edges that a process had when it forked, with the order in which its equations are solved.
#[derive(Debug)]
pub struct Inheritance {
    code: Code,
    order: Vec<Elimination>,
    /// By point: the step of the order that takes care of it, or [`NONE`].
    steps: Vec<u32>,
    /// By point: the one whose equation remains of its tree.
    roots: Vec<Point>,
    /// Blocks and edges by their counters.
    blocks: HashMap<u32, u32>,
    edges: HashMap<u32, u32>,
    /// Edges of whose calls a counter says something: what they cost, or that one lasts still.
    calls: HashMap<u32, Vec<u32>>,
}

impl Inheritance {
    /// That of a process with this code.
    pub fn new(code: Code) -> Inheritance {
        let order = Equations::new(&code.blocks, &code.edges).into_order();
        let mut steps = vec![NONE; 2 * code.blocks.len()];
        let mut roots: Vec<Point> = (0..code.blocks.len() as u32).flat_map(Point::both).collect();
        for (number, step) in order.iter().enumerate().rev() {
            steps[step.by.index()] = number as u32;
            // A later step, or none, took care of the other end.
            step.other.inspect(|other| roots[step.by.index()] = roots[other.index()]);
        }
        let (mut blocks, mut edges, mut calls) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (block, number) in code.blocks.iter().zip(0..).filter(|(block, _)| block.counter != NONE) {
            blocks.insert(block.counter, number);
        }
        for (edge, number) in code.edges.iter().zip(0..) {
            if edge.counter != NONE {
                edges.insert(edge.counter, number);
            }
            let (cost, slot) = calls::counters(edge).unzip();
            for counter in cost.into_iter().chain(slot.flatten()) {
                calls.entry(counter).or_insert_with(Vec::new).push(number);
            }
        }
        Inheritance { code, order, steps, roots, blocks, edges, calls }
    }

    /// What a child executed that translated `own` beside. `None` if that does not follow so simply: it has several
    /// threads, or it is not known where its thread ended.
    pub fn flow(&self, own: &Code, pieces: &Pieces, record: u64, areas: &[Area]) -> Option<ImageFlow> {
        let [area] = areas else { return None };
        if area.was_running() {
            return None;
        }
        let mut child = Child::new(self, own, area);
        child.counted();
        child.own_edges();
        child.inherited_edges();
        let is_clear = child.surplus.values().all(|&surplus| surplus == 0)
            && child.values.values().all(|&value| value >= 0);
        is_clear.then(|| child.into_flow(pieces, record))
    }
}

/// A child on the way to its flow. Numbers of its own blocks and edges come after those that it inherited.
struct Child<'a> {
    inherited: &'a Inheritance,
    own: &'a Code,
    area: &'a Area,
    /// The block behind which its thread rests.
    rest: Option<u32>,
    /// What came to a point and did not leave it, as far as that is known.
    surplus: HashMap<Point, i64>,
    /// How often edges were taken, by number.
    values: BTreeMap<u32, i64>,
    /// Edges whose calls cost something.
    calls: BTreeSet<u32>,
}

impl<'a> Child<'a> {
    fn new(inherited: &'a Inheritance, own: &'a Code, area: &'a Area) -> Child<'a> {
        let (surplus, values, calls) = (HashMap::new(), BTreeMap::new(), BTreeSet::new());
        let mut child = Child { inherited, own, area, rest: None, surplus, values, calls };
        child.rest = area.in_system_call().filter(|&block| child.block(block).is_some());
        child
    }

    fn block(&self, number: u32) -> Option<&'a BlockRecord> {
        let inherited = &self.inherited.code.blocks;
        let own = || self.own.blocks.get(number as usize - inherited.len());
        inherited.get(number as usize).or_else(own)
    }

    fn piece(&self, number: u32) -> PieceId {
        let inherited = &self.inherited.code.pieces;
        let own = || &self.own.pieces[number as usize - inherited.len()];
        *inherited.get(number as usize).unwrap_or_else(own)
    }

    fn edge(&self, number: u32) -> &'a EdgeRecord {
        let inherited = &self.inherited.code.edges;
        let own = || &self.own.edges[number as usize - inherited.len()];
        inherited.get(number as usize).unwrap_or_else(own)
    }

    fn instructions(&self, block: u32) -> i64 {
        self.block(block).map_or(0, |block| i64::from(block.instructions))
    }

    fn left(&self, block: u32, executed: u16) -> Option<Point> {
        self.block(block).map(|record| Point::behind(block, executed, record))
    }

    fn ends(&self, edge: &EdgeRecord) -> [Option<Point>; 2] {
        [self.left(edge.from, edge.executed), (edge.to != NONE).then(|| Point::start(edge.to))]
    }

    fn add(&mut self, point: Point, value: i64) {
        let surplus = self.surplus.entry(point).or_default();
        *surplus = surplus.wrapping_add(value);
    }

    fn take(&mut self, number: u32, value: i64) {
        self.values.insert(number, value);
        let [from, to] = self.ends(self.edge(number));
        from.inspect(|&from| self.add(from, value.wrapping_neg()));
        to.inspect(|&to| self.add(to, value));
    }

    fn pass(&mut self, block: u32, value: i64) {
        let [before, behind] = Point::both(block);
        self.add(before, value.wrapping_neg());
        self.add(behind, value);
    }

    /// What counters say, and where the thread rests.
    fn counted(&mut self) {
        let (inherited, own, area) = (self.inherited, self.own, self.area);
        for &(counter, value) in &area.counters {
            inherited.edges.get(&counter).inspect(|&&edge| self.take(edge, value as i64));
            inherited.blocks.get(&counter).inspect(|&&block| self.pass(block, value as i64));
        }
        for (counter, _) in area.counters.iter().chain(&area.below_zero) {
            self.calls.extend(inherited.calls.get(counter).into_iter().flatten());
        }
        let counters: HashMap<u32, u64> = area.counters.iter().copied().collect();
        let value = |counter: u32| counters.get(&counter).map_or(0, |&value| value as i64);
        for (number, block) in (inherited.code.blocks.len() as u32..).zip(&own.blocks) {
            if block.counter != NONE {
                self.pass(number, value(block.counter));
            }
        }
        for (number, edge) in (inherited.code.edges.len() as u32..).zip(&own.edges) {
            if edge.counter != NONE {
                self.take(number, value(edge.counter));
            }
            if edge.cost != NONE {
                self.calls.insert(number);
            }
        }
        if let Some(point) = self.rest.and_then(|block| self.left(block, self.block(block)?.instructions)) {
            self.add(point, -1);
        }
    }

    /// The tree that a point is of, without own edges.
    fn tree(&self, point: Point) -> Point {
        self.inherited.roots.get(point.index()).copied().unwrap_or(point)
    }

    /// Own edges without a counter join trees to larger ones: what comes to all of a tree and is known not to leave it
    /// leaves by the one that is left.
    fn own_edges(&mut self) {
        #[derive(Default)]
        struct Tree {
            surplus: i64,
            unknown: u32,
            /// The unknown edges, folded by exclusive or.
            fold: u32,
        }
        let first = self.inherited.code.edges.len() as u32;
        let unknown = (first..).zip(&self.own.edges).filter(|(_, edge)| edge.counter == NONE);
        let mut trees: HashMap<Point, Tree> = HashMap::new();
        for (number, edge) in unknown {
            for end in self.ends(edge).into_iter().flatten() {
                let tree = trees.entry(self.tree(end)).or_default();
                tree.unknown += 1;
                tree.fold ^= number;
            }
        }
        for (&point, &surplus) in &self.surplus {
            if let Some(tree) = trees.get_mut(&self.tree(point)) {
                tree.surplus = tree.surplus.wrapping_add(surplus);
            }
        }
        let mut ready: Vec<Point> =
            trees.iter().filter(|(_, tree)| tree.unknown == 1).map(|(&point, _)| point).collect();
        while let Some(by) = ready.pop() {
            let Some(&Tree { surplus, unknown: 1, fold: number }) = trees.get(&by) else { continue };
            let [from, to] = self.ends(self.edge(number)).map(|end| end.map(|end| self.tree(end)));
            let leaves = from == Some(by);
            self.take(number, if leaves { surplus } else { surplus.wrapping_neg() });
            for end in [from, to].into_iter().flatten() {
                let Some(tree) = trees.get_mut(&end) else { continue };
                tree.unknown -= 1;
                tree.fold ^= number;
                tree.surplus = if end == by { 0 } else { tree.surplus.wrapping_add(surplus) };
                if tree.unknown == 1 {
                    ready.push(end);
                }
            }
        }
    }

    /// Inherited edges without a counter, as [`Equations::solve`] does, where something flows.
    fn inherited_edges(&mut self) {
        let inherited = self.inherited;
        let step = |point: &Point| inherited.steps.get(point.index()).copied().filter(|&step| step != NONE);
        let mut open: BinaryHeap<Reverse<u32>> = self.surplus.keys().filter_map(step).map(Reverse).collect();
        while let Some(Reverse(number)) = open.pop() {
            let step_now = inherited.order[number as usize];
            let rest = self.surplus.insert(step_now.by, 0).unwrap_or(0);
            if rest == 0 {
                continue;
            }
            self.values.insert(step_now.edge, if step_now.leaves { rest } else { rest.wrapping_neg() });
            if let Some(other) = step_now.other {
                self.add(other, rest);
                open.extend(step(&other).map(Reverse));
            }
        }
    }

    fn into_flow(self, pieces: &Pieces, record: u64) -> ImageFlow {
        let taken = self.values.iter().filter(|(_, value)| **value > 0);
        let taken: Vec<(&EdgeRecord, i64)> = taken.map(|(&number, &n)| (self.edge(number), n)).collect();
        let flow = |&(edge, count): &(&EdgeRecord, i64)| Flow::of(edge, count, |block| self.piece(block));
        let mut flows: Vec<Flow> = taken.iter().map(flow).collect();
        flows.extend(self.rest.map(|block| Flow::end((self.piece(block), self.instructions(block) as u16))));
        flow::simplify(pieces, &mut flows);
        let executed = taken
            .iter()
            .map(|&(edge, count)| count.wrapping_mul(brings_in(edge, |block| self.instructions(block))));
        let executed = executed.fold(0, i64::wrapping_add).max(0) as u64;
        let edges: Vec<EdgeRecord> = self.calls.iter().map(|&number| *self.edge(number)).collect();
        let areas = std::slice::from_ref(self.area);
        let (costs, open) = calls::costs((&edges, &flows), |block| self.piece(block), areas, true);
        ImageFlow {
            record,
            threads: vec![(self.area.tid, executed)],
            flows,
            costs,
            lost_calls: self.area.lost_calls.saturating_add(open),
            unknown_ends: 0,
            imbalance: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::Found;
    use super::*;
    use crate::code::Modules;
    use crate::solve::sample::{block, edge};
    use timewise_abi::thread::state;
    use timewise_profile::Offset;

    /// Numbers that are the same each time.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: u32) -> u32 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (self.0 >> 33) as u32 % sides
        }
    }

    /// Blocks, of which some have a counter, and edges, of which those have none that join points that were not joined.
    struct Program {
        code: Code,
        counters: u32,
        joined: Vec<Point>,
    }

    impl Program {
        fn take_counter(&mut self) -> u32 {
            self.counters += 1;
            self.counters - 1
        }

        fn grow(
            &mut self,
            dice: &mut Dice,
            (blocks, edges): (u32, u32),
            pieces: &mut impl FnMut(u32) -> PieceId,
        ) {
            let first = self.code.blocks.len() as u32;
            for number in first..first + blocks {
                let counter = if dice.roll(4) == 0 { self.take_counter() } else { NONE };
                self.code.blocks.push(block(counter));
                self.code.pieces.push(pieces(number));
                self.joined.extend(Point::both(number));
            }
            let all = first + blocks;
            let in_order = (first.max(1)..all).map(|to| (to - 1, to)).collect::<Vec<_>>();
            let any = (0..edges).map(|_| (dice.roll(all), dice.roll(all))).collect::<Vec<_>>();
            for (from, to) in in_order.into_iter().chain(any) {
                let ends = [Point::behind(from, 4, &self.code.blocks[from as usize]), Point::start(to)];
                let [one, other] = ends.map(|end| self.joined[end.index()]);
                let counter = if one == other { self.take_counter() } else { NONE };
                self.joined.iter_mut().filter(|tree| **tree == one).for_each(|tree| *tree = other);
                let cost = if dice.roll(3) == 0 { self.take_counter() } else { NONE };
                self.code.edges.push(EdgeRecord { cost, ..edge(from, to, counter) });
            }
        }

        /// What a thread's counters say that comes in at a block and takes so many steps.
        fn walk(&self, dice: &mut Dice, entry: EdgeRecord, steps: u32) -> Area {
            let mut counters: BTreeMap<u32, u64> = BTreeMap::from([(entry.counter, 1)]);
            let mut at = entry.to;
            for step in 0..=steps {
                let block = &self.code.blocks[at as usize];
                let ways: Vec<_> = self.code.edges.iter().filter(|edge| edge.from == at).collect();
                *counters.entry(block.counter).or_default() += 1;
                if step == steps || ways.is_empty() {
                    break;
                }
                let way = ways[dice.roll(ways.len() as u32) as usize];
                *counters.entry(way.counter).or_default() += 1;
                *counters.entry(way.cost).or_default() += 7;
                at = way.to;
            }
            counters.remove(&NONE);
            Area {
                offset: 0,
                tid: 1,
                state: state::IN_SYSTEM_CALL,
                position: at,
                lost_calls: 0,
                clock: 0,
                counters: counters.into_iter().collect(),
                below_zero: Vec::new(),
            }
        }
    }

    #[test]
    fn what_follows_step_by_step_is_what_all_equations_say() {
        let (mut pieces, mut modules) = (Pieces::default(), Modules::default());
        let module = modules.unmapped();
        let mut piece = |number: u32| {
            let offset = Offset(16 * u64::from(number));
            let code = &[0x90, 0x90, 0x90, 0xc3];
            pieces.add(&mut modules, &Found { owner: 1, module, offset, version: 0, instructions: 4, code })
        };
        let mut dice = Dice(1);
        let mut cases = Vec::new();
        for _ in 0..300 {
            let mut program = Program { code: Code::default(), counters: 0, joined: Vec::new() };
            program.code.is_forked = true;
            let size = (2 + dice.roll(30), dice.roll(40));
            program.grow(&mut dice, size, &mut piece);
            let before = [program.code.blocks.len(), program.code.edges.len()];
            let size = (dice.roll(8), dice.roll(6));
            program.grow(&mut dice, size, &mut piece);
            let all = program.code.blocks.len() as u32;
            let entry = edge(NONE, dice.roll(all), program.take_counter());
            program.code.edges.push(entry);
            let steps = dice.roll(100);
            let area = program.walk(&mut dice, entry, steps);
            cases.push((program.code, before, area));
        }
        for (whole, [blocks, edges], area) in cases {
            let part = |blocks: std::ops::Range<usize>, edges: std::ops::Range<usize>| Code {
                blocks: whole.blocks[blocks.clone()].to_vec(),
                pieces: whole.pieces[blocks].to_vec(),
                edges: whole.edges[edges].to_vec(),
                is_forked: true,
            };
            let inheritance = Inheritance::new(part(0..blocks, 0..edges));
            let own = part(blocks..whole.blocks.len(), edges..whole.edges.len());
            let areas = [area];
            let expected = whole.flow(&pieces, 1, &areas);
            assert_eq!(expected.imbalance, 0);
            let found = inheritance.flow(&own, &pieces, 1, &areas).expect("a thread that rests");
            assert_eq!(found.flows, expected.flows);
            assert_eq!(found.threads, expected.threads);
            assert_eq!(found.costs, expected.costs);
        }
    }
}
