//! Stacks between which threads switch, as coroutines do: each has calls of its own, whose costs stand still while no
//! thread is on it. A thread may go on with a stack that another has left.

use super::aside::Aside;
use super::events::Landing;
use super::frames::{Frames, NEAR, brief, is_next};
use crate::state::AddressHasher;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashMap;
use timewise_abi::thread::Frame;

/// Most stacks of a process that are remembered.
const MOST: usize = 1 << 14;

/// How many are forgotten when there are more: those left longest ago.
const FORGOTTEN: usize = MOST / 4;

/// How many stacks are kept whose place others have taken: they may have been moved, or be put back there.
const REPLACED: usize = MOST / 2;

/// How far below its latest call a function that left the stack is taken to have had its own part of it.
const OWN: u64 = 1 << 10;

/// The place of the return address of a call that another thread has taken over.
pub const TAKEN: u64 = 0;

/// How many of its latest calls a thread may go on with.
pub const RESUMABLE: usize = 8;

/// How many stacks are looked at for one that was moved, and while none was yet.
const CANDIDATES: usize = 1 << 10;
const FIRST_CANDIDATES: usize = 1 << 6;

/// How many are looked at for one that a stack pointer is on: those whose ends are the next above it.
const AROUND: usize = 16;

/// A stack that a thread has left.
#[derive(Debug)]
pub struct Strand {
    /// Calls on it, the outermost first. The latest may be on the stack of whoever picks the next to run.
    pub open: Vec<Frame>,
    /// Instructions that the thread had executed when it left.
    pub left: u64,
    /// Whether what its calls cost until then was charged.
    settled: bool,
    /// For how many of its calls it is the stack that was left last.
    found: usize,
    /// Whether another was left before with a call at the same place: it may be that one which a thread goes on with.
    is_doubtful: bool,
}

impl Strand {
    /// One that a thread left when it had executed so many instructions.
    pub fn new(open: Vec<Frame>, left: u64) -> Strand {
        Strand { open, left, settled: false, found: 0, is_doubtful: false }
    }

    /// Charges what its calls cost until it was left.
    pub fn settle(&mut self, frames: &mut Frames) {
        if self.settled {
            return;
        }
        self.settled = true;
        let now = frames.now;
        frames.now = self.left;
        for frame in self.open.iter_mut().rev() {
            if frame.cost == 0 {
                // What a handler executes is no cost of those below.
                frames.end_brief(brief(frame), frame.clock);
                frames.now = frame.clock;
                frame.interrupted = 0;
            } else {
                frames.charge(frame);
                frame.clock = frames.now;
            }
        }
        frames.now = now;
    }
}

/// All that were left by threads of a process, numbered in the order in which they were.
#[derive(Debug, Default)]
pub struct Strands {
    left: BTreeMap<u64, Strand>,
    /// The one that was left last with a call whose return address is at a place, and with which a thread may go on
    /// there.
    by_slot: HashMap<u64, u64, BuildHasherDefault<AddressHasher>>,
    /// By where such a call returns to; kept once there are stacks that are moved.
    by_return: BTreeSet<(u64, u64)>,
    /// Those whose place others have taken since.
    replaced: BTreeSet<u64>,
    /// Of the rest, where they end: the outermost calls of each part.
    ends: BTreeSet<(u64, u64)>,
    /// How many were left.
    count: u64,
    are_moved: bool,
    /// Calls that may come back to a stack that was not left.
    pub aside: Aside,
}

impl Strands {
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// All of them, and calls that were put aside.
    fn all(&mut self) -> impl Iterator<Item = &mut Strand> {
        self.left.values_mut().chain(self.aside.parts())
    }

    /// Whether any was found elsewhere than where it was left.
    pub fn are_moved(&self) -> bool {
        self.are_moved
    }

    /// One was found elsewhere.
    pub fn note_moved(&mut self, frames: &Frames) {
        if !self.are_moved {
            self.are_moved = true;
            for (&number, strand) in &self.left {
                self.by_return.extend(returns(frames, strand).map(|address| (address, number)));
            }
        }
    }

    /// Takes the stack of which a call has its return address right below `stack`, if `fits` picks its calls, which is told
    /// whether to doubt that it is this one.
    pub fn take_ended(
        &mut self,
        frames: &Frames,
        stack: u64,
        fits: impl Fn(&[Frame], bool) -> bool,
    ) -> Option<Strand> {
        let &number = self.by_slot.get(&stack.wrapping_sub(8))?;
        let is_it = |strand: &Strand| fits(&strand.open, self.are_moved || strand.is_doubtful);
        let is_it = self.left.get(&number).is_some_and(is_it);
        is_it.then(|| self.take(frames, number)).flatten()
    }

    /// Takes the one that a thread goes on with otherwise than by a return to one of its latest calls.
    pub fn take_around(&mut self, frames: &Frames, landing: Landing) -> Option<Strand> {
        let is_it = |strand: &Strand| {
            let open = &strand.open;
            (0..open.len()).rev().any(|index| is_above(frames, open, index, (landing, OWN)))
        };
        let mut near = self.ends.range((landing.stack, 0)..).take(AROUND).map(|&(_, number)| number);
        let number = near.find(|number| self.left.get(number).is_some_and(is_it))?;
        self.take(frames, number)
    }

    /// The number of the stack left last with which a thread may go on at an address, of those that `fits` picks, with what
    /// that says.
    pub fn resumed_at<T>(&self, address: u64, fits: impl Fn(&[Frame]) -> Option<T>) -> Option<(u64, T)> {
        let told = |number: u64| Some((number, fits(&self.left.get(&number)?.open)?));
        if self.are_moved {
            let numbers = self.by_return.range((address, 0)..=(address, u64::MAX)).rev();
            numbers.take(CANDIDATES).find_map(|&(_, number)| told(number))
        } else {
            self.left.keys().rev().take(FIRST_CANDIDATES).find_map(|&number| told(number))
        }
    }

    /// One of them goes on.
    pub fn take(&mut self, frames: &Frames, number: u64) -> Option<Strand> {
        let strand = self.left.remove(&number)?;
        for frame in resumable(&strand.open).map(|index| &strand.open[index]) {
            if self.by_slot.get(&frame.slot) == Some(&number) {
                self.by_slot.remove(&frame.slot);
            }
        }
        if self.are_moved {
            returns(frames, &strand).for_each(|address| {
                self.by_return.remove(&(address, number));
            });
        }
        if !self.replaced.remove(&number) {
            ends(&strand.open).for_each(|slot| {
                self.ends.remove(&(slot, number));
            });
        }
        Some(strand)
    }

    /// One is left. One whose place was taken long ago, and with which no thread went on, is given up for it.
    fn put(&mut self, frames: &Frames, mut strand: Strand) -> Option<Strand> {
        let number = self.count;
        self.count += 1;
        for frame in resumable(&strand.open).map(|index| &strand.open[index]) {
            let before = self.by_slot.insert(frame.slot, number);
            strand.found += usize::from(before != Some(number));
            if let Some((before, older)) = before.and_then(|n| Some((n, self.left.get_mut(&n)?))) {
                strand.is_doubtful = true;
                older.found -= 1;
                if older.found == 0 {
                    self.replaced.insert(before);
                    ends(&older.open).for_each(|slot| {
                        self.ends.remove(&(slot, before));
                    });
                }
            }
        }
        if self.are_moved {
            self.by_return.extend(returns(frames, &strand).map(|address| (address, number)));
        }
        self.ends.extend(ends(&strand.open).map(|slot| (slot, number)));
        self.left.insert(number, strand);
        let oldest = self.replaced.first().copied().filter(|_| self.replaced.len() > REPLACED)?;
        self.take(frames, oldest)
    }
}

/// The places of the outermost calls of each part of a stack's calls that is surely on one.
fn ends(open: &[Frame]) -> impl Iterator<Item = u64> {
    let is_first = |n: usize| n == 0 || !is_next(open[n - 1].slot, open[n].slot);
    (0..open.len()).filter(move |&n| is_first(n)).map(|n| open[n].slot)
}

/// Where the calls return to at which a thread may go on with a stack.
fn returns(frames: &Frames, strand: &Strand) -> impl Iterator<Item = u64> {
    resumable(&strand.open).filter_map(|index| frames.returns_to(&strand.open[index]))
}

/// The calls of a stack at which a thread may go on with it: behind the latest of them it may have been on that of
/// whoever picks the next to run.
fn resumable(open: &[Frame]) -> impl Iterator<Item = usize> {
    (0..open.len()).rev().take(RESUMABLE)
}

/// Whether a thread goes on in what one of these calls called, which may have so many bytes of the stack, unless that is
/// long over.
fn is_above(frames: &Frames, open: &[Frame], index: usize, (landing, own): (Landing, u64)) -> bool {
    let (slot, stack) = (open[index].slot, landing.stack);
    let is_inside = || open.get(index + 1).is_some_and(|next| next.slot < stack && is_next(slot, next.slot));
    // Below the latest may as well be another stack's end.
    let is_its = || landing.within.is_some() && frames.callee_of(&open[index]) == landing.within;
    let is_near = || slot == stack || slot - stack <= own && is_its();
    slot >= stack && (is_inside() || is_near()) && frames.is_intact(&open[index])
}

/// The thread goes back to where one of its open calls called, maybe from another stack: those made since end. False if
/// it does not.
pub fn go_back(frames: &mut Frames, landing: Landing) -> bool {
    let open = frames.all();
    let found = (0..open.len()).rfind(|&index| is_above(frames, open, index, (landing, NEAR)));
    let over = found.map_or(0, |index| open.len() - 1 - index);
    (0..over).for_each(|_| frames.end());
    found.is_some()
}

/// The thread leaves its stack for another that it, or another thread, left before, or for a new one.
pub fn switch(frames: &mut Frames, next: Option<Strand>) {
    let Some(calls) = frames.process.calls.as_ref() else { return };
    let open = leave(frames);
    let left = frames.now;
    if !open.is_empty() {
        let mut strands = calls.left.borrow_mut();
        if let Some(mut over) = strands.put(frames, Strand::new(open, left)) {
            over.settle(frames);
        }
        if strands.left.len() > MOST {
            forget(frames, &mut strands);
        }
    }
    match next {
        Some(next) => {
            take_up(frames, &next.open);
            // By another thread's clock, too: what a call costs is what all threads charged it.
            frames.skip(left.wrapping_sub(next.left));
        }
        None => frames.set(&[]),
    }
}

/// The calls of the stack that the thread leaves, for whose functions nothing waits any more.
pub fn leave(frames: &mut Frames) -> Vec<Frame> {
    for index in (0..frames.open().len()).rev() {
        let waiting = frames.open()[index];
        frames.wait_again(&waiting);
    }
    let outermost = if frames.open().is_empty() { 0 } else { frames.caller(0) };
    *frames.counter(outermost) = 0;
    frames.open().to_vec()
}

/// Calls that another thread has taken over are none of this one's any more.
pub fn drop_taken(frames: &mut Frames) {
    if frames.open().first().is_some_and(|first| first.slot == TAKEN) {
        let open = leave(frames);
        let taken = open.iter().take_while(|frame| frame.slot == TAKEN).count();
        take_up(frames, &open[taken..]);
    }
}

/// Forgets those that were left longest ago.
fn forget(frames: &mut Frames, strands: &mut Strands) {
    let numbers = strands.left.keys().copied().take(FORGOTTEN).collect::<Vec<u64>>();
    for number in numbers {
        if let Some(mut strand) = strands.take(frames, number) {
            strand.settle(frames);
            frames.area.lost_calls += strand.open.len() as u64;
        }
    }
}

/// Goes on with the calls of a stack that was left. What waits on it is what its functions find now.
pub fn take_up(frames: &mut Frames, open: &[Frame]) {
    frames.set(open);
    if let Some(&Frame { cost, .. }) = open.first() {
        let outermost = frames.caller(0);
        *frames.counter(outermost) = cost.into();
    }
    for index in 0..open.len() {
        let frame = frames.open()[index];
        frames.open()[index].older = frames.waiting(frame.function);
        if let Some(&Frame { cost, .. }) = open.get(index + 1) {
            *frames.counter(frame.function) = cost.into();
        }
    }
}

/// Charges what calls cost on stacks that were left, when no thread may come back to them.
pub fn settle(frames: &mut Frames) {
    let Some(calls) = frames.process.calls.as_ref() else { return };
    calls.left.borrow_mut().all().for_each(|strand| strand.settle(frames));
}

/// In a forked process, what calls on other stacks cost counts from where those were left.
pub fn start(frames: &mut Frames) {
    let Some(calls) = frames.process.calls.as_ref() else { return };
    for Strand { open, left, settled, .. } in calls.left.borrow_mut().all() {
        *settled = false;
        for frame in open {
            frame.clock = *left;
            frames.begin_brief(brief(frame), *left);
        }
    }
}

/// Functions were found to recur: activations of them on other stacks are noted.
pub fn note_recurring(frames: &mut Frames, found: &BTreeMap<u64, u32>) {
    let Some(calls) = frames.process.calls.as_ref() else { return };
    let present = frames.open().to_vec();
    for strand in calls.left.borrow_mut().all() {
        frames.set(&strand.open);
        frames.note_recurring(found, None);
        strand.open.copy_from_slice(frames.open());
    }
    frames.set(&present);
}
