//! Which instructions were executed, and where control went: exact, from counts (CQ figure 7 a and b).

use std::ops::AddAssign;
use timewise_flow::{Analysis, InstructionId};
use timewise_isa::memory::accesses;
use timewise_isa::{Category, category};
use timewise_profile::EdgeKind;

/// The instructions of a whole execution or of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Executed instructions.
    pub instructions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Executed instructions by category, in the order of [`Category::ALL`].
    pub categories: Vec<u64>,
    /// Executed instructions that read memory, the stack included; they are in a category as well.
    pub loads: u64,
    /// Those that write it, likewise.
    pub stores: u64,
    /// Conditional branches that were taken.
    pub taken: u64,
    /// Executed instructions that are in two cache lines.
    pub split: u64,
    /// Instructions that were executed at all.
    pub distinct: u64,
    /// Where control went otherwise than to the next instruction.
    pub transfers: Transfers,
}

/// Jumps, branches taken, calls and returns, by where they led.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// All of them.
    pub all: u64,
    /// To a place whose address is no multiple of 16.
    pub misaligned_16: u64,
    /// Of 32.
    pub misaligned_32: u64,
    /// Of 64.
    pub misaligned_64: u64,
}

/// Bytes of a cache line.
const LINE: u64 = 64;

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            instructions: 0,
            bytes: 0,
            categories: vec![0; Category::ALL.len()],
            loads: 0,
            stores: 0,
            taken: 0,
            split: 0,
            distinct: 0,
            transfers: Transfers::default(),
        }
    }
}

impl Mix {
    /// Executed instructions of a category.
    pub fn of(&self, category: Category) -> u64 {
        self.categories[category as usize]
    }

    /// Conditional branches that were not taken.
    pub fn not_taken(&self) -> u64 {
        self.of(Category::Branch).saturating_sub(self.taken)
    }
}

impl AddAssign<&Mix> for Mix {
    fn add_assign(&mut self, other: &Mix) {
        let add = |sum: &mut u64, part: u64| *sum = sum.saturating_add(part);
        add(&mut self.instructions, other.instructions);
        add(&mut self.bytes, other.bytes);
        self.categories.iter_mut().zip(&other.categories).for_each(|(sum, part)| add(sum, *part));
        add(&mut self.loads, other.loads);
        add(&mut self.stores, other.stores);
        add(&mut self.taken, other.taken);
        add(&mut self.split, other.split);
        add(&mut self.distinct, other.distinct);
        add(&mut self.transfers.all, other.transfers.all);
        add(&mut self.transfers.misaligned_16, other.transfers.misaligned_16);
        add(&mut self.transfers.misaligned_32, other.transfers.misaligned_32);
        add(&mut self.transfers.misaligned_64, other.transfers.misaligned_64);
    }
}

/// The mix of each function, by number. Transfers count for the function that they lead to.
pub fn mixes(analysis: &Analysis) -> Vec<Mix> {
    let code = &analysis.code;
    let mut mixes = vec![Mix::default(); analysis.routines.len()];
    for number in 0..code.instructions.len() as u32 {
        let id = InstructionId(number);
        let executions = code.executions(id);
        if executions > 0 {
            let mix = &mut mixes[analysis.owner[analysis.block_of(id).index()].index()];
            *mix += &one(analysis, id, executions);
        }
    }
    for edge in code.edges.iter().filter(|edge| edge.count > 0) {
        if let (EdgeKind::Branch, Some(from)) = (edge.kind, edge.from) {
            let taken = &mut mixes[analysis.owner[from.index()].index()].taken;
            *taken = taken.saturating_add(edge.count);
        }
        if let (true, Some(to)) = (is_transfer(edge.kind), edge.to) {
            let place = code.blocks[to.index()].place;
            let misaligned = |to: u64| if place.offset.0.is_multiple_of(to) { 0 } else { edge.count };
            let transfers = Transfers {
                all: edge.count,
                misaligned_16: misaligned(16),
                misaligned_32: misaligned(32),
                misaligned_64: misaligned(64),
            };
            let mix = &mut mixes[analysis.owner[to.index()].index()];
            *mix += &Mix { transfers, ..Mix::default() };
        }
    }
    mixes
}

/// Whether control goes elsewhere than to the next instruction.
fn is_transfer(kind: EdgeKind) -> bool {
    use EdgeKind::*;
    matches!(kind, Jump | Branch | IndirectJump | Call | IndirectCall | Return)
}

/// One instruction, executed so many times.
fn one(analysis: &Analysis, id: InstructionId, executions: u64) -> Mix {
    let step = &analysis.code.instructions[id.index()].step;
    let block = &analysis.profile.blocks[analysis.block_of(id).index()];
    let bytes = &block.code[(step.offset - block.place.offset.0) as usize..];
    let accesses = accesses(bytes, step.offset);
    let if_so = |is_so: bool| if is_so { executions } else { 0 };
    let last = step.offset.saturating_add(u64::from(step.length).saturating_sub(1));
    let mut mix = Mix {
        instructions: executions,
        bytes: executions.saturating_mul(step.length.into()),
        loads: if_so(accesses.iter().any(|access| access.reads)),
        stores: if_so(accesses.iter().any(|access| access.writes)),
        split: if_so(step.offset / LINE != last / LINE),
        distinct: 1,
        ..Mix::default()
    };
    mix.categories[category(bytes) as usize] = executions;
    mix
}
