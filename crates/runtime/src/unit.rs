//! Deciding what to translate together: from one address, straight on up to a call, a jump or a return, or up to a
//! conditional branch if one thread executes alone (`behind.rs`), split into blocks wherever a branch inside lands, with
//! counters placed.
//!
//! Pure: reads code through a closure, so that it is tested on the host like any other code.

use crate::forest::Vertex;
use crate::kinds::{Mode, record};
use crate::live;
use crate::placing::{Passage, Placing};
use crate::unroll;
use alloc::vec::Vec;
use core::ops::Range;
use timewise_isa::{Control, FlagSet, Instruction, MAX_LENGTH, decode, gs_use, stores};

/// Most instructions of a unit: what lies further on is translated when control gets there.
pub const MAX_INSTRUCTIONS: usize = 96;

/// Most blocks of a unit.
pub const MAX_BLOCKS: usize = 24;

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
    /// The block of the unit that control runs on to from its end.
    pub next: Option<usize>,
    /// What is noted of the way to `next`.
    pub next_way: Passage,
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
    /// Its blocks in the order of translation: that of memory, but that loops may stand there several times.
    pub blocks: Vec<PlannedBlock>,
    /// Those of each loop that stands there several times, all rounds together.
    pub rounds: Vec<Range<usize>>,
    /// The code itself.
    pub bytes: Vec<u8>,
    /// Whether it may change unseen, so that it has to be checked before it is executed.
    pub may_change: bool,
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

    /// Whether a block ends in a branch that leads to the block translated after it, while what follows in the
    /// program is elsewhere: it is translated to a branch on the opposite condition.
    pub fn is_turned(&self, block: usize) -> bool {
        let PlannedBlock { next, inside, .. } = self.blocks[block];
        inside == Some(block + 1) && next != inside && self.falls_through(block)
    }
}

/// How far a unit goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Past conditional branches.
    Branches,
    /// Up to the first conditional branch that is of no small loop.
    Loops,
    /// Up to the first conditional branch, but for `loop` and its kin. What leads into the unit leaves it.
    Branch,
}

/// Instructions that most units have at most.
const USUAL: usize = 32;

/// What planning needs to know of the world.
pub trait World {
    /// Up to [`MAX_LENGTH`] readable bytes at `address`; fewer before the end of readable memory.
    fn read(&mut self, address: u64, buffer: &mut [u8; MAX_LENGTH]) -> usize;
    /// If a block starts at `address` already: the flags that are live there.
    fn known(&self, address: u64) -> Option<FlagSet>;
    /// What the code is to do beside counting.
    fn mode(&self) -> Mode;
    /// Instructions, by their position, before which blocks must end whatever leads there.
    fn cuts(&self, _: &[Instruction]) -> Vec<usize> {
        Vec::new()
    }
    /// Whether the code at `address` is there to stay, so that other code may rely on what it does.
    fn is_settled(&self, address: u64) -> bool;
    /// Whether the code at `address` may change unseen, so that it has to be checked before it is executed.
    fn may_change(&self, address: u64) -> bool;
}

/// Plans the unit that starts at `start`, of at most `limit` instructions, but for its counters. `None`
/// if there is no instruction there.
pub fn plan(world: &mut impl World, start: u64, limit: usize, extent: Extent) -> Option<Unit> {
    let (instructions, bytes, may_change) = decode_from(world, start, (limit, extent))?;
    // Code that may change is checked once for all rounds of a loop.
    let has_loops = may_change || extent != Extent::Branch;
    let cuts = match world.mode() {
        Mode::Stream => record::cuts(&instructions, &bytes),
        Mode::Count | Mode::Pace => world.cuts(&instructions),
    };
    let blocks = split(&instructions, cuts, has_loops);
    let mut unit = Unit { blocks, rounds: Vec::new(), instructions, bytes, may_change };
    find_inner_ways(&mut unit, has_loops);
    live::find(world, &mut unit);
    if world.mode() == Mode::Count && !may_change {
        unroll::unroll(&mut unit, limit);
    }
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

/// Whether some of an instruction may change unseen: it may reach into another page.
fn some_may_change(world: &impl World, instruction: &Instruction) -> bool {
    world.may_change(instruction.address) || world.may_change(instruction.next() - 1)
}

/// Instructions from `start` on, their code, and whether it may change unseen: all of it or none.
fn decode_from(
    world: &mut impl World,
    start: u64,
    (limit, extent): (usize, Extent),
) -> Option<(Vec<Instruction>, Vec<u8>, bool)> {
    let mut instructions: Vec<Instruction> = Vec::with_capacity(USUAL);
    let mut bytes = Vec::with_capacity(4 * USUAL);
    let mut address = start;
    let mut may_change = false;
    let mut blocks = 1;
    // What is known is not translated again before this address.
    let mut again = start + 1;
    while instructions.len() < limit {
        if address >= again && world.known(address).is_some() {
            let may_unroll = world.mode() == Mode::Count && !may_change && extent != Extent::Branch;
            match may_unroll.then(|| unroll::closing(world, &instructions, address)).flatten() {
                Some(end) => again = end,
                None => break,
            }
        }
        let mut buffer = [0; MAX_LENGTH];
        let readable = world.read(address, &mut buffer);
        let Ok(instruction) = decode(&buffer[..readable], address) else { break };
        if address == start {
            // Only what was read is known.
            may_change = some_may_change(world, &instruction);
        }
        let other_page = ((instruction.next() - 1) ^ start) >> 12 != 0;
        if !is_followed(&instruction, &buffer[..readable])
            || (other_page && some_may_change(world, &instruction) != may_change)
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
            // Which way will be taken first is not known.
            Control::Branch { .. } if extent == Extent::Branch => break,
            // A small loop is translated as a whole, with what comes behind.
            Control::Branch { target, .. }
                if extent == Extent::Loops && !unroll::is_of_loop(world, &instructions, target) =>
            {
                break;
            }
            Control::Branch { .. } | Control::CountBranch { .. } | Control::SystemCall => {
                blocks += 1;
                if blocks > MAX_BLOCKS {
                    break;
                }
            }
            // What lies behind a call is translated when the call returns, behind what is done then (`link.rs`).
            _ => break,
        }
    }
    (!instructions.is_empty()).then_some((instructions, bytes, may_change))
}

/// Where a direct jump or branch leads, but for calls.
pub fn jump_target(instruction: &Instruction) -> Option<u64> {
    match instruction.control {
        Control::Jump { target } | Control::Branch { target, .. } | Control::CountBranch { target } => {
            Some(target)
        }
        _ => None,
    }
}

/// The number of the instruction at `address`, if it is one of these, which follow each other in memory.
pub fn position(instructions: &[Instruction], address: u64) -> Option<usize> {
    instructions.binary_search_by_key(&address, |i| i.address).ok()
}

fn split(instructions: &[Instruction], mut starts: Vec<usize>, has_loops: bool) -> Vec<PlannedBlock> {
    starts.push(0);
    for (at, instruction) in instructions.iter().enumerate() {
        if instruction.ends_block() && at + 1 < instructions.len() {
            starts.push(at + 1);
        }
        starts.extend(jump_target(instruction).filter(|_| has_loops).and_then(|t| position(instructions, t)));
    }
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([instructions.len()]);
    let block = |(start, end)| PlannedBlock {
        instructions: start..end,
        live: FlagSet::ALL,
        counter_at: None,
        step: 0,
        next: None,
        next_way: Passage::default(),
        inside: None,
        inside_way: Passage::default(),
    };
    starts.iter().copied().zip(ends).map(block).collect()
}

fn find_inner_ways(unit: &mut Unit, has_loops: bool) {
    for block in 0..unit.blocks.len() {
        let inside = jump_target(unit.last(block))
            .filter(|_| has_loops)
            .and_then(|target| position(&unit.instructions, target))
            .and_then(|at| unit.blocks.binary_search_by_key(&at, |b| b.instructions.start).ok());
        let goes_on = unit.falls_through(block) && block + 1 < unit.blocks.len();
        unit.blocks[block].inside = inside;
        unit.blocks[block].next = goes_on.then_some(block + 1);
    }
}

/// Decides what of the unit is counted. Its blocks join those of `placing`, the first as number
/// `first_block`; if asked for, each has a counter of its own.
pub fn place_counters(unit: &mut Unit, placing: &mut Placing, first_block: u32, count_blocks: bool) {
    let number = |block: usize| first_block + block as u32;
    let (start, end) = (|block| Vertex::start(number(block)), |block| Vertex::end(number(block)));
    for block in 0..unit.blocks.len() {
        let instructions = unit.blocks[block].instructions.len();
        // A block that jumps to itself is the whole cycle: count the block, at a place of our choice,
        // rather than the jump, which would need a detour.
        if unit.blocks[block].inside == Some(block) {
            unit.blocks[block].counter_at = Some(live::best_place(unit, block));
            unit.blocks[block].step = placing.add_loop(number(block), instructions);
        } else if count_blocks {
            unit.blocks[block].counter_at = Some(live::best_place(unit, block));
            placing.add_counted(instructions, number(block));
        } else {
            placing.add_block(number(block), instructions);
        }
    }
    // Backward jumps first, because they are the hot ones.
    for block in 0..unit.blocks.len() {
        if let Some(inside) = unit.blocks[block].inside.filter(|&inside| inside <= block) {
            unit.blocks[block].inside_way = placing.way(end(block), start(inside), 0);
        }
    }
    // Where a loop stands several times, its rounds lead to each other as often. If the ways out of it, of which several
    // may lead to one place, were joined before these, each round would have to be counted rather than one in a row.
    if !unit.rounds.is_empty() {
        let is_within = |unit: &Unit, from: usize, to: usize| {
            unit.rounds.iter().any(|rounds| rounds.contains(&from) && rounds.contains(&to))
        };
        place_forward(unit, placing, (start, end), is_within);
        place_forward(unit, placing, (start, end), |unit, from, to| !is_within(unit, from, to));
    } else {
        place_forward(unit, placing, (start, end), |_, _, _| true);
    }
}

/// Decides which of the ways forward are counted that are among those chosen. Jumps before falling through, because a
/// counter costs a detour on a jump and none otherwise.
fn place_forward(
    unit: &mut Unit,
    placing: &mut Placing,
    (start, end): (impl Fn(usize) -> Vertex, impl Fn(usize) -> Vertex),
    is_chosen: impl Fn(&Unit, usize, usize) -> bool,
) {
    for turned in [false, true] {
        for block in 0..unit.blocks.len() {
            let jumps = |&inside: &usize| {
                inside > block && unit.is_turned(block) == turned && is_chosen(unit, block, inside)
            };
            let Some(inside) = unit.blocks[block].inside.filter(jumps) else { continue };
            unit.blocks[block].inside_way = placing.way(end(block), start(inside), 0);
        }
    }
    for block in 0..unit.blocks.len() {
        let Some(next) = unit.blocks[block].next.filter(|&next| is_chosen(unit, block, next)) else {
            continue;
        };
        unit.blocks[block].next_way = placing.way(end(block), start(next), 0);
    }
}
