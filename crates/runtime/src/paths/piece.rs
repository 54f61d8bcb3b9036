//! All that is done on one way from a block to another: in translated code, in the runtime, and in part in each.

use super::step::{Counting, Extent, Step};
use super::{events, steps};
use crate::emit::Code;
use crate::state::{Exit, Process};
use alloc::vec::Vec;
use timewise_abi::log::edge_kind;
use timewise_abi::paths::{POISON, Waiting};
use timewise_abi::thread::{Registers, ThreadArea};
use timewise_isa::FlagSet;

/// Code of some steps.
#[derive(Debug)]
pub struct Piece {
    address: u64,
    end: u64,
    steps: Vec<(Step, Extent)>,
}

impl Piece {
    /// Bytes of it.
    pub fn length(&self) -> usize {
        (self.end - self.address) as usize
    }
}

/// Adds steps to translated code, on a way out of block `from`, where flags of `live` are read behind it.
pub fn put(process: &mut Process, code: &mut Code, steps: Vec<Step>, from: u32, live: FlagSet) {
    let Process { paths: Some(paths), exits, blocks, .. } = process else { return };
    if steps.is_empty() {
        return;
    }
    let (address, start) = (code.here(), code.bytes.len());
    let number = paths.pieces.len() as u32;
    let executed = blocks[from as usize].instructions;
    let mut written = Vec::with_capacity(steps.len());
    for (at, step) in steps.into_iter().enumerate() {
        let exit = exits.len() as u32;
        if step.may_leave() {
            exits.push(Exit::new(from, edge_kind::ASTRAY, executed, 0));
            paths.left.insert(exit, (number, at as u32));
        }
        let mut extent = step.emit(code, exit, live);
        extent.start -= start as u16;
        written.push((step, extent));
    }
    paths.placed.insert(address, number);
    paths.pieces.push(Piece { address, end: code.here(), steps: written });
}

/// Does steps in the runtime, for a thread with its stack pointer at `stack`.
pub fn carry_out(process: &Process, area: &mut ThreadArea, steps: impl Iterator<Item = Step>, stack: u64) {
    let Some(paths) = &process.paths else { return };
    for step in steps {
        let mut counting = Counting::of(paths, area);
        match step {
            Step::Op(op) => {
                counting.carry_out(&op);
                area.path = counting.path;
            }
            Step::Keep(site) => events::keep(process, area, stack, site),
            Step::Take { site, to, discard } => {
                let slot = stack.wrapping_sub(8 + u64::from(discard));
                let is_it = |waiting: &Waiting| waiting.slot == slot && waiting.site == site;
                if events::take(process, area, is_it).is_none() {
                    // Nobody made that call: a path begins.
                    begin(process, area, to);
                    return;
                }
            }
            Step::Land(function) => events::land(process, area, function, stack),
        }
    }
}

/// A path begins at an address.
pub fn begin(process: &Process, area: &mut ThreadArea, to: u64) {
    let Some(paths) = &process.paths else { return };
    area.path = POISON.into();
    let entering = paths.entering(&process.space, to);
    carry_out(process, area, entering.into_iter(), 0);
}

/// The thread goes from the end of block `from` to an address without the code between them.
pub fn cross(process: &Process, area: &mut ThreadArea, (from, kind): (u32, u16), to: u64, stack: u64) {
    if process.paths.is_some() {
        carry_out(process, area, steps(process, from, kind, to).into_iter(), stack);
    }
}

/// The thread left a piece by an exit: where it goes on.
pub fn resume(process: &Process, area: &mut ThreadArea, exit: u32) -> Option<u64> {
    let paths = process.paths.as_ref()?;
    let &(number, from) = paths.left.get(&exit)?;
    let piece = &paths.pieces[number as usize];
    let stack = area.registers.rsp;
    carry_out(process, area, piece.steps[from as usize..].iter().map(|&(step, _)| step), stack);
    Some(piece.end)
}

/// Brings a thread to the end of a piece that is `into` bytes into it.
pub fn finish(process: &Process, area: &mut ThreadArea, number: u32, into: usize, registers: &mut Registers) {
    let Some(paths) = &process.paths else { return };
    let steps = &paths.pieces[number as usize].steps;
    let at = steps.partition_point(|(_, extent)| usize::from(extent.start) <= into).max(1) - 1;
    let (_, extent) = steps[at];
    let within = into - usize::from(extent.start);
    extent.give_back(within, registers, area);
    let is_done = within >= usize::from(extent.done);
    let rest = &steps[at + usize::from(is_done)..];
    carry_out(process, area, rest.iter().map(|&(step, _)| step), registers.rsp);
}
