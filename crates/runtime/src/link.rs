//! Joining translated code: direct exits are patched to lead straight to the block that they are for, and
//! targets of indirect branches enter their table. Both are undone in `unlink.rs`.

use crate::behind;
use crate::cache::{self, Kind};
use crate::calls::call::Call;
use crate::calls::sequence::Sequence;
use crate::calls::{self, Step, choose};
use crate::emit::{Code, Toll};
use crate::entry;
use crate::forest::Vertex;
use crate::indirect::{self, Switch};
use crate::paths;
use crate::placing;
use crate::sites::Site;
use crate::state::{Block, Edge, Exit, Process, Target};
use crate::unlink::{chain, enter_again};
use alloc::vec::Vec;
use timewise_abi::log::{EdgeRecord, edge_kind};
use timewise_abi::{Failure, NONE};

/// Bytes that the stub of an indirect branch's target may take.
const STUB: u64 = 2048;

/// What leads to code, by what asks for it.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// An exit, by number.
    Exit(u32),
    /// An indirect branch that met entry `index` of a table.
    Indirect {
        /// The table's number.
        table: u32,
        /// The entry.
        index: u32,
    },
}

/// A way that was written right before the block that it leads to.
#[derive(Clone, Copy, Debug)]
pub enum Led {
    /// Of an exit: where it begins.
    Exit(u64),
    /// Of an indirect branch.
    Indirect(Stub),
}

/// The stub of an indirect branch's target.
#[derive(Clone, Copy, Debug)]
pub struct Stub {
    /// Where the check begins.
    enter: u64,
    switch: Switch,
    /// Where a thread goes on that comes from the dispatcher.
    found: u64,
    edge: Edge,
}

/// Writes the way to block `to`, whose code comes next in a region and which nothing leads to yet: with what it is in
/// the cache. None if it would be out of reach from there.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn lead(
    process: &mut Process,
    (code, region): (&mut Code, usize),
    way: Way,
    to: u32,
) -> Result<Option<(Led, Kind)>, Failure> {
    let begin = code.here();
    match way {
        Way::Exit(number) => {
            if process.cache.region_of(process.exits[number as usize].stub) != Some(region) {
                return Ok(None);
            }
            let plan = plan(process, number, to)?;
            let counter = plan.toll.counter;
            put(process, code, plan, number, to);
            Ok(Some((Led::Exit(begin), Kind::EdgeStub { counter, to })))
        }
        Way::Indirect { table, index } => {
            let address = process.blocks[to as usize].address;
            let site = indirect::site_of(table, index, address);
            let edge = indirect_edge(process, site, to)?;
            let stub = stub(process, (code, region), (table, index), (edge, to))?;
            Ok(Some((Led::Indirect(stub), Kind::IndirectStub { site, to })))
        }
    }
}

/// Links an exit to block `to`: where a thread that stands at the exit goes on. The way may have been written before the
/// block.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn exit(process: &mut Process, number: u32, to: u32, led: Option<Led>) -> Result<u64, Failure> {
    let exit = process.exits[number as usize];
    // A branch whose copy is further away than it was itself has a way that is in reach made here.
    let in_reach = exit.place().is_none_or(|place| cache::reaches(place, exit.goal));
    let was_linked = exit.linked && exit.to == to;
    if was_linked && in_reach {
        // Another thread was here first.
        return Ok(exit.goal);
    }
    let goal = match led {
        Some(Led::Exit(led)) => led,
        _ if exit.to == to && in_reach => {
            behind::rejoin(process, number);
            exit.goal
        }
        _ => way(process, number, to)?,
    };
    let place = process.exits[number as usize].place();
    if place.is_some_and(|place| !cache::link(place, goal)) {
        return Err(Failure::Internal);
    }
    if was_linked {
        process.exits[number as usize].goal = goal;
        return Ok(goal);
    }
    let next = core::mem::replace(&mut process.blocks[to as usize].exits, number);
    let exit = &mut process.exits[number as usize];
    (exit.to, exit.goal, exit.linked, exit.parted, exit.next) = (to, goal, true, false, next);
    Ok(goal)
}

/// What stands on the way from an exit to a block.
struct Plan {
    sequence: Option<Sequence>,
    steps: Vec<paths::Step>,
    toll: Toll,
}

/// Decides what stands on the way from an exit to a block, which is to be made.
fn plan(process: &mut Process, number: u32, to: u32) -> Result<Plan, Failure> {
    let exit = process.exits[number as usize];
    let was_linked = exit.goal != 0;
    let kept = process.calls.as_ref().filter(|_| was_linked).and_then(|calls| calls.kept(exit.stub, to));
    let noted = match kept {
        Some(kept) => kept,
        None => edge(process, exit.from, exit.executed, to, exit.kind)?,
    };
    let Edge { toll, call } = noted;
    let call = process.calls.as_ref().and_then(|calls| calls.call(call));
    let sequence = match (exit.kind, call) {
        (edge_kind::CALL, Some(call)) => Some(choose::enter(process, exit.from, to, call)?),
        (edge_kind::JUMP | edge_kind::BRANCH | edge_kind::FALLTHROUGH, _) => {
            choose::onward(process, exit.from, to)?
        }
        _ => None,
    };
    if let Some(calls) = &mut process.calls {
        calls.rely_by_exit(number, to, noted);
    }
    let steps = paths::steps(process, exit.from, exit.kind, process.blocks[to as usize].address);
    Ok(Plan { sequence, steps, toll })
}

/// Writes what stands on the way from an exit to a block.
fn put(process: &mut Process, code: &mut Code, plan: Plan, number: u32, to: u32) {
    if let Some((calls, sequence)) = process.calls.as_mut().zip(plan.sequence) {
        calls.emit(code, sequence);
    }
    let (from, live) = (process.exits[number as usize].from, process.blocks[to as usize].live);
    paths::put(process, code, plan.steps, from, live);
    code.toll(plan.toll, live);
}

/// Makes the way from an exit to a block that it never led to: past a counter if the edge needs one.
fn way(process: &mut Process, number: u32, to: u32) -> Result<u64, Failure> {
    let plan = plan(process, number, to)?;
    let exit = process.exits[number as usize];
    let entry = process.blocks[to as usize].entry;
    let is_plain = plan.toll == Toll::NONE && plan.sequence.is_none() && plan.steps.is_empty();
    if is_plain && exit.place().is_none_or(|place| cache::reaches(place, entry)) {
        return Ok(entry);
    }
    let region = process.cache.region_for(exit.stub, STUB)?;
    let (hot, behind) = behind::room(process, region, number);
    let mut code = Code::at(hot);
    let counter = plan.toll.counter;
    put(process, &mut code, plan, number, to);
    code.jump_far(entry);
    if let Some(behind) = behind {
        behind.take(process);
    }
    process.cache.region(region).place(&code, [(0, Kind::EdgeStub { counter, to })]);
    Ok(code.address)
}

/// Puts block `to` into the table of the indirect branch that missed it: where the thread, whose
/// registers are in place already, goes on. The stub may have been written before the block.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn indirect(
    process: &mut Process,
    (table, index): (u32, u32),
    address: u64,
    to: u32,
    led: Option<Led>,
) -> Result<u64, Failure> {
    let place = u64::from(entry::table_address(table)) + 8 * u64::from(index);
    if let Some(Led::Indirect(stub)) = led {
        return Ok(enter(process, (table, index), (stub, to), None));
    }
    let site = indirect::site_of(table, index, address);
    let withdrawn = process.withdrawn.remove(&(place, to));
    let is_of_it = |target: &Target| target.to == to && !target.outdated;
    let known = known_target(process, place, to);
    let known = known.or(withdrawn.filter(|&n| is_of_it(&process.targets[n as usize])));
    let noted = match (known, process.calls.as_ref().and_then(|calls| calls.kept(place, to))) {
        (Some(known), _) => {
            if process.targets[known as usize].live || enter_again(process, known) {
                return Ok(process.targets[known as usize].found());
            }
            process.targets[known as usize].edge
        }
        (None, Some(kept)) => kept,
        (None, None) => indirect_edge(process, site, to)?,
    };
    let entry = process.blocks[to as usize].entry;
    let region = process.cache.region_for(entry, STUB)?;
    let mut code = Code::at(process.cache.region(region).hot());
    let stub = stub(process, (&mut code, region), (table, index), (noted, to))?;
    code.jump_far(entry);
    process.cache.region(region).place(&code, [(0, Kind::IndirectStub { site, to })]);
    Ok(enter(process, (table, index), (stub, to), known))
}

/// What is noted of the edge of an indirect branch to a block, which is recorded.
fn indirect_edge(process: &mut Process, site: u32, to: u32) -> Result<Edge, Failure> {
    let site = process.sites[site];
    let executed = process.blocks[site.from as usize].instructions;
    edge(process, site.from, executed, to, site.kind)
}

/// Writes the stub of an indirect branch's target: the check, and what stands on the way to a block behind it.
fn stub(
    process: &mut Process,
    (code, region): (&mut Code, usize),
    (table, index): (u32, u32),
    (edge, to): (Edge, u32),
) -> Result<Stub, Failure> {
    let place = u64::from(entry::table_address(table)) + 8 * u64::from(index);
    let block = process.blocks[to as usize];
    let site = indirect::site_of(table, index, block.address);
    let after = process.heads.get(&place).copied().unwrap_or(NONE);
    let next = process.targets.get(after as usize).map(|target| target.code);
    let (enter, switch) = indirect::emit_check(code, block.address, table, index, next);
    let call = process.calls.as_ref().and_then(|calls| calls.call(edge.call));
    let (found, unmatched) = arrive(process, (code, region), site, to, call)?;
    let past = code.here();
    let from = process.sites[site];
    let steps = paths::steps(process, from.from, from.kind, block.address);
    paths::put(process, code, steps, from.from, block.live);
    code.toll(edge.toll, block.live);
    if let Some(exit) = unmatched {
        process.exits[exit as usize].goal = past;
    }
    Ok(Stub { enter, switch, found, edge })
}

/// Enters a stub into a table, as target number `known` or a new one: where a thread goes on that missed it.
fn enter(
    process: &mut Process,
    (table, index): (u32, u32),
    (stub, to): (Stub, u32),
    known: Option<u32>,
) -> u64 {
    let place = u64::from(entry::table_address(table)) + 8 * u64::from(index);
    let Stub { enter, switch, found, edge } = stub;
    let after = process.heads.get(&place).copied().unwrap_or(NONE);
    cache::set_entry(place, enter);
    let mut target = Target {
        place,
        to,
        edge,
        code: enter,
        switch,
        found_at: (found - enter) as u16,
        after,
        next: process.blocks[to as usize].targets,
        live: true,
        outdated: false,
    };
    let number = known.unwrap_or(process.targets.len() as u32);
    if known.is_some() {
        target.next = process.targets[number as usize].next;
        process.targets[number as usize] = target;
    } else {
        process.targets.push(target);
        process.sites.add_target(table);
        process.blocks[to as usize].targets = number;
    }
    process.heads.insert(place, number);
    if let Some(calls) = &mut process.calls {
        calls.rely(calls::Way::Target(number));
    }
    found
}

/// The target by which an entry leads to a block, unless it is to be made anew. Many targets may share the entry and
/// many may lead to the block: it is looked for among both at once, which takes as long as with the fewer.
fn known_target(process: &Process, place: u64, to: u32) -> Option<u32> {
    let is_it = |&number: &u32| {
        let target = &process.targets[number as usize];
        target.place == place && target.to == to && !target.outdated
    };
    let mut of_block = process.blocks[to as usize].targets;
    for of_entry in chain(process, place) {
        let target = process.targets.get(of_block as usize)?;
        if let Some(found) = [of_entry, of_block].into_iter().find(is_it) {
            return Some(found);
        }
        of_block = target.next;
    }
    None
}

/// What is noted of an edge between blocks, which is recorded.
fn edge(process: &mut Process, from: u32, executed: u16, to: u32, kind: u16) -> Result<Edge, Failure> {
    let (vertex, ahead) = process.blocks[from as usize].point(from, executed);
    let passage = process.placing.way(vertex, Vertex::start(to), ahead);
    let toll = placing::toll(passage, process.shared, process.record)?;
    let address = process.blocks[to as usize].address;
    let code = process.blocks[to as usize].code();
    let end = process.blocks[from as usize].end();
    let returns_to = (kind == edge_kind::CALL).then_some(end + 1);
    let caller = (from, end, returns_to);
    let Process { calls, space, shared, record, .. } = &mut *process;
    let calls = calls.as_mut().filter(|_| matches!(kind, edge_kind::CALL | edge_kind::INDIRECT_CALL));
    let (call, cost) = calls.map_or((NONE, NONE), |calls| {
        if calls.add_untold(space, (end, returns_to), (address, code)) {
            return (NONE, NONE);
        }
        let call = calls.add(space, caller, (address, code), || shared.take_counter(record));
        (call, calls.recorded(call))
    });
    let edge = EdgeRecord { from, to, counter: toll.counter, executed, kind, step: toll.step, cost };
    shared.append(&record.edges, &edge, &[])?;
    Ok(Edge { toll, call })
}

/// Adds to the stub of an indirect branch by `site` to block `to` what the costs of calls need, and gives back the
/// registers that the branch borrowed. Where a thread goes on that has its own registers, but only came here; and
/// the exit by which threads leave it whose calls the dispatcher has to sort out, if there can be any.
fn arrive(
    process: &mut Process,
    (code, region): (&mut Code, usize),
    site: u32,
    to: u32,
    call: Option<Call>,
) -> Result<(u64, Option<u32>), Failure> {
    let Site { from, kind } = process.sites[site];
    let Block { address, live, .. } = process.blocks[to as usize];
    let last = process.blocks[from as usize];
    if process.calls.is_none() {
        indirect::give_back(code);
        return Ok((code.here(), None));
    }
    let exit = process.exits.len() as u32;
    // Jumps that moved the stack pointer end a long jump or an exception's way up, or switch to another stack.
    let moves_stack = kind == edge_kind::INDIRECT_JUMP && timewise_isa::moves_stack(last.code());
    let is_untold = process.calls.as_ref().is_some_and(|calls| calls.is_untold(&process.space, address));
    let ends_call = kind == edge_kind::RETURN && !is_untold;
    let sequence = match (kind, call) {
        (_, Some(call)) => Some(choose::enter(process, from, to, call)?),
        (edge_kind::RETURN, _) if ends_call => choose::leave(process, from, (address, live), (exit, region))?,
        (edge_kind::INDIRECT_JUMP, _) if !moves_stack && !is_untold => choose::onward(process, from, to)?,
        _ => None,
    };
    let may_leave = moves_stack || ends_call && !matches!(sequence, Some(Sequence::Brief(_)));
    let Process { calls, space, shared, record, exits, .. } = &mut *process;
    let mut found = code.here();
    match calls.as_mut().zip(sequence) {
        Some((calls, sequence)) => calls.emit(code, sequence.borrowing()),
        None => {
            indirect::give_back(code);
            found = code.here();
            if may_leave {
                Step::Leave(exit).emit(code);
            }
        }
    }
    if may_leave {
        let stub = match sequence {
            Some(Sequence::Leave(leave)) => leave.unmatched,
            _ => 0,
        };
        exits.push(Exit { stub, ..Exit::new(from, edge_kind::UNMATCHED, last.instructions, address) });
    }
    let lands = moves_stack || (ends_call && sequence.is_none());
    if let Some(calls) = calls.as_mut().filter(|_| lands) {
        calls.moves_to(space, exit, address, || shared.take_counter(record));
    }
    Ok((found, may_leave.then_some(exit)))
}
