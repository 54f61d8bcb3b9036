//! Which arithmetic flags code may still read.

use crate::unit::{Unit, World, jump_target};
use alloc::vec::Vec;
use timewise_isa::{Control, FlagSet, Instruction, MAX_LENGTH, decode};

/// Instructions looked at beyond a unit to see whether flags are dead there.
const PEEK: usize = 8;

/// Flags live before an instruction, given those live after it.
fn live_before(instruction: &Instruction, after: FlagSet) -> FlagSet {
    after.without(instruction.flags_written).union(instruction.flags_read)
}

/// What the instructions of a block do to flags together: those that they read first, and those that they write.
#[derive(Clone, Copy)]
struct Effect {
    read: FlagSet,
    written: FlagSet,
}

impl Effect {
    fn of(instructions: &[Instruction]) -> Effect {
        let nothing = Effect { read: FlagSet::NONE, written: FlagSet::NONE };
        instructions.iter().rev().fold(nothing, |after, i| Effect {
            read: live_before(i, after.read),
            written: after.written.union(i.flags_written),
        })
    }
}

/// Finds the flags that are live at the start of each block of a unit.
pub fn find(world: &mut impl World, unit: &mut Unit) {
    // Other code may stand there by the time that control comes, and read any of them.
    if unit.may_change {
        unit.blocks.iter_mut().for_each(|block| block.live = FlagSet::ALL);
        return;
    }
    // From the blocks without flags alive upwards: the least solution is the true one.
    for block in &mut unit.blocks {
        block.live = FlagSet::NONE;
    }
    let each = |block: usize| {
        let effect = Effect::of(&unit.instructions[unit.blocks[block].instructions.clone()]);
        // Of flags that it writes itself it does not matter whether they are read behind it.
        (live_beyond(&mut *world, unit, block, FlagSet::ALL.without(effect.written)), effect)
    };
    let beyond: Vec<(FlagSet, Effect)> = (0..unit.blocks.len()).map(each).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..unit.blocks.len()).rev() {
            let (beyond, Effect { read, written }) = beyond[block];
            let live = live_at_end(unit, block, beyond).without(written).union(read);
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
    if let Some(next) = unit.blocks[block].next {
        live = live.union(unit.blocks[next].live);
    }
    live
}

/// Flags among those `asked` for that are live on the ways by which a block leaves the unit.
fn live_beyond(world: &mut impl World, unit: &Unit, block: usize, asked: FlagSet) -> FlagSet {
    let last = unit.last(block);
    let mut live = FlagSet::NONE;
    match last.control {
        Control::Call { target } => live = live.union(peek(world, target, asked)),
        Control::IndirectCall | Control::IndirectJump | Control::Return { .. } => return asked,
        _ => {
            if let Some(target) = jump_target(last).filter(|_| unit.blocks[block].inside.is_none()) {
                live = live.union(peek(world, target, asked));
            }
        }
    }
    if unit.falls_through(block) && unit.blocks[block].next.is_none() {
        live = live.union(peek(world, last.next(), asked));
    }
    live
}

/// Flags among those `asked` for that code at `address` may read before writing them, as far as a few instructions tell.
fn peek(world: &mut impl World, mut address: u64, asked: FlagSet) -> FlagSet {
    let mut undecided = asked;
    let mut read = FlagSet::NONE;
    for _ in 0..PEEK {
        if undecided.is_empty() {
            return read;
        }
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
        address = match instruction.control {
            Control::Next => instruction.next(),
            Control::Jump { target } | Control::Call { target } => target,
            _ => break,
        };
    }
    read.union(undecided)
}

/// The position in a block before which a counter disturbs no live flag, if there is one.
pub fn best_place(unit: &Unit, block: usize) -> usize {
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
