//! Deciding where a thread goes on when it left translated code.

use crate::astray;
use crate::calls;
use crate::emit::Toll;
use crate::entry::{HIGH, reason};
use crate::forest::Vertex;
use crate::heap::HEAP;
use crate::indirect;
use crate::kinds::{self, Mode, interval, window};
use crate::lessons;
use crate::link::{self, Led, Way};
use crate::paths;
use crate::placing::{self, Passage};
use crate::retire;
use crate::signal;
use crate::sites::{self, Site};
use crate::state::{Block, Exit, PROCESS, Process};
use crate::stopwatch::timed;
use crate::sys::memory;
use crate::system_call::{self, user_dispatch};
use crate::translate::{translate, translate_loop};
use crate::unit::MAX_INSTRUCTIONS;
use crate::unroll::FURTHEST;
use core::sync::atomic::Ordering;
use timewise_abi::log::{EdgeRecord, edge_kind};
use timewise_abi::thread::{Dispatch, ThreadArea, state};
use timewise_abi::view::{Shared, count};
use timewise_abi::{Failure, NONE};

/// Called by the entry code with the program's registers saved: sets where `area`'s thread goes on.
///
/// # Safety
/// `area` must be the thread area of the calling thread, on whose stack the runtime now runs.
pub unsafe extern "C" fn dispatch(area: *mut ThreadArea, reason: u32) {
    // SAFETY: the area is this thread's alone while it runs in the runtime.
    let area = unsafe { &mut *area };
    if reason == reason::SYSTEM_CALL {
        system_call::handle(area);
        return;
    }
    if reason == reason::RETURNED {
        system_call::returned(area);
        return;
    }
    if reason == reason::EXIT && Mode::of(area) != Mode::Count && window::ask(area) {
        return;
    }
    if reason == reason::CHILD {
        system_call::begin(area);
    }
    if reason == reason::START {
        if let Err(failure) = set_up(area) {
            area.resume = go_native(area, area.registers.rip, failure, None);
            return;
        }
        PROCESS.with(|process| {
            if let Some(process) = process {
                calls::limit(process, area);
                paths::limit(process, area);
                window::start(process, area);
            }
        });
        signal::begin(area);
    }
    let (address, result) = PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        process.mode = Mode::of(area);
        timed(process, |process| match reason {
            reason::EXIT => {
                let exit = area.exit as u32;
                (process.exits[exit as usize].target, follow_exit(process, area, exit))
            }
            reason::MISS => {
                let [index, target] = area.missed;
                (target, follow_indirect(process, area, index as u32, target))
            }
            _ => {
                area.state.store(state::RUNNING, Ordering::Relaxed);
                paths::begin(process, area, area.registers.rip);
                (area.registers.rip, enter(process, area, area.registers.rip))
            }
        })
    });
    area.resume = match result {
        Ok(Some(resume)) => resume,
        // No instruction there: the processor will say so itself, in the program's own terms.
        Ok(None) => address,
        Err(failure) => go_native(area, address, failure, None),
    };
}

/// The code at `address` cannot be translated: where the thread goes on. An instruction that is not followed is
/// executed alone; the signals of `mask` are blocked then, or those that are blocked now. Otherwise counting gives up
/// on this thread: it goes on natively, and the host is told why.
pub fn go_native(area: &mut ThreadArea, address: u64, failure: Failure, mask: Option<u64>) -> u64 {
    if failure == Failure::Unsupported
        && let Some(resume) = signal::prepare_alone(area, address, mask)
    {
        return resume;
    }
    // SAFETY: the shared file is mapped where the area lies.
    let shared = unsafe { Shared::at(area.shared) };
    shared.fail(failure);
    // The first place is the one that is told.
    let place = &shared.header().failure_address;
    let _ = place.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
    // The runtime's handlers stay, whose calls would come to the program.
    user_dispatch::end(area);
    area.dispatch = Dispatch::default();
    address
}

/// The block at `address`, translated if need be, if something leads there with that right before it. `None` if there is
/// no instruction.
pub fn block_at(
    process: &mut Process,
    address: u64,
    way: Option<Way>,
) -> Result<Option<(u32, Option<Led>)>, Failure> {
    let known = process.known_block(address).or_else(|| retire::revive(process, address));
    if closes_loop(process, way) && known.is_none_or(|block| !begins_loop(process, block)) {
        let found = translate_loop(process, address, way)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    match known {
        Some(block) => Ok(Some((block, None))),
        None => translate(process, address, MAX_INSTRUCTIONS, way),
    }
}

/// Whether what leads to a block is a short branch back, which may close a loop: code that was translated while one
/// thread executed alone has none within a unit.
fn closes_loop(process: &Process, way: Option<Way>) -> bool {
    let Some(Way::Exit(number)) = way else { return false };
    let Exit { from, kind, target, .. } = process.exits[number as usize];
    let from = &process.blocks[from as usize];
    process.mode == Mode::Count
        && kind == edge_kind::BRANCH
        && (from.address.saturating_sub(FURTHEST)..from.end()).contains(&target)
        && !process.fragments[from.fragment as usize].is_checked
}

/// Whether a block is the first of a loop that was translated as a whole.
fn begins_loop(process: &Process, block: u32) -> bool {
    let Block { fragment, entry, .. } = process.blocks[block as usize];
    process.fragments[fragment as usize].loops().iter().any(|its| its.entry == entry)
}

/// Control comes to `address` from outside: where it goes on.
pub fn enter(process: &mut Process, area: &mut ThreadArea, address: u64) -> Result<Option<u64>, Failure> {
    process.mode = Mode::of(area);
    let Some((to, _)) = block_at(process, address, None)? else { return Ok(None) };
    external(process, area, NONE, 0, to)?;
    calls::relink(process, area, NONE);
    Ok(Some(process.blocks[to as usize].entry))
}

/// Counts an edge from or to outside.
pub fn external(
    process: &mut Process,
    area: &mut ThreadArea,
    from: u32,
    executed: u16,
    to: u32,
) -> Result<(), Failure> {
    let toll = match process.external.get(&(from, executed, to)) {
        Some(&toll) => toll,
        None => {
            let left = (from != NONE).then(|| process.blocks[from as usize].point(from, executed));
            let ahead = left.map_or(0, |(_, ahead)| ahead);
            let to_start = (to != NONE).then(|| Vertex::start(to));
            let step = process.placing.outside(left.map(|(vertex, _)| vertex), to_start, ahead);
            let toll = placing::toll(Passage { counted: true, step }, process.shared, process.record)?;
            let Toll { counter, step } = toll;
            let kind = edge_kind::EXTERNAL;
            let record = EdgeRecord { from, to, counter, executed, kind, step, cost: NONE };
            process.shared.append(&process.record.edges, &record, &[])?;
            process.external.insert((from, executed, to), toll);
            toll
        }
    };
    // SAFETY: the area is the calling thread's.
    unsafe { count(area, toll.counter) };
    area.clock = area.clock.wrapping_add_signed(i64::from(toll.step));
    Ok(())
}

/// Control leaves block `from`, after so many of its instructions, for an address without one.
fn outside(
    process: &mut Process,
    area: &mut ThreadArea,
    (from, executed): (u32, u16),
    address: u64,
) -> Result<Option<u64>, Failure> {
    external(process, area, from, executed, NONE)?;
    paths::outside(process, area, (from, executed), address);
    Ok(None)
}

fn follow_exit(process: &mut Process, area: &mut ThreadArea, number: u32) -> Result<Option<u64>, Failure> {
    let Exit { from, kind, target, executed, goal, .. } = process.exits[number as usize];
    if kind == edge_kind::ASTRAY {
        return Ok(paths::resume(process, area, number));
    }
    if kind == edge_kind::UNMATCHED {
        calls::left(process, area, number, area.registers.rsp);
        return Ok(Some(goal));
    }
    if kind == edge_kind::REPLACED {
        interval::left(process, area, from, executed);
        retire::changed(process, from);
    }
    let found = block_at(process, target, Some(Way::Exit(number)));
    let Ok(Some((to, led))) = found else {
        outside(process, area, (from, executed), target)?;
        return found.map(|_| None);
    };
    let goal = link::exit(process, number, to, led)?;
    lessons::report(process, from, kind, to);
    calls::relink(process, area, from);
    Ok(Some(goal))
}

fn follow_indirect(
    process: &mut Process,
    area: &mut ThreadArea,
    index: u32,
    target: u64,
) -> Result<Option<u64>, Failure> {
    let table = area.exit as u32;
    let found = block_at(process, target, Some(Way::Indirect { table, index }));
    let Ok(Some((to, led))) = found else {
        let from = process.sites[indirect::site_of(table, index, target)].from;
        let executed = process.blocks[from as usize].instructions;
        if found.is_err() {
            outside(process, area, (from, executed), target)?;
            return found.map(|_| None);
        }
        let Some(branch) = astray::take_back(process, from, target, &mut area.registers) else {
            return outside(process, area, (from, executed), target);
        };
        outside(process, area, (from, executed - 1), branch)?;
        let registers = area.registers;
        kinds::cut(process, area, from, executed - 1, &registers);
        return Ok(Some(branch));
    };
    let goal = link::indirect(process, (table, index), target, to, led)?;
    let Site { from, kind } = process.sites[indirect::site_of(table, index, target)];
    lessons::report(process, from, kind, to);
    calls::relink(process, area, from);
    sites::relieve(process, table, from);
    Ok(Some(goal))
}

/// Sets up the state of this process, before anything is translated.
///
/// # Errors
/// [`Failure::CacheFull`] if something lies where the runtime's tables are to be.
pub fn set_up(area: &mut ThreadArea) -> Result<(), Failure> {
    // SAFETY: the shared file is mapped where the area says, for as long as the process lives.
    let shared = unsafe { Shared::at(area.shared) };
    let record = shared.process(area.process);
    crate::entry::prepare(record)?;
    memory::leave_out_of_dumps(HIGH);
    PROCESS.with(|process| {
        let process = process.insert(Process::new(shared, record));
        HEAP.reserve(system_call::limit::set_up(process));
    });
    signal::set_up(area);
    Ok(())
}
