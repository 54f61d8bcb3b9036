//! A block of code, decoded once.

use timewise_engine::streams::StreamedBlock;
use timewise_isa::memory::{Access, accesses};
use timewise_isa::{MAX_LENGTH, boundaries};

/// An instruction of a block.
#[derive(Clone, Debug)]
pub struct Step {
    /// Address.
    pub address: u64,
    /// Bytes.
    pub length: u8,
    /// What it accesses.
    pub accesses: Vec<Access>,
    /// Bytes that are recorded of that.
    pub recorded: usize,
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its instructions.
    pub steps: Vec<Step>,
    /// Bytes that are recorded of it.
    pub recorded: usize,
}

impl Block {
    /// Decodes a block; with nothing to be known of memory unless that is streamed.
    pub fn new(block: &StreamedBlock, with_memory: bool) -> Block {
        let mut steps = Vec::with_capacity(block.instructions.into());
        let mut at = 0;
        for (length, _) in boundaries(block.code, block.address) {
            let end = (at + MAX_LENGTH).min(block.code.len());
            let address = block.address + at as u64;
            let accesses: Vec<Access> = match with_memory {
                true => accesses(&block.code[at..end], address).to_vec(),
                false => Vec::new(),
            };
            let recorded = accesses.iter().map(|access| access.recorded() as usize).sum();
            steps.push(Step { address, length, accesses, recorded });
            at += usize::from(length);
        }
        let recorded = steps.iter().map(|step| step.recorded).sum();
        Block { steps, recorded }
    }
}
