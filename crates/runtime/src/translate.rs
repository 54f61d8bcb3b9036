//! Turning a planned unit into code in the cache.
//!
//! Every instruction keeps its bytes, but for operands relative to the program counter, whose
//! displacement changes with their place, and for control transfers, which lead to other translated code
//! or to a stub that asks the dispatcher for it. The program's stack holds the program's own return
//! addresses, as natively.

use crate::cache::{self, Kind};
use crate::emit::{Code, gs};
use crate::entry;
use crate::indirect;
use crate::state::{Block, Exit, Process, Site};
use crate::unit::{self, Unit};
use alloc::vec::Vec;
use timewise_abi::log::{BlockRecord, EdgeRecord, edge_kind};
use timewise_abi::{Failure, NONE};
use timewise_isa::{Control, FlagSet, Instruction};

/// Room that a unit may need at most in its region, with its stubs.
const ROOM: u64 = 32 << 10;

/// Bytes of the stub by which translated code leaves for the dispatcher.
const EXIT_STUB: u64 = 24;

/// Translates what starts at `address`. `None` if there is no instruction: executing there natively
/// gives the program the fault that it is due.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn translate(process: &mut Process, address: u64, limit: usize) -> Result<Option<u32>, Failure> {
    let Some(mut unit) = unit::plan(process, address, limit) else { return Ok(None) };
    let first = process.blocks.len() as u32;
    unit::place_counters(&mut unit, &mut process.forest, first);
    let region = process.cache.region_for(address, ROOM)?;
    let hot = process.cache.region(region).hot();
    let mut translation = Translation {
        process,
        unit: &unit,
        region,
        first,
        code: Code::at(hot),
        fixups: Vec::new(),
        detours: Vec::new(),
    };
    translation.blocks()?;
    translation.detours();
    translation.fix();
    let Code { bytes, .. } = translation.code;
    let number = process.units;
    process.units += 1;
    process.cache.region(region).place(&bytes, Kind::Unit(number));
    for block in first..process.blocks.len() as u32 {
        let at = process.blocks[block as usize].address;
        process.by_address.entry(at).or_insert(block);
    }
    Ok(Some(first))
}

/// Writes the stub for an exit into cold room: its address.
pub fn exit_stub(process: &mut Process, region: usize, exit: u32) -> u64 {
    let address = process.cache.region(region).take_cold(EXIT_STUB);
    let mut code = Code::at(address);
    code.store_number(gs!(exit), exit);
    code.jump_through(entry::vector::EXIT);
    cache::write(address, &code.bytes);
    address
}

/// A unit on its way into the cache.
struct Translation<'a> {
    process: &'a mut Process,
    unit: &'a Unit,
    region: usize,
    /// Number of the unit's first block.
    first: u32,
    code: Code,
    /// Displacements, by position in the code, that are to lead to a block of the unit.
    fixups: Vec<(usize, usize)>,
    /// Displacements that are to lead to a block of the unit past a counter.
    detours: Vec<Detour>,
}

struct Detour {
    place: usize,
    counter: u32,
    to: usize,
}

impl Translation<'_> {
    fn blocks(&mut self) -> Result<(), Failure> {
        for block in 0..self.unit.blocks.len() {
            let plan = &self.unit.blocks[block];
            if block > 0 && self.unit.falls_through(block - 1) {
                let counter = self.counter_if(plan.entry_counted);
                let kind = match self.unit.last(block - 1).control {
                    Control::SystemCall => edge_kind::SYSTEM_CALL,
                    _ => edge_kind::FALLTHROUGH,
                };
                self.edge(block - 1, block, kind, counter)?;
                if counter != NONE {
                    self.code.count(counter, plan.live);
                }
            }
            self.block(block)?;
        }
        let last = self.unit.blocks.len() - 1;
        if self.unit.falls_through(last) {
            let kind = match self.unit.last(last).control {
                Control::SystemCall => edge_kind::SYSTEM_CALL,
                _ => edge_kind::FALLTHROUGH,
            };
            self.leave(last, kind, self.unit.last(last).next(), None);
        }
        Ok(())
    }

    fn block(&mut self, block: usize) -> Result<(), Failure> {
        let unit = self.unit;
        let plan = &unit.blocks[block];
        let range = plan.instructions.clone();
        let start = unit.instructions[range.start].address;
        let counter = self.counter_if(plan.counter_at.is_some());
        let from = (start - unit.instructions[0].address) as usize;
        let length = (unit.last(block).next() - start) as usize;
        let record = BlockRecord {
            address: start,
            mappings: self.process.mappings(),
            version: 0,
            counter,
            counter_at: plan.counter_at.map_or(0, |at| (at - range.start) as u16),
            instructions: range.len() as u16,
            length: length as u16,
            reserved: [0; 3],
        };
        let log = &self.process.record.blocks;
        self.process.shared.append(log, &record, &unit.bytes[from..from + length])?;
        self.process.blocks.push(Block {
            address: start,
            entry: self.code.here(),
            live: plan.live,
            instructions: range.len() as u16,
        });
        for at in range.clone() {
            if plan.counter_at == Some(at) && counter != NONE {
                self.code.count(counter, unit::live_at(unit, block, at));
            }
            let instruction = unit.instructions[at];
            if instruction.control == Control::Next {
                self.plain(at)?;
            } else {
                self.transfer(block, &instruction, at)?;
            }
        }
        Ok(())
    }

    /// An instruction that only goes on to the next.
    fn plain(&mut self, at: usize) -> Result<(), Failure> {
        let bytes = self.unit.code(at);
        let Some((displacement, target)) = self.unit.instructions[at].relative_operand else {
            self.code.raw(bytes);
            return Ok(());
        };
        if self.code.relocated(bytes, usize::from(displacement), target)
            || self.code.absolute(bytes, usize::from(displacement), target)
        {
            return Ok(());
        }
        Err(Failure::Unsupported)
    }

    fn transfer(&mut self, block: usize, instruction: &Instruction, at: usize) -> Result<(), Failure> {
        match instruction.control {
            Control::Jump { target } => self.jump(block, target),
            Control::Branch { target, condition } => self.branch(block, target, condition),
            Control::CountBranch { target } => self.count_branch(block, at, target),
            Control::Call { target } => {
                self.push(instruction.next());
                self.leave(block, edge_kind::CALL, target, None);
                Ok(())
            }
            Control::SystemCall => {
                let exit = self.process.exits.len() as u32;
                self.code.store_number(gs!(exit), exit);
                self.code.jump_through(entry::vector::SYSTEM_CALL);
                let place = self.code.here();
                let from = self.first + block as u32;
                self.process.exits.push(Exit {
                    from,
                    kind: edge_kind::SYSTEM_CALL,
                    target: instruction.next(),
                    place,
                    linked: 0,
                });
                Ok(())
            }
            Control::IndirectJump => self.indirect(block, at, edge_kind::INDIRECT_JUMP),
            Control::IndirectCall => self.indirect(block, at, edge_kind::INDIRECT_CALL),
            Control::Return { .. } => self.indirect(block, at, edge_kind::RETURN),
            Control::Next | Control::Unsupported => Err(Failure::Internal),
        }
    }

    fn indirect(&mut self, block: usize, at: usize, kind: u16) -> Result<(), Failure> {
        let site = self.process.sites.len() as u32;
        self.process.sites.push(Site { from: self.first + block as u32, kind });
        let table = indirect::table_for(site)?;
        let instruction = self.unit.instructions[at];
        let region = self.process.cache.region(self.region);
        let done = indirect::emit(&mut self.code, self.unit.code(at), &instruction, site, table, |value| {
            let place = region.take_cold(8);
            cache::write(place, &value.to_le_bytes());
            place
        });
        if done { Ok(()) } else { Err(Failure::Unsupported) }
    }

    fn push(&mut self, value: u64) {
        let region = self.process.cache.region(self.region);
        self.code.push_constant(value, || {
            let place = region.take_cold(8);
            cache::write(place, &value.to_le_bytes());
            place
        });
    }

    fn jump(&mut self, block: usize, target: u64) -> Result<(), Failure> {
        let Some(inside) = self.unit.blocks[block].inside else {
            self.leave(block, edge_kind::JUMP, target, None);
            return Ok(());
        };
        let counter = self.counter_if(self.unit.blocks[block].inside_counted);
        self.edge(block, inside, edge_kind::JUMP, counter)?;
        if counter != NONE {
            self.code.count(counter, self.unit.blocks[inside].live);
        }
        let place = self.code.jump_here();
        self.fixups.push((place, inside));
        Ok(())
    }

    fn branch(&mut self, block: usize, target: u64, condition: u8) -> Result<(), Failure> {
        let Some(inside) = self.unit.blocks[block].inside else {
            self.leave(block, edge_kind::BRANCH, target, Some(condition));
            return Ok(());
        };
        let place = self.code.branch_here(condition);
        self.inner_branch(block, inside, place)
    }

    /// `loop`, `jrcxz` and their kin reach 127 bytes only: they jump over a jump.
    fn count_branch(&mut self, block: usize, at: usize, target: u64) -> Result<(), Failure> {
        let bytes = self.unit.code(at);
        self.code.raw(&bytes[..bytes.len() - 1]);
        self.code.raw(&[5]);
        let over = self.code.plain_jump_here();
        match self.unit.blocks[block].inside {
            None => self.leave(block, edge_kind::BRANCH, target, None),
            Some(inside) => {
                let place = self.code.jump_here();
                self.inner_branch(block, inside, place)?;
            }
        }
        let here = self.code.bytes.len();
        self.code.fix(over, here);
        Ok(())
    }

    /// Records that the displacement at `place` is to lead from `block` to block `inside` of the unit.
    fn inner_branch(&mut self, block: usize, inside: usize, place: usize) -> Result<(), Failure> {
        let counter = self.counter_if(self.unit.blocks[block].inside_counted);
        self.edge(block, inside, edge_kind::BRANCH, counter)?;
        match counter {
            NONE => self.fixups.push((place, inside)),
            _ => self.detours.push(Detour { place, counter, to: inside }),
        }
        Ok(())
    }

    /// A jump, or a branch on `condition`, out of the unit.
    fn leave(&mut self, block: usize, kind: u16, target: u64, condition: Option<u8>) {
        let exit = self.process.exits.len() as u32;
        self.process.exits.push(Exit { from: self.first + block as u32, kind, target, place: 0, linked: 0 });
        let stub = exit_stub(self.process, self.region, exit);
        let place = match condition {
            Some(condition) => self.code.branch_here(condition),
            None => self.code.jump_here(),
        };
        self.code.fix_to(place, stub);
        self.process.exits[exit as usize].place = self.code.address + place as u64;
    }

    fn detours(&mut self) {
        for Detour { place, counter, to } in core::mem::take(&mut self.detours) {
            let here = self.code.bytes.len();
            self.code.fix(place, here);
            let live: FlagSet = self.unit.blocks[to].live;
            self.code.count(counter, live);
            let back = self.code.jump_here();
            self.fixups.push((back, to));
        }
    }

    fn fix(&mut self) {
        for &(place, block) in &self.fixups {
            let entry = self.process.blocks[self.first as usize + block].entry;
            self.code.fix_to(place, entry);
        }
    }

    fn counter_if(&mut self, wanted: bool) -> u32 {
        if wanted { self.process.shared.take_counter(self.process.record) } else { NONE }
    }

    fn edge(&mut self, from: usize, to: usize, kind: u16, counter: u32) -> Result<(), Failure> {
        let record = EdgeRecord {
            from: self.first + from as u32,
            to: self.first + to as u32,
            counter,
            executed: self.unit.blocks[from].instructions.len() as u16,
            kind,
        };
        self.process.shared.append(&self.process.record.edges, &record, &[]).map(drop)
    }
}
