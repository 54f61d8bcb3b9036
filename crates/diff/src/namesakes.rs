//! Functions of one name: static functions of several files, instances of a template whose names say too little, lambdas
//! whose numbers change with what stands before them. Their instructions tell which is which.

use crate::body::{Body, ENOUGH, similarity};
use crate::pairing::Pairing;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;
use timewise_flow::Analysis;

/// More combinations of functions of one name are not compared with each other.
const MOST_COMBINATIONS: usize = 10_000;

/// Pairs functions that are in no pair yet and have a name in common, as the functions give names.
pub fn pair<K: Hash + Eq>(
    base: &Analysis,
    test: &Analysis,
    pairing: &mut Pairing,
    (ours, theirs): (impl Fn(u32) -> Option<K>, impl Fn(u32) -> Option<K>),
) {
    for (ours, theirs) in pairing.groups(ours, theirs) {
        let group = Group { base, test, ours, theirs };
        group.pair(pairing);
    }
}

/// All functions of a name that are in no pair.
struct Group<'a> {
    base: &'a Analysis<'a>,
    test: &'a Analysis<'a>,
    ours: Vec<u32>,
    theirs: Vec<u32>,
}

impl Group<'_> {
    fn pair(mut self, pairing: &mut Pairing) {
        if let ([ours], [theirs]) = (&self.ours[..], &self.theirs[..]) {
            return pairing.pair(*ours, *theirs);
        }
        self.equal(pairing);
        self.drop_paired(pairing);
        if self.ours.len().saturating_mul(self.theirs.len()) <= MOST_COMBINATIONS {
            self.similar(pairing);
            self.drop_paired(pairing);
        }
        // Nothing tells them apart; where one is new or gone, any guess would be wrong for most of the others.
        if self.ours.len() == self.theirs.len() {
            self.ours.iter().zip(&self.theirs).for_each(|(ours, theirs)| pairing.pair(*ours, *theirs));
        }
    }

    fn drop_paired(&mut self, pairing: &Pairing) {
        self.ours.retain(|id| pairing.of_base(*id).is_none());
        self.theirs.retain(|id| pairing.of_test(*id).is_none());
    }

    /// Pairs those with the same instructions. Of several, those that executed most go together.
    fn equal(&self, pairing: &mut Pairing) {
        let mut bodies: HashMap<Body, [Vec<u32>; 2]> = HashMap::new();
        for (side, (analysis, ids)) in self.sides().into_iter().enumerate() {
            for id in ids {
                bodies.entry(Body::of(analysis, *id)).or_default()[side].push(*id);
            }
        }
        // Code that was not executed is not known.
        for (_, [mut ours, mut theirs]) in bodies.into_iter().filter(|(body, _)| !body.0.is_empty()) {
            ours.sort_by_key(|id| Reverse(executed(self.base, *id)));
            theirs.sort_by_key(|id| Reverse(executed(self.test, *id)));
            ours.into_iter().zip(theirs).for_each(|(ours, theirs)| pairing.pair(ours, theirs));
        }
    }

    /// Pairs those that have enough instructions in common, the most similar first.
    fn similar(&self, pairing: &mut Pairing) {
        let [ours, theirs] = self.sides().map(|(analysis, ids)| {
            ids.iter().map(|id| (*id, Body::of(analysis, *id).runs())).collect::<Vec<_>>()
        });
        let mut found = Vec::new();
        for (a, our_runs) in &ours {
            let with = theirs.iter().map(|(b, their_runs)| (similarity(our_runs, their_runs), *a, *b));
            found.extend(with.filter(|(similarity, ..)| *similarity >= ENOUGH));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        found.into_iter().for_each(|(_, ours, theirs)| pairing.pair(ours, theirs));
    }

    fn sides(&self) -> [(&Analysis<'_>, &[u32]); 2] {
        [(self.base, &self.ours), (self.test, &self.theirs)]
    }
}

/// Instructions that a routine executed.
fn executed(analysis: &Analysis, routine: u32) -> u64 {
    let blocks = &analysis.routines[routine as usize].blocks;
    let of = |block: &timewise_profile::BlockId| {
        let block = &analysis.code.blocks[block.index()];
        block.instructions().map(|id| analysis.code.executions(id)).fold(0, u64::saturating_add)
    };
    blocks.iter().map(of).fold(0, u64::saturating_add)
}
