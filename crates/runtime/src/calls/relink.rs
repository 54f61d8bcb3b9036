//! What happens when functions are found to recur: code that relied on them not to is made anew when a thread
//! next comes there, and their activations of that moment are noted. Only one thread can be at that moment in
//! what the process executes: before there is a second, all functions are taken to recur.

use super::frames::Frames;
use super::recursion::Way;
use super::strands;
use crate::state::Process;
use crate::unlink;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use timewise_abi::thread::ThreadArea;

/// Does so for those found by what was just translated and linked, with the thread at the end of block `from`, or
/// outside.
pub fn relink(process: &mut Process, area: &mut ThreadArea, from: u32) {
    let Process { calls: Some(calls), blocks, space, shared, record, .. } = &mut *process else { return };
    let (found, excepted) = (calls.recursion.take_found(), calls.held.take_found());
    if found.is_empty() && excepted.is_empty() {
        return;
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

/// A thread that moved its stack pointer to `stack` lands at `address`: in the function that made the outermost of
/// the calls that are over by that, maybe in a part of it that lies elsewhere.
pub fn land(process: &mut Process, area: &mut ThreadArea, address: u64, stack: u64) {
    let mut frames = Frames { process, area, now: 0 };
    let Some(over) = frames.open().iter().position(|frame| frame.slot < stack) else { return };
    let Some(whole) = frames.caller_at(over) else { return };
    let Process { calls: Some(calls), space, .. } = process else { return };
    calls.starts.join(space, whole, address);
}
