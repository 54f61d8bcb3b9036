//! Which of what leads to what lies on a circle, told as soon as one is closed.
//!
//! Everything has a place in an order in which whatever leads to another comes before it; what lies on the same
//! circles is one from then on. Where a new way goes back in that order, what comes to its beginning and what is
//! reached from its end are followed in turn, a way at a time, until one of the two is known: Haeupler, Kavitha,
//! Mathew, Sen, Tarjan, Incremental cycle detection, topological ordering, and strong component maintenance (2012).

use crate::state::AddressHasher;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::HashSet;

/// How far behind the last place a new one lies.
const SPACING: u64 = 1 << 32;

/// The place of what has none yet.
const NOWHERE: u64 = u64::MAX;

/// Where ways are followed to.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

#[derive(Debug)]
struct Node {
    /// What stands for all that it is one with, maybe by way of others: itself if it does.
    one_with: u32,
    place: u64,
    /// What leads to it and to what it leads, by side.
    ways: [Vec<u32>; 2],
}

type Numbers = HashSet<u32, BuildHasherDefault<AddressHasher>>;

/// What leads to what, by numbers.
#[derive(Debug, Default)]
pub struct Circles {
    nodes: Vec<Node>,
    /// What stands for itself, by its place.
    order: BTreeMap<u64, u32>,
}

/// What was reached, and of what is to be followed yet how many ways are.
struct Search {
    reached: Numbers,
    open: Vec<(u32, usize)>,
}

impl Circles {
    /// Adds the next number; something may be about to lead to it.
    pub fn add(&mut self, from: Option<u32>) {
        let number = self.nodes.len() as u32;
        self.nodes.push(Node { one_with: number, place: NOWHERE, ways: [Vec::new(), Vec::new()] });
        if let Some(from) = from {
            // What is led to later mostly leads to what is known: so it comes before that.
            return self.put(Side::After, self.one(from), &[number]);
        }
        let place = self.order.last_key_value().map_or(0, |(&last, _)| last) + SPACING;
        self.nodes[number as usize].place = place;
        self.order.insert(place, number);
    }

    /// `from` leads to `to`: what lies on a circle now and may not have before.
    pub fn lead(&mut self, from: u32, to: u32) -> Vec<u32> {
        let [from, to] = [from, to].map(|number| self.one(number));
        if from == to {
            return vec![from];
        }
        self.nodes[from as usize].ways[Side::After as usize].push(to);
        self.nodes[to as usize].ways[Side::Before as usize].push(from);
        if self.place(from) < self.place(to) {
            return Vec::new();
        }
        let (side, mut reached) = self.search(from, to);
        reached.sort_unstable_by_key(|&number| self.place(number));
        let circle = self.circle(side, &reached, (from, to));
        reached.retain(|number| !circle.contains(number));
        let end = match side {
            Side::Before => to,
            Side::After => from,
        };
        let end = if circle.is_empty() { end } else { self.unite(&circle, end) };
        self.put(side, end, &reached);
        circle.into_iter().collect()
    }

    fn one(&self, mut number: u32) -> u32 {
        while self.nodes[number as usize].one_with != number {
            number = self.nodes[number as usize].one_with;
        }
        number
    }

    fn place(&self, number: u32) -> u64 {
        self.nodes[number as usize].place
    }

    /// What comes to `from` and not before `to`, or what is reached from `to` and not after `from`.
    fn search(&self, from: u32, to: u32) -> (Side, Vec<u32>) {
        let [mut before, mut after] =
            [from, to].map(|start| Search { reached: Numbers::from_iter([start]), open: vec![(start, 0)] });
        let (first, last) = (self.place(to), self.place(from));
        loop {
            if !self.follow(&mut before, Side::Before, |place| first.cmp(&place)) {
                return (Side::Before, before.reached.into_iter().collect());
            }
            if !self.follow(&mut after, Side::After, |place| place.cmp(&last)) {
                return (Side::After, after.reached.into_iter().collect());
            }
        }
    }

    /// Follows one way more, up to what lies at an end. False if there is none.
    fn follow(&self, search: &mut Search, side: Side, to_end: impl Fn(u64) -> core::cmp::Ordering) -> bool {
        let Some((number, followed)) = search.open.last_mut() else { return false };
        let Some(&next) = self.nodes[*number as usize].ways[side as usize].get(*followed) else {
            search.open.pop();
            return true;
        };
        *followed += 1;
        let next = self.one(next);
        let to_end = to_end(self.place(next));
        if to_end.is_le() && search.reached.insert(next) && to_end.is_lt() {
            search.open.push((next, 0));
        }
        true
    }

    /// What was reached, in order, and lies on a circle with the way from `from` to `to`.
    fn circle(&self, side: Side, reached: &[u32], (from, to): (u32, u32)) -> Numbers {
        let mut circle = Numbers::default();
        let mut add = |number: u32, end: u32| {
            let mut ways = self.nodes[number as usize].ways[side as usize].iter();
            if number == end || ways.any(|&way| circle.contains(&self.one(way))) {
                circle.insert(number);
            }
        };
        match side {
            Side::Before => reached.iter().for_each(|&number| add(number, to)),
            Side::After => reached.iter().rev().for_each(|&number| add(number, from)),
        }
        circle
    }

    /// What lies on circles with one another is one from here on, where `end` was: what stands for it.
    fn unite(&mut self, circle: &Numbers, end: u32) -> u32 {
        let ways = |number: u32| self.nodes[number as usize].ways.iter().map(Vec::len).sum::<usize>();
        // The one with most to move stays.
        let one = circle.iter().copied().max_by_key(|&number| ways(number)).unwrap_or(end);
        let place = self.place(end);
        for &number in circle {
            self.order.remove(&self.place(number));
            if number != one {
                let node = &mut self.nodes[number as usize];
                node.one_with = one;
                let ways = core::mem::take(&mut node.ways);
                for (to, from) in self.nodes[one as usize].ways.iter_mut().zip(ways) {
                    to.extend(from);
                }
            }
        }
        self.nodes[one as usize].place = place;
        self.order.insert(place, one);
        one
    }

    /// Puts what was reached, in order, right before or after `end`.
    fn put(&mut self, side: Side, end: u32, reached: &[u32]) {
        for &number in reached {
            self.order.remove(&self.place(number));
        }
        let (low, step) = loop {
            let place = self.place(end);
            let [low, high] = match side {
                Side::Before => [self.order.range(..place).next_back().map_or(0, |(&low, _)| low), place],
                Side::After => {
                    let next = self.order.range(place + 1..).next();
                    [place, next.map_or(place + SPACING, |(&next, _)| next)]
                }
            };
            let step = (high - low) / (reached.len() as u64 + 1);
            if step > 0 {
                break (low, step);
            }
            self.make_room(place, reached.len());
        };
        for (place, number) in (low..).step_by(step as usize).skip(1).zip(reached.iter().copied()) {
            self.nodes[number as usize].place = place;
            self.order.insert(place, number);
        }
    }

    /// Makes room for so many around a place: in the smallest part of all places about it that is thinly filled
    /// (Bender, Cole, Demaine, Farach-Colton, Zito, Two simplified algorithms for maintaining order in a list, 2002).
    fn make_room(&mut self, place: u64, count: usize) {
        for bits in 1..u64::BITS {
            let first = place >> bits << bits;
            let part: Vec<(u64, u32)> = self
                .order
                .range(first..=first | ((1 << bits) - 1))
                .map(|(&place, &number)| (place, number))
                .collect();
            let filled = (part.len() + count) as u64;
            if filled * filled < 1 << (bits - 1) {
                for (place, _) in &part {
                    self.order.remove(place);
                }
                let share = (1 << bits) / filled;
                let places = (first + share / 2..).step_by(share as usize);
                for (place, (_, number)) in places.zip(part) {
                    self.nodes[number as usize].place = place;
                    self.order.insert(place, number);
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against what can reach itself in graphs made at random.
    #[test]
    fn circles_are_found_when_they_close() {
        const COUNT: usize = 20;
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut graphs_with_both = 0;
        for _ in 0..1000 {
            let mut circles = Circles::default();
            (0..COUNT as u64).for_each(|n| circles.add((n % 3 == 2).then(|| random(n) as u32)));
            let mut reaches = [[false; COUNT]; COUNT];
            let mut found = [false; COUNT];
            let mut ways = Vec::new();
            for _ in 0..random(40) {
                let [from, to] = [0; 2].map(|_| random(COUNT as u64) as usize);
                circles
                    .lead(from as u32, to as u32)
                    .into_iter()
                    .for_each(|number| found[number as usize] = true);
                ways.push((from, to));
                for a in 0..COUNT {
                    for b in 0..COUNT {
                        reaches[a][b] |= (a == from || reaches[a][from]) && (b == to || reaches[to][b]);
                    }
                }
                let want: Vec<bool> = (0..COUNT).map(|n| reaches[n][n]).collect();
                assert_eq!(found[..], want);
                for &(from, to) in &ways {
                    let [from, to] = [from, to].map(|number| circles.one(number as u32));
                    assert!(from == to || circles.place(from) < circles.place(to));
                }
                graphs_with_both += usize::from(want.contains(&true) && want.contains(&false));
            }
            assert!(circles.order.iter().all(|(&place, &number)| circles.place(number) == place));
        }
        assert!(graphs_with_both > 100);
    }

    #[test]
    fn there_is_always_room_between_two() {
        let mut circles = Circles::default();
        (0..200).for_each(|_| circles.add(None));
        for number in 2..200 {
            assert!(circles.lead(number, 0).is_empty());
            assert!(circles.lead(1, number).is_empty());
        }
        assert_eq!(circles.lead(0, 1).len(), 200);
        (0..200).for_each(|_| circles.add(Some(1)));
        (400..10_000).for_each(|number| circles.add(Some(number - 1)));
        let places = circles.order.iter().map(|(&place, &number)| (circles.place(number), place));
        assert!(places.clone().all(|(its, place)| its == place));
        assert_eq!(places.count(), 9_801);
    }
}
