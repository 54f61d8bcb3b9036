//! What happens when functions are found to recur: code that relied on them not to is made anew when a thread
//! next comes there, and their activations of that moment are noted. Only one thread can be at that moment in
//! what the process executes: before there is a second, all functions are taken to recur.

use super::frames::Frames;
use super::recursion::Way;
use super::strands;
use crate::state::{Exit, Process};
use crate::unlink;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use timewise_abi::thread::ThreadArea;

/// Does so for those found by what was just translated and linked, with the thread at the end of block `from`, or
/// outside. Whether there are any.
pub fn relink(process: &mut Process, area: &mut ThreadArea, from: u32) -> bool {
    let Process { calls: Some(calls), blocks, space, shared, record, .. } = &mut *process else {
        return false;
    };
    let (found, excepted) = (calls.recursion.take_found(), calls.held.take_found());
    if found.is_empty() && excepted.is_empty() {
        return false;
    }
    let mut counters = BTreeMap::new();
    let mut ways = Vec::new();
    excepted.iter().for_each(|&callee| ways.extend(calls.recursion.take_ways(callee)));
    for (start, relying) in found {
        let function = calls.function(start, || shared.take_counter(record));
        if function != 0 {
            counters.insert(start, function);
        }
        ways.extend(relying);
    }
    let latest = blocks.get(from as usize).and_then(|block| calls.starts.start(space, block.end()));
    for way in ways {
        match way {
            Way::Exit(number) => unlink::renew_exit(process, number),
            Way::Target(number) => unlink::renew_target(process, number),
        }
    }
    let now = area.clock;
    let mut frames = Frames { process, area, now };
    frames.gather();
    frames.note_recurring(&counters, latest);
    strands::note_recurring(&mut frames, &counters);
    frames.note_waiting();
    frames.release();
    true
}

/// Another thread, or process, is about to execute in the same memory, made by a thread at the end of block `from`.
pub fn share(process: &mut Process, area: &mut ThreadArea, from: u32) {
    if let Some(calls) = &mut process.calls {
        calls.recursion.always();
        relink(process, area, from);
        if let Some(calls) = &mut process.calls {
            calls.held.forget();
        }
    }
}

/// A thread that leaves by exit `number` moved its stack pointer to `stack`: notes what that makes known of functions.
/// Frames of calls below are not held then: the moment of the latest call whose frame is.
pub fn land(process: &mut Process, area: &mut ThreadArea, number: u32, stack: u64) -> u64 {
    let Exit { from, target, .. } = process.exits[number as usize];
    let mut frames = Frames { process, area, now: 0 };
    let rest = frames.gather_below(stack);
    let over = frames.open().iter().position(|frame| frame.slot < stack);
    // It lands in the function that made the outermost of the calls that are over, maybe in a part of it that lies
    // elsewhere, unless it goes to another stack.
    let landing = over.and_then(|over| frames.caller_at(over));
    let is_same_stack = over.is_some() && (rest > 0 || frames.open()[0].slot >= stack);
    let begins = frames.process.calls.as_ref().and_then(|calls| calls.moved_to.get(&number).copied());
    // Back where its function was called it passes the call on, as what binds a function when it is first called does.
    let mut passes = None;
    if begins.flatten().is_some() {
        frames.gather();
        let count = frames.open().len();
        passes = frames.latest().filter(|latest| latest.slot == stack).map(|_| frames.caller_at(count - 1));
    }
    let Process { calls: Some(calls), space, blocks, .. } = &mut *process else { return rest };
    if let Some(whole) = landing {
        calls.starts.join(space, whole, target);
    }
    match (begins, passes) {
        (None, _) => {}
        (Some(Some(start)), Some(caller)) => calls.recursion.leads(caller, start),
        (Some(None), _)
            if is_same_stack && landing.is_some_and(|start| calls.is_in(space, target, start)) => {}
        _ => calls.lands(space, blocks[from as usize].end(), target),
    }
    if !relink(process, area, from) {
        return rest;
    }
    Frames { process, area, now: 0 }.gather_below(stack)
}
