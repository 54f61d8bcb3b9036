//! Joining translated code: direct exits are patched to lead straight to the block that they are for, and
//! targets of indirect branches enter their table. Both are undone in `unlink.rs`.

use crate::cache::{self, Kind};
use crate::calls::call::Call;
use crate::calls::sequence::Sequence;
use crate::calls::{Step, Way, choose};
use crate::emit::{Code, Toll};
use crate::entry;
use crate::forest::Vertex;
use crate::indirect;
use crate::paths;
use crate::placing;
use crate::state::{Block, Edge, Exit, Process, Site, Target};
use crate::unlink::{chain, enter_again};
use timewise_abi::log::{EdgeRecord, edge_kind};
use timewise_abi::{Failure, NONE};

/// Bytes that the stub of an indirect branch's target may take.
const STUB: u64 = 2048;

/// Links an exit to block `to`: where a thread that stands at the exit goes on.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn exit(process: &mut Process, number: u32, to: u32) -> Result<u64, Failure> {
    let exit = process.exits[number as usize];
    if exit.linked && exit.to == to {
        // Another thread was here first.
        return Ok(exit.goal);
    }
    let goal = if exit.to == to { exit.goal } else { way(process, number, to)? };
    if exit.place().is_some_and(|place| !cache::link(place, goal)) {
        return Err(Failure::Internal);
    }
    let next = core::mem::replace(&mut process.blocks[to as usize].exits, number);
    let exit = &mut process.exits[number as usize];
    (exit.to, exit.goal, exit.linked, exit.next) = (to, goal, true, next);
    Ok(goal)
}

/// Makes the way from an exit to a block that it never led to: past a counter if the edge needs one.
fn way(process: &mut Process, number: u32, to: u32) -> Result<u64, Failure> {
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
    if let Some(calls) = &mut process.calls
        && calls.rely(Way::Exit(number))
    {
        calls.keep(exit.stub, to, noted);
    }
    let Block { address, entry, live, .. } = process.blocks[to as usize];
    let steps = paths::steps(process, exit.from, exit.kind, address);
    let reaches = |place: u64| i32::try_from(entry.wrapping_sub(place + 4) as i64).is_ok();
    let is_plain = toll == Toll::NONE && sequence.is_none() && steps.is_empty();
    if is_plain && exit.place().is_none_or(reaches) {
        return Ok(entry);
    }
    let region = process.cache.region_for(exit.stub, STUB)?;
    let mut code = Code::at(process.cache.region(region).hot());
    if let Some((calls, sequence)) = process.calls.as_mut().zip(sequence) {
        calls.emit(&mut code, sequence);
    }
    paths::put(process, &mut code, steps, exit.from, live);
    code.toll(toll, live);
    code.jump_far(entry);
    process.cache.region(region).place(&code.bytes, Kind::EdgeStub { counter: toll.counter, to });
    Ok(code.address)
}

/// Puts block `to` into the table of the indirect branch that missed it: where the thread, whose
/// registers are in place already, goes on.
///
/// # Errors
/// A [`Failure`] that makes going on impossible.
pub fn indirect(
    process: &mut Process,
    table: u32,
    index: u32,
    address: u64,
    to: u32,
) -> Result<u64, Failure> {
    let site = indirect::site_of(table, index, address);
    let place = u64::from(entry::table_address(table)) + 8 * u64::from(index);
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
        (None, None) => {
            let site = process.sites[site as usize];
            let executed = process.blocks[site.from as usize].instructions;
            edge(process, site.from, executed, to, site.kind)?
        }
    };
    let block = process.blocks[to as usize];
    let after = process.heads.get(&place).copied().unwrap_or(NONE);
    let next = process.targets.get(after as usize).map(|target| target.code);
    let region = process.cache.region_for(block.entry, STUB)?;
    let mut code = Code::at(process.cache.region(region).hot());
    let (enter, switch) = indirect::emit_check(&mut code, address, table, index, next);
    let call = process.calls.as_ref().and_then(|calls| calls.call(noted.call));
    let (found, unmatched) = arrive(process, (&mut code, region), site, to, call)?;
    let past = code.here();
    let from = process.sites[site as usize];
    let steps = paths::steps(process, from.from, from.kind, address);
    paths::put(process, &mut code, steps, from.from, block.live);
    code.toll(noted.toll, block.live);
    code.jump_far(block.entry);
    if let Some(exit) = unmatched {
        process.exits[exit as usize].goal = past;
    }
    process.cache.region(region).place(&code.bytes, Kind::IndirectStub { site, to });
    cache::set_entry(place, enter);
    let mut target = Target {
        place,
        to,
        edge: noted,
        code: enter,
        switch,
        found_at: (found - enter) as u16,
        after,
        next: block.targets,
        live: true,
        outdated: false,
    };
    let number = known.unwrap_or(process.targets.len() as u32);
    if known.is_some() {
        target.next = process.targets[number as usize].next;
        process.targets[number as usize] = target;
    } else {
        process.targets.push(target);
        process.blocks[to as usize].targets = number;
    }
    process.heads.insert(place, number);
    if let Some(calls) = &mut process.calls {
        calls.rely(Way::Target(number));
    }
    Ok(found)
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
    let Site { from, kind } = process.sites[site as usize];
    let Block { address, live, .. } = process.blocks[to as usize];
    let last = process.blocks[from as usize];
    if process.calls.is_none() {
        indirect::give_back(code);
        return Ok((code.here(), None));
    }
    let exit = process.exits.len() as u32;
    // Jumps that moved the stack pointer end a long jump or an exception's way up, or switch to another stack.
    let moves_stack = kind == edge_kind::INDIRECT_JUMP && timewise_isa::moves_stack(last.code());
    let sequence = match (kind, call) {
        (_, Some(call)) => Some(choose::enter(process, from, to, call)?),
        (edge_kind::RETURN, _) => choose::leave(process, from, (address, live), (exit, region))?,
        (edge_kind::INDIRECT_JUMP, _) if !moves_stack => choose::onward(process, from, to)?,
        _ => None,
    };
    let may_leave = moves_stack || kind == edge_kind::RETURN && !matches!(sequence, Some(Sequence::Brief(_)));
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
    let lands = moves_stack || (kind == edge_kind::RETURN && sequence.is_none());
    if let Some(calls) = calls.as_mut().filter(|_| lands) {
        calls.moves_to(space, exit, address, || shared.take_counter(record));
    }
    Ok((found, may_leave.then_some(exit)))
}
