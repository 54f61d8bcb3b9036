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

/// A call further below one than this did not come of it, or it does no harm to find that out later: it may be on another
/// stack, which can be as close as coroutines have theirs.
const FRAME: u64 = 1 << 10;

/// Of no more calls on other stacks than this it is looked whether others have taken their places.
const MANY: usize = 64;

/// How many calls wait, and where the first of them lies.
fn extent(paths: &Paths, area: &ThreadArea) -> (u64, usize) {
    let base = area.this + paths.plan.waiting;
    let size = size_of::<Waiting>() as u64;
    // The first stands for none.
    (base + size, (area.path_top.saturating_sub(base) / size) as usize)
}

/// Calls that wait, the outermost first.
fn waiting(paths: &Paths, area: &ThreadArea) -> &'static [Waiting] {
    let (first, count) = extent(paths, area);
    // SAFETY: they lie one behind the other.
    unsafe { slice::from_raw_parts(first as *const Waiting, count) }
}

/// Only so many calls wait.
fn shorten(paths: &Paths, area: &mut ThreadArea, count: usize) {
    area.path_top = area.this + paths.plan.waiting + (count * size_of::<Waiting>()) as u64;
}

/// Gives up the latest calls but so many.
fn give_up(paths: &Paths, area: &mut ThreadArea, left: usize) {
    let mut counting = Counting::of(paths, area);
    waiting(paths, area)[left..].iter().rev().for_each(|waiting| counting.give_up(waiting));
    shorten(paths, area, left);
}

/// Makes a call the latest: those since that came of it are given up, and those on other stacks wait on before all
/// others, so that the calls of this stack are the latest.
fn come_back(paths: &Paths, area: &mut ThreadArea, index: usize) {
    let mut counting = Counting::of(paths, area);
    let (first, count) = extent(paths, area);
    // SAFETY: as for `waiting`, whose slices are gone.
    let open = unsafe { slice::from_raw_parts_mut(first as *mut Waiting, count) };
    let (mut lowest, mut is_over) = (open[index].slot, open[index].is_handler());
    let elsewhere = sift(&mut open[index + 1..], &mut counting, |waiting| {
        // What a handler is in the middle of is over with it, whatever stack it is on.
        is_over |= waiting.is_handler();
        let came_of_it = is_over || (waiting.slot <= lowest && lowest - waiting.slot <= FRAME);
        lowest = if came_of_it { waiting.slot } else { lowest };
        !came_of_it
    });
    let open = &mut open[..=index + elsewhere];
    open.rotate_right(elsewhere);
    let mut left = open.len();
    if (1..=MANY).contains(&elsewhere) {
        left = drop_replaced(open, &mut counting, elsewhere);
    }
    shorten(paths, area, left);
}

/// Gives up calls whose places later ones have: the latest ones that are on other stacks come first, in order, and
/// before the others. How many are left.
fn drop_replaced(open: &mut [Waiting], counting: &mut Counting, latest: usize) -> usize {
    let mut slots = [0; MANY];
    slots.iter_mut().zip(&open[..latest]).for_each(|(slot, waiting)| *slot = waiting.slot);
    let mut at = 0;
    sift(open, counting, |waiting| {
        at += 1;
        let later = if at <= latest { &slots[at..latest] } else { &slots[..latest] };
        waiting.site & HANDLER != 0 || !later.contains(&waiting.slot)
    })
}

/// Gives up calls but those that `waits` picks, which close up: how many these are.
fn sift(open: &mut [Waiting], counting: &mut Counting, mut waits: impl FnMut(&Waiting) -> bool) -> usize {
    let mut left = 0;
    for at in 0..open.len() {
        let waiting = open[at];
        if waits(&waiting) {
            open[left] = waiting;
            left += 1;
        } else {
            counting.give_up(&waiting);
        }
    }
    left
}

/// The latest call that `is_it` picks goes on; those that came of it are given up. What it kept; no path if there is none.
pub fn take(process: &Process, area: &mut ThreadArea, is_it: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
    let paths = process.paths.as_ref()?;
    let open = waiting(paths, area);
    let Some(found) = open.iter().rposition(is_it) else {
        area.path = POISON.into();
        return None;
    };
    let taken = open[found];
    come_back(paths, area, found);
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
    let is_below = |waiting: &Waiting, by: u64| waiting.slot < stack && stack - waiting.slot <= by;
    let latest = |by: u64| {
        open.iter().rposition(|waiting| {
            // A handler may have a stack of its own.
            let is_here = waiting.is_handler() || is_below(waiting, by);
            is_here && paths.function_of(waiting) == Some(function)
        })
    };
    if let Some(handler) = handler_returned(open, stack) {
        give_up(paths, area, handler + 2);
    } else if function == NONE {
        let is_over = |waiting: &Waiting| is_below(waiting, STACK);
        let left = open.iter().rposition(|waiting| !is_over(waiting)).map_or(0, |last| last + 1);
        give_up(paths, area, left);
    } else if let Some(its) = latest(FRAME).or_else(|| latest(STACK)) {
        come_back(paths, area, its);
        give_up(paths, area, waiting(paths, area).len() - 1);
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
