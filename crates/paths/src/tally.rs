//! Executing a plan.

use crate::cfg::EdgeId;
use crate::decoder::Path;
use crate::plan::{Op, POISON, Plan, Store};
use std::collections::{BTreeMap, HashMap};

/// How often each kind of operation was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Additions to the register.
    pub adds: u64,
    /// Settings of the register, to poison too.
    pub sets: u64,
    /// Paths that were counted in an array.
    pub array_counts: u64,
    /// Paths that were counted in a hash table.
    pub hash_counts: u64,
    /// Paths that have no number.
    pub cold_counts: u64,
}

impl Executed {
    /// Adds what was executed elsewhere.
    pub fn add(&mut self, other: Executed) {
        self.adds += other.adds;
        self.sets += other.sets;
        self.array_counts += other.array_counts;
        self.hash_counts += other.hash_counts;
        self.cold_counts += other.cold_counts;
    }
}

/// What a plan counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: HashMap<u64, u64>,
    /// What was executed.
    pub executed: Executed,
    /// Numbers that no path has; there are none, or the plan is wrong.
    pub senseless: u64,
}

impl Tally {
    /// Control goes along an edge.
    pub fn follow(&mut self, plan: &Plan, edge: EdgeId, register: &mut i64) {
        self.execute(plan, &plan.ops[edge.index()], register);
    }

    /// Executes operations of a plan.
    pub fn execute(&mut self, plan: &Plan, ops: &[Op], register: &mut i64) {
        for op in ops {
            match *op {
                Op::Add(by) => {
                    *register = register.wrapping_add(by);
                    self.executed.adds += 1;
                }
                Op::Set(to) => {
                    *register = to;
                    self.executed.sets += 1;
                }
                Op::Poison => {
                    *register = POISON;
                    self.executed.sets += 1;
                }
                Op::Count(plus) => match u64::try_from(register.wrapping_add(plus)) {
                    Ok(number) => self.count(plan, number),
                    Err(_) if plan.poisons => self.executed.cold_counts += 1,
                    Err(_) => self.senseless += 1,
                },
                Op::CountThis(number) => self.count(plan, number),
                Op::CountCold => self.executed.cold_counts += 1,
            }
        }
    }

    fn count(&mut self, plan: &Plan, number: u64) {
        if number >= plan.numbered() {
            self.senseless += 1;
            return;
        }
        match plan.store {
            Store::Hash => self.executed.hash_counts += 1,
            Store::Array | Store::Nothing => self.executed.array_counts += 1,
        }
        *self.counts.entry(number).or_default() += 1;
    }

    /// Adds what was counted elsewhere: paths by number, and how many had none.
    pub fn add(&mut self, plan: &Plan, counted: impl Iterator<Item = (u64, u64)>, cold: u64) {
        self.executed.cold_counts += cold;
        for (number, count) in counted.filter(|(_, count)| *count > 0) {
            if number >= plan.numbered() {
                self.senseless += count;
                continue;
            }
            match plan.store {
                Store::Hash => self.executed.hash_counts += count,
                Store::Array | Store::Nothing => self.executed.array_counts += count,
            }
            *self.counts.entry(number).or_default() += count;
        }
    }

    /// Paths that were counted, by number.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(&number, &count)| (number, count))
    }

    /// The path profile: what was counted, and with it the paths that the edge profile tells.
    pub fn profile(&self, plan: &Plan) -> BTreeMap<Path, u64> {
        let counted = self.counts().filter_map(|(number, count)| Some((plan.decoder.decode(number)?, count)));
        let obvious = plan.obvious.iter().map(|(edges, count)| (plan.decoder.path(edges), *count));
        let mut profile = BTreeMap::new();
        for (path, count) in counted.chain(obvious).filter(|(_, count)| *count > 0) {
            *profile.entry(path).or_default() += count;
        }
        profile
    }
}
