//! Ways from the blocks of a unit to others, inside of it and out of it.

use super::{Translation, exit_stub};
use crate::behind;
use crate::emit::Toll;
use crate::paths::{self, Step};
use crate::placing::{self, Passage};
use crate::state::{Exit, Loop};
use crate::unit::PlannedBlock;
use alloc::vec::Vec;
use timewise_abi::log::{EdgeRecord, edge_kind};
use timewise_abi::{Failure, NONE};
use timewise_isa::{Control, FlagSet};

/// The displacement at position `place` of the code is to lead to block `to`.
pub(super) struct Fixup {
    place: usize,
    to: usize,
    /// Whether it leads back.
    back: bool,
}

/// Likewise, past what is to be done on that way.
pub(super) struct Detour {
    place: usize,
    from: usize,
    steps: Vec<Step>,
    toll: Toll,
    to: usize,
    back: bool,
}

impl Translation<'_> {
    /// From the end of a block into the one translated after it.
    pub(super) fn run_on(&mut self, block: usize, kind: u16, way: Passage) -> Result<(), Failure> {
        let toll = self.toll(way)?;
        self.edge(block, block + 1, kind, toll)?;
        let steps = self.steps(block, kind, block + 1);
        self.pass(block, steps, toll, block + 1);
        Ok(())
    }

    /// What is to be done for paths on the way from a block to another of the unit.
    fn steps(&self, from: usize, kind: u16, to: usize) -> Vec<Step> {
        let to = self.unit.instructions[self.unit.blocks[to].instructions.start].address;
        paths::steps(self.process, self.first + from as u32, kind, to)
    }

    /// Does all that is to be done on the way from a block to another of the unit.
    fn pass(&mut self, from: usize, steps: Vec<Step>, toll: Toll, to: usize) {
        let live = self.unit.blocks[to].live;
        paths::put(self.process, &mut self.code, steps, self.first + from as u32, live);
        self.code.toll(toll, live);
    }

    /// A jump has no effect of its own, so it is done with the first byte of its counter.
    pub(super) fn jump(&mut self, block: usize, target: u64) -> Result<usize, Failure> {
        let done = self.code.bytes.len() + 1;
        let Some(inside) = self.unit.blocks[block].inside else {
            self.leave(block, edge_kind::JUMP, target, None);
            return Ok(done);
        };
        let toll = self.toll(self.unit.blocks[block].inside_way)?;
        self.edge(block, inside, edge_kind::JUMP, toll)?;
        let steps = self.steps(block, edge_kind::JUMP, inside);
        self.pass(block, steps, toll, inside);
        self.fix_jump(inside, inside <= block);
        Ok(done)
    }

    pub(super) fn branch(&mut self, block: usize, target: u64, condition: u8) -> Result<usize, Failure> {
        let PlannedBlock { next, next_way, inside, inside_way, .. } = self.unit.blocks[block];
        let (kind, to, way, target, condition) = match self.unit.is_turned(block) {
            true => (edge_kind::FALLTHROUGH, next, next_way, self.unit.last(block).next(), condition ^ 1),
            false => (edge_kind::BRANCH, inside, inside_way, target, condition),
        };
        match to {
            None => self.leave(block, kind, target, Some(condition)),
            Some(to) => {
                let place = match self.is_patched(block) {
                    true => self.code.branch_here(condition),
                    false => self.code.plain_branch_here(condition),
                };
                self.inner_branch(block, (kind, to, way), place)?;
            }
        }
        Ok(self.code.bytes.len())
    }

    /// `loop`, `jrcxz` and their kin reach 127 bytes only: they jump over a jump.
    pub(super) fn count_branch(&mut self, block: usize, at: usize, target: u64) -> Result<usize, Failure> {
        let bytes = self.unit.code(at);
        self.code.raw(&bytes[..bytes.len() - 1]);
        self.code.raw(&[5]);
        let done = self.code.bytes.len();
        let over = self.code.plain_jump_here();
        match self.unit.blocks[block].inside {
            None => self.leave(block, edge_kind::BRANCH, target, None),
            Some(inside) => {
                let place = self.code.jump_here();
                let way = self.unit.blocks[block].inside_way;
                self.inner_branch(block, (edge_kind::BRANCH, inside, way), place)?;
            }
        }
        let here = self.code.bytes.len();
        self.code.fix(over, here);
        Ok(done)
    }

    /// Records that the displacement at `place` is to lead from `block` to block `to` of the unit.
    fn inner_branch(
        &mut self,
        block: usize,
        (kind, to, way): (u16, usize, Passage),
        place: usize,
    ) -> Result<(), Failure> {
        let toll = self.toll(way)?;
        self.edge(block, to, kind, toll)?;
        let (back, steps) = (to <= block, self.steps(block, kind, to));
        match toll {
            Toll::NONE if steps.is_empty() => self.fixups.push(Fixup { place, to, back }),
            _ => self.detours.push(Detour { place, from: block, steps, toll, to, back }),
        }
        Ok(())
    }

    /// A jump, or a branch on `condition`, out of the unit.
    pub(super) fn leave(&mut self, block: usize, kind: u16, target: u64, condition: Option<u8>) {
        let exit = self.process.exits.len() as u32;
        let executed = self.unit.blocks[block].instructions.len() as u16;
        self.process.exits.push(Exit::new(self.first + block as u32, kind, executed, target));
        let is_behind_branch = kind == edge_kind::FALLTHROUGH
            && condition.is_none()
            && matches!(self.unit.last(block).control, Control::Branch { .. });
        if is_behind_branch && self.process.is_alone {
            // Cold room is taken from above, so this comes to lie right behind the stub.
            self.process.cache.region(self.region).take_cold(behind::ROOM);
        }
        let stub = exit_stub(self.process, self.region, exit, Toll::NONE, FlagSet::ALL);
        let place = match condition {
            Some(condition) => self.code.branch_here(condition),
            None => self.code.jump_here(),
        };
        self.code.fix_to(place, stub);
        let exit = &mut self.process.exits[exit as usize];
        (exit.distance, exit.stub) = ((self.code.address + place as u64).wrapping_sub(stub) as i32, stub);
    }

    pub(super) fn detours(&mut self) {
        for Detour { place, from, steps, toll, to, back } in core::mem::take(&mut self.detours) {
            let here = self.code.bytes.len();
            self.code.fix(place, here);
            self.pass(from, steps, toll, to);
            self.fix_jump(to, back);
        }
    }

    /// A jump to block `to` of the unit.
    fn fix_jump(&mut self, to: usize, back: bool) {
        let place = if back { self.code.jump_here() } else { self.code.plain_jump_here() };
        self.fixups.push(Fixup { place, to, back });
    }

    pub(super) fn fix(&mut self) {
        for Fixup { place, to, back } in core::mem::take(&mut self.fixups) {
            let number = self.first + to as u32;
            let block = self.process.blocks[number as usize];
            self.code.fix_to(place, block.entry);
            if !back {
                continue;
            }
            let stub = self.way_out(number);
            self.loops.push(Loop { place: self.code.address + place as u64, entry: block.entry, stub });
        }
    }

    pub(super) fn toll(&mut self, passage: Passage) -> Result<Toll, Failure> {
        placing::toll(passage, self.process.shared, self.process.record)
    }

    pub(super) fn edge(&mut self, from: usize, to: usize, kind: u16, toll: Toll) -> Result<(), Failure> {
        let record = EdgeRecord {
            from: self.first + from as u32,
            to: self.first + to as u32,
            counter: toll.counter,
            executed: self.unit.blocks[from].instructions.len() as u16,
            kind,
            step: toll.step,
            cost: NONE,
        };
        self.process.shared.append(&self.process.record.edges, &record, &[]).map(drop)
    }
}
