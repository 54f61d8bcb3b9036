//! One process image after the other: its translated blocks as pieces, its counters as flow.

use super::calls;
use super::flow::{self, Flow};
use super::inheritance::Inheritance;
use super::pieces::{PieceId, Pieces};
use super::rows::{ImageFlow, Rows};
use super::translated::Translated;
use crate::code::Modules;
use crate::harvest::{Area, Images};
use crate::paths::PathCounts;
use crate::solve::{Equations, Point};
use crate::unseen;
use std::collections::HashMap;
use timewise_abi::NONE;
use timewise_abi::log::{BlockRecord, EdgeRecord};

/// Everything that was counted so far.
#[derive(Debug)]
pub struct Converter {
    /// What was mapped.
    pub modules: Modules,
    /// What was translated.
    pub pieces: Pieces,
    /// Who executed it.
    pub rows: Rows,
    /// Whether it adds up.
    pub balance: Balance,
    /// Blocks that were translated, and ticks of the time stamp counter that it took.
    pub translated_in: (u64, u64),
    /// What counters of paths say.
    pub paths: PathCounts,
    /// Each image's own blocks, by record.
    translated: HashMap<u64, Translated>,
    /// What images begin with that were forked alike, once there were two, the latest first.
    forks: Vec<(Fork, Option<Inheritance>)>,
    /// About how much all images executed: not less, and not more than [`MOST_EXECUTED`].
    executed: u128,
    /// If it was asked to keep that: what each image's blocks are, inherited ones first, by record.
    pub kept: Option<HashMap<u64, Vec<PieceId>>>,
    /// Likewise, the row and thread of each thread area.
    pub threads: HashMap<u64, (usize, usize)>,
}

/// The parent's record, and how much of its logs was there.
type Fork = (u64, [usize; 3]);

/// So many forks are remembered.
const MOST_FORKS: usize = 2;

/// More than any program executes, and half of what a profile may say. Counters that a program wrote over may add up
/// to more.
const MOST_EXECUTED: u128 = 1 << 60;

/// How well the flow of control adds up, over all images.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    /// Images.
    pub images: u32,
    /// Those whose flow does not balance.
    pub unbalanced: u32,
    /// By how much, in all.
    pub imbalance: u64,
}

impl Converter {
    /// Nothing counted yet. At most `process_limit` processes get rows of their own. `keep` says whether it is
    /// to be known in the end what each translated block was.
    pub fn new(process_limit: usize, keep: bool) -> Converter {
        Converter {
            modules: Modules::default(),
            pieces: Pieces::default(),
            rows: Rows::new(process_limit),
            balance: Balance::default(),
            translated_in: (0, 0),
            paths: PathCounts::default(),
            translated: HashMap::new(),
            forks: Vec::new(),
            executed: 0,
            kept: keep.then(HashMap::new),
            threads: HashMap::new(),
        }
    }

    /// Takes in an image, whose row was found before, with the areas of its threads.
    pub fn add(&mut self, images: &Images, record: u64, areas: &[Area]) {
        for (ancestor, _) in images.parts(record, 0) {
            let translated = self.translated.entry(ancestor.record).or_default();
            translated.extend(&mut self.modules, &mut self.pieces, images, ancestor.record);
        }
        let mut flow = self.flow_of_child(images, record, areas).unwrap_or_else(|| {
            let code = self.code(images, record, |_| true);
            let flow = code.flow(&self.pieces, record, areas);
            if let Some(kept) = &mut self.kept {
                kept.insert(record, code.pieces);
            }
            flow
        });
        let executed = flow.executed(&self.pieces);
        if self.executed.saturating_add(executed) > MOST_EXECUTED {
            flow.disown();
        } else {
            self.executed += executed;
        }
        self.balance.images += 1;
        self.balance.unbalanced += u32::from(flow.imbalance > 0);
        self.balance.imbalance = self.balance.imbalance.saturating_add(flow.imbalance);
        if let Some((row, first, is_one)) = self.rows.add(flow).filter(|_| self.kept.is_some()) {
            let numbered = areas.iter().enumerate();
            let thread = |number| if is_one { first } else { first + number };
            self.threads.extend(numbered.map(|(number, area)| (area.offset, (row, thread(number)))));
        }
    }

    /// What an image executed that was forked where another one was, if that follows simply.
    fn flow_of_child(&mut self, images: &Images, record: u64, areas: &[Area]) -> Option<ImageFlow> {
        let image = images.get(record).filter(|image| image.inherited[0] > 0 && self.kept.is_none())?;
        let begins_with = (image.parent, image.inherited);
        let Some(at) = self.forks.iter().position(|(fork, _)| *fork == begins_with) else {
            self.forks.truncate(MOST_FORKS - 1);
            self.forks.insert(0, (begins_with, None));
            return None;
        };
        let (_, known) = self.forks.remove(at);
        let inherited = |part| part != record;
        let known = known.unwrap_or_else(|| Inheritance::new(self.code(images, record, inherited)));
        let own = self.code(images, record, |part| part == record);
        let flow = known.flow(&own, &self.pieces, record, areas);
        self.forks.insert(0, (begins_with, Some(known)));
        flow
    }

    /// What an image logged and inherited, of these parts. Its edges name blocks by their numbers in all of that.
    fn code(&self, images: &Images, record: u64, is_asked_for: impl Fn(u64) -> bool) -> Code {
        let mut code = Code::default();
        let mut count = 0;
        for (ancestor, range) in images.parts(record, 0) {
            count += range.len();
            if is_asked_for(ancestor.record) {
                code.blocks.extend_from_slice(&ancestor.blocks[range.clone()]);
                code.pieces.extend_from_slice(&self.translated[&ancestor.record].pieces[range]);
            }
        }
        // A process that still runs may have been about to log the blocks that an edge joins.
        let known = |block: u32| block == NONE || (block as usize) < count;
        for (ancestor, range) in
            images.parts(record, 1).into_iter().filter(|part| is_asked_for(part.0.record))
        {
            let edges = ancestor.edges[range].iter().copied();
            code.edges.extend(edges.filter(|edge| known(edge.from) && known(edge.to)));
            code.is_forked |= ancestor.record != record;
        }
        code
    }

    /// Calls of which it is not known in full what they cost.
    pub fn lost_calls(&self) -> u64 {
        self.rows.all.iter().fold(0, |sum, row| sum.saturating_add(row.lost_calls))
    }

    /// Forgets an image's own blocks: it was taken in, and so were all that go on from it.
    pub fn forget(&mut self, record: u64) {
        self.translated.remove(&record);
    }
}

/// All that a process image could execute.
#[derive(Debug, Default)]
pub struct Code {
    /// By number.
    pub blocks: Vec<BlockRecord>,
    /// What each block is.
    pub pieces: Vec<PieceId>,
    /// Between them.
    pub edges: Vec<EdgeRecord>,
    /// Whether some of it was executed before by the process that this one was forked from.
    pub is_forked: bool,
}

impl Code {
    /// What its threads executed of it.
    pub fn flow(&self, pieces: &Pieces, record: u64, areas: &[Area]) -> ImageFlow {
        let sums = self.sums(areas);
        let rests = areas.iter().filter_map(|area| area.in_system_call());
        let rests: Vec<u32> = rests.filter(|&block| (block as usize) < self.blocks.len()).collect();
        let points: Vec<Point> = rests.iter().filter_map(|&block| self.end_of(block)).collect();
        let equations = Equations::new(&self.blocks, &self.edges);
        let mut solution = equations.solve(|n| sums[n as usize], &points);
        let running = areas.iter().filter(|area| area.was_running()).count();
        let unseen = unseen::place(&equations, &mut solution, running);

        // What is negative, or comes in and does not leave, nobody can account for.
        let negative = solution.edges.iter().map(|count| count.min(&0).unsigned_abs());
        let remaining = solution.remainders.iter().map(|remainder| remainder.surplus.unsigned_abs());
        let imbalance = negative.chain(remaining).fold(0, u64::saturating_add);

        let mut flows = self.edge_flows(&solution.edges);
        let end = |block: u32, executed| Flow::end((self.pieces[block as usize], executed));
        flows.extend(rests.iter().map(|&block| end(block, self.blocks[block as usize].instructions)));
        flows.extend(unseen.iter().map(|&point| end(point.block(), self.executed_at(point))));
        flow::simplify(pieces, &mut flows);
        let weights = equations.instruction_weights(sums.len());
        // Which of the threads that nobody saw end was where does not show. What they executed together is right.
        let mut places = unseen.iter().copied();
        let executed = |area: &Area| {
            let place = if area.was_running() { places.next() } else { None };
            let rest = place.or_else(|| area.in_system_call().and_then(|block| self.end_of(block)));
            let all = weights.instructions(&area.counters, rest);
            let missing = place.map_or(0, |point| {
                self.blocks[point.block() as usize].instructions - self.executed_at(point)
            });
            (area.tid, (all - i64::from(missing)).max(0) as u64)
        };
        let threads = areas.iter().map(executed).collect();
        let piece = |block: u32| self.pieces[block as usize];
        let (costs, open) = calls::costs((&self.edges, &flows), piece, areas, self.is_forked);
        let lost_calls = areas.iter().fold(open, |sum, area| sum.saturating_add(area.lost_calls));
        ImageFlow { record, threads, flows, costs, lost_calls, unknown_ends: unseen.len() as u32, imbalance }
    }

    /// What all threads together counted, by counter.
    fn sums(&self, areas: &[Area]) -> Vec<u64> {
        let of_edges = self.edges.iter().map(|edge| edge.counter);
        let counters = of_edges.chain(self.blocks.iter().map(|block| block.counter));
        let counters = counters.filter(|&c| c != NONE).max().map_or(0, |c| c as usize + 1);
        let mut sums = vec![0u64; counters];
        for &(number, value) in areas.iter().flat_map(|area| &area.counters) {
            // A process that still runs may have gone on to code that was not there when its blocks were
            // read.
            if let Some(sum) = sums.get_mut(number as usize) {
                *sum = sum.saturating_add(value);
            }
        }
        sums
    }

    /// The point behind a block's last instruction.
    fn end_of(&self, block: u32) -> Option<Point> {
        let all = self.blocks.get(block as usize)?.instructions;
        Some(Point::left(block, all, &self.blocks))
    }

    /// How many of its block's instructions a thread has executed that was stopped at a point.
    fn executed_at(&self, point: Point) -> u16 {
        if point.before_counter(&self.blocks) { 0 } else { self.blocks[point.block() as usize].instructions }
    }

    fn edge_flows(&self, counts: &[i64]) -> Vec<Flow> {
        let taken = self.edges.iter().zip(counts).filter(|(_, count)| **count > 0);
        let flow =
            |(edge, &count): (&EdgeRecord, &i64)| Flow::of(edge, count, |block| self.pieces[block as usize]);
        taken.map(flow).collect()
    }
}
