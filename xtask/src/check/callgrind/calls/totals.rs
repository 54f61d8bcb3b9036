//! Totals of recursive functions, with recursion counted once.
//!
//! Callgrind tells the activations of a function apart by how many are open. All that is executed below the first
//! ones, and in them, is the function's total; ours is the sum of its instructions and of its call sites.

use super::super::dump::{Dump, Function};
use super::counted::Counted;
use super::doubt::Doubts;
use super::explain::{Class, Row};
use crate::check::segments::Place;
use std::collections::{BTreeMap, BTreeSet};

/// What came of all recursive functions.
#[derive(Debug, Default)]
pub struct Totals {
    /// Functions whose totals are equal.
    pub equal: usize,
    /// Functions whose totals differ by no more than executions below them do.
    pub within: usize,
    /// Functions that jump to others in their cycle, which to callgrind are still active then, or that it takes for
    /// one with others because they have no symbols.
    pub jumping: usize,
    /// Others: name, ours, callgrind's.
    pub different: Vec<(String, i64, i64)>,
}

/// Compares the totals of functions that call themselves, directly or through others.
pub fn compare(counted: &Counted, dump: &Dump, rows: &[Row]) -> Totals {
    let mut doubts = Doubts::new(counted, dump);
    let cycles = doubts.cycles();
    let jumps: BTreeSet<&Place> = rows.iter().filter(|r| r.class == Class::Jump).map(|r| &r.site.0).collect();
    let compared: BTreeSet<&Place> = rows.iter().map(|row| &row.site.0).collect();
    let (mut recursive, mut jumping) = (BTreeSet::new(), BTreeSet::new());
    let mut theirs = dump.first.clone();
    for call in dump.calls.iter().filter(|call| compared.contains(&call.site)) {
        let ((from, level), (to, _)) = (call.from, call.to);
        let is_jump = jumps.contains(&call.site);
        if cycles[from] == cycles[to] {
            if is_jump {
                jumping.insert(from)
            } else {
                recursive.insert(from)
            };
        }
        if level == 1 && !is_jump {
            theirs[from] += call.instructions;
        }
    }
    let mut ours: BTreeMap<usize, i64> = BTreeMap::new();
    let mut named: BTreeMap<usize, Function> = BTreeMap::new();
    for (place, holders) in &dump.holders {
        let function = counted.function(place);
        if *named.entry(holders[0]).or_insert_with(|| function.clone()) != function {
            jumping.insert(holders[0]);
        }
        // Code of more than one function: control jumped into its middle.
        jumping.extend(holders.iter().filter(|_| holders.len() > 1));
        *ours.entry(holders[0]).or_default() += counted.times(place);
    }
    for (site, cost) in &counted.calls {
        if let Some(holders) = dump.holders.get(&site.0) {
            *ours.entry(holders[0]).or_default() += cost.instructions;
        }
    }
    let mut totals = Totals::default();
    for function in recursive {
        let ours = ours.get(&function).copied().unwrap_or(0);
        let theirs = theirs[function];
        if jumping.contains(&function) {
            totals.jumping += 1;
        } else if ours == theirs {
            totals.equal += 1;
        } else if (ours - theirs).abs() <= doubts.below(function).sum() {
            totals.within += 1;
        } else {
            totals.different.push((dump.functions[function].name.clone(), ours, theirs));
        }
    }
    totals
}
