//! Deciding what to translate together: from one address, straight on past conditional branches and
//! calls, split into blocks wherever a branch inside lands, with counters placed.
//!
//! Pure: reads code through a closure, so that it is tested on the host like any other code.

use crate::forest::Vertex;
use crate::placing::{Passage, Placing};
use alloc::vec::Vec;
use core::ops::Range;
use timewise_isa::{Control, FlagSet, Instruction, MAX_LENGTH, decode, gs_use, stores};

/// Most instructions of a unit: what lies further on is translated when control gets there.
pub const MAX_INSTRUCTIONS: usize = 96;

/// Most blocks of a unit.
pub const MAX_BLOCKS: usize = 24;

/// Instructions looked at beyond a unit to see whether flags are dead there.
const PEEK: usize = 8;

/// Straight code with one way in, of a unit.
#[derive(Debug)]
pub struct PlannedBlock {
    /// Its instructions, by position in the unit.
    pub instructions: Range<usize>,
    /// Arithmetic flags that code from its start on may read.
    pub live: FlagSet,
    /// Whether its own executions are counted, and before which instruction.
    pub counter_at: Option<usize>,
    /// By how much the clock moves with that counter.
    pub step: i64,
    /// What is noted of falling into it from the block before.
    pub entry: Passage,
    /// The block of the unit that its jump or branch leads to.
    pub inside: Option<usize>,
    /// What is noted of the way to `inside`.
    pub inside_way: Passage,
}

/// Code that is translated as one piece.
#[derive(Debug)]
pub struct Unit {
    /// Its instructions, one after the other in memory.
    pub instructions: Vec<Instruction>,
    /// Its blocks, likewise.
    pub blocks: Vec<PlannedBlock>,
    /// The code itself.
    pub bytes: Vec<u8>,
}

impl Unit {
    /// The code of one instruction.
    pub fn code(&self, instruction: usize) -> &[u8] {
        let i = &self.instructions[instruction];
        let at = (i.address - self.instructions[0].address) as usize;
        &self.bytes[at..at + usize::from(i.length)]
    }

    /// The last instruction of a block.
    pub fn last(&self, block: usize) -> &Instruction {
        &self.instructions[self.blocks[block].instructions.end - 1]
    }

    /// Whether control can run on from the end of a block to the instruction after it.
    pub fn falls_through(&self, block: usize) -> bool {
        matches!(
            self.last(block).control,
            Control::Next | Control::Branch { .. } | Control::CountBranch { .. } | Control::SystemCall
        )
    }
}

/// What planning needs to know of the world.
pub trait World {
    /// Up to [`MAX_LENGTH`] readable bytes at `address`; fewer before the end of readable memory.
    fn read(&mut self, address: u64, buffer: &mut [u8; MAX_LENGTH]) -> usize;
    /// If a block starts at `address` already: the flags that are live there.
    fn known(&self, address: u64) -> Option<FlagSet>;
    /// Whether the code at `address` is there to stay, so that other code may rely on what it does.
    fn is_settled(&self, address: u64) -> bool;
    /// Whether the code at `address` may change unseen, so that it has to be checked before it is executed.
    fn may_change(&self, address: u64) -> bool;
}

/// Plans the unit that starts at `start`, of at most `limit` instructions, but for its counters. `None`
/// if there is no instruction there.
pub fn plan(world: &mut impl World, start: u64, limit: usize) -> Option<Unit> {
    let (instructions, bytes) = decode_from(world, start, limit)?;
    let mut unit = Unit { blocks: split(&instructions), instructions, bytes };
    find_inner_targets(&mut unit);
    find_live_flags(world, &mut unit);
    Some(unit)
}

/// Whether an instruction is of a kind that is followed.
fn is_followed(instruction: &Instruction, bytes: &[u8]) -> bool {
    let gs_is_usual = || instruction.control == Control::Next && gs_use(bytes).is_some();
    instruction.control != Control::Unsupported && (!instruction.uses_gs || gs_is_usual())
}

/// Whether there is an instruction at `address`, but of a kind that is not followed.
pub fn is_unsupported(world: &mut impl World, address: u64) -> bool {
    let mut buffer = [0; MAX_LENGTH];
    let readable = world.read(address, &mut buffer);
    decode(&buffer[..readable], address).is_ok_and(|i| !is_followed(&i, &buffer[..readable]))
}

fn decode_from(world: &mut impl World, start: u64, limit: usize) -> Option<(Vec<Instruction>, Vec<u8>)> {
    let mut instructions: Vec<Instruction> = Vec::new();
    let mut bytes = Vec::new();
    let mut address = start;
    let mut may_change = false;
    let mut blocks = 1;
    while instructions.len() < limit {
        if address != start && world.known(address).is_some() {
            break;
        }
        let mut buffer = [0; MAX_LENGTH];
        let readable = world.read(address, &mut buffer);
        let Ok(instruction) = decode(&buffer[..readable], address) else { break };
        if address == start {
            // Only what was read is known.
            may_change = world.may_change(start);
        }
        let other_page = (address ^ start) >> 12 != 0;
        if !is_followed(&instruction, &buffer[..readable])
            || (other_page && world.may_change(address) != may_change)
        {
            break;
        }
        bytes.extend_from_slice(&buffer[..usize::from(instruction.length)]);
        instructions.push(instruction);
        address = instruction.next();
        match instruction.control {
            // Code that may change is checked where it is entered: what it writes may be its own next
            // instruction.
            control if may_change => {
                if control != Control::Next || stores(&buffer[..readable]) {
                    break;
                }
            }
            Control::Next => {}
            Control::Jump { .. }
            | Control::IndirectJump
            | Control::Return { .. }
            | Control::Transaction { .. } => break,
            _ => {
                blocks += 1;
                if blocks > MAX_BLOCKS {
                    break;
                }
            }
        }
    }
    (!instructions.is_empty()).then_some((instructions, bytes))
}

/// Where a direct jump or branch leads, but for calls.
fn jump_target(instruction: &Instruction) -> Option<u64> {
    match instruction.control {
        Control::Jump { target } | Control::Branch { target, .. } | Control::CountBranch { target } => {
            Some(target)
        }
        _ => None,
    }
}

fn position(instructions: &[Instruction], address: u64) -> Option<usize> {
    instructions.binary_search_by_key(&address, |i| i.address).ok()
}

fn split(instructions: &[Instruction]) -> Vec<PlannedBlock> {
    let mut starts: Vec<usize> = alloc::vec![0];
    for (at, instruction) in instructions.iter().enumerate() {
        if instruction.ends_block() && at + 1 < instructions.len() {
            starts.push(at + 1);
        }
        starts.extend(jump_target(instruction).and_then(|t| position(instructions, t)));
    }
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([instructions.len()]);
    let block = |(start, end)| PlannedBlock {
        instructions: start..end,
        live: FlagSet::ALL,
        counter_at: None,
        step: 0,
        entry: Passage::default(),
        inside: None,
        inside_way: Passage::default(),
    };
    starts.iter().copied().zip(ends).map(block).collect()
}

fn find_inner_targets(unit: &mut Unit) {
    for block in 0..unit.blocks.len() {
        let inside = jump_target(unit.last(block))
            .and_then(|target| position(&unit.instructions, target))
            .and_then(|at| unit.blocks.binary_search_by_key(&at, |b| b.instructions.start).ok());
        unit.blocks[block].inside = inside;
    }
}

/// Flags live before an instruction, given those live after it.
fn live_before(instruction: &Instruction, after: FlagSet) -> FlagSet {
    after.without(instruction.flags_written).union(instruction.flags_read)
}

fn find_live_flags(world: &mut impl World, unit: &mut Unit) {
    // Other code may stand there by the time that control comes, and read any of them.
    if world.may_change(unit.instructions[0].address) {
        unit.blocks.iter_mut().for_each(|block| block.live = FlagSet::ALL);
        return;
    }
    // From the blocks without flags alive upwards: the least solution is the true one.
    for block in &mut unit.blocks {
        block.live = FlagSet::NONE;
    }
    let beyond: Vec<FlagSet> =
        (0..unit.blocks.len()).map(|block| live_beyond(&mut *world, unit, block)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..unit.blocks.len()).rev() {
            let after = live_at_end(unit, block, beyond[block]);
            let range = unit.blocks[block].instructions.clone();
            let live = unit.instructions[range].iter().rev().fold(after, |live, i| live_before(i, live));
            changed |= live != unit.blocks[block].live;
            unit.blocks[block].live = live;
        }
    }
}

/// Flags live after the last instruction of a block; `beyond` for ways that leave the unit.
fn live_at_end(unit: &Unit, block: usize, beyond: FlagSet) -> FlagSet {
    let mut live = beyond;
    if let Some(inside) = unit.blocks[block].inside {
        live = live.union(unit.blocks[inside].live);
    }
    if unit.falls_through(block) && block + 1 < unit.blocks.len() {
        live = live.union(unit.blocks[block + 1].live);
    }
    live
}

/// Flags live on the ways by which a block leaves the unit.
fn live_beyond(world: &mut impl World, unit: &Unit, block: usize) -> FlagSet {
    let last = unit.last(block);
    let mut live = FlagSet::NONE;
    match last.control {
        Control::Call { target } => live = live.union(peek(world, target)),
        Control::IndirectCall | Control::IndirectJump | Control::Return { .. } => return FlagSet::ALL,
        _ => {
            if let Some(target) = jump_target(last).filter(|_| unit.blocks[block].inside.is_none()) {
                live = live.union(peek(world, target));
            }
        }
    }
    if unit.falls_through(block) && block + 1 == unit.blocks.len() {
        live = live.union(peek(world, last.next()));
    }
    live
}

/// Flags that code at `address` may read before writing them, as far as a few instructions tell.
fn peek(world: &mut impl World, mut address: u64) -> FlagSet {
    let mut undecided = FlagSet::ALL;
    let mut read = FlagSet::NONE;
    for _ in 0..PEEK {
        if let Some(live) = world.known(address) {
            return read.union(undecided.intersection(live));
        }
        let mut buffer = [0; MAX_LENGTH];
        let readable = world.read(address, &mut buffer);
        if !world.is_settled(address) {
            break;
        }
        let Ok(instruction) = decode(&buffer[..readable], address) else { break };
        read = read.union(instruction.flags_read.intersection(undecided));
        undecided = undecided.without(instruction.flags_written);
        if undecided.is_empty() {
            return read;
        }
        address = match instruction.control {
            Control::Next => instruction.next(),
            Control::Jump { target } | Control::Call { target } => target,
            _ => break,
        };
    }
    read.union(undecided)
}

/// Decides what of the unit is counted. Its blocks join those of `placing`, the first as number
/// `first_block`.
pub fn place_counters(unit: &mut Unit, placing: &mut Placing, first_block: u32) {
    let number = |block: usize| first_block + block as u32;
    for block in 0..unit.blocks.len() {
        let instructions = unit.blocks[block].instructions.len();
        // A block that jumps to itself is the whole cycle: count the block, at a place of our choice,
        // rather than the jump, which would need a detour.
        if unit.blocks[block].inside == Some(block) {
            unit.blocks[block].counter_at = Some(best_place(unit, block));
            unit.blocks[block].step = placing.add_loop(number(block), instructions);
        } else {
            placing.add_block(number(block), instructions);
        }
    }
    // Jumps before falling through, because a counter costs a detour on a jump and none otherwise; and
    // backward jumps first, because they are the hot ones.
    for backward in [true, false] {
        for block in 0..unit.blocks.len() {
            let Some(inside) = unit.blocks[block].inside.filter(|&inside| (inside <= block) == backward)
            else {
                continue;
            };
            unit.blocks[block].inside_way =
                placing.way(Vertex::end(number(block)), Vertex::start(number(inside)), 0);
        }
    }
    for block in 1..unit.blocks.len() {
        if unit.falls_through(block - 1) {
            unit.blocks[block].entry =
                placing.way(Vertex::end(number(block - 1)), Vertex::start(number(block)), 0);
        }
    }
}

/// The position in a block before which a counter disturbs no live flag, if there is one.
fn best_place(unit: &Unit, block: usize) -> usize {
    let range = unit.blocks[block].instructions.clone();
    // Beyond the last instruction lies more than this unit shows: that it reads is assumed.
    let mut live = FlagSet::ALL;
    let mut best = range.start;
    for at in range.rev() {
        live = live_before(&unit.instructions[at], live);
        if !live.intersects(FlagSet::WRITTEN_BY_INC) {
            best = at;
        }
    }
    best
}

/// Flags live before instruction `at` of `block`.
pub fn live_at(unit: &Unit, block: usize, at: usize) -> FlagSet {
    let end = unit.blocks[block].instructions.end;
    // The counter's own block ends in a jump to itself or elsewhere; taking all flags as live after it
    // is safe, and writes in between make it precise.
    unit.instructions[at..end].iter().rev().fold(FlagSet::ALL, |live, i| live_before(i, live))
}
