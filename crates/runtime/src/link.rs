//! Joining translated code: direct exits are patched to lead straight to the block that they are for,
//! targets of indirect branches enter their table; and both are undone when the block is retired.

use crate::cache::{self, Kind};
use crate::calls::sequence::{Brief, Enter, Leave, Sequence};
use crate::calls::{self, Call, Callee, Jump, Returning, Step, Way};
use crate::emit::{Code, Toll};
use crate::entry;
use crate::forest::Vertex;
use crate::indirect;
use crate::placing;
use crate::state::{Block, Edge, Exit, Process, Site, Target};
use timewise_abi::log::{EdgeRecord, edge_kind};
use timewise_abi::{Failure, NONE};
use timewise_isa::FlagSet;

/// Bytes that the stub of an indirect branch's target may take.
const STUB: u64 = 512;

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
    if exit.place != 0 && !cache::link(exit.place, goal) {
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
    let kept = process.calls.as_ref().and_then(|calls| calls.kept(exit.stub, to));
    let noted = match kept {
        Some(kept) => kept,
        None => edge(process, exit.from, exit.executed, to, exit.kind)?,
    };
    let Edge { toll, call } = noted;
    let sequence = match (exit.kind, call) {
        (edge_kind::CALL, Some(call)) => Some(enter(process, exit.from, to, call)?),
        (edge_kind::JUMP | edge_kind::BRANCH, _) => onward(process, exit.from, to)?,
        _ => None,
    };
    if let Some(calls) = &mut process.calls
        && calls.rely(Way::Exit(number))
    {
        calls.keep(exit.stub, to, noted);
    }
    let entry = process.blocks[to as usize].entry;
    let reachable = i32::try_from(entry.wrapping_sub(exit.place + 4) as i64).is_ok();
    if toll == Toll::NONE && sequence.is_none() && (reachable || exit.place == 0) {
        return Ok(entry);
    }
    let live = process.blocks[to as usize].live;
    let region = process.cache.region_for(exit.stub, STUB)?;
    let mut code = Code::at(process.cache.region(region).hot());
    if let Some((calls, sequence)) = process.calls.as_mut().zip(sequence) {
        calls.emit(&mut code, sequence);
    }
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
    let known = chain(process, place).find(|&n| is_of_it(&process.targets[n as usize]));
    let known = known.or(withdrawn.filter(|&n| is_of_it(&process.targets[n as usize])));
    let noted = match (known, process.calls.as_ref().and_then(|calls| calls.kept(place, to))) {
        (Some(known), _) => {
            if process.targets[known as usize].live || enter_again(process, known) {
                return Ok(process.targets[known as usize].found);
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
    let switch = indirect::emit_check(&mut code, address, table, index, next);
    let (found, unmatched) = calls(process, (&mut code, region), site, to, noted.call)?;
    let past = code.here();
    code.toll(noted.toll, block.live);
    code.jump_far(block.entry);
    if let Some(exit) = unmatched {
        process.exits[exit as usize].goal = past;
    }
    process.cache.region(region).place(&code.bytes, Kind::IndirectStub { site, to });
    cache::set_entry(place, code.address);
    let mut target = Target {
        place,
        to,
        edge: noted,
        code: code.address,
        switch,
        on: code.bytes[(switch - code.address) as usize],
        found,
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

/// Has the way of an exit made anew when a thread next takes it.
pub fn renew_exit(process: &mut Process, number: u32) {
    let Exit { place, stub, to, linked, next, .. } = process.exits[number as usize];
    if linked {
        // The stub lies in the region of its exit, so it is in reach.
        let _ = place == 0 || cache::link(place, stub);
        // Out of the list of what leads to the block.
        let first = process.blocks[to as usize].exits;
        if first == number {
            process.blocks[to as usize].exits = next;
        } else {
            let mut at = first;
            while let Some(exit) = process.exits.get_mut(at as usize) {
                at = exit.next;
                if at == number {
                    exit.next = next;
                    break;
                }
            }
        }
    }
    let exit = &mut process.exits[number as usize];
    (exit.linked, exit.to, exit.next) = (false, NONE, NONE);
}

/// Likewise the stub of an indirect branch's target.
pub fn renew_target(process: &mut Process, number: u32) {
    let target = &mut process.targets[number as usize];
    let Target { place, to, edge, switch, .. } = *target;
    target.outdated = true;
    if core::mem::replace(&mut target.live, false) {
        cache::write(switch, &[0]);
        shorten(process, place);
    }
    if let Some(calls) = &mut process.calls {
        calls.keep(place, to, edge);
    }
}

/// Lets the stub of a target that was taken out do its work again, if it can.
fn enter_again(process: &mut Process, number: u32) -> bool {
    let Target { place, code, switch, on, after, .. } = process.targets[number as usize];
    let head = process.heads.get(&place).copied().unwrap_or(NONE);
    let in_chain = chain(process, place).any(|n| n == number);
    if !in_chain && head != after {
        return false;
    }
    cache::write(switch, &[on]);
    process.targets[number as usize].live = true;
    if !in_chain {
        cache::set_entry(place, code);
        process.heads.insert(place, number);
    }
    true
}

/// The targets whose stubs a table's entry leads to, one after the other.
fn chain(process: &Process, place: u64) -> impl Iterator<Item = u32> + '_ {
    let mut next = process.heads.get(&place).copied().unwrap_or(NONE);
    core::iter::from_fn(move || {
        let number = next;
        next = process.targets.get(number as usize)?.after;
        Some(number)
    })
}

/// Undoes everything that leads to a block from outside its fragment. Threads that are on their way
/// still arrive.
pub fn undo(process: &mut Process, block: u32) {
    let mut number = core::mem::replace(&mut process.blocks[block as usize].exits, NONE);
    while let Some(exit) = process.exits.get_mut(number as usize) {
        exit.linked = false;
        if exit.place != 0 {
            // The stub lies in the region of its exit, so it is in reach.
            let _ = cache::link(exit.place, exit.stub);
        }
        number = core::mem::replace(&mut exit.next, NONE);
    }
    let mut number = process.blocks[block as usize].targets;
    while let Some(target) = process.targets.get_mut(number as usize) {
        let Target { place, next, .. } = *target;
        if core::mem::replace(&mut target.live, false) {
            cache::write(target.switch, &[0]);
            process.withdrawn.insert((place, block), number);
            shorten(process, place);
        }
        number = next;
    }
}

/// Takes targets that are no longer live from the head of a table's entry.
fn shorten(process: &mut Process, place: u64) {
    let Some(&first) = process.heads.get(&place) else { return };
    let mut head = first;
    while let Some(target) = process.targets.get(head as usize).filter(|target| !target.live) {
        head = target.after;
    }
    if head == first {
        return;
    }
    match process.targets.get(head as usize) {
        Some(target) => {
            cache::set_entry(place, target.code);
            process.heads.insert(place, head);
        }
        None => {
            cache::set_entry(place, entry::miss_routine_of_entry(place));
            process.heads.remove(&place);
        }
    }
}

/// What is noted of an edge between blocks, which is recorded.
fn edge(process: &mut Process, from: u32, executed: u16, to: u32, kind: u16) -> Result<Edge, Failure> {
    let (vertex, ahead) = process.blocks[from as usize].point(from, executed);
    let passage = process.placing.way(vertex, Vertex::start(to), ahead);
    let toll = placing::toll(passage, process.shared, process.record)?;
    let address = process.blocks[to as usize].address;
    let code = code_of(&process.blocks[to as usize]);
    let Block { address: begins, length, .. } = process.blocks[from as usize];
    let returns_to = (kind == edge_kind::CALL).then(|| begins + u64::from(length));
    let caller = (from, begins, returns_to);
    let Process { calls, space, shared, record, .. } = &mut *process;
    let call = calls.as_mut().filter(|_| matches!(kind, edge_kind::CALL | edge_kind::INDIRECT_CALL));
    let call = call.map(|calls| calls.add(space, caller, (address, code), || shared.take_counter(record)));
    let cost = call.map_or(NONE, calls::recorded);
    let edge = EdgeRecord { from, to, counter: toll.counter, executed, kind, step: toll.step, cost };
    shared.append(&record.edges, &edge, &[])?;
    Ok(Edge { toll, call })
}

/// Adds to the stub of an indirect branch by `site` to block `to` what the costs of calls need, and gives back the
/// registers that the branch borrowed. Where a thread goes on that has its own registers, but only came here; and
/// the exit by which threads leave it whose calls the dispatcher has to sort out, if there can be any.
fn calls(
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
    let moves_stack = kind == edge_kind::INDIRECT_JUMP && moves_stack(&last);
    let sequence = match (kind, call) {
        (_, Some(call)) => Some(enter(process, from, to, call)?),
        (edge_kind::RETURN, _) => leave(process, from, (address, live), (exit, region))?,
        (edge_kind::INDIRECT_JUMP, _) if !moves_stack => onward(process, from, to)?,
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
    if let Some(calls) = calls.as_mut().filter(|_| moves_stack) {
        calls.moves_to(space, exit, (last.address, address), || shared.take_counter(record));
    }
    Ok((found, may_leave.then_some(exit)))
}

/// What is added to a call by block `from` of block `to`.
fn enter(process: &mut Process, from: u32, to: u32, call: Call) -> Result<Sequence, Failure> {
    let Call { cost, callee, .. } = call;
    let ahead = ahead(process, from)?;
    if callee == Callee::Brief {
        let is_free = !process.blocks[to as usize].live.intersects(FlagSet::ALL);
        return Ok(Sequence::Brief(Brief { cost, ahead, is_free, returns: false }));
    }
    let Process { calls, space, shared, record, .. } = &mut *process;
    let calls = calls.as_mut().ok_or(Failure::Internal)?;
    let [callee, caller] = calls.noted(space, call, || shared.take_counter(record));
    Ok(Sequence::Enter(Enter { cost, callee, caller, ahead, borrowed: false }))
}

/// What is added to a return by block `from` to an address, where some flags are read; none if no call returns
/// there. The thread leaves by `exit` if another call is the latest.
fn leave(
    process: &mut Process,
    from: u32,
    (to, live): (u64, FlagSet),
    (exit, region): (u32, usize),
) -> Result<Option<Sequence>, Failure> {
    let ahead = ahead(process, from)?;
    let block = process.blocks[from as usize];
    // `ret` with an operand ends in it.
    let discard = match code_of(&block) {
        [.., 0xc2, low, high] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    let is_free = !live.intersects(FlagSet::ALL);
    let Process { calls: Some(calls), space, cache, shared, record, .. } = &mut *process else {
        return Ok(None);
    };
    if !calls.is_site(to) {
        return Ok(None);
    }
    Ok(Some(match calls.returning(space, (to, block.address), || shared.take_counter(record)) {
        Returning::Brief { cost } => Sequence::Brief(Brief { cost, ahead, is_free, returns: true }),
        Returning::Framed { cost, callee } => {
            let unmatched = calls.put_unmatched(cache.region(region), exit);
            Sequence::Leave(Leave { discard, ahead, exit, unmatched, is_free, cost, callee })
        }
    }))
}

/// What is added to a jump by block `from` to block `to`, if costs of calls are asked for and it leads to another
/// function.
fn onward(process: &mut Process, from: u32, to: u32) -> Result<Option<Sequence>, Failure> {
    if process.calls.is_none() {
        return Ok(None);
    }
    let ahead = ahead(process, from)?;
    let [from, to] = [from, to].map(|block| process.blocks[block as usize]);
    let [from_code, to_code] = [&from, &to].map(|block| (block.address, code_of(block)));
    let jump = Jump { from: from_code, to: to_code, instructions: from.instructions, ahead };
    let Process { calls, space, shared, record, .. } = &mut *process;
    Ok(calls.as_mut().and_then(|calls| calls.onward(space, jump, || shared.take_counter(record))))
}

/// How far a thread is ahead of its clock when it leaves a block.
fn ahead(process: &Process, from: u32) -> Result<i32, Failure> {
    let lead = process.placing.lead(Vertex::end(from));
    lead.and_then(|lead| i32::try_from(lead).ok()).ok_or(Failure::Internal)
}

fn moves_stack(block: &Block) -> bool {
    timewise_isa::moves_stack(code_of(block))
}

/// The code of a block, as it was when it was translated.
fn code_of(block: &Block) -> &'static [u8] {
    // SAFETY: the copy that was logged stays, and is as long as the block.
    unsafe { core::slice::from_raw_parts(block.copy as *const u8, block.length.into()) }
}
