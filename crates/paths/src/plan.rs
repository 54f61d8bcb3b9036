//! What to do on which edges of a routine, so that its paths are counted.

use crate::cfg::{Cfg, EdgeId};
use crate::cut::Cuts;
use crate::dag::{Dag, DagEdgeId};
use crate::decoder::Decoder;
use crate::increments::increments;
use crate::obvious::Obvious;
use crate::placement::{Placement, Probe};
use crate::truncate::truncate;

/// How large things may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Paths of a routine that are numbered; edges are cut until there are no more.
    pub paths: u64,
    /// Paths up to which each has a counter in an array; beyond, counters are found by hashing.
    pub array: u64,
}

impl Default for Limits {
    /// As in the paper: truncation at 10,000,000 paths (section 4.1), and arrays for as many as an increment of 13
    /// bits with its sign reaches (appendix A).
    fn default() -> Limits {
        Limits { paths: 10_000_000, array: 1 << 12 }
    }
}

/// Where a routine's counters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Nowhere: nothing is counted.
    Nothing,
    /// In an array, by path number.
    Array,
    /// In a hash table, by path number.
    Hash,
}

/// Something to do when control goes along an edge. There is one register for each activation of the routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Add to the register.
    Add(i64),
    /// Set the register.
    Set(i64),
    /// Set the register to [`POISON`].
    Poison,
    /// Count the path whose number is the register plus this; the cold counter if that is negative.
    Count(i64),
    /// Count the path of this number.
    CountThis(u64),
    /// Count a path that has no number.
    CountCold,
}

/// A plan has the register neither hold so much nor so much added to it, whichever way control goes, so that half a
/// machine word does for it.
pub const REGISTER: i64 = 1 << 30;

/// What the register holds on paths that have no number: far from where increments could make it one.
pub const POISON: i64 = 0b11 << 62;

/// Instrumentation of a routine, and what it counts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to do on each edge of the routine, in order.
    pub ops: Vec<Vec<Op>>,
    /// How many of an edge's operations end a path; those behind them begin the next.
    ending: Vec<u8>,
    /// Where paths end though control goes on.
    pub cuts: Cuts,
    /// Edges that no numbered path has, but for cut ones.
    pub cold: Vec<bool>,
    /// Where counters are.
    pub store: Store,
    /// Whether the register may be poisoned when a path is counted.
    pub poisons: bool,
    /// From numbers to paths.
    pub decoder: Decoder,
    /// Paths that are not counted because the edge profile tells how often they were taken.
    pub obvious: Vec<(Vec<DagEdgeId>, u64)>,
}

impl Plan {
    /// Plans for all paths between cuts but those over edges in `cold`. Without `obvious` also paths that an edge
    /// profile tells are counted.
    pub fn new(cfg: &Cfg, cuts: &Cuts, mut cold: Vec<bool>, obvious: bool, limits: Limits) -> Plan {
        let (cuts, dag) = truncate(cfg, cuts, &mut cold, limits.paths);
        let Obvious { kept, paths } = if obvious { Obvious::new(&dag) } else { Obvious::nothing(&dag) };
        let decoder = Decoder::new(dag, kept);
        let dag = &decoder.dag;
        let store = match decoder.paths() {
            0 => Store::Nothing,
            few if few <= limits.array => Store::Array,
            _ => Store::Hash,
        };
        let chords = increments(dag, &decoder.values, &decoder.kept);
        let placement = Placement::new(cfg, &cuts, dag, &decoder.kept, &chords);
        let mut plan = Plan {
            ops: vec![Vec::new(); cfg.edges.len()],
            ending: vec![0; cfg.edges.len()],
            cuts,
            cold,
            store,
            poisons: false,
            obvious: paths,
            decoder,
        };
        if store != Store::Nothing {
            plan.instrument(cfg, &placement);
            plan.poison(cfg);
        }
        plan
    }

    /// Puts on the routine's edges what its numbered paths need, and counts what has no number.
    fn instrument(&mut self, cfg: &Cfg, placement: &Placement) {
        let dag = &self.decoder.dag;
        for id in cfg.ids() {
            let edge = cfg.edge(id);
            let mut ops = Vec::new();
            if self.cuts[id.index()] {
                // First the end of one path, then the start of the next (appendix A.3).
                match dag.end(edge.from) {
                    Some(end) => ops.extend(placement.op(end)),
                    None => ops.push(Op::CountCold),
                }
                self.ending[id.index()] = ops.len() as u8;
                ops.extend(dag.start(edge.to).and_then(|start| placement.op(start)));
            } else if let Some(whole) = dag.whole(id) {
                ops.extend(placement.op(whole));
            } else if edge.to == cfg.exit() {
                ops.push(Op::CountCold);
            }
            self.ops[id.index()] = ops;
        }
    }

    /// Poisons the register where control leaves numbered paths in the middle, if anything will look at it.
    fn poison(&mut self, cfg: &Cfg) {
        let reads = |ops: &[Op]| ops.iter().any(|op| matches!(op, Op::Count(_)));
        let reading = cfg.ids().filter(|id| reads(&self.ops[id.index()]));
        let reading = reading.map(|id| cfg.edge(id).from);
        let seen = cfg.reach(reading, true, |id| !self.cuts[id.index()] || self.is_within_cold(cfg, id));
        for id in cfg.ids() {
            let edge = cfg.edge(id);
            if seen[edge.to as usize] && self.leaves_numbered_paths(cfg, id) {
                self.ops[id.index()].push(Op::Poison);
                self.poisons = true;
            }
        }
    }

    /// Whether the register means something before an edge and nothing behind it.
    fn leaves_numbered_paths(&self, cfg: &Cfg, id: EdgeId) -> bool {
        let dag = &self.decoder.dag;
        let edge = cfg.edge(id);
        if self.cuts[id.index()] {
            // Figure 6: where paths begin at the target the register is set (b), else poisoned (a), unless it is
            // that already, in a loop that is cold as a whole (c).
            return dag.start(edge.to).is_none() && !self.is_within_cold(cfg, id);
        }
        edge.to != cfg.exit() && dag.whole(id).is_none() && !self.is_cold(cfg, edge.from)
    }

    /// Whether an edge leads from a block that no numbered path has to another one.
    fn is_within_cold(&self, cfg: &Cfg, id: EdgeId) -> bool {
        let edge = cfg.edge(id);
        self.is_cold(cfg, edge.from) && self.is_cold(cfg, edge.to)
    }

    fn is_cold(&self, cfg: &Cfg, node: u32) -> bool {
        node < cfg.blocks() && !self.decoder.dag.holds(node)
    }

    /// What to do when a path begins behind an edge that is cut.
    pub fn beginning(&self, id: EdgeId) -> &[Op] {
        &self.ops[id.index()][usize::from(self.ending[id.index()])..]
    }

    /// What to do when a path ends before an edge that is cut.
    pub fn ending(&self, id: EdgeId) -> &[Op] {
        &self.ops[id.index()][..usize::from(self.ending[id.index()])]
    }

    /// Paths that have a number.
    pub fn numbered(&self) -> u64 {
        self.decoder.paths()
    }

    /// Whether the register always stays below [`REGISTER`].
    pub fn fits(&self) -> bool {
        let (mut added, mut set, mut counted) = (0i64, 0, 0);
        for op in self.ops.iter().flatten() {
            match op {
                Op::Add(by) => added = added.saturating_add(by.saturating_abs()),
                Op::Set(to) => set = set.max(to.saturating_abs()),
                Op::Count(plus) => counted = counted.max(plus.saturating_abs()),
                Op::CountThis(_) | Op::CountCold | Op::Poison => {}
            }
        }
        added.saturating_add(set).saturating_add(counted) < REGISTER
    }

    /// About how many instructions the plan executes, if control goes as the edge profile says. Counting takes
    /// a load, an addition and a store, and 5.2 times that where counters are found by hashing (table 1); one that
    /// minds poison two instructions more (appendix A.1).
    pub fn cost(&self, cfg: &Cfg) -> u128 {
        let tenths = |op: &Op| match (op, self.store) {
            (Op::Add(_) | Op::Set(_) | Op::Poison, _) => 10,
            (Op::Count(_), Store::Hash) => 156 + 20 * u128::from(self.poisons),
            (Op::CountThis(_), Store::Hash) => 156,
            (Op::Count(_), _) => 30 + 20 * u128::from(self.poisons),
            (Op::CountThis(_) | Op::CountCold, _) => 30,
        };
        let of_edge = |id: EdgeId| {
            let each: u128 = self.ops[id.index()].iter().map(tenths).sum();
            each * u128::from(cfg.edge(id).count)
        };
        cfg.ids().map(of_edge).sum::<u128>() / 10
    }

    /// How often paths end whose counts the edge profile tells, by that.
    pub fn told(&self) -> u64 {
        let dag = &self.decoder.dag;
        let points = dag.into(dag.exit()).iter().filter(|id| !self.decoder.kept[id.index()]);
        points.fold(0, |sum: u64, &id| sum.saturating_add(dag.edge(id).count))
    }

    /// The obvious paths, as often as other counts of the same routine tell.
    pub fn recount(&mut self, cfg: &Cfg) {
        if !self.obvious.is_empty() {
            let dag = Dag::new(cfg, &self.cuts, &mut self.cold);
            self.obvious = Obvious::new(&dag).paths;
        }
    }
}

impl Placement {
    /// What is to be done on an edge of the graph without cycles.
    fn op(&self, id: DagEdgeId) -> Option<Op> {
        Some(match self.probe(id)? {
            Probe::Add(by) => Op::Add(by),
            Probe::Set(to) => Op::Set(to),
            Probe::Count(plus) => Op::Count(plus),
            Probe::CountThis(number) => Op::CountThis(number as u64),
        })
    }
}
