//! Which functions may be active more than once at a time.
//!
//! A function comes to call itself, by way of others or not, only along a circle of calls and of jumps from one
//! function to another; and each of these is made known here before a thread first takes it. A function that is
//! on no circle has no older activation that waits, so nothing need be noted of it, until one is closed: then the
//! code that relied on it is made anew.

use super::circles::Circles;
use crate::state::AddressHasher;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use hashbrown::{HashMap, HashSet};

/// What stands for all code that nothing is told of: functions do not begin there.
pub const ELSEWHERE: u64 = 0;

/// Code that was made for a function of which nothing need be noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The way of an exit, by the number under which it was noted.
    Exit(u32),
    /// The stub of an indirect branch's target, by number.
    Target(u32),
}

/// A function, and the code that relies on it not to recur.
#[derive(Debug)]
struct Function {
    /// Its first address.
    start: u64,
    recurs: bool,
    ways: Vec<Way>,
}

/// What leads to what.
#[derive(Debug, Default)]
pub struct Recursion {
    functions: Vec<Function>,
    numbers: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    known: HashSet<(u32, u32), BuildHasherDefault<AddressHasher>>,
    circles: Circles,
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
        let from = self.number(from.unwrap_or(ELSEWHERE), None);
        let to = self.number(to, Some(from));
        if self.known.insert((from, to)) {
            self.circles.lead(from, to).into_iter().for_each(|number| self.find(number));
        }
    }

    /// From now on any function may recur.
    pub fn always(&mut self) {
        for number in 0..self.functions.len() as u32 {
            self.find(number);
        }
        self.always = true;
    }

    /// Whether any function may recur.
    pub fn is_always(&self) -> bool {
        self.always
    }

    /// Notes that code was made for a function that does not recur.
    pub fn relied_on(&mut self, start: u64, way: Way) {
        let number = self.number(start, None);
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

    /// The number of a function, which another may be about to lead to.
    fn number(&mut self, start: u64, from: Option<u32>) -> u32 {
        let fresh = self.functions.len() as u32;
        let number = *self.numbers.entry(start).or_insert(fresh);
        if number == fresh {
            self.functions.push(Function { start, recurs: false, ways: Vec::new() });
            self.circles.add(from);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

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
}
