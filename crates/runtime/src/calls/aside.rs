//! Calls that a thread left by a return to an older one, and may come back to: what is on a stack may be copied away, for
//! others to use its place, and back, as Python's greenlets do.

use super::elsewhere::Place;
use super::frames::Frames;
use super::strands::{Strand, leave, take_up};
use crate::state::AddressHasher;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashMap;
use timewise_abi::thread::Frame;

/// How many parts of stacks are kept: beyond that, those that were put aside first are given up.
const MOST: usize = 1 << 12;

/// How many calls all of them may have, and one of them.
const MOST_CALLS: usize = 1 << 18;
const DEEPEST: usize = 1 << 12;

/// How many are looked at for the one that a thread comes back to.
const COMPARED: usize = 1 << 6;

/// All that were put aside in a process, numbered in the order in which they were.
#[derive(Debug, Default)]
pub struct Aside {
    parts: BTreeMap<u64, Strand>,
    /// Their numbers, by where the latest call has its return address.
    by_slot: HashMap<u64, VecDeque<u64>, BuildHasherDefault<AddressHasher>>,
    /// How many were put aside.
    count: u64,
    /// How many calls they have.
    calls: usize,
}

impl Aside {
    /// Whether there are calls of which the latest has its return address right below `stack`.
    pub fn may_go_on(&self, stack: u64) -> bool {
        self.by_slot.contains_key(&stack.wrapping_sub(8))
    }

    /// Each of them.
    pub fn parts(&mut self) -> impl Iterator<Item = &mut Strand> {
        self.parts.values_mut()
    }

    /// Puts a part aside.
    fn put(&mut self, part: Strand) {
        let Some(slot) = slot_of(&part) else { return };
        self.calls += part.open.len();
        self.by_slot.entry(slot).or_default().push_back(self.count);
        self.parts.insert(self.count, part);
        self.count += 1;
    }

    /// The one that was put aside first if there are too many: it is given up.
    fn give_up(&mut self) -> Option<Strand> {
        let are_too_many = self.parts.len() > MOST || self.calls > MOST_CALLS;
        let first = *self.parts.first_key_value().filter(|_| are_too_many)?.0;
        self.take(first)
    }

    /// Takes the part whose latest call returned at a place: of several that nothing tells apart the first, as they mostly
    /// take turns.
    fn take_returned(&mut self, frames: &Frames, place: &Place, stack: u64) -> Option<Strand> {
        let numbers = self.by_slot.get(&stack.wrapping_sub(8))?;
        let is_it = |number: &u64| {
            let open = self.parts.get(number).map_or(&[][..], |part| &part.open);
            place.ended(frames, open, true).is_some_and(|ended| ended + 1 == open.len())
        };
        let number = numbers.iter().copied().take(COMPARED).find(is_it)?;
        self.take(number)
    }

    fn take(&mut self, number: u64) -> Option<Strand> {
        let part = self.parts.remove(&number)?;
        self.calls -= part.open.len();
        let slot = slot_of(&part)?;
        if let Some(numbers) = self.by_slot.get_mut(&slot) {
            if let Some(at) = numbers.iter().position(|&other| other == number) {
                numbers.remove(at);
            }
            if numbers.is_empty() {
                self.by_slot.remove(&slot);
            }
        }
        Some(part)
    }
}

fn slot_of(part: &Strand) -> Option<u64> {
    part.open.last().map(|latest| latest.slot)
}

/// A thread returned to where its calls from `first` on do not lead: puts them aside. False, with nothing done, if some
/// are a handler's or they are more than [`DEEPEST`].
pub fn put_aside(frames: &mut Frames, first: usize) -> bool {
    let part = &frames.all()[first..];
    if part.len() > DEEPEST || part.iter().any(|frame| frame.cost == 0) {
        return false;
    }
    let mut part = part.to_vec();
    let outermost = if first == 0 && !part.is_empty() { frames.caller(0) } else { 0 };
    for frame in part.iter_mut().rev() {
        // Older activations of its function, which stay, were charged the same.
        frames.charge(frame);
        frame.clock = frames.now;
        frames.wait_again(frame);
    }
    *frames.counter(outermost) = 0;
    frames.area.frame_top -= size_of_val(&part[..]) as u64;
    keep(frames, part);
    true
}

/// A thread returned behind a call that is none of its own: puts those aside whose part of the stack is gone, or holds
/// something else by now. False as by [`put_aside`].
pub fn put_aside_gone(frames: &mut Frames, stack: u64) -> bool {
    let is_gone = |frame: &Frame| frame.slot < stack || !frames.is_intact(frame);
    let gone = frames.all().iter().rev().take_while(|frame| is_gone(frame)).count();
    put_aside(frames, frames.all().len() - gone)
}

/// The thread goes on with calls that were put aside, and puts its own aside. False if it does not.
pub fn come_back(frames: &mut Frames, place: &Place, stack: u64) -> bool {
    let Some(calls) = frames.process.calls.as_ref() else { return false };
    let Some(part) = calls.left.borrow_mut().aside.take_returned(frames, place, stack) else { return false };
    let away = frames.now.wrapping_sub(part.left);
    let others = leave(frames);
    take_up(frames, &part.open);
    frames.skip(away);
    keep(frames, others);
    true
}

fn keep(frames: &mut Frames, part: Vec<Frame>) {
    let Some(calls) = frames.process.calls.as_ref() else { return };
    if part.is_empty() {
        return;
    }
    let aside = &mut calls.left.borrow_mut().aside;
    aside.put(Strand::new(part, frames.now));
    while let Some(mut given_up) = aside.give_up() {
        given_up.settle(frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_are_given_up_in_the_order_in_which_they_were_left() {
        let part = |number: u64| {
            Strand::new(Vec::from([Frame { slot: 8 * (number % 3), ..Frame::default() }]), number)
        };
        let mut aside = Aside::default();
        let most = MOST as u64;
        let mut put = |number: u64| {
            aside.put(part(number));
            aside.give_up()
        };
        let given_up = (0..most + 2).filter_map(&mut put).map(|part| part.left);
        assert_eq!(given_up.collect::<Vec<u64>>(), [0, 1]);
        for number in 2..most + 2 {
            assert!(aside.may_go_on(8 * (number % 3) + 8));
            assert_eq!(aside.take(number).map(|part| part.left), Some(number));
        }
        assert!((0..3).all(|slot| !aside.may_go_on(8 * slot + 8)) && aside.parts().count() == 0);
    }
}
