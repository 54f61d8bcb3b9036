//! What the thread areas of a process say at its end.

use super::claims::Claims;
use crate::arena::{Arena, BASE};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use timewise_abi::process::ProcessRecord;
use timewise_abi::thread::{self, COUNTERS, Frame};

/// No thread counts this far: it would take years.
pub const LARGEST_COUNT: u64 = 1 << 56;

/// Nor does one make so many calls in an hour, and as many as there can be threads are not too many for a profile.
const MOST_LOST_CALLS: u64 = 1 << 43;

/// What one of them says.
#[derive(Debug)]
pub struct Area {
    /// Where it lies in the shared file.
    pub offset: u64,
    /// Thread id, of the last thread that used it.
    pub tid: u32,
    /// A [`timewise_abi::thread::state`].
    pub state: u32,
    /// Block of the system call that the thread is in, while `state` says so.
    pub position: u32,
    /// Calls whose cost is not known in full: their frames were dropped, or nobody saw them end.
    pub lost_calls: u64,
    /// The thread's clock when the process ended.
    pub clock: u64,
    /// Counters that are not zero.
    pub counters: Vec<(u32, u64)>,
    /// Those that are below zero, modulo 2⁶⁴: costs of calls alone can be.
    pub below_zero: Vec<(u32, u64)>,
}

/// The thread areas of the process whose record is at `record`, the first thread's first.
pub fn all(arena: &Arena, claims: &mut Claims, record: u64, process: &ProcessRecord) -> Vec<Area> {
    let counters = process.counters.load(Ordering::Acquire);
    let (offsets, whole) = offsets(arena, process);
    claims.damage += u64::from(!whole);
    let mut areas = Vec::new();
    for offset in offsets.into_iter().rev() {
        match arena.thread(offset).filter(|_| claims.take_area(arena, record, offset)) {
            Some(area) => areas.push(read(arena, claims, offset, area, counters)),
            None => claims.damage += 1,
        }
    }
    areas
}

/// Their offsets, the latest thread's first, and whether the list is whole.
pub fn offsets(arena: &Arena, process: &ProcessRecord) -> (Vec<u64>, bool) {
    let (mut offsets, mut seen) = (Vec::new(), HashSet::new());
    let mut next = process.latest_thread.load(Ordering::Acquire);
    while let Some(area) = arena.thread(next).filter(|_| seen.insert(next)) {
        offsets.push(next);
        // SAFETY: within the file; the field is atomic.
        next = unsafe { &(*area).previous }.load(Ordering::Acquire);
    }
    (offsets, next == 0)
}

fn read(
    arena: &Arena,
    claims: &mut Claims,
    offset: u64,
    area: *mut thread::ThreadArea,
    counters: u32,
) -> Area {
    let first = offset + u64::from(COUNTERS);
    let room = arena.counters_end() - u64::from(COUNTERS);
    // What a call costs is charged in parts that may be negative, until it ends.
    let may_be_open = |value: u64| arena.has_frames() && value.wrapping_neg() < LARGEST_COUNT;
    let (mut counted, mut below_zero) = (Vec::new(), Vec::new());
    // The first one is nobody's where calls are counted: costs that belong nowhere add up there without bound.
    let is_nobodys = |at: u64| arena.has_frames() && at == first;
    arena.each_word(first..first + room.min(8 * u64::from(counters)), |at, value| match value {
        0 => {}
        _ if is_nobodys(at) => {}
        1..LARGEST_COUNT => counted.push((((at - first) / 8) as u32, value)),
        _ if may_be_open(value) => below_zero.push((((at - first) / 8) as u32, value)),
        _ => claims.damage += 1,
    });
    // SAFETY: within the file; these fields are atomic.
    let (tid, state, position) = unsafe { (&(*area).tid, &(*area).state, &(*area).position) };
    // SAFETY: within the file. Volatile: a thread may be writing it.
    let [lost_calls, top, clock, settled] = unsafe {
        let area = &raw const *area;
        let fields = [&raw const (*area).lost_calls, &raw const (*area).frame_top];
        [fields[0], fields[1], &raw const (*area).clock, &raw const (*area).settled]
            .map(|f| f.read_volatile())
    };
    let open = top.wrapping_sub(BASE + offset + arena.counters_end()) / size_of::<Frame>() as u64;
    let open = if clock == settled { 0 } else { open };
    let lost_calls = if arena.has_frames() { lost_calls.saturating_add(open) } else { 0 };
    let is_possible = lost_calls < MOST_LOST_CALLS;
    claims.damage += u64::from(!is_possible);
    Area {
        offset,
        tid: tid.load(Ordering::Relaxed),
        state: state.load(Ordering::Acquire),
        position: position.load(Ordering::Relaxed),
        clock,
        lost_calls: if is_possible { lost_calls } else { 0 },
        counters: counted,
        below_zero,
    }
}

impl Area {
    /// Whether a thread ran on it when the process ended, in its own code rather than in the kernel.
    pub fn was_running(&self) -> bool {
        self.state == thread::state::RUNNING
    }

    /// The block by whose system call its thread was in the kernel when the process ended.
    pub fn in_system_call(&self) -> Option<u32> {
        (self.state == thread::state::IN_SYSTEM_CALL).then_some(self.position)
    }
}
