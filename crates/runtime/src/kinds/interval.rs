//! Basic block vectors: how often each block was executed in one interval after the other.
//!
//! Each block has a counter of its own then. At the end of an interval, what they rose by is written to the
//! thread's ring, with the blocks that control left before their end.

use super::{Mode, ring, window};
use crate::state::Process;
use alloc::vec::Vec;
use timewise_abi::stream::{CHUNK, SLACK, control};
use timewise_abi::thread::{COUNTERS, ThreadArea};

/// Bytes of what is written of one block.
const ENTRY: u64 = 16;

/// Control leaves a block after some of its instructions, or before the first though its counter stood before
/// that.
pub fn left(process: &Process, area: &mut ThreadArea, from: u32, executed: u16) {
    if process.kinds.counts_blocks(Mode::of(area)) {
        ring::note(area, &[control::PARTLY, from, executed.into(), 0]);
    }
}

/// Whether the end of an interval finds room in the present chunk, or in no chunk at all.
pub fn has_room(process: &Process, area: &ThreadArea) -> bool {
    let most = ENTRY * (process.kinds.counted.len() as u64 + 2);
    ring::room(area) >= most.min(CHUNK - 2 * SLACK)
}

/// Ends an interval.
pub fn end(process: &mut Process, area: &mut ThreadArea) {
    let kinds = &mut process.kinds;
    let before: &mut Vec<u64> = kinds.snapshots.entry(area.this).or_default();
    before.resize(kinds.counted.len(), 0);
    for (&(block, counter), before) in kinds.counted.iter().zip(before) {
        let now = counted(area, counter);
        let mut rest = now.wrapping_sub(core::mem::replace(before, now));
        while rest > 0 {
            let part = rest.min(u32::MAX.into()) as u32;
            ring::note(area, &[control::COUNTED, block, part, 0]);
            rest -= u64::from(part);
        }
    }
    let executed = window::executed(area);
    ring::note(area, &[control::INTERVAL, executed as u32, (executed >> 32) as u32, 0]);
}

fn counted(area: &ThreadArea, counter: u32) -> u64 {
    let place = area.this + u64::from(COUNTERS) + 8 * u64::from(counter);
    // SAFETY: counters lie within the area, which is the calling thread's.
    unsafe { (place as *const u64).read() }
}
