//! Calls whose frame is held at a place of its own, beside the counter for the call's cost, instead of on top of the
//! others: the processor need not wait for where that is.
//!
//! A direct call of a function that cannot recur is open at most once at a time, so one place is enough. Whoever asks
//! for the frames of a thread gathers those that are held first: each was opened at another moment, which gives their
//! order. Afterwards they are put back.
//!
//! At a jump to a function of which something must be noted the present activation's frame must be the top one.
//! Calls from which such a jump is reached, by way of other jumps or not, are not held.

use super::frames::Frames;
use super::strands;
use crate::guard;
use crate::state::AddressHasher;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::{HashMap, HashSet};
use timewise_abi::log;
use timewise_abi::thread::Frame;

/// Where the slot and the clock of a held frame lie, in bytes from the counter for the call's cost on.
pub const SLOT: u32 = 8 * log::SLOT;
pub const CLOCK: u32 = 2 * SLOT;

/// Calls whose counters lie side by side: first those for costs, then slots, then clocks, so that open ones are found
/// quickly.
pub const ROW: usize = log::SLOT as usize;

/// How many slots are looked at together: as many as share a line of the processor's cache.
const AT_ONCE: usize = 8;

/// How many of the latest frames are put back: older ones are seldom wanted soon.
const LATEST: usize = 64;

/// Which calls are held.
#[derive(Debug, Default)]
pub struct Held {
    /// Of each row the first counter, in order.
    rows: Vec<u32>,
    /// What is called by each, a row after the other; only the last may have room left.
    callees: Vec<u64>,
    /// Functions and stubs whose calls are not held, because of where they jump to.
    excepted: HashSet<u64, BuildHasherDefault<AddressHasher>>,
    /// Those that were excepted since it was last asked.
    found: Vec<u64>,
    /// What jumps to a function or stub, by where that begins.
    jumps: HashMap<u64, Vec<u64>, BuildHasherDefault<AddressHasher>>,
    /// What was called, with what the call returned from, where no jump is known that led there.
    returned: HashSet<(u64, u64), BuildHasherDefault<AddressHasher>>,
}

impl Held {
    /// A place for a call of a function or stub: that of the counter for its cost. `take` gives a fresh counter's.
    pub fn add(&mut self, callee: u64, mut take: impl FnMut() -> u32) -> u32 {
        let number = self.callees.len() % ROW;
        if number == 0 {
            let first = take();
            for next in 1..3 * ROW as u32 {
                if take() != first + 8 * next {
                    return first;
                }
            }
            self.rows.push(first);
        }
        self.callees.push(callee);
        self.rows.last().map_or(0, |&first| first + 8 * number as u32)
    }

    /// Whether a place was given to a call, by the counter for its cost.
    pub fn may_hold(&self, cost: u32) -> bool {
        self.called(cost).is_some()
    }

    /// What is called by a call, by the counter for its cost, if nothing but recursion speaks against its being held.
    pub fn callee(&self, cost: u32) -> Option<u64> {
        self.called(cost).filter(|callee| !self.excepted.contains(callee))
    }

    fn called(&self, cost: u32) -> Option<u64> {
        let row = self.rows.partition_point(|&first| first <= cost).checked_sub(1)?;
        let number = (cost - self.rows[row]) as usize / 8;
        self.callees.get(ROW * row + number).copied().filter(|_| number < ROW)
    }

    /// A function or stub jumps to another.
    pub fn jumps(&mut self, from: u64, to: u64) {
        if self.excepted.contains(&to) {
            return self.except(from);
        }
        let known = self.jumps.entry(to).or_default();
        if !known.contains(&from) {
            known.push(from);
        }
    }

    /// Whether a call of a function or stub may return from another, by jumps.
    pub fn leads(&self, callee: u64, from: u64) -> bool {
        // Mostly by one.
        if self.jumps.get(&from).is_some_and(|before| before.contains(&callee)) {
            return true;
        }
        let (mut open, mut seen) =
            (Vec::from([from]), HashSet::<u64, BuildHasherDefault<AddressHasher>>::default());
        while let Some(at) = open.pop() {
            if at == callee {
                return true;
            }
            let before = self.jumps.get(&at).into_iter().flatten().copied();
            open.extend(before.filter(|&function| seen.insert(function)));
        }
        self.returned.contains(&(callee, from))
    }

    /// A call of a function or stub returned from another.
    pub fn returned(&mut self, callee: u64, from: u64) {
        self.returned.insert((callee, from));
    }

    /// Calls of a function or stub are not held any more, and of what jumps to it neither.
    pub fn except(&mut self, callee: u64) {
        let mut open = Vec::from([callee]);
        while let Some(callee) = open.pop() {
            if self.excepted.insert(callee) {
                self.found.push(callee);
                open.extend(self.jumps.remove(&callee).unwrap_or_default());
            }
        }
    }

    /// Functions and stubs that were excepted since it was last asked.
    pub fn take_found(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.found)
    }

    /// No call is held from now on, nor is any frame.
    pub fn forget(&mut self) {
        *self = Held::default();
    }
}

/// Whether no slot of a row, or of a part of it, is used.
fn is_empty<const N: usize>(slots: &[u64; N]) -> bool {
    // Side by side, so that none waits for the one before.
    let mut all = [0; AT_ONCE];
    for part in slots.as_chunks::<AT_ONCE>().0 {
        all.iter_mut().zip(part).for_each(|(all, slot)| *all |= slot);
    }
    all.iter().fold(0, |all, slot| all | slot) == 0
}

impl Frames<'_> {
    /// Puts frames that are held among the others, in the order in which their calls were made, and drops those that
    /// another thread has taken over.
    pub fn gather(&mut self) {
        self.gather_below(u64::MAX);
    }

    /// The same of those whose part of the stack lies below a stack pointer: the moment of the latest of the rest.
    pub fn gather_below(&mut self, stack: u64) -> u64 {
        strands::drop_taken(self);
        let mut rest = 0;
        let Some(calls) = self.process.calls.as_ref() else { return rest };
        let mut held = Vec::with_capacity(LATEST);
        let rows = calls.held.rows.iter().copied();
        let used = rows.filter(|&row| !is_empty(self.row::<ROW>(row + SLOT))).collect::<Vec<u32>>();
        for piece in used.into_iter().flat_map(|row| (row..row + SLOT).step_by(8 * AT_ONCE)) {
            let slots: [u64; AT_ONCE] = *self.row(piece + SLOT);
            if is_empty(&slots) {
                continue;
            }
            for (cost, slot) in (piece..).step_by(8).zip(slots) {
                if slot == 0 {
                    continue;
                }
                let clock = *self.counter(cost + CLOCK);
                if slot < stack {
                    *self.counter(cost + SLOT) = 0;
                    held.push(Frame { slot, clock, cost, ..Frame::default() });
                } else {
                    rest = rest.max(clock);
                }
            }
        }
        let Some(first) = held.iter().map(|frame| frame.clock).min() else { return rest };
        let begin = self.open().iter().rposition(|frame| frame.clock < first).map_or(0, |before| before + 1);
        held.extend_from_slice(&self.open()[begin..]);
        held.sort_by_key(|frame| frame.clock);
        self.replace_from(begin, &held);
        rest
    }

    /// Puts those of the latest frames back that can be held, unless they are below a handler's.
    pub fn release(&mut self) {
        let Some(calls) = self.process.calls.as_ref().filter(|calls| !calls.held.rows.is_empty()) else {
            return;
        };
        let begin = self.open().len().saturating_sub(LATEST);
        let open = self.open()[begin..].to_vec();
        let first = open.iter().rposition(|frame| frame.cost == 0).map_or(0, |handler| handler + 1);
        // By their moments they must be found again between the same others.
        let is_apart = |n: usize| {
            let before = n.checked_sub(1).map_or(begin == 0, |before| open[before].clock < open[n].clock);
            before && open.get(n + 1).is_none_or(|next| open[n].clock < next.clock)
        };
        let mut kept = open[..first].to_vec();
        for (number, &frame) in open.iter().enumerate().skip(first) {
            let is_held = frame.function == 0 && calls.held(frame.cost).is_some() && is_apart(number);
            if is_held && *self.counter(frame.cost + SLOT) == 0 {
                *self.counter(frame.cost + SLOT) = frame.slot;
                *self.counter(frame.cost + CLOCK) = frame.clock;
            } else {
                kept.push(frame);
            }
        }
        self.replace_from(begin, &kept);
    }

    /// Replaces the latest frames. What there is no room for is lost.
    fn replace_from(&mut self, begin: usize, frames: &[Frame]) {
        let base = self.area.this + self.process.shared.header().frames;
        let room = guard::begins(self.process, self.area).saturating_sub(base) as usize / size_of::<Frame>();
        // The first stands for none.
        let count = frames.len().min(room.saturating_sub(1 + begin));
        self.area.lost_calls += (frames.len() - count) as u64;
        self.area.frame_top = base + ((begin + count) * size_of::<Frame>()) as u64;
        self.open()[begin..].copy_from_slice(&frames[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(callees: &[u64]) -> (Held, Vec<u32>) {
        let mut held = Held::default();
        let mut next = 0;
        let mut take = || {
            next += 8;
            next
        };
        let costs = callees.iter().map(|&callee| held.add(callee, &mut take)).collect();
        (held, costs)
    }

    #[test]
    fn each_has_a_place_of_its_own() {
        let callees: Vec<u64> = (100..120).collect();
        let (held, costs) = with(&callees);
        let found: Vec<Option<u64>> = costs.iter().map(|&cost| held.callee(cost)).collect();
        assert_eq!(found, callees.into_iter().map(Some).collect::<Vec<_>>());
        assert!(costs.iter().all(|&cost| !held.may_hold(cost + SLOT) && !held.may_hold(cost + CLOCK)));
        assert!(!held.may_hold(0));
    }

    #[test]
    fn what_jumps_to_what_is_excepted_is_too() {
        let (mut held, costs) = with(&[1, 2, 3, 4]);
        held.jumps(1, 2);
        held.jumps(2, 3);
        held.except(3);
        let mut found = held.take_found();
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3]);
        assert_eq!(
            costs.iter().map(|&cost| held.callee(cost)).collect::<Vec<_>>(),
            [None, None, None, Some(4)]
        );
        held.jumps(4, 1);
        assert_eq!(held.take_found(), [4]);
        assert!(held.take_found().is_empty());
    }
}
