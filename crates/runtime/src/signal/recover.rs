//! From a place in the code cache to the place in the program that it stands for, with the program's
//! registers.
//!
//! Between two instructions of the program the thread may be in code that translation added. Counters are
//! brought to their end here; an indirect branch goes back to its start, or on to its target once its
//! memory access is done.

use super::added::{self, Form, LONGEST};
use super::alone;
use crate::astray;
use crate::behind;
use crate::cache::{Kind, Piece};
use crate::calls;
use crate::check;
use crate::emit::{Borrowed, COUNT_SPILL, FLAGS_SPILL, SCRATCH_SPILL, SPILL, Toll};
use crate::entry;
use crate::indirect::{self, RCX_SLOT, RDX_SLOT};
use crate::kinds::record::SLOTS;
use crate::kinds::{Added, Lent, pace};
use crate::paths;
use crate::sites::Site;
use crate::state::Process;
use timewise_abi::NONE;
use timewise_abi::log::edge_kind;
use timewise_abi::thread::{Registers, ThreadArea};
use timewise_abi::view::count;
use timewise_isa::condition_in;

/// How a thread left the counted program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The block that it was in; `NONE` if it was outside already.
    pub from: u32,
    /// Instructions of that block that were executed.
    pub executed: u16,
    /// Whether it took its instructions from the thread's budget, if it does that.
    pub begun: bool,
    /// By which kind of edge it goes on, if it is past the block's end and its paths do not know that yet.
    pub way: Option<u16>,
}

/// Not in counted code.
pub const OUTSIDE: Origin = Origin { from: NONE, executed: 0, begun: false, way: None };

/// More steps through added code than there can be between two instructions of the program: counters,
/// jumps and stubs follow each other a few times at most.
const MAX_STEPS: usize = 1000;

/// Turns `registers`, as they are at `registers.rip` in translated code, into the program's own.
pub fn recover(process: &mut Process, area: &mut ThreadArea, registers: &mut Registers) -> Origin {
    if let Some(origin) = alone::recover(area, registers) {
        return origin;
    }
    if let Some(table) = entry::miss_routine_at(registers.rip) {
        let site = indirect::site_of(table, registers.rcx as u32, registers.rdx);
        return branched(process, area, registers, way_from(process, site));
    }
    let mut recovery = Recovery { process, area, registers, left: None };
    let origin = (0..MAX_STEPS).find_map(|_| recovery.step());
    if let Some(exit) = recovery.left {
        calls::left(process, area, exit, registers.rsp);
    }
    origin.unwrap_or(OUTSIDE)
}

/// The block that a branch leaves, and its kind.
fn way_from(process: &Process, site: u32) -> (u32, u16) {
    let Site { from, kind } = process.sites[site];
    (from, kind)
}

/// The thread is past an indirect branch of block `from`, with the target in `rdx`. Where the costs of calls are
/// asked for nothing is noted of it yet, and the thread will make the branch once more.
fn branched(
    process: &Process,
    area: &mut ThreadArea,
    registers: &mut Registers,
    (from, kind): (u32, u16),
) -> Origin {
    registers.rip = registers.rdx;
    registers.rcx = area.spill[RCX_SLOT as usize];
    registers.rdx = area.spill[RDX_SLOT as usize];
    // Blocks that indirect branches leave are executed to their end.
    let executed = process.blocks[from as usize].instructions;
    before(process, registers, from).unwrap_or(Origin { from, executed, begun: true, way: Some(kind) })
}

/// Takes the thread back to before the branch that ends block `from`, if the costs of calls are asked for.
fn before(process: &Process, registers: &mut Registers, from: u32) -> Option<Origin> {
    process.calls.as_ref()?;
    registers.rip = astray::undo(process, from, registers)?;
    let executed = process.blocks[from as usize].instructions - 1;
    Some(Origin { from, executed, begun: true, way: None })
}

/// A general register by its number.
fn general(r: &mut Registers, number: u8) -> &mut u64 {
    match number {
        0 => &mut r.rax,
        1 => &mut r.rcx,
        2 => &mut r.rdx,
        3 => &mut r.rbx,
        4 => &mut r.rsp,
        5 => &mut r.rbp,
        6 => &mut r.rsi,
        7 => &mut r.rdi,
        _ => &mut r.r8_to_r15[usize::from(number & 7)],
    }
}

struct Recovery<'a> {
    process: &'a Process,
    area: &'a mut ThreadArea,
    registers: &'a mut Registers,
    /// The exit by which the thread leaves, if it is on its way out.
    left: Option<u32>,
}

/// Where in a unit a thread is.
struct Place {
    block: u32,
    /// Instructions of the block that are done.
    executed: u16,
    /// Address in the program of the next one.
    address: u64,
    /// Where in the cache the last of them was done, or the block's entry.
    done: u64,
    /// Where the next one is done, if there is one.
    next: Option<u64>,
}

impl Recovery<'_> {
    /// One step through added code. The origin if that ends it.
    fn step(&mut self) -> Option<Origin> {
        match self.process.cache.piece_at(self.registers.rip) {
            Some(Piece { kind: Kind::Unit(number), .. }) => self.in_unit(number),
            Some(Piece { address, kind: Kind::EdgeStub { .. } }) => self.added(address),
            Some(Piece { address, kind: Kind::IndirectStub { site, to } }) => {
                self.in_indirect_stub(address, site, to)
            }
            None => self.in_exit_stub(),
        }
    }

    fn in_unit(&mut self, number: u32) -> Option<Origin> {
        let place = self.place(number);
        let block = &self.process.blocks[place.block as usize];
        let Some(next) = place.next else {
            // A jump is done with its first byte, but its code is read from there.
            let tail = if block.jumps { place.done - 1 } else { place.done };
            return self.after_block(tail, place.block);
        };
        if (block.entry..block.checked()).contains(&self.registers.rip) {
            return Some(self.in_check(place.block));
        }
        let added = self.process.kinds.added(place.block).copied();
        if let Some(added) = added.filter(|added| place.executed == 0 && self.registers.rip < added.body) {
            return Some(self.before_body(place.block, &added));
        }
        let pc = self.registers.rip;
        let begins = added.map_or(block.checked(), |added| added.body);
        let mut at = if place.executed == 0 { begins } else { place.done };
        let mut spilled = false;
        let mut lent = None;
        while let Some((form, length)) = self.form(at).filter(|&(_, length)| at + length as u64 <= next) {
            match form {
                Form::Counter(_) | Form::Step(_) | Form::Both(..)
                    if at + length as u64 > self.registers.rip =>
                {
                    self.finish(form, at, length);
                }
                Form::GiveBack(register) if at == self.registers.rip => {
                    self.give_back(register);
                    self.registers.rip = at + length as u64;
                }
                _ if at + length as u64 > self.registers.rip => break,
                Form::SpillRdx => spilled = true,
                Form::Lend(register) => lent = Some(register),
                _ => {}
            }
            at += length as u64;
        }
        if spilled {
            self.registers.rdx = self.area.spill[RDX_SLOT as usize];
        }
        if let Some(register) = lent {
            self.give_back(register);
        }
        self.take_back(added.and_then(|added| added.lent), pc);
        self.registers.rip = place.address;
        Some(Origin { from: place.block, executed: place.executed, begun: true, way: None })
    }

    /// Finds the last instruction that is done.
    fn place(&self, number: u32) -> Place {
        let pc = self.registers.rip;
        let fragment = &self.process.fragments[number as usize];
        let first = fragment.blocks.start;
        let blocks = &self.process.blocks[first as usize..fragment.blocks.end as usize];
        let inside = blocks.partition_point(|b| b.entry <= pc).max(1) - 1;
        let skipped: usize = blocks[..inside].iter().map(|b| usize::from(b.instructions)).sum();
        let block = &blocks[inside];
        let mut marks = self.process.marks.from(fragment.marks).skip(skipped);
        let mut place = Place {
            block: first + inside as u32,
            executed: 0,
            address: block.address,
            done: block.entry,
            next: None,
        };
        while place.executed < block.instructions
            && let Some(mark) = marks.next()
        {
            let done = place.done + u64::from(mark.size);
            if done > pc {
                place.next = Some(done);
                break;
            }
            place.done = done;
            place.executed += 1;
            place.address += u64::from(mark.length);
        }
        place
    }

    /// In the check that a block is what it was, before all of it.
    fn in_check(&mut self, number: u32) -> Origin {
        let block = &self.process.blocks[number as usize];
        match (self.registers.rip - block.entry) as usize {
            check::KEPT.. => self.give_back_flags(),
            SPILL.. => self.give_back(Borrowed::Rax as u8),
            _ => {}
        }
        self.registers.rip = block.address;
        self.not_begun(number)
    }

    /// Before all of a block, but for what stands before its first instruction.
    fn not_begun(&mut self, number: u32) -> Origin {
        let Toll { counter, step } = self.process.first(number);
        self.count(counter);
        self.area.clock = self.area.clock.wrapping_add_signed(i64::from(step));
        Origin { from: number, executed: 0, begun: false, way: None }
    }

    /// In what was added before the first instruction of a block and its counter.
    fn before_body(&mut self, number: u32, added: &Added) -> Origin {
        let pc = self.registers.rip;
        let block = &self.process.blocks[number as usize];
        let (taken, borrowed) = pace::inside(added.borrows, pc - added.check);
        if borrowed {
            self.registers.rcx = self.area.spill[COUNT_SPILL as usize];
        }
        self.take_back(added.lent, pc);
        self.registers.rip = block.address;
        let begun = pc >= added.begun;
        if taken && !begun {
            self.area.budget += i64::from(block.instructions);
        }
        Origin { begun, ..self.not_begun(number) }
    }

    /// Gives back what a block has borrowed, if a thread at `pc` is where it is.
    fn take_back(&mut self, lent: Option<Lent>, pc: u64) {
        let Some(lent) = lent.filter(|lent| (lent.from..lent.to).contains(&pc)) else { return };
        for (slot, register) in SLOTS.into_iter().zip(lent.registers) {
            *general(self.registers, register) = self.area.spill[slot as usize];
        }
    }

    /// In what stands in a unit after a block, from `tail` on.
    fn after_block(&mut self, tail: u64, block: u32) -> Option<Origin> {
        let pc = self.registers.rip;
        let mut at = tail;
        if let Some((Form::Discard(bytes), length)) = self.form(at) {
            if pc == at {
                self.registers.rsp += u64::from(bytes);
            }
            at += length as u64;
        }
        if let Some((Form::LookUp, length)) = self.form(at)
            && pc < at + length as u64
        {
            let Site { from, kind } = self.process.sites.of_block(block)?;
            return Some(branched(self.process, self.area, self.registers, (from, kind)));
        }
        self.added(tail)
    }

    fn in_indirect_stub(&mut self, stub: u64, site: u32, to: u32) -> Option<Origin> {
        let pc = self.registers.rip;
        let found = added::found(self.process.cache.bytes_at(stub, LONGEST)).unwrap_or(0) as u64;
        if pc >= stub + found {
            return self.added(stub + found);
        }
        // The stubs of one entry know each other's table and index, not each other's site.
        let index = indirect::index_of(site, self.process.blocks[to as usize].address);
        let site = indirect::site_of(indirect::table_number(site), index, self.registers.rdx);
        Some(branched(self.process, self.area, self.registers, way_from(self.process, site)))
    }

    /// In the copy of a branch, the stub of an exit, in cold room, or in no translated code at all.
    fn in_exit_stub(&mut self) -> Option<Origin> {
        let pc = self.registers.rip;
        let Some(region) = self.process.cache.region_of(pc) else { return Some(OUTSIDE) };
        // A thread may be long in a copy, rather than only pass through.
        if let Some(&copy) = self.process.copies.range(..=pc).next_back()
            && pc < copy + behind::COPY
        {
            return self.added(copy);
        }
        let stub = self.process.exits.iter().map(|exit| exit.stub).filter(|&stub| stub <= pc).max();
        let stub = stub.filter(|&stub| self.process.cache.region_of(stub) == Some(region));
        self.added(stub.unwrap_or(pc))
    }

    /// In added code that can be read from `at` on: one form forward.
    fn added(&mut self, mut at: u64) -> Option<Origin> {
        loop {
            let pc = self.registers.rip;
            let Some((form, length)) = self.form(at) else { return Some(OUTSIDE) };
            let end = at + length as u64;
            if pc >= end {
                at = end;
                continue;
            }
            self.registers.rip = match form {
                Form::Counter(_) | Form::Step(_) | Form::Both(..) | Form::Grant(_) => {
                    self.finish(form, at, length);
                    return None;
                }
                Form::Calls(number) => {
                    let into = (pc - at) as usize;
                    let sequence = self.process.calls.as_ref()?.sequence(number);
                    // SAFETY: the area is the calling thread's, and its registers are as they were there.
                    match unsafe { sequence.finish(into, self.registers, self.area) } {
                        Some(exit) => return Some(self.left(exit)),
                        None => end,
                    }
                }
                Form::Path(number) => {
                    let into = (pc - at) as usize;
                    paths::finish(self.process, self.area, number, into, self.registers);
                    end
                }
                Form::GiveBack(register) => {
                    self.give_back(register);
                    end
                }
                Form::GiveBackFlags => {
                    self.give_back_flags();
                    end
                }
                Form::Restore(slot, register) => {
                    *general(self.registers, register) = self.area.spill[slot as usize];
                    end
                }
                Form::Lend(_)
                | Form::Recorded
                | Form::Nop
                | Form::Discard(_)
                | Form::LookUp
                | Form::SpillRcx
                | Form::SpillRdx => end,
                Form::Jump(distance) => end.wrapping_add_signed(i64::from(distance)),
                Form::Branch(condition, distance) => match condition_in(condition, self.registers.rflags) {
                    (_, true) => end.wrapping_add_signed(i64::from(distance)),
                    (_, false) => end,
                },
                Form::JumpFar(target) => target,
                Form::StoreExit(number) => return Some(self.left(number)),
                Form::Leave => return Some(self.left(self.area.exit as u32)),
            };
            return None;
        }
    }

    /// The thread is on its way out by an exit.
    fn left(&mut self, number: u32) -> Origin {
        let exit = &self.process.exits[number as usize];
        if exit.kind == edge_kind::PACED {
            self.registers.rip = exit.target;
            return self.not_begun(exit.from);
        }
        if matches!(exit.kind, edge_kind::CALL | edge_kind::JUMP | edge_kind::BRANCH)
            && let Some(origin) = before(self.process, self.registers, exit.from)
        {
            return origin;
        }
        self.left = Some(number);
        self.registers.rip = exit.target;
        let begun = exit.kind != edge_kind::REPLACED;
        Origin { from: exit.from, executed: exit.executed, begun, way: begun.then_some(exit.kind) }
    }

    /// Brings a counter or step to its end.
    fn finish(&mut self, form: Form, at: u64, length: usize) {
        let into = (self.registers.rip - at) as usize;
        let (done, borrowed) = added::inside(length, into);
        let advance =
            |area: &mut ThreadArea, step: i32| area.clock = area.clock.wrapping_add_signed(i64::from(step));
        match form {
            _ if done => {}
            Form::Counter(counter) => self.count(counter),
            Form::Grant(instructions) => self.area.budget += i64::from(instructions),
            Form::Step(step) => advance(self.area, step),
            Form::Both(counter, step) => {
                if into < added::COUNTED {
                    self.count(counter);
                }
                advance(self.area, step);
            }
            _ => {}
        }
        if borrowed {
            self.registers.rcx = self.area.spill[COUNT_SPILL as usize];
        }
        self.registers.rip = at + length as u64;
    }

    fn give_back(&mut self, register: u8) {
        *general(self.registers, register) = self.area.spill[SCRATCH_SPILL as usize];
    }

    fn give_back_flags(&mut self) {
        self.registers.rflags = check::flags(self.area.spill[FLAGS_SPILL as usize], self.registers.rflags);
        self.give_back(Borrowed::Rax as u8);
    }

    fn count(&mut self, counter: u32) {
        // SAFETY: the area is the calling thread's.
        unsafe { count(self.area, counter) };
    }

    fn form(&self, at: u64) -> Option<(Form, usize)> {
        let calls = self.process.calls.as_ref();
        if let Some((calls, number)) = calls.and_then(|calls| Some((calls, calls.sequence_at(at)?))) {
            return Some((Form::Calls(number), calls.sequence(number).length()));
        }
        let paths = self.process.paths.as_ref();
        if let Some((number, length)) = paths.and_then(|paths| paths.piece_at(at)) {
            return Some((Form::Path(number), length));
        }
        let recorded = self.process.kinds.piece_at(at);
        if recorded > 0 {
            return Some((Form::Recorded, recorded));
        }
        added::parse(at, self.process.cache.bytes_at(at, LONGEST))
    }
}
