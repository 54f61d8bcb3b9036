//! Which functions may be active more than once at a time.
//!
//! A function comes to call itself, by way of others or not, only along a circle of calls and of jumps from one
//! function to another; and each of these is made known here before a thread first takes it. A function that is
//! on no circle has no older activation that waits, so nothing need be noted of it, until one is closed: then the
//! code that relied on it is made anew.
//!
//! Functions on the same circles are one from then on: whatever leads to one of them leads to all.

use crate::state::AddressHasher;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::{HashMap, HashSet};

/// What stands for all code that nothing is told of: functions do not begin there.
pub const ELSEWHERE: u64 = 0;

/// Code that was made for a function of which nothing need be noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The way of an exit, by number.
    Exit(u32),
    /// The stub of an indirect branch's target, by number.
    Target(u32),
}

/// A function, and what leads to it and to what it leads, or to those that are one with it.
#[derive(Debug)]
struct Function {
    /// Its first address.
    start: u64,
    recurs: bool,
    /// The function that stands for those that are one with it, maybe by way of others: itself if it does.
    one_with: u32,
    /// Its place in an order in which whatever leads to another comes before it.
    place: u32,
    next: Vec<u32>,
    previous: Vec<u32>,
    ways: Vec<Way>,
}

type Numbers = HashSet<u32, BuildHasherDefault<AddressHasher>>;

/// What leads to what. The order is kept as by Pearce and Kelly, A dynamic topological sort algorithm for directed
/// acyclic graphs (2006): only what lies between the two ends of a new edge is put in order anew.
#[derive(Debug, Default)]
pub struct Recursion {
    functions: Vec<Function>,
    numbers: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    known: HashSet<(u32, u32), BuildHasherDefault<AddressHasher>>,
    /// Functions found to recur since it was last asked.
    found: Vec<u32>,
    /// Set when nothing may be relied on any more.
    always: bool,
}

impl Recursion {
    /// Whether the function that begins at an address may be active more than once at a time.
    pub fn recurs(&self, start: u64) -> bool {
        self.always || self.numbers.get(&start).is_some_and(|&n| self.functions[n as usize].recurs)
    }

    /// A function is about to lead to another for the first time; none if nothing is told of it.
    pub fn leads(&mut self, from: Option<u64>, to: u64) {
        if self.always {
            return;
        }
        let [from, to] = [from.unwrap_or(ELSEWHERE), to].map(|start| self.number(start));
        if !self.known.insert((from, to)) {
            return;
        }
        let [from, to] = [from, to].map(|number| self.one(number));
        if from == to {
            return self.find(from);
        }
        self.functions[from as usize].next.push(to);
        self.functions[to as usize].previous.push(from);
        if self.place(from) > self.place(to) {
            self.put_in_order(from, to);
        }
    }

    /// From now on any function may recur.
    pub fn always(&mut self) {
        for number in 0..self.functions.len() as u32 {
            self.find(number);
        }
        self.always = true;
    }

    /// Notes that code was made for a function that does not recur.
    pub fn relied_on(&mut self, start: u64, way: Way) {
        let number = self.number(start);
        self.functions[number as usize].ways.push(way);
    }

    /// The functions found to recur since it was last asked, by where they begin, with what had relied on them.
    pub fn take_found(&mut self) -> Vec<(u64, Vec<Way>)> {
        let found = core::mem::take(&mut self.found);
        let each = found.into_iter().map(|number| {
            let function = &mut self.functions[number as usize];
            (function.start, core::mem::take(&mut function.ways))
        });
        each.collect()
    }

    /// What had relied on a function not to recur, or on its calls to be held.
    pub fn take_ways(&mut self, start: u64) -> Vec<Way> {
        let number = self.numbers.get(&start).copied();
        number.map_or_else(Vec::new, |n| core::mem::take(&mut self.functions[n as usize].ways))
    }

    fn number(&mut self, start: u64) -> u32 {
        let fresh = self.functions.len() as u32;
        let number = *self.numbers.entry(start).or_insert(fresh);
        if number == fresh {
            self.functions.push(Function {
                start,
                recurs: false,
                one_with: fresh,
                place: fresh,
                next: Vec::new(),
                previous: Vec::new(),
                ways: Vec::new(),
            });
        }
        number
    }

    /// Notes that a function recurs.
    fn find(&mut self, number: u32) {
        let function = &mut self.functions[number as usize];
        if !core::mem::replace(&mut function.recurs, true) {
            self.found.push(number);
        }
    }

    /// The function that stands for those that are one with a function.
    fn one(&self, mut number: u32) -> u32 {
        while self.functions[number as usize].one_with != number {
            number = self.functions[number as usize].one_with;
        }
        number
    }

    /// Functions on circles with one another are one from here on: the one that stands for them.
    fn unite(&mut self, circle: &Numbers) -> Option<u32> {
        // The one with most to move stays.
        let one = *circle.iter().max_by_key(|&&number| {
            let function = &self.functions[number as usize];
            function.next.len() + function.previous.len()
        })?;
        for &number in circle {
            self.find(number);
            if number != one {
                let function = &mut self.functions[number as usize];
                function.one_with = one;
                let [next, previous] = [&mut function.next, &mut function.previous].map(core::mem::take);
                let one = &mut self.functions[one as usize];
                one.next.extend(next);
                one.previous.extend(previous);
            }
        }
        Some(one)
    }

    fn place(&self, number: u32) -> u32 {
        self.functions[number as usize].place
    }

    /// `from` leads to `to` now, which came before it.
    fn put_in_order(&mut self, from: u32, to: u32) {
        let (first, last) = (self.place(to), self.place(from));
        let after = self.reach(to, |function| &function.next, |place| place <= last);
        let before = self.reach(from, |function| &function.previous, |place| place >= first);
        let mut places: Vec<u32> = before.union(&after).map(|&number| self.place(number)).collect();
        places.sort_unstable();
        let circle: Numbers = after.intersection(&before).copied().collect();
        let by_place = |numbers: Numbers| {
            let others = numbers.into_iter().filter(|number| !circle.contains(number));
            let mut numbers: Vec<u32> = others.collect();
            numbers.sort_unstable_by_key(|&number| self.place(number));
            numbers
        };
        let [before, after] = [before, after].map(by_place);
        let one = self.unite(&circle);
        // Those after it take the last places, so that none comes to lie before where it was.
        let (low, high) = places.split_at(places.len() - after.len());
        let lower = before.into_iter().chain(one).zip(low);
        for (number, &place) in lower.chain(after.into_iter().zip(high)) {
            self.functions[number as usize].place = place;
        }
    }

    /// What is reached from a function, itself included, by way of what lies within bounds; of those that are one only
    /// the one that stands for them.
    fn reach(
        &self,
        start: u32,
        leads_to: impl Fn(&Function) -> &Vec<u32>,
        is_within: impl Fn(u32) -> bool,
    ) -> Numbers {
        let mut reached = Numbers::default();
        let mut open = vec![start];
        while let Some(number) = open.pop() {
            let number = self.one(number);
            let function = &self.functions[number as usize];
            if is_within(function.place) && reached.insert(number) {
                open.extend(leads_to(function));
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recurring(recursion: &Recursion) -> Vec<u64> {
        (0..20).filter(|&start| recursion.recurs(start)).collect()
    }

    #[test]
    fn only_what_lies_on_a_circle_recurs() {
        let mut recursion = Recursion::default();
        for (from, to) in [(1, 2), (2, 3), (3, 4), (1, 4), (5, 3), (9, 5), (2, 6)] {
            recursion.leads(Some(from), to);
        }
        assert!(recursion.take_found().is_empty());
        recursion.relied_on(3, Way::Exit(7));
        recursion.leads(Some(4), 2);
        assert_eq!(recurring(&recursion), [2, 3, 4]);
        let mut found = recursion.take_found();
        found.sort_by_key(|&(start, _)| start);
        assert_eq!(found, [(2, vec![]), (3, vec![Way::Exit(7)]), (4, vec![])]);
        recursion.leads(Some(6), 7);
        assert_eq!(recurring(&recursion), [2, 3, 4]);
        // From the circle to what leads there.
        recursion.leads(Some(6), 9);
        assert_eq!(recurring(&recursion), [2, 3, 4, 5, 6, 9]);
        // Between two circles.
        recursion.leads(Some(7), 8);
        recursion.leads(Some(8), 8);
        assert_eq!(recurring(&recursion), [2, 3, 4, 5, 6, 8, 9]);
    }

    #[test]
    fn what_calls_itself_or_comes_back_from_elsewhere_recurs() {
        let mut recursion = Recursion::default();
        recursion.leads(Some(1), 1);
        recursion.leads(None, 2);
        recursion.leads(Some(2), 3);
        assert_eq!(recurring(&recursion), [1]);
        recursion.leads(Some(3), ELSEWHERE);
        assert_eq!(recurring(&recursion), [ELSEWHERE, 1, 2, 3]);
        recursion.always();
        assert_eq!(recurring(&recursion).len(), 20);
        assert_eq!(recursion.take_found().len(), 4);
    }

    /// Against what can reach itself in graphs made at random.
    #[test]
    fn circles_are_found_when_they_close() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let add = |reaches: &mut [[bool; 20]; 20], from: usize, to: usize| {
            for a in 0..20 {
                for b in 0..20 {
                    reaches[a][b] |= (a == from || reaches[a][from]) && (b == to || reaches[to][b]);
                }
            }
        };
        let mut recurring_graphs = 0;
        for _ in 0..300 {
            let mut recursion = Recursion::default();
            let mut reaches = [[false; 20]; 20];
            for _ in 0..random(40) {
                let (from, to) = (random(20), random(20));
                recursion.leads(Some(from), to);
                add(&mut reaches, from as usize, to as usize);
                let want: Vec<u64> = (0..20).filter(|&n| reaches[n as usize][n as usize]).collect();
                assert_eq!(recurring(&recursion), want);
                recurring_graphs += usize::from(!want.is_empty() && want.len() < 20);
            }
        }
        assert!(recurring_graphs > 100);
    }
}
