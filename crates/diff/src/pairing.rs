//! Pairs of things of two sides, each in one pair at most.

use std::collections::HashMap;
use std::hash::Hash;

/// The same thing on both sides, or one that only one side has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Both<T> {
    /// In BASE.
    pub base: Option<T>,
    /// In TEST.
    pub test: Option<T>,
}

impl<T> Both<T> {
    /// Applies a function to each side that is there.
    pub fn map<U>(self, base: impl FnOnce(T) -> U, test: impl FnOnce(T) -> U) -> Both<U> {
        Both { base: self.base.map(base), test: self.test.map(test) }
    }
}

/// Which of so many things of BASE is which of so many of TEST; both are numbered from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pairing {
    of_base: Vec<Option<u32>>,
    of_test: Vec<Option<u32>>,
}

impl Pairing {
    /// No pairs yet.
    pub fn new(base: usize, test: usize) -> Pairing {
        Pairing { of_base: vec![None; base], of_test: vec![None; test] }
    }

    /// Pairs two, unless one of them is in a pair.
    pub fn pair(&mut self, base: u32, test: u32) {
        if self.is_free(base, test) {
            self.of_base[base as usize] = Some(test);
            self.of_test[test as usize] = Some(base);
        }
    }

    /// Parts one of BASE from its partner, if it has one.
    pub fn part(&mut self, base: u32) {
        if let Some(test) = self.of_base[base as usize].take() {
            self.of_test[test as usize] = None;
        }
    }

    /// Whether neither is in a pair.
    pub fn is_free(&self, base: u32, test: u32) -> bool {
        self.of_base[base as usize].is_none() && self.of_test[test as usize].is_none()
    }

    /// Pairs those that are in no pair yet and have a key in common. Where several have the same key, they are
    /// paired in their order if there are as many on both sides, else not at all.
    pub fn by_key<K: Hash + Eq>(&mut self, base: impl Fn(u32) -> Option<K>, test: impl Fn(u32) -> Option<K>) {
        for (ours, theirs) in self.groups(base, test) {
            if ours.len() == theirs.len() {
                ours.into_iter().zip(theirs).for_each(|(base, test)| self.pair(base, test));
            }
        }
    }

    /// Those that are in no pair yet, those of BASE and of TEST that have a key in common together, each in their order.
    pub fn groups<K: Hash + Eq>(
        &self,
        base: impl Fn(u32) -> Option<K>,
        test: impl Fn(u32) -> Option<K>,
    ) -> Vec<(Vec<u32>, Vec<u32>)> {
        let mut theirs = groups(&self.of_test, test);
        let ours = groups(&self.of_base, base).into_iter();
        ours.filter_map(|(key, ours)| Some((ours, theirs.remove(&key)?))).collect()
    }

    /// Pairs the most similar first, of those that were compared: how similar, one of BASE, one of TEST.
    pub fn best_first(&mut self, mut compared: Vec<(f64, u32, u32)>) {
        compared.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        compared.into_iter().for_each(|(_, base, test)| self.pair(base, test));
    }

    /// The partner of one of BASE.
    pub fn of_base(&self, base: u32) -> Option<u32> {
        self.of_base[base as usize]
    }

    /// The partner of one of TEST.
    pub fn of_test(&self, test: u32) -> Option<u32> {
        self.of_test[test as usize]
    }

    /// Those of BASE in no pair.
    pub fn free_of_base(&self) -> impl Iterator<Item = u32> {
        free(&self.of_base)
    }

    /// Those of TEST in no pair.
    pub fn free_of_test(&self) -> impl Iterator<Item = u32> {
        free(&self.of_test)
    }

    /// All: pairs and those of BASE alone in the order of BASE, then those of TEST alone.
    pub fn all(&self) -> Vec<Both<u32>> {
        let ours = (0..self.of_base.len() as u32).map(|id| Both { base: Some(id), test: self.of_base(id) });
        ours.chain(self.free_of_test().map(|id| Both { base: None, test: Some(id) })).collect()
    }

    /// Positions in [`Pairing::all`] of those of BASE and of those of TEST.
    pub fn rows(&self) -> (Vec<usize>, Vec<usize>) {
        let mut alone = self.of_base.len()..;
        let row = |partner: &Option<u32>| partner.map(|base| base as usize).or_else(|| alone.next());
        ((0..self.of_base.len()).collect(), self.of_test.iter().filter_map(row).collect())
    }
}

fn free(partners: &[Option<u32>]) -> impl Iterator<Item = u32> {
    let of = partners.iter().enumerate().filter(|(_, partner)| partner.is_none());
    of.map(|(id, _)| id as u32)
}

fn groups<K: Hash + Eq>(partners: &[Option<u32>], key: impl Fn(u32) -> Option<K>) -> HashMap<K, Vec<u32>> {
    let mut groups: HashMap<K, Vec<u32>> = HashMap::new();
    for id in free(partners) {
        if let Some(key) = key(id) {
            groups.entry(key).or_default().push(id);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_pair_what_is_as_frequent_on_both_sides() {
        const BASE: [&str; 6] = ["a", "b", "b", "c", "c", ""];
        const TEST: [&str; 5] = ["b", "a", "b", "c", ""];
        let key = |names: &'static [&'static str]| {
            move |id: u32| Some(names[id as usize]).filter(|name| !name.is_empty())
        };
        let mut pairing = Pairing::new(6, 5);
        pairing.by_key(key(&BASE), key(&TEST));
        let partners: Vec<Option<u32>> = (0..6).map(|id| pairing.of_base(id)).collect();
        assert_eq!(partners, [Some(1), Some(0), Some(2), None, None, None]);
        let alone = Both { base: None, test: Some(3) };
        assert!(pairing.all().contains(&alone) && pairing.all().len() == 8);
        let (base, test) = pairing.rows();
        let all = pairing.all();
        assert!((0..).zip(base).all(|(id, row)| all[row].base == Some(id)));
        assert!((0..).zip(test).all(|(id, row)| all[row].test == Some(id)));
        pairing.pair(0, 3);
        assert_eq!(pairing.of_base(0), Some(1), "a pair is not broken");
        pairing.part(0);
        pairing.pair(5, 1);
        assert_eq!((pairing.of_base(0), pairing.of_test(1)), (None, Some(5)));
    }
}
