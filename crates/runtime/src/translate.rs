//! Turning a planned unit into code in the cache.
//!
//! Every instruction keeps its bytes, but for operands relative to the program counter, whose
//! displacement changes with their place, and for control transfers, which lead to other translated code
//! or to a stub that asks the dispatcher for it. The program's stack holds the program's own return
//! addresses, as natively.

mod ways;

use crate::behind;
use crate::borrow;
use crate::cache::{self, Kind};
use crate::check;
use crate::emit::{self, Code, Toll, gs};
use crate::entry;
use crate::heap::HEAP;
use crate::indirect;
use crate::kinds::{Adding, Mode, pace};
use crate::link::{self, Led, Way};
use crate::live;
use crate::marks::Mark;
use crate::placing::Passage;
use crate::retire;
use crate::segment;
use crate::sites::Site;
use crate::state::{Block, Exit, Fragment, Loop, NO_COUNTER, Process, Special, SystemCall};
use crate::unit::{self, Extent, MAX_INSTRUCTIONS, PlannedBlock, Unit};
use crate::unlink;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use timewise_abi::log::{BlockRecord, edge_kind};
use timewise_abi::{Failure, NONE};
use timewise_isa::{Control, FlagSet, Instruction};
use ways::{Detour, Fixup};

/// Room that a unit may need at most in its region, with its stubs.
const ROOM: u64 = 64 << 10;

/// Bytes that counting may take.
const TOLL: u64 = 96;

/// Bytes of the stub by which translated code leaves for the dispatcher.
pub const EXIT_STUB: u64 = emit::LEAVE as u64;

/// Translates what starts at `address`, if something leads there with that right before it. `None` if there is no
/// instruction: executing there natively gives the program the fault that it is due.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn translate(
    process: &mut Process,
    address: u64,
    limit: usize,
    way: Option<Way>,
) -> Result<Option<(u32, Option<Led>)>, Failure> {
    let extent = match process.mode {
        _ if !process.is_alone => Extent::Branches,
        Mode::Count => Extent::Branch,
        Mode::Pace | Mode::Stream => Extent::Loops,
    };
    match unit::plan(process, address, limit, extent) {
        Some(unit) => put(process, unit, way).map(Some),
        None if unit::is_unsupported(process, address) => Err(Failure::Unsupported),
        None => Ok(None),
    }
}

/// Translates the loop whose first instruction is at `address`, to which control came back by `way`, as a unit. Code that
/// leads to what was known there still does: its first round is there. `None` if no unit holds all of a loop.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn translate_loop(
    process: &mut Process,
    address: u64,
    way: Option<Way>,
) -> Result<Option<(u32, Option<Led>)>, Failure> {
    let unit = unit::plan(process, address, MAX_INSTRUCTIONS, Extent::Loops);
    let Some(unit) = unit.filter(|unit| unit.blocks.iter().any(|block| block.inside == Some(0))) else {
        return Ok(None);
    };
    if let Some(known) = process.known_block(address) {
        // Indirect branches are to lead to the block that is known.
        unlink::renew_targets(process, known, |_| true);
        process.beginnings.remove(&process.blocks, known);
    }
    put(process, unit, way).map(Some)
}

/// Puts a unit into the cache, if something leads there with that right before it: its first block.
fn put(process: &mut Process, mut unit: Unit, way: Option<Way>) -> Result<(u32, Option<Led>), Failure> {
    if !HEAP.has_room() {
        return Err(Failure::MemoryRefused);
    }
    let address = unit.instructions[0].address;
    let first = process.blocks.len() as u32;
    let count_blocks = process.kinds.counts_blocks(process.mode);
    unit::place_counters(&mut unit, &mut process.placing, first, count_blocks);
    note_functions(process, &unit);
    let region = process.cache.region_for(address, ROOM)?;
    let (hot, behind) = match way {
        Some(Way::Exit(exit)) => behind::room(process, region, exit),
        _ => (process.cache.region(region).hot(), None),
    };
    let marks = process.marks.end();
    let mut translation = Translation {
        process,
        unit: &unit,
        region,
        first,
        way,
        led: None,
        code: Code::at(hot),
        fixups: Vec::new(),
        detours: Vec::new(),
        loops: Vec::new(),
        system_calls: Vec::new(),
        free: None,
        failures: Vec::new(),
    };
    translation.find_free();
    translation.blocks()?;
    translation.detours();
    translation.failures();
    translation.fix();
    let Translation { code, led, loops, system_calls, free, .. } = translation;
    let number = process.fragments.len() as u32;
    let entry = process.blocks[first as usize].entry;
    let pieces = led.map(|(_, kind)| (0, kind)).into_iter();
    // What leads to it may be nothing but the way itself.
    let pieces = pieces.filter(|_| entry > hot).chain([((entry - hot) as usize, Kind::Unit(number))]);
    if let Some(behind) = behind {
        behind.take(process);
    }
    process.cache.region(region).place(&code, pieces);
    let special = Special { loops, system_calls, free: free.unwrap_or_default() };
    let fragment = Fragment {
        blocks: first..process.blocks.len() as u32,
        marks,
        mapping: process.space.mapping(address),
        live: true,
        is_checked: unit.may_change,
        special: (special != Special::default()).then(|| Box::new(special)),
    };
    process.fragments.push(fragment);
    retire::enter(process, number);
    Ok((first, led.map(|(led, _)| led)))
}

/// Notes where a unit leads from one function to another within itself.
fn note_functions(process: &mut Process, unit: &Unit) {
    let Process { calls: Some(calls), space, .. } = process else { return };
    let starts = |block: usize| unit.instructions[unit.blocks[block].instructions.start].address;
    let ends = |block: usize| unit.last(block).next() - 1;
    let last = unit.blocks.len() - 1;
    if unit.instructions.iter().any(is_call) && space.is_settled(starts(0)) {
        calls.comes_to_call(space, starts(0));
    }
    if calls.is_one_function(space, starts(0), ends(last)) {
        return;
    }
    for block in 0..=last {
        calls.leads(space, starts(block), ends(block));
        for to in [unit.blocks[block].next, unit.blocks[block].inside].into_iter().flatten() {
            calls.leads(space, ends(block), starts(to));
        }
    }
}

/// Writes the stub for an exit into cold room: its address.
fn exit_stub(process: &mut Process, region: usize, exit: u32, toll: Toll, live: FlagSet) -> u64 {
    let region = process.cache.region(region);
    if toll == Toll::NONE {
        // Nearly all of them, and there are more of them than of blocks.
        let address = region.take_cold(EXIT_STUB);
        cache::write(address, &emit::leave(exit));
        return address;
    }
    let mut code = Code::at(region.take_cold(EXIT_STUB + TOLL));
    code.toll(toll, live);
    code.leave(exit);
    cache::write(code.address, &code.bytes);
    code.address
}

fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.control, Control::Call { .. } | Control::IndirectCall)
}

/// A unit on its way into the cache.
struct Translation<'a> {
    process: &'a mut Process,
    unit: &'a Unit,
    region: usize,
    /// Number of the unit's first block.
    first: u32,
    /// What leads to it.
    way: Option<Way>,
    /// The end of that, if it was written before the unit.
    led: Option<(Led, Kind)>,
    code: Code,
    /// Displacements that are to lead to a block of the unit.
    fixups: Vec<Fixup>,
    /// Displacements that are to lead to a block of the unit past a counter.
    detours: Vec<Detour>,
    loops: Vec<Loop>,
    system_calls: Vec<SystemCall>,
    /// If the code may change unseen: the bytes of it that may be any.
    free: Option<Vec<Range<usize>>>,
    failures: Vec<Failed>,
}

/// Displacements of jumps that are taken if `block` is no longer what it was.
struct Failed {
    block: u32,
    places: Vec<usize>,
}

impl Translation<'_> {
    fn blocks(&mut self) -> Result<(), Failure> {
        for block in 0..self.unit.blocks.len() {
            self.block(block)?;
            let kind = match self.unit.last(block).control {
                Control::SystemCall => edge_kind::SYSTEM_CALL,
                _ => edge_kind::FALLTHROUGH,
            };
            let PlannedBlock { next, next_way, inside_way, .. } = self.unit.blocks[block];
            if self.unit.is_turned(block) {
                self.run_on(block, edge_kind::BRANCH, inside_way)?;
            } else if next.is_some() {
                self.run_on(block, kind, next_way)?;
            } else if self.unit.falls_through(block) {
                self.leave(block, kind, self.unit.last(block).next(), None);
            }
        }
        Ok(())
    }

    fn block(&mut self, block: usize) -> Result<(), Failure> {
        let unit = self.unit;
        let plan = &unit.blocks[block];
        let range = plan.instructions.clone();
        let start = unit.instructions[range.start].address;
        let own = self.toll(Passage { counted: plan.counter_at.is_some(), step: plan.step })?;
        let from = (start - unit.instructions[0].address) as usize;
        let length = (unit.last(block).next() - start) as usize;
        let record = BlockRecord {
            address: start,
            mappings: self.process.mappings(),
            version: retire::version(self.process, start, start + length as u64),
            counter: own.counter,
            counter_at: plan.counter_at.map_or(0, |at| (at - range.start) as u16),
            instructions: range.len() as u16,
            length: length as u16,
            reserved: [0; 3],
        };
        let log = &self.process.record.blocks;
        let copy = self.process.shared.append(log, &record, &unit.bytes[from..from + length])?;
        self.process.blocks.push(Block {
            address: start,
            entry: self.code.here(),
            live: plan.live,
            instructions: range.len() as u16,
            length: length as u16,
            mode: self.process.mode,
            fragment: self.process.fragments.len() as u32,
            counter_at: if own.counter == NONE { NO_COUNTER } else { record.counter_at },
            check: 0,
            jumps: matches!(unit.last(block).control, Control::Jump { .. }),
            copy,
            exits: NONE,
            targets: NONE,
        });
        self.lead()?;
        if is_call(unit.last(block))
            && let Some(calls) = &mut self.process.calls
        {
            // Code that may change could come to call something else.
            let target = match unit.last(block).control {
                Control::Call { target } if self.process.space.is_settled(start) => Some(target),
                _ => None,
            };
            let returns_to = unit.last(block).next();
            if calls.add_site(&self.process.space, returns_to, target) {
                unlink::renew_returns(self.process, returns_to);
            }
        }
        if own.counter != NONE && record.counter_at == 0 {
            self.process.first.insert(self.first + block as u32, own);
        }
        if self.free.is_some() {
            self.check(block);
            let checked = self.code.here();
            let block = &mut self.process.blocks[self.first as usize + block];
            block.check = (checked - block.entry) as u16;
        }
        if own.counter != NONE && self.process.kinds.counts_blocks(self.process.mode) {
            self.process.kinds.counts(self.first + block as u32, own.counter);
        }
        let mut adding = self.adding(block);
        let mut done_before = self.process.blocks[self.first as usize + block].entry;
        for at in range.clone() {
            if plan.counter_at == Some(at) {
                self.code.toll(own, live::live_at(unit, block, at));
            }
            let instruction = unit.instructions[at];
            if let Some(adding) = &mut adding {
                adding.before(&mut self.process.kinds, &mut self.code, unit, at);
            }
            let done = if instruction.control == Control::Next {
                if adding.is_none() && at + 2 == range.end {
                    self.align_branch(block, at);
                }
                let done = self.plain(at)?;
                if let Some(adding) = &mut adding {
                    adding.after(&mut self.process.kinds, &mut self.code);
                }
                done
            } else {
                if let Some(adding) = &mut adding {
                    adding.leave(&mut self.code);
                }
                self.transfer(block, &instruction, at)?
            };
            let done = self.code.address + done as u64;
            self.process.marks.add(Mark { length: instruction.length, size: (done - done_before) as u16 });
            done_before = done;
        }
        if let Some(mut adding) = adding {
            adding.leave(&mut self.code);
            adding.finish(&mut self.process.kinds);
        }
        Ok(())
    }

    /// Writes what leads to the unit before its first block, so that a thread runs on into it.
    fn lead(&mut self) -> Result<(), Failure> {
        let Some(way) = self.way.take() else { return Ok(()) };
        self.led = link::lead(self.process, (&mut self.code, self.region), way, self.first)?;
        self.process.blocks[self.first as usize].entry = self.code.here();
        Ok(())
    }

    /// What is added to a block beside counters, with the first of it.
    fn adding(&mut self, block: usize) -> Option<Adding> {
        let mode = self.process.mode;
        if mode == Mode::Count {
            return None;
        }
        let number = self.first + block as u32;
        let Block { address, instructions, live, .. } = self.process.blocks[number as usize];
        let way = (number, address, instructions.into());
        let out = pace::way_out(self.process, self.region, way, live);
        let kinds = &self.process.kinds;
        Some(Adding::enter(kinds, mode, &mut self.code, (self.unit, block), (number, out)))
    }

    /// Sees to it that a branch that is to be patched needs no padding after instruction `at`, the one before it:
    /// processors take a comparison and a branch as one if nothing stands in between.
    fn align_branch(&mut self, block: usize, at: usize) {
        let instruction = &self.unit.instructions[at];
        let is_copied = !instruction.uses_gs && instruction.relative_operand.is_none() && self.free.is_none();
        let is_branch = matches!(self.unit.last(block).control, Control::Branch { .. });
        if is_copied && is_branch && self.is_patched(block) {
            self.code.pad_before(u64::from(instruction.length));
        }
    }

    /// Whether the branch at the end of a block may come to lead elsewhere: out of the unit, or back.
    fn is_patched(&self, block: usize) -> bool {
        let PlannedBlock { next, inside, .. } = self.unit.blocks[block];
        let to = if self.unit.is_turned(block) { next } else { inside };
        to.is_none_or(|to| to <= block)
    }

    /// If the code may change unseen: finds what of it may be any.
    fn find_free(&mut self) {
        let start = self.unit.instructions[0].address;
        if !self.unit.may_change {
            return;
        }
        let constant = |at: usize| {
            let offset = (self.unit.instructions[at].address - start) as usize;
            check::constant(self.unit.code(at)).map(|range| offset + range.start..offset + range.end)
        };
        let in_reach = self.code.reaches(start);
        let all = (0..self.unit.instructions.len()).filter(|_| in_reach);
        self.free = Some(all.filter_map(constant).collect());
    }

    /// Sees to it that a block is only executed if it is what it was. It is the unit's only one.
    fn check(&mut self, block: usize) {
        let source = self.unit.instructions[0].address;
        let free = self.free.as_deref().unwrap_or_default();
        let live = live::live_at(self.unit, block, self.unit.blocks[block].instructions.start);
        let places = check::emit(&mut self.code, source, &self.unit.bytes, free, live);
        self.failures.push(Failed { block: self.first + block as u32, places });
    }

    fn failures(&mut self) {
        for Failed { block, places } in core::mem::take(&mut self.failures) {
            for place in places {
                let here = self.code.bytes.len();
                self.code.fix(place, here);
            }
            check::give_back(&mut self.code);
            let stub = self.way_out(block);
            let place = self.code.plain_jump_here();
            self.code.fix_to(place, stub);
        }
    }

    /// A stub by which a thread leaves that came to a block which has gone. It came as it would have
    /// natively, and leaves again before the first instruction.
    fn way_out(&mut self, number: u32) -> u64 {
        let block = self.process.blocks[number as usize];
        let exit = self.process.exits.len() as u32;
        self.process.exits.push(Exit::new(number, edge_kind::REPLACED, 0, block.address));
        let stub = exit_stub(self.process, self.region, exit, self.process.first(number), block.live);
        self.process.exits[exit as usize].stub = stub;
        stub
    }

    /// An instruction that only goes on to the next. Returns where it is done, as a control transfer does.
    fn plain(&mut self, at: usize) -> Result<usize, Failure> {
        let bytes = self.unit.code(at);
        let instruction = &self.unit.instructions[at];
        let offset = (instruction.address - self.unit.instructions[0].address) as usize;
        let free = |range: &Range<usize>| {
            let inside = range.start > offset && range.end <= offset + bytes.len();
            inside.then_some(range.start)
        };
        if let Some(constant) = self.free.iter().flatten().find_map(free) {
            let place = instruction.address + (constant - offset) as u64;
            check::load_constant(&mut self.code, bytes, place);
            return Ok(self.code.bytes.len());
        }
        if instruction.uses_gs {
            return segment::emit(&mut self.code, bytes).ok_or(Failure::Unsupported);
        }
        let Some((displacement, target)) = self.unit.instructions[at].relative_operand else {
            self.code.raw(bytes);
            return Ok(self.code.bytes.len());
        };
        if self.code.relocated(bytes, usize::from(displacement), target)
            || self.code.absolute(bytes, usize::from(displacement), target)
        {
            return Ok(self.code.bytes.len());
        }
        borrow::out_of_reach(&mut self.code, bytes, usize::from(displacement), target)
            .ok_or(Failure::Unsupported)
    }

    /// A control transfer. Returns the position in the code where it is done: see [`crate::marks`].
    fn transfer(&mut self, block: usize, instruction: &Instruction, at: usize) -> Result<usize, Failure> {
        match instruction.control {
            Control::Jump { target } => self.jump(block, target),
            Control::Branch { target, condition } => self.branch(block, target, condition),
            Control::CountBranch { target } => self.count_branch(block, at, target),
            Control::Call { target } => {
                self.push(instruction.next());
                let done = self.code.bytes.len();
                self.leave(block, edge_kind::CALL, target, None);
                Ok(done)
            }
            Control::SystemCall => {
                self.system_call(block, instruction.next());
                Ok(self.code.bytes.len())
            }
            Control::Transaction { target } => {
                // It is aborted before it begins, which a transaction must always allow for.
                self.code.raw(&[0xb8, 0, 0, 0, 0]); // mov eax, 0
                let done = self.code.bytes.len();
                self.leave(block, edge_kind::BRANCH, target, None);
                Ok(done)
            }
            Control::IndirectJump => self.indirect(block, at, edge_kind::INDIRECT_JUMP),
            Control::IndirectCall => self.indirect(block, at, edge_kind::INDIRECT_CALL),
            Control::Return { .. } => self.indirect(block, at, edge_kind::RETURN),
            Control::Next | Control::Unsupported => Err(Failure::Internal),
        }
    }

    fn system_call(&mut self, block: usize, next: u64) {
        let from = self.first + block as u32;
        let executed = self.unit.blocks[block].instructions.len() as u16;
        let exit = self.process.exits.len() as u32;
        self.code.store_number(gs!(exit), exit);
        self.code.jump_through(entry::vector::system_call());
        let after = self.code.here();
        let exits = &mut self.process.exits;
        exits.push(Exit { goal: after, ..Exit::new(from, edge_kind::SYSTEM_CALL, executed, next) });
        // The other way on, for a thread that finds the fragment no longer live.
        exits.push(Exit::new(from, edge_kind::SYSTEM_CALL, executed, next));
        let stub = exit_stub(self.process, self.region, exit + 1, Toll::NONE, FlagSet::ALL);
        self.process.exits[exit as usize + 1].stub = stub;
        self.system_calls.push(SystemCall { after, stub });
    }

    fn indirect(&mut self, block: usize, at: usize, kind: u16) -> Result<usize, Failure> {
        let instruction = self.unit.instructions[at];
        let from = self.first + block as u32;
        let (site, table) = self.process.sites.add(instruction.next(), Site { from, kind })?;
        let table = entry::table_address(table);
        let region = self.process.cache.region(self.region);
        indirect::emit(&mut self.code, self.unit.code(at), &instruction, site, table, |value| {
            let place = region.take_cold(8);
            cache::write(place, &value.to_le_bytes());
            place
        })
        .ok_or(Failure::Unsupported)
    }

    fn push(&mut self, value: u64) {
        let region = self.process.cache.region(self.region);
        self.code.push_constant(value, || {
            let place = region.take_cold(8);
            cache::write(place, &value.to_le_bytes());
            place
        });
    }
}
