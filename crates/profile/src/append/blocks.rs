//! Joining blocks that were executed in different runs, and their counts.
//!
//! A jump that only one run took makes a block begin where the other run has none. Both are split there,
//! so that blocks stay blocks in the compiler's sense, and the parts of a split block are linked by as
//! many falls through as it was executed.

use super::Renumbering;
use crate::model::{
    Block, BlockCount, BlockId, CallCost, CodeVersion, EdgeCount, EdgeKind, IntervalBlock, ModuleId, Offset,
    PathCount, Place, ProcessId, Profile,
};
use std::collections::HashMap;
use timewise_isa::decode;

/// What was counted of a table of blocks.
pub struct Counts {
    pub blocks: Vec<BlockCount>,
    pub edges: Vec<EdgeCount>,
    pub calls: Vec<CallCost>,
    pub intervals: Vec<IntervalBlock>,
    pub paths: Vec<PathCount>,
}

impl Counts {
    fn processes(&mut self) -> impl Iterator<Item = &mut ProcessId> {
        let blocks = self.blocks.iter_mut().map(|row| &mut row.process);
        let edges = self.edges.iter_mut().map(|row| &mut row.process);
        blocks.chain(edges).chain(self.calls.iter_mut().map(|row| &mut row.process))
    }
}

/// Adds blocks of another profile to those of `profile`, and their counts.
pub fn join(profile: &mut Profile, mut other: Vec<Block>, mut other_counts: Counts, ids: &Renumbering) {
    for block in &mut other {
        block.place = ids.place(block.place);
    }
    for process in other_counts.processes() {
        *process = ids.process(*process);
    }
    let cuts = Cuts::between(&profile.blocks, &other);

    let ours = std::mem::take(&mut profile.blocks);
    let counts = Counts {
        blocks: std::mem::take(&mut profile.block_counts),
        edges: std::mem::take(&mut profile.edge_counts),
        calls: std::mem::take(&mut profile.call_costs),
        intervals: std::mem::take(&mut profile.interval_blocks),
        paths: std::mem::take(&mut profile.paths),
    };
    let mut joined = Joined { profile, known: HashMap::new() };
    let parts = joined.add_blocks(ours, &cuts);
    joined.add_counts(counts, &parts);
    let parts = joined.add_blocks(other, &cuts);
    joined.add_counts(other_counts, &parts);
}

/// The table of blocks as it grows.
struct Joined<'a> {
    profile: &'a mut Profile,
    /// By place and length.
    known: HashMap<(Place, usize), BlockId>,
}

impl Joined<'_> {
    /// Adds the parts of all blocks and gives their ids, a row for each block.
    fn add_blocks(&mut self, blocks: Vec<Block>, cuts: &Cuts) -> Vec<Vec<BlockId>> {
        let parts = |block| cuts.split(block).into_iter().map(|part| self.add(part)).collect();
        blocks.into_iter().map(parts).collect()
    }

    fn add(&mut self, block: Block) -> BlockId {
        *self.known.entry((block.place, block.code.len())).or_insert_with(|| {
            self.profile.blocks.push(block);
            BlockId(self.profile.blocks.len() as u32 - 1)
        })
    }

    fn add_counts(&mut self, counts: Counts, parts: &[Vec<BlockId>]) {
        for count in counts.blocks {
            let parts = &parts[count.block.index()];
            self.profile.block_counts.extend(parts.iter().map(|&block| BlockCount { block, ..count }));
            if count.executions > 0 {
                self.profile.edge_counts.extend(parts.windows(2).map(|pair| EdgeCount {
                    from: Some(pair[0]),
                    to: Some(pair[1]),
                    kind: EdgeKind::Fallthrough,
                    process: count.process,
                    count: count.executions,
                }));
            }
        }
        let first = |block: BlockId| parts[block.index()].first().copied();
        let last = |block: BlockId| parts[block.index()].last().copied();
        self.profile.edge_counts.extend(counts.edges.into_iter().map(|edge| EdgeCount {
            from: edge.from.and_then(last),
            to: edge.to.and_then(first),
            ..edge
        }));
        self.profile.call_costs.extend(counts.calls.into_iter().filter_map(|cost| {
            Some(CallCost { site: last(cost.site)?, callee: first(cost.callee)?, ..cost })
        }));
        for part in counts.intervals {
            self.add_interval(part, &parts[part.block.index()]);
        }
        self.profile.paths.extend(counts.paths.into_iter().map(|path| {
            let blocks = path.blocks.iter().flat_map(|block| &parts[block.index()]).copied().collect();
            PathCount { blocks, ..path }
        }));
    }

    /// Divides what an interval executed of a block among the block's parts, by their size. Executions that the
    /// interval does not hold as a whole are taken to have gone from the block's start as far as they went.
    fn add_interval(&mut self, whole: IntervalBlock, parts: &[BlockId]) {
        let size = |block: BlockId| u64::from(self.profile.blocks[block.index()].instructions);
        let all: u64 = parts.iter().map(|&part| size(part)).sum();
        let (executions, mut rest) = (
            whole.instructions.checked_div(all).unwrap_or(0),
            whole.instructions.checked_rem(all).unwrap_or(0),
        );
        let divided = parts.iter().map(|&block| {
            let partly = rest.min(size(block));
            rest -= partly;
            IntervalBlock { block, instructions: executions * size(block) + partly, ..whole }
        });
        let divided: Vec<IntervalBlock> = divided.filter(|part| part.instructions > 0).collect();
        self.profile.interval_blocks.extend(divided);
    }
}

/// Where blocks of either profile begin or end, in order, for each code.
struct Cuts(HashMap<(ModuleId, CodeVersion), Vec<u64>>);

impl Cuts {
    fn between(ours: &[Block], theirs: &[Block]) -> Self {
        let mut cuts: HashMap<_, Vec<u64>> = HashMap::new();
        for block in ours.iter().chain(theirs) {
            let start = block.place.offset.0;
            let of = cuts.entry((block.place.module, block.place.version)).or_default();
            of.extend([start, start.saturating_add(block.code.len() as u64)]);
        }
        for of in cuts.values_mut() {
            of.sort_unstable();
            of.dedup();
        }
        Self(cuts)
    }

    /// Splits a block at all cuts within it that fall between two of its instructions. (A jump into the
    /// middle of an instruction makes blocks that overlap in every run.)
    fn split(&self, block: Block) -> Vec<Block> {
        let start = block.place.offset.0;
        let end = start.saturating_add(block.code.len() as u64);
        let of = self.0.get(&(block.place.module, block.place.version)).map_or(&[][..], Vec::as_slice);
        let after = &of[of.partition_point(|cut| *cut <= start)..];
        let within = &after[..after.partition_point(|cut| *cut < end)];
        if within.is_empty() {
            return vec![block];
        }
        let mut parts = Vec::new();
        let (mut from, mut at, mut instructions, mut left) = (0, 0, 0, block.instructions);
        while let Ok(instruction) = decode(&block.code[at..], 0) {
            at += usize::from(instruction.length);
            instructions += 1;
            if instructions < left && within.binary_search(&(start + at as u64)).is_ok() {
                parts.push(part(&block, from..at, instructions));
                left -= instructions;
                (from, instructions) = (at, 0);
            }
        }
        parts.push(part(&block, from..block.code.len(), left));
        parts
    }
}

fn part(block: &Block, range: std::ops::Range<usize>, instructions: u32) -> Block {
    let offset = Offset(block.place.offset.0 + range.start as u64);
    Block { place: Place { offset, ..block.place }, instructions, code: block.code[range].to_vec() }
}
