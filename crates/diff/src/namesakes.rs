//! Functions of one name: static functions of several files, instances of a template whose names say too little, lambdas
//! whose numbers change with what stands before them. Their instructions tell which is which.

use crate::body::{Body, ENOUGH, similarity};
use crate::pairing::Pairing;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;
use timewise_flow::{Analysis, Cost};

/// More combinations of functions, or of modules, of one name are not compared with each other.
pub const MOST_COMBINATIONS: usize = 10_000;

/// One side, and what its routines cost.
pub struct Side<'a> {
    analysis: &'a Analysis<'a>,
    costs: Vec<Cost>,
}

impl<'a> Side<'a> {
    /// The side of an analysis.
    pub fn new(analysis: &'a Analysis<'a>) -> Side<'a> {
        Side { analysis, costs: analysis.by_routine() }
    }

    fn bodies(&self, routines: Vec<u32>) -> Vec<(u32, Body)> {
        routines.into_iter().map(|routine| (routine, Body::of(self.analysis, routine))).collect()
    }

    /// Sorts routines that executed most before others.
    fn sort(&self, routines: &mut [u32]) {
        routines.sort_by_key(|routine| Reverse(self.costs[*routine as usize].instructions));
    }
}

/// Pairs functions that are in no pair yet and have a name in common, as the functions give names.
pub fn pair<K: Hash + Eq>(
    base: &Side,
    test: &Side,
    pairing: &mut Pairing,
    (ours, theirs): (impl Fn(u32) -> Option<K>, impl Fn(u32) -> Option<K>),
) {
    for (ours, theirs) in pairing.groups(ours, theirs) {
        if let ([ours], [theirs]) = (&ours[..], &theirs[..]) {
            pairing.pair(*ours, *theirs);
            continue;
        }
        resembling((base, test), pairing, (ours, theirs)).in_order(pairing);
    }
}

/// Likewise where a name alone tells too little: those that resemble each other.
pub fn pair_resembling<K: Hash + Eq>(
    base: &Side,
    test: &Side,
    pairing: &mut Pairing,
    (ours, theirs): (impl Fn(u32) -> Option<K>, impl Fn(u32) -> Option<K>),
) {
    for both in pairing.groups(ours, theirs) {
        resembling((base, test), pairing, both);
    }
}

/// Pairs functions of a name that resemble each other. Gives those that are left.
fn resembling(
    (base, test): (&Side, &Side),
    pairing: &mut Pairing,
    (ours, theirs): (Vec<u32>, Vec<u32>),
) -> Group {
    let mut group = Group { ours: base.bodies(ours), theirs: test.bodies(theirs) };
    group.equal((base, test), pairing);
    group.drop_paired(pairing);
    group.similar(pairing);
    group.drop_paired(pairing);
    group
}

/// All functions of a name that are in no pair.
struct Group {
    ours: Vec<(u32, Body)>,
    theirs: Vec<(u32, Body)>,
}

impl Group {
    fn drop_paired(&mut self, pairing: &Pairing) {
        self.ours.retain(|(id, _)| pairing.of_base(*id).is_none());
        self.theirs.retain(|(id, _)| pairing.of_test(*id).is_none());
    }

    /// Pairs those with the same instructions. Of several, those that executed most go together.
    fn equal(&self, (base, test): (&Side, &Side), pairing: &mut Pairing) {
        let mut alike: HashMap<&Body, [Vec<u32>; 2]> = HashMap::new();
        for (side, functions) in [&self.ours, &self.theirs].into_iter().enumerate() {
            // Code that was not executed is not known.
            for (id, body) in functions.iter().filter(|(_, body)| !body.0.is_empty()) {
                alike.entry(body).or_default()[side].push(*id);
            }
        }
        for [mut ours, mut theirs] in alike.into_values() {
            base.sort(&mut ours);
            test.sort(&mut theirs);
            ours.into_iter().zip(theirs).for_each(|(ours, theirs)| pairing.pair(ours, theirs));
        }
    }

    /// Pairs those that have enough instructions in common, the most similar first.
    fn similar(&self, pairing: &mut Pairing) {
        if self.ours.len().saturating_mul(self.theirs.len()) > MOST_COMBINATIONS {
            return;
        }
        let theirs: Vec<_> = self.theirs.iter().map(|(id, body)| (*id, body.runs())).collect();
        let mut found = Vec::new();
        for (ours, body) in &self.ours {
            let runs = body.runs();
            let with =
                theirs.iter().map(|(theirs, their_runs)| (similarity(&runs, their_runs), *ours, *theirs));
            found.extend(with.filter(|(similarity, ..)| *similarity >= ENOUGH));
        }
        pairing.best_first(found);
    }

    /// Pairs what nothing tells apart; where one is new or gone, any guess would be wrong for most of the others.
    fn in_order(&self, pairing: &mut Pairing) {
        if self.ours.len() == self.theirs.len() {
            let pairs = self.ours.iter().zip(&self.theirs);
            pairs.for_each(|((ours, _), (theirs, _))| pairing.pair(*ours, *theirs));
        }
    }
}
