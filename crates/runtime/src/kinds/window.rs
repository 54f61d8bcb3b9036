//! What a thread records when: it skips, streams and skips again, or ends one interval after the other, each
//! after a number of its own instructions that is exact.

use super::{Mode, interval, record, ring};
use crate::dispatch::{enter, external, go_native};
use crate::state::{PROCESS, Process};
use crate::system_call::expect;
use crate::translate::translate;
use timewise_abi::log::edge_kind;
use timewise_abi::stream::{control, kind};
use timewise_abi::thread::{ThreadArea, mode};
use timewise_abi::view::count;
use timewise_abi::{Failure, NONE};

/// Most instructions that are granted at once.
const MOST: u64 = 1 << 31;

/// Fewest for which it is worth going on in a chunk.
const LEAST: u64 = 256;

/// A thread begins.
pub fn start(process: &mut Process, area: &mut ThreadArea) {
    let plan = process.kinds.plan;
    if plan.kind == kind::INTERVALS && area.ring != 0 {
        // The last interval of the thread that had the area before.
        interval::end(process, area);
    }
    area.mode = mode::COUNT;
    (area.budget, area.due, area.granted, area.windows) = (0, 0, 0, 0);
    // Out of room is noted where it happens.
    if plan.kind == kind::NONE || ring::prepare(area).is_err() {
        return;
    }
    let tid = area.tid.load(core::sync::atomic::Ordering::Relaxed);
    ring::note(area, &[control::THREAD, tid]);
    match plan.kind {
        kind::INTERVALS => (area.mode, area.due) = (mode::PACE, plan.length),
        _ => next_window(process, area),
    }
}

/// How many instructions the thread has executed.
pub fn executed(area: &ThreadArea) -> u64 {
    area.granted.wrapping_sub(area.budget as u64)
}

/// If the thread has left by an exit for want of budget: sets where it goes on.
pub fn ask(area: &mut ThreadArea) -> bool {
    loop {
        let asked = PROCESS.with(|process| {
            let process = expect(process);
            let exit = process.exits[area.exit as usize];
            if exit.kind != edge_kind::PACED {
                return None;
            }
            process.mode = Mode::of(area);
            Some((exit.target, exit.from, decide(process, area, exit.from)))
        });
        let Some((address, from, decided)) = asked else { return false };
        match decided {
            Ok(Next::At(resume)) => area.resume = resume,
            Ok(Next::Full) => match ring::wait(area) {
                ring::Waited::Room => continue,
                // The signal finds the thread before its check, where it comes again.
                ring::Waited::Interrupted => {
                    area.resume = PROCESS.with(|process| again(expect(process), from));
                }
                ring::Waited::Alone => {
                    area.due = 0;
                    area.budget = 0;
                    area.windows = u32::MAX;
                    continue;
                }
            },
            Err(failure) => area.resume = go_native(area, address, failure, None),
        }
        return true;
    }
}

/// What is next for a thread that waits before a block.
enum Next {
    /// It goes on there.
    At(u64),
    /// It needs a free chunk.
    Full,
}

fn decide(process: &mut Process, area: &mut ThreadArea, from: u32) -> Result<Next, Failure> {
    let instructions = i64::from(process.blocks[from as usize].instructions);
    loop {
        if area.budget >= instructions {
            return Ok(Next::At(again(process, from)));
        }
        if area.due > 0 {
            let Some(grant) = grant(process, area) else { return Ok(Next::Full) };
            area.due -= grant;
            area.granted += grant;
            area.budget += grant as i64;
        } else if area.budget > 0 {
            let address = process.blocks[from as usize].address;
            leave_before(process, area, from)?;
            let to = short(process, address, area.budget as u32)?;
            external(process, area, NONE, 0, to)?;
            return Ok(Next::At(process.blocks[to as usize].entry));
        } else {
            return change(process, area, from);
        }
    }
}

/// How much more a thread may execute without asking.
fn grant(process: &Process, area: &ThreadArea) -> Option<u64> {
    let mut most = MOST;
    if Mode::of(area) == Mode::Stream {
        let bytes = record::bytes_per_instruction(process.kinds.plan.memory != 0);
        most = (ring::room(area) / bytes).saturating_sub(area.budget as u64);
        if most < LEAST {
            return None;
        }
    }
    Some(area.due.min(most).min(MOST - area.budget as u64))
}

/// Where a thread goes on with the check of a block's budget.
fn again(process: &Process, from: u32) -> u64 {
    let block = &process.blocks[from as usize];
    process.kinds.added(from).map_or(block.checked(), |added| added.check)
}

/// The number of instructions at which something changes is reached.
fn change(process: &mut Process, area: &mut ThreadArea, from: u32) -> Result<Next, Failure> {
    let is_alone = area.windows == u32::MAX;
    if process.kinds.plan.kind == kind::INTERVALS && !is_alone && !interval::has_room(process, area) {
        return Ok(Next::Full);
    }
    let address = process.blocks[from as usize].address;
    leave_before(process, area, from)?;
    match (process.kinds.plan.kind, Mode::of(area)) {
        _ if is_alone => area.mode = mode::COUNT,
        (kind::INTERVALS, _) => {
            interval::end(process, area);
            area.due = process.kinds.plan.length;
        }
        (_, Mode::Stream) => {
            mark(area, control::END);
            area.windows += 1;
            next_window(process, area);
        }
        _ => begin_window(process, area),
    }
    let resume = enter(process, area, address)?;
    Ok(Next::At(resume.unwrap_or(address)))
}

fn next_window(process: &Process, area: &mut ThreadArea) {
    let plan = process.kinds.plan;
    if u64::from(area.windows) >= plan.windows {
        area.mode = mode::COUNT;
    } else if plan.skip > 0 {
        (area.mode, area.due) = (mode::PACE, plan.skip);
    } else {
        begin_window(process, area);
    }
}

fn begin_window(process: &Process, area: &mut ThreadArea) {
    mark(area, control::BEGIN);
    (area.mode, area.due) = (mode::STREAM, process.kinds.plan.length);
}

fn mark(area: &mut ThreadArea, word: u32) {
    let executed = executed(area);
    ring::note(area, &[word, executed as u32, (executed >> 32) as u32, 0]);
}

/// A thread leaves before a block that it has not begun.
fn leave_before(process: &mut Process, area: &mut ThreadArea, from: u32) -> Result<(), Failure> {
    let first = process.first(from);
    // SAFETY: the area is the calling thread's.
    unsafe { count(area, first.counter) };
    area.clock = area.clock.wrapping_add_signed(i64::from(first.step));
    interval::left(process, area, from, 0);
    external(process, area, from, 0, NONE)
}

/// The block of so many instructions from an address on: the last before something changes. Fewer if another
/// block begins in between.
fn short(process: &mut Process, address: u64, instructions: u32) -> Result<u32, Failure> {
    let key = (process.mode.key(address), instructions);
    if let Some(&known) = process.kinds.short.get(&key) {
        let fragment = process.blocks[known as usize].fragment;
        if process.fragments[fragment as usize].live {
            return Ok(known);
        }
    }
    let (block, _) = translate(process, address, instructions as usize, None)?.ok_or(Failure::Internal)?;
    process.kinds.short.insert(key, block);
    Ok(block)
}
