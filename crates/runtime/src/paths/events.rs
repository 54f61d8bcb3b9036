//! What becomes of a thread's paths where it does not simply go on: calls that do not return, handlers, ends.

use super::Paths;
use super::piece;
use super::step::Counting;
use crate::guard;
use crate::signal::Origin;
use crate::state::Process;
use core::slice;
use core::sync::atomic::Ordering;
use timewise_abi::NONE;
use timewise_abi::paths::{BEHIND, HANDLER, POISON, Waiting};
use timewise_abi::thread::{Registers, ThreadArea};

/// Further below a stack pointer than this is another stack.
const STACK: u64 = 8 << 20;

/// Calls that wait, the outermost first.
fn waiting(paths: &Paths, area: &ThreadArea) -> &'static [Waiting] {
    let base = area.this + paths.plan.waiting;
    let count = area.path_top.saturating_sub(base) / size_of::<Waiting>() as u64;
    // SAFETY: the first stands for none; the others follow up to the latest.
    unsafe { slice::from_raw_parts((base as *const Waiting).add(1), count as usize) }
}

/// Gives up the latest calls but so many.
fn give_up(paths: &Paths, area: &mut ThreadArea, left: usize) {
    let mut counting = Counting::of(paths, area);
    waiting(paths, area)[left..].iter().rev().for_each(|waiting| counting.give_up(waiting));
    area.path_top = area.this + paths.plan.waiting + (left * size_of::<Waiting>()) as u64;
}

/// The latest call that `is_it` picks goes on; those since are given up. What it kept; no path if there is none.
pub fn take(process: &Process, area: &mut ThreadArea, is_it: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
    let paths = process.paths.as_ref()?;
    let open = waiting(paths, area);
    let Some(found) = open.iter().rposition(is_it) else {
        area.path = POISON.into();
        return None;
    };
    let taken = open[found];
    give_up(paths, area, found + 1);
    area.path = taken.register.into();
    area.path_top -= size_of::<Waiting>() as u64;
    Some(taken)
}

/// A call keeps the register, with its return address at `slot`.
pub fn keep(process: &Process, area: &mut ThreadArea, slot: u64, site: u32) {
    put(process, area, &[Waiting { slot, register: area.path as i32, site }]);
}

/// Adds to what waits.
fn put(process: &Process, area: &mut ThreadArea, added: &[Waiting]) {
    let Some(paths) = &process.paths else { return };
    let end = guard::begins(process, area);
    if area.path_top + size_of_val(added) as u64 + size_of::<Waiting>() as u64 > end {
        drop_all(paths, area);
    }
    for &waiting in added {
        area.path_top += size_of::<Waiting>() as u64;
        // SAFETY: there is room for it.
        unsafe { *(area.path_top as *mut Waiting) = waiting };
    }
}

/// There are too many.
fn drop_all(paths: &Paths, area: &mut ThreadArea) {
    area.lost_paths += waiting(paths, area).iter().filter(|waiting| !waiting.is_second()).count() as u64;
    area.path_top = area.this + paths.plan.waiting;
}

/// An exception or a long jump lands in a function, with the stack pointer at `stack`: its latest call is over, and all
/// that came of it. In [`NONE`], which keeps nothing, what was called below the stack pointer is over.
pub fn land(process: &Process, area: &mut ThreadArea, function: u32, stack: u64) {
    let Some(paths) = &process.paths else { return };
    let open = waiting(paths, area);
    let is_over = |waiting: &Waiting| waiting.slot < stack && stack - waiting.slot < STACK;
    let is_its = |waiting: &Waiting| paths.function_of(waiting) == Some(function);
    let left = match handler_returned(open, stack) {
        Some(handler) => handler + 2,
        None if function == NONE => {
            open.iter().rposition(|waiting| !is_over(waiting)).map_or(0, |last| last + 1)
        }
        None => open.iter().rposition(is_its).unwrap_or(open.len()),
    };
    if left < open.len() {
        give_up(paths, area, left);
    }
    area.path = POISON.into();
}

/// The handler that has returned if the stack pointer is at `stack`. What it returned to has yet to end it: nobody
/// called that, so it looks like where a long jump lands.
fn handler_returned(open: &[Waiting], stack: u64) -> Option<usize> {
    open.iter().rposition(|waiting| waiting.is_handler() && waiting.slot + 8 == stack)
}

/// Makes the end of the room for calls that wait inaccessible, so that too many of them are noticed.
pub fn limit(process: &Process, area: &ThreadArea) {
    if process.paths.is_some() {
        guard::raise(process, area);
    }
}

/// Whether a fault at `address` means that too many calls of the thread wait. They are dropped then, and the thread can
/// go on, which was about to write the next one behind the one in `rcx`.
pub fn is_overflow(
    process: &Process,
    area: &mut ThreadArea,
    address: u64,
    registers: &mut Registers,
) -> bool {
    let Some(paths) = process.paths.as_ref().filter(|_| guard::holds(process, area, address)) else {
        return false;
    };
    area.path_top = guard::begins(process, area) - size_of::<Waiting>() as u64;
    drop_all(paths, area);
    registers.rcx = area.path_top;
    true
}

/// A handler at an address is about to run, with the address of what it returns to at the top of its stack, `place`.
/// The thread was at `origin`, and would have gone on at `next`.
pub fn begin_handler(
    process: &Process,
    area: &mut ThreadArea,
    (handler, place): (u64, u64),
    origin: Origin,
    next: u64,
) {
    let Some(paths) = &process.paths else { return };
    let at = self::place(process, (origin.from, origin.executed), next);
    let exit = at.and_then(|at| paths.exit_from(&process.space, at));
    let site = HANDLER | exit.map_or(0, |record| record as u32 + 1);
    let first = Waiting { slot: place, register: area.path as i32, site };
    // What is behind a block takes its way only when the thread does: the handler may not come back.
    let way = origin.way.map_or(0, |kind| u32::from(kind) + 1);
    let second = Waiting { slot: next, register: origin.from as i32, site: HANDLER | BEHIND | way };
    put(process, area, &[first, second]);
    piece::begin(process, area, handler);
}

/// The handler that began with `place` is over, at the end of block `from`, with its last system call, and the thread
/// goes on at an address, with a stack pointer.
pub fn end_handler(
    process: &Process,
    area: &mut ThreadArea,
    from: u32,
    place: u64,
    (address, stack): (u64, u64),
) {
    leave(process, area, behind(process, from));
    let Some(paths) = &process.paths else { return };
    let is_it = |waiting: &Waiting| waiting.is_handler() && waiting.slot == place;
    let second = waiting(paths, area).iter().rposition(is_it).map(|first| waiting(paths, area)[first + 1]);
    let Some((first, second)) = take(process, area, is_it).zip(second) else { return };
    match (second.site & !(HANDLER | BEHIND)).checked_sub(1) {
        Some(kind) => piece::cross(process, area, (second.register as u32, kind as u16), address, stack),
        None if second.slot == address => {}
        // The handler sends it elsewhere.
        None => {
            Counting::of(paths, area).give_up(&first);
            piece::begin(process, area, address);
        }
    }
}

/// Behind the last byte of block `from`.
pub fn behind(process: &Process, from: u32) -> Option<u64> {
    process.blocks.get(from as usize).map(|block| block.end() + 1)
}

/// Behind the last instruction of a thread that left block `from`, if any, after so many of its instructions, for an
/// address.
pub fn place(process: &Process, (from, executed): (u32, u16), address: u64) -> Option<u64> {
    let block = process.blocks.get(from as usize)?;
    Some(match executed {
        0 => block.address + 1,
        all if all == block.instructions => block.end() + 1,
        _ => address,
    })
}

/// A thread leaves what is counted from block `from`, after so many of its instructions, for an address without one.
pub fn outside(process: &Process, area: &mut ThreadArea, from: (u32, u16), address: u64) {
    leave(process, area, place(process, from, address));
    area.path = POISON.into();
}

/// The function is left in which a thread was at `at`, if it was in any.
fn leave(process: &Process, area: &mut ThreadArea, at: Option<u64>) {
    let Some(paths) = &process.paths else { return };
    if let Some(record) = at.and_then(|at| paths.exit_from(&process.space, at)) {
        let record = paths.records[record];
        let mut counting = Counting::of(paths, area);
        counting.carry_out_all(record.first, record.count);
        area.path = counting.path;
    }
}

/// The thread ends at `at`, or outside, and all its calls with it.
pub fn end(process: &Process, area: &mut ThreadArea, at: Option<u64>) {
    let Some(paths) = &process.paths else { return };
    leave(process, area, at);
    give_up(paths, area, 0);
    area.path = POISON.into();
}

/// The process ends while other threads of it are in system calls.
pub fn close_others(process: &Process, area: &ThreadArea) {
    if process.paths.is_some() {
        process.each_in_system_call(area, |other, from| end(process, other, behind(process, from)));
    }
}

/// All paths of a thread end in the system call that it is in, if `by` is 1: it may not come back. If it does after
/// all, -1 takes that back.
pub fn settle(process: &Process, area: &ThreadArea, by: i64) {
    // One that shares its memory with another process is ended by that.
    let Some(paths) = process.paths.as_ref().filter(|_| area.sharing == 0) else { return };
    let mut counting = Counting { by, ..Counting::of(paths, area) };
    let at = behind(process, area.position.load(Ordering::Relaxed));
    if let Some(record) = at.and_then(|at| paths.exit_from(&process.space, at)) {
        let record = paths.records[record];
        counting.carry_out_all(record.first, record.count);
    }
    waiting(paths, area).iter().rev().for_each(|waiting| counting.give_up(waiting));
}
