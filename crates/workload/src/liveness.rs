//! What is read again behind each block before it is overwritten, along the ways that were executed.
//!
//! Each use counts, also those of instructions that nobody needs. What a caller or a callee reads is not known, so all is
//! read behind calls and returns.

use crate::exact::Exact;
use timewise_flow::Code;
use timewise_isa::effects::{Effects, Nature, Storages, effects};
use timewise_profile::{BlockId, Profile};

/// The storages that are live at the end of each block.
pub struct Liveness {
    at_end: Vec<Storages>,
}

/// What a block does to what is live.
#[derive(Clone, Copy)]
struct Transfer {
    reads: Storages,
    overwrites: Storages,
}

impl Liveness {
    /// Of all executed blocks.
    pub fn new(profile: &Profile, code: &Code, exact: &Exact) -> Liveness {
        let blocks = 0..code.blocks.len() as u32;
        let transfers: Vec<Transfer> =
            blocks.clone().map(|block| transfer(profile, code, BlockId(block))).collect();
        let (successors, is_open) = successors(code, exact);
        let mut predecessors = vec![Vec::new(); code.blocks.len()];
        for (from, to) in
            successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
        {
            predecessors[to as usize].push(from as u32);
        }
        let none_or_all = |&open: &bool| if open { Storages::ALL } else { Storages::NONE };
        let mut at_end: Vec<Storages> = is_open.iter().map(none_or_all).collect();
        let mut waiting: Vec<u32> = blocks.collect();
        while let Some(block) = waiting.pop() {
            let Transfer { reads, overwrites } = transfers[block as usize];
            let at_start = at_end[block as usize].without(overwrites).union(reads);
            for &before in &predecessors[block as usize] {
                let live = &mut at_end[before as usize];
                let more = live.union(at_start);
                if more != *live {
                    *live = more;
                    waiting.push(before);
                }
            }
        }
        Liveness { at_end }
    }

    /// What is live where control leaves a block.
    pub fn at_end(&self, block: BlockId) -> Storages {
        self.at_end[block.index()]
    }
}

/// The effects of the instructions of a block.
pub fn of_block(profile: &Profile, code: &Code, block: BlockId) -> impl DoubleEndedIterator<Item = Effects> {
    let bytes = &profile.blocks[block.index()].code;
    let begin = code.blocks[block.index()].place.offset.0;
    code.blocks[block.index()].instructions().map(move |id| {
        let offset = code.instructions[id.index()].step.offset;
        effects(&bytes[(offset - begin) as usize..], offset)
    })
}

fn transfer(profile: &Profile, code: &Code, block: BlockId) -> Transfer {
    let mut of = Transfer { reads: Storages::NONE, overwrites: Storages::NONE };
    for effects in of_block(profile, code, block).rev() {
        if effects.nature == Nature::Barrier {
            of = Transfer { reads: Storages::ALL, overwrites: Storages::ALL };
            continue;
        }
        of.reads = of.reads.without(effects.overwrites).union(effects.reads);
        of.overwrites = of.overwrites.union(effects.overwrites);
    }
    of
}

/// Where control went from each block, and whether it also went elsewhere, or where nothing is known of.
fn successors(code: &Code, exact: &Exact) -> (Vec<Vec<u32>>, Vec<bool>) {
    let mut successors = vec![Vec::new(); code.blocks.len()];
    let mut seen = vec![0u64; code.blocks.len()];
    for (&(from, to), &count) in &exact.edges {
        successors[from.index()].push(to.0);
        seen[from.index()] = seen[from.index()].saturating_add(count);
    }
    let blocks = code.blocks.iter().zip(&seen).zip(&exact.executions);
    let is_open = blocks.map(|((block, seen), executions)| block.length == 0 || seen != executions).collect();
    (successors, is_open)
}
