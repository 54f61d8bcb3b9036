//! Measured time divided among instructions by a model.
//!
//! Samples tell well what a loop or a block costs, and badly which of its instructions: an interrupt takes
//! effect where the processor happens to be. A model of a core tells for certain which instruction its own
//! cycles go to. So the time that was measured for a loop or block is divided as the model's cycles are.

use crate::analysis::Analysis;
use crate::code::InstructionId;
use crate::loops::LoopId;
use crate::samples::Weight;
use timewise_attribution::Parts;
use timewise_profile::BlockId;

/// What time was measured for, to be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whole {
    /// A loop without its inner loops.
    Loop(LoopId),
    /// A block that is in no loop.
    Block(BlockId),
}

/// An instruction's part of the time that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divided {
    /// Cycles, as the clock of the samples has them.
    pub cycles: f64,
    /// Nanoseconds.
    pub ns: f64,
    /// What was divided.
    pub whole: Whole,
}

impl Analysis<'_> {
    /// The part of each instruction, by id; `None` where nothing was measured, or nothing modelled.
    pub fn divided(&self) -> Vec<Option<Divided>> {
        let Some(modelled) = &self.modelled else { return vec![None; self.code.instructions.len()] };
        let loops = self.forest.loops.len();
        let group = |id: InstructionId| match self.whole_of(id) {
            Whole::Loop(id) => id.index(),
            Whole::Block(id) => loops + id.index(),
        };
        let mut measured = vec![Weight::default(); loops + self.code.blocks.len()];
        let mut heights = vec![Parts::ZERO; measured.len()];
        let ids = || (0..self.code.instructions.len() as u32).map(InstructionId);
        for id in ids() {
            measured[group(id)] += self.attributed.at[id.index()];
            heights[group(id)] += modelled.stacks.height(id.0);
        }
        ids()
            .map(|id| {
                let (weight, height) = (measured[group(id)], heights[group(id)]);
                let is_known = weight.samples > 0.0 && height > Parts::ZERO;
                let share = modelled.stacks.height(id.0).of(height);
                is_known.then(|| Divided {
                    cycles: share * weight.cycles,
                    ns: share * weight.ns,
                    whole: self.whole_of(id),
                })
            })
            .collect()
    }

    fn whole_of(&self, id: InstructionId) -> Whole {
        let block = self.block_of(id);
        self.forest.innermost[block.index()].map_or(Whole::Block(block), Whole::Loop)
    }
}
