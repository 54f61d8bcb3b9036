//! Executed code: blocks cut into instructions, with exact counts, and the edges between blocks.

use crate::hash::NumberMap;
use crate::parallel::in_parts;
use crate::reach::{reaches, same_code};
use std::collections::BTreeMap;
use std::ops::Range;
use timewise_isa::{Control, Step, walk};
use timewise_profile::{BlockId, EdgeCount, EdgeKind, Offset, Place, Profile, RunKind};

/// Index into [`Code::instructions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstructionId(pub u32);

impl InstructionId {
    /// Position in the table that this id indexes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A block of the profile with what follows from its code and counts.
#[derive(Clone, Copy, Debug)]
pub struct ExecutedBlock {
    /// First instruction.
    pub place: Place,
    /// Offset behind the last byte.
    pub end: Offset,
    /// Executions in one run, all processes together.
    pub executions: u64,
    /// Its first instruction; the others follow.
    pub first: InstructionId,
    /// Number of instructions.
    pub length: u32,
    /// Whether what begins with it takes its own return address off the stack.
    pub takes_return_address: bool,
}

impl ExecutedBlock {
    /// Ids of its instructions, in order.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = InstructionId> + use<> {
        (self.first.0..self.first.0 + self.length).map(InstructionId)
    }

    /// Its last instruction, by which control leaves it.
    pub fn last(&self) -> InstructionId {
        InstructionId(self.first.0 + self.length - 1)
    }
}

/// An executed instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// The block that holds it.
    pub block: BlockId,
    /// Its boundaries and nature; `step.offset` is the offset within the module.
    pub step: Step,
}

/// Control transfers between two blocks, all processes together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// Where to; `None` when control left what is counted.
    pub to: Option<BlockId>,
    /// Where from; `None` when control came from outside.
    pub from: Option<BlockId>,
    /// In which way.
    pub kind: EdgeKind,
    /// How often in one run.
    pub count: u64,
}

impl Edge {
    fn way(&self) -> (Option<BlockId>, Option<BlockId>, EdgeKind) {
        (self.to, self.from, self.kind)
    }
}

/// What calls from one block to another cost, all processes together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallCost {
    /// The block that ends in the call.
    pub site: BlockId,
    /// Where the call led to.
    pub callee: BlockId,
    /// Instructions of the callee and its callees in one run, where the site's activation is the most recent
    /// one of its function.
    pub instructions: u64,
}

/// Everything that ran under counting. Where a profile holds several counting runs, counts are
/// those of an average run, so that they compare with the cycles of one.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Parallel to the profile's blocks.
    pub blocks: Vec<ExecutedBlock>,
    /// Instructions of all blocks, block by block.
    pub instructions: Vec<Instruction>,
    /// Sorted by destination.
    pub edges: Vec<Edge>,
    /// Sorted by site and callee; nothing unless `has_call_costs`.
    pub call_costs: Vec<CallCost>,
    /// Whether all counting runs counted what calls cost.
    pub has_call_costs: bool,
    /// Executions of all instructions together: every row of a report is a share of it.
    executed: u64,
    by_place: Vec<BlockId>,
    /// Of each of `by_place`, where the last ends of it and of all before it in the same code.
    reaches: Vec<u64>,
    by_end: NumberMap<Place, BlockId>,
}

/// So many blocks are worth a thread.
pub(crate) const MANY: usize = 1 << 12;

/// The instructions of all blocks, block by block.
fn instructions(profile: &Profile) -> Vec<Instruction> {
    let decode = |blocks: Range<usize>| {
        let mut found = Vec::new();
        for (index, block) in profile.blocks[blocks.clone()].iter().enumerate() {
            let id = BlockId((blocks.start + index) as u32);
            let steps = walk(&block.code, block.place.offset.0);
            found.extend(steps.map(|step| Instruction { block: id, step }));
        }
        found
    };
    let parts = in_parts(profile.blocks.len(), MANY, decode);
    parts
        .into_iter()
        .reduce(|mut all, mut part| {
            all.append(&mut part);
            all
        })
        .unwrap_or_default()
}

impl Code {
    /// Cuts the profile's blocks into instructions and adds up its counts.
    pub fn new(profile: &Profile) -> Code {
        let runs = profile.runs_to_average(RunKind::Counting) as u64;
        let average = |total: u64| if runs == 1 { total } else { (total + runs / 2) / runs };
        let mut totals = vec![0u64; profile.blocks.len()];
        for row in &profile.block_counts {
            totals[row.block.index()] += row.executions;
        }
        let mut code = Code { instructions: instructions(profile), ..Code::default() };
        let mut next = 0;
        for (index, (block, total)) in profile.blocks.iter().zip(totals).enumerate() {
            let first = InstructionId(next as u32);
            let id = BlockId(index as u32);
            let is_own = |instruction: &&Instruction| instruction.block == id;
            let length = code.instructions[next..].iter().take_while(is_own).count();
            next += length;
            let end = Offset(block.place.offset.0.saturating_add(block.code.len() as u64));
            code.blocks.push(ExecutedBlock {
                place: block.place,
                end,
                executions: average(total),
                first,
                length: length as u32,
                takes_return_address: timewise_isa::takes_return_address(&block.code),
            });
            code.by_end.insert(Place { offset: end, ..block.place }, id);
        }
        let each = code.blocks.iter().map(|block| block.executions.saturating_mul(block.length.into()));
        code.executed = each.fold(0, u64::saturating_add);
        code.by_place = (0..code.blocks.len() as u32).map(BlockId).collect();
        code.by_place.sort_unstable_by_key(|id| code.blocks[id.index()].place);
        let extent = |id: &BlockId| (code.blocks[id.index()].place, code.blocks[id.index()].end.0);
        code.reaches = reaches(code.by_place.iter().map(extent));
        let edge = |row: &EdgeCount| Edge { to: row.to, from: row.from, kind: row.kind, count: row.count };
        code.edges = profile.edge_counts.iter().map(edge).collect();
        code.edges.sort_unstable_by_key(Edge::way);
        // Of all processes together.
        code.edges.dedup_by(|next, kept| {
            let same = next.way() == kept.way();
            if same {
                kept.count += next.count;
            }
            same
        });
        code.edges.iter_mut().for_each(|edge| edge.count = average(edge.count));
        let counting = || profile.runs_of(RunKind::Counting);
        code.has_call_costs = counting().next().is_some() && counting().all(|run| run.lost_calls.is_some());
        if code.has_call_costs {
            let mut costs: BTreeMap<(BlockId, BlockId), u64> = BTreeMap::new();
            for row in &profile.call_costs {
                *costs.entry((row.site, row.callee)).or_default() += row.instructions;
            }
            let cost = |((site, callee), total)| CallCost { site, callee, instructions: average(total) };
            code.call_costs = costs.into_iter().map(cost).collect();
        }
        code
    }

    /// The block that holds the byte at `place`.
    pub fn block_at(&self, place: Place) -> Option<BlockId> {
        let after = self.by_place.partition_point(|id| self.blocks[id.index()].place <= place);
        let id = *self.by_place.get(after.checked_sub(1)?)?;
        let block = &self.blocks[id.index()];
        (same_code(block.place, place) && place.offset < block.end).then_some(id)
    }

    /// The instruction that begins exactly at `place`, of whichever block if several overlap.
    pub fn instruction_at(&self, place: Place) -> Option<InstructionId> {
        let after = self.by_place.partition_point(|id| self.blocks[id.index()].place <= place);
        let before = self.by_place[..after].iter().zip(&self.reaches[..after]).rev();
        let near = before
            .map(|(id, reach)| (&self.blocks[id.index()], *reach))
            .take_while(|(block, reach)| same_code(block.place, place) && place.offset.0 < *reach);
        let within = |block: &ExecutedBlock| {
            let first = block.first.index();
            let all = &self.instructions[first..first + block.length as usize];
            let at = all.binary_search_by_key(&place.offset.0, |instruction| instruction.step.offset).ok()?;
            Some(InstructionId((first + at) as u32))
        };
        near.filter(|(block, _)| place.offset < block.end).find_map(|(block, _)| within(block))
    }

    /// The block that ends right before `place`, if its last instruction is a call: `place` is then
    /// where that call returns to.
    pub fn call_returning_to(&self, place: Place) -> Option<BlockId> {
        self.block_before(place).filter(|&id| self.ends_in_call(id))
    }

    /// The block that ends right before `place`.
    pub fn block_before(&self, place: Place) -> Option<BlockId> {
        self.by_end.get(&place).copied()
    }

    /// By what control leaves a block; `None` if it holds no code.
    pub fn control(&self, block: BlockId) -> Option<Control> {
        let executed = &self.blocks[block.index()];
        (executed.length > 0).then(|| self.instructions[executed.last().index()].step.control)
    }

    /// Whether the last instruction of `block` is a call.
    pub fn ends_in_call(&self, block: BlockId) -> bool {
        matches!(self.control(block), Some(Control::Call { .. } | Control::IndirectCall))
    }

    /// Edges into `block`.
    pub fn edges_into(&self, block: BlockId) -> &[Edge] {
        let begin = self.edges.partition_point(|edge| edge.to < Some(block));
        let length = self.edges[begin..].partition_point(|edge| edge.to == Some(block));
        &self.edges[begin..begin + length]
    }

    /// Edges to outside the program, and to instructions that faulted.
    pub fn edges_out(&self) -> &[Edge] {
        &self.edges[..self.edges.partition_point(|edge| edge.to.is_none())]
    }

    /// Executions of an instruction: those of its block.
    pub fn executions(&self, instruction: InstructionId) -> u64 {
        self.blocks[self.instructions[instruction.index()].block.index()].executions
    }

    /// Executions of all instructions together.
    pub fn instructions_executed(&self) -> u64 {
        self.executed
    }

    /// Where an instruction stands.
    pub fn place(&self, instruction: InstructionId) -> Place {
        let Instruction { block, step } = self.instructions[instruction.index()];
        Place { offset: Offset(step.offset), ..self.blocks[block.index()].place }
    }
}
