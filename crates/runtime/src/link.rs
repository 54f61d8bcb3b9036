//! Joining translated code: direct exits are patched to lead straight to the block that they are for,
//! targets of indirect branches enter their table; and both are undone when the block is retired.

use crate::cache::{self, Kind};
use crate::emit::{Code, Toll};
use crate::entry;
use crate::forest::Vertex;
use crate::indirect;
use crate::placing;
use crate::state::{Edge, Process, Target};
use timewise_abi::log::{EdgeRecord, edge_kind};
use timewise_abi::{Failure, NONE};

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
    let Edge { toll, .. } = edge(process, exit.from, exit.executed, to, exit.kind)?;
    let entry = process.blocks[to as usize].entry;
    let reachable = i32::try_from(entry.wrapping_sub(exit.place + 4) as i64).is_ok();
    if toll == Toll::NONE && (reachable || exit.place == 0) {
        return Ok(entry);
    }
    let live = process.blocks[to as usize].live;
    let region = process.cache.region_for(exit.stub, 256)?;
    let region = process.cache.region(region);
    let mut code = Code::at(region.hot());
    code.toll(toll, live);
    code.jump_far(entry);
    region.place(&code.bytes, Kind::EdgeStub { counter: toll.counter, to });
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
    let known = chain(process, place).find(|&n| process.targets[n as usize].to == to).or(withdrawn);
    let Edge { toll, returns } = match known {
        Some(known) => {
            if process.targets[known as usize].live || enter_again(process, known) {
                return Ok(process.targets[known as usize].found);
            }
            process.targets[known as usize].edge
        }
        None => {
            let site = process.sites[site as usize];
            let executed = process.blocks[site.from as usize].instructions;
            edge(process, site.from, executed, to, site.kind)?
        }
    };
    let block = process.blocks[to as usize];
    let after = process.heads.get(&place).copied().unwrap_or(NONE);
    let next = process.targets.get(after as usize).map(|target| target.code);
    let region = process.cache.region_for(block.entry, 256)?;
    let region = process.cache.region(region);
    let mut code = Code::at(region.hot());
    let switch = indirect::emit_check(&mut code, address, table, index, next);
    let found = code.here();
    if returns != NONE {
        code.add_clock(returns, block.live);
    }
    code.toll(toll, block.live);
    code.jump_far(block.entry);
    region.place(&code.bytes, Kind::IndirectStub { site, to });
    cache::set_entry(place, code.address);
    let mut target = Target {
        place,
        to,
        edge: Edge { toll, returns },
        code: code.address,
        switch,
        on: code.bytes[(switch - code.address) as usize],
        found,
        after,
        next: block.targets,
        live: true,
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
    Ok(found)
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
    let asked = kind == edge_kind::RETURN && process.placing.has_clock();
    let returns = if asked { process.shared.take_counter(process.record) } else { NONE };
    let record = EdgeRecord { from, to, counter: toll.counter, executed, kind, step: toll.step, returns };
    process.shared.append(&process.record.edges, &record, &[])?;
    Ok(Edge { toll, returns })
}
