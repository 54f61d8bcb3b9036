//! Undoing what leads to translated code, and having it made anew.

use crate::behind;
use crate::cache;
use crate::calls::Relying;
use crate::entry;
use crate::indirect;
use crate::kinds::Mode;
use crate::sites::Site;
use crate::state::{Block, Exit, Process, Target};
use timewise_abi::NONE;
use timewise_abi::log::edge_kind;

/// Points an exit back to its stub.
fn lead_out(process: &mut Process, number: u32) {
    let exit = process.exits[number as usize];
    if exit.behind {
        behind::part(process, number);
    } else if let Some(place) = exit.place() {
        // The stub lies in the region of its exit, so it is in reach.
        let _ = cache::link(place, exit.stub);
    }
}

/// Has the way of an exit that relied on something made anew when a thread next takes it, if it is still its way.
pub fn renew_exit(process: &mut Process, noted: u32) {
    let Some(calls) = &mut process.calls else { return };
    let Relying { exit: number, to, edge } = calls.relying(noted);
    let exit = process.exits[number as usize];
    let Exit { linked, next, .. } = exit;
    if exit.to != to {
        return;
    }
    calls.keep(exit.stub, to, edge);
    if linked {
        lead_out(process, number);
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
    let Target { place, to, edge, .. } = *target;
    target.outdated = true;
    if core::mem::replace(&mut target.live, false) {
        target.turn(false);
        shorten(process, place);
    }
    if let Some(calls) = &mut process.calls {
        calls.keep(place, to, edge);
    }
}

/// A call was found to return to an address, where a thread had returned that made it before it came under count: the
/// stubs of returns to there are made anew.
pub fn renew_returns(process: &mut Process, address: u64) {
    for mode in [Mode::Count, Mode::Pace, Mode::Stream] {
        let key = mode.key(address);
        if !process.starts.may_hold(key) {
            continue;
        }
        let Some(block) = process.beginnings.get(&process.blocks, key) else { continue };
        renew_targets(process, block, |site| site.kind == edge_kind::RETURN);
    }
}

/// Likewise the stub of the return by block `from` to an address.
pub fn renew_return(process: &mut Process, from: u32, address: u64) {
    let key = process.blocks[from as usize].mode.key(address);
    if let Some(block) = process.beginnings.get(&process.blocks, key) {
        renew_targets(process, block, |site| site.from == from && site.kind == edge_kind::RETURN);
    }
}

/// Likewise the stubs of some indirect branches to a block.
pub fn renew_targets(process: &mut Process, block: u32, is_of_them: impl Fn(Site) -> bool) {
    let Block { address, targets, .. } = process.blocks[block as usize];
    let mut number = targets;
    while let Some(&Target { place, next, outdated, .. }) = process.targets.get(number as usize) {
        let (table, index) = entry::table_entry(place);
        let site = indirect::site_of(table, index, address);
        if is_of_them(process.sites[site]) && !outdated {
            renew_target(process, number);
        }
        number = next;
    }
}

/// Lets the stub of a target that was taken out do its work again, if it can.
pub fn enter_again(process: &mut Process, number: u32) -> bool {
    let target = process.targets[number as usize];
    let Target { place, code, after, .. } = target;
    let head = process.heads.get(&place).copied().unwrap_or(NONE);
    let in_chain = chain(process, place).any(|n| n == number);
    if !in_chain && head != after {
        return false;
    }
    target.turn(true);
    process.targets[number as usize].live = true;
    if !in_chain {
        cache::set_entry(place, code);
        process.heads.insert(place, number);
    }
    true
}

/// The targets whose stubs a table's entry leads to, one after the other.
pub fn chain(process: &Process, place: u64) -> impl Iterator<Item = u32> + '_ {
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
        let next = core::mem::replace(&mut exit.next, NONE);
        lead_out(process, number);
        number = next;
    }
    let mut number = process.blocks[block as usize].targets;
    while let Some(target) = process.targets.get_mut(number as usize) {
        let Target { place, next, .. } = *target;
        if core::mem::replace(&mut target.live, false) {
            target.turn(false);
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
