//! The record of a block in a stream: its number when control enters it, and behind that what there is to
//! know of its memory accesses, each at a place of its own.
//!
//! Two registers that the block does not use are borrowed throughout: one holds the place of the record, the
//! other is where addresses are computed. Blocks are cut where no two would be left.

use super::operand;
use super::{Added, Lent};
use crate::emit::{Code, gs, spill_slot};
use crate::unit::Unit;
use alloc::vec::Vec;
use timewise_abi::stream::{HEAD, HEAD_WITH_MEMORY};
use timewise_isa::memory::{Access, Extent, MOST, MOST_RECORDED, accesses, used_registers};
use timewise_isa::{Instruction, MAX_LENGTH};

/// Spill slots of the registers that are borrowed throughout a block.
pub const SLOTS: [u32; 2] = [6, 7];

/// The stack pointer is not to be borrowed.
const STACK_POINTER: u16 = 1 << 4;

/// Most bytes of a stream for each instruction.
pub fn bytes_per_instruction(with_memory: bool) -> u64 {
    if with_memory { u64::from(HEAD_WITH_MEMORY + MOST_RECORDED.max(16 * MOST as u32)) } else { HEAD.into() }
}

/// Where blocks of these instructions are to be cut, by position: before the first that would leave no two
/// registers unused.
pub fn cuts(instructions: &[Instruction], bytes: &[u8]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut used = STACK_POINTER;
    let mut offset = 0;
    for (at, instruction) in instructions.iter().enumerate() {
        let length = usize::from(instruction.length);
        let own = used_registers(&bytes[offset..(offset + length).min(offset + MAX_LENGTH)]) | STACK_POINTER;
        offset += length;
        if (used | own).count_zeros() < 2 {
            cuts.push(at);
            used = own;
        } else {
            used |= own;
        }
        if instruction.ends_block() {
            used = STACK_POINTER;
        }
    }
    cuts
}

/// A record for which code is being made.
#[derive(Debug)]
pub struct Record {
    /// Holds the record's place.
    place: u8,
    /// Where addresses are computed.
    scratch: u8,
    with_memory: bool,
    /// Where in the record the next access is described.
    at: u32,
    /// Registers to be stored once the instruction is done, and where.
    due: Vec<(u8, u32)>,
    /// Whether the borrowed registers were given back.
    is_over: bool,
}

impl Record {
    /// Emits what makes the record, and keeps it ready for the accesses.
    pub fn enter(
        code: &mut Code,
        (unit, block): (&Unit, usize),
        number: u32,
        with_memory: bool,
        added: &mut Added,
    ) -> Record {
        let range = unit.blocks[block].instructions.clone();
        let used = range.clone().fold(STACK_POINTER, |used, at| used | used_registers(unit.code(at)));
        let mut unused = (0..16).filter(|register| used >> register & 1 == 0);
        // Blocks are cut so that there are two.
        let registers = [unused.next().unwrap_or(0), unused.next().unwrap_or(1)];
        let [place, scratch] = registers;
        let recorded = |at: usize| -> u32 {
            let accesses = accesses(unit.code(at), unit.instructions[at].address);
            accesses.iter().map(Access::recorded).sum()
        };
        let bytes: u32 = if with_memory { range.map(recorded).sum() } else { 0 };
        for (slot, register) in SLOTS.into_iter().zip(registers) {
            operand::keep(code, spill_slot(slot), register);
        }
        let from = code.here();
        operand::give_back(code, gs!(ring_at), place);
        operand::store_number(code, place, number);
        let head = if with_memory { HEAD_WITH_MEMORY } else { HEAD };
        operand::load_address(code, scratch, Some(place), None, (head + bytes) as i32, false);
        operand::keep(code, gs!(ring_at), scratch);
        added.begun = code.here();
        added.lent = Some(Lent { registers, from, to: from });
        let mut record = Record { place, scratch, with_memory, at: head, due: Vec::new(), is_over: false };
        if bytes == 0 {
            record.leave(code, added);
        }
        added.body = code.here();
        record
    }

    /// Emits what describes the accesses of an instruction, before it.
    pub fn before(&mut self, code: &mut Code, unit: &Unit, at: usize) {
        if !self.with_memory {
            return;
        }
        for access in accesses(unit.code(at), unit.instructions[at].address).iter() {
            if access.recorded() == 0 {
                continue;
            }
            let plain = access.base.filter(|_| access.index.is_none() && access.displacement == 0);
            let plain = plain.filter(|_| access.recorded() <= 16 && access.fixed().is_none());
            let is_flat = access.segment == timewise_isa::memory::Segment::Flat && !access.narrow;
            match plain.filter(|_| is_flat && access.extent != Extent::ByTable) {
                Some(base) => operand::store(code, self.place, self.at, base),
                None => {
                    operand::address(code, access, self.scratch);
                    operand::store(code, self.place, self.at, self.scratch);
                }
            }
            match (&access.extent, access.base) {
                (Extent::Repeated, Some(base)) => self.due.push((base, self.at + 8)),
                (Extent::Gathered(gathered), _) => {
                    operand::store_gather(code, gathered, self.place, self.at + 8);
                }
                _ => {}
            }
            self.at += access.recorded();
        }
    }

    /// Emits what is to be known of the instruction once it is done.
    pub fn after(&mut self, code: &mut Code) {
        for (register, at) in core::mem::take(&mut self.due) {
            operand::store(code, self.place, at, register);
        }
    }

    /// Gives the borrowed registers back.
    pub fn leave(&mut self, code: &mut Code, added: &mut Added) {
        if core::mem::replace(&mut self.is_over, true) {
            return;
        }
        for (slot, register) in SLOTS.into_iter().zip([self.place, self.scratch]) {
            operand::give_back(code, spill_slot(slot), register);
        }
        if let Some(lent) = &mut added.lent {
            lent.to = code.here();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_isa::decode;

    #[test]
    fn blocks_are_cut_where_registers_run_out() {
        // mov reg, reg for one register after the other: each uses one more.
        let mut bytes = Vec::new();
        for register in (0..16u8).filter(|&r| r != 4) {
            let rex = 0x48 | ((register >> 3) * 5);
            bytes.extend([rex, 0x89, 0xc0 | ((register & 7) * 9)]);
        }
        let mut instructions = Vec::new();
        while instructions.len() * 3 < bytes.len() {
            instructions.push(decode(&bytes[instructions.len() * 3..], 0).unwrap());
        }
        assert_eq!(cuts(&instructions, &bytes), [13]);
    }
}
