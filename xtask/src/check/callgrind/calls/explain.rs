//! Why the cost of a call differs from callgrind's: each reason is a rule, and what follows none is a fault.

use super::super::dump::Dump;
use super::counted::{Cost, Counted, Site};
use super::doubt::{Doubt, Doubts};
use super::instruction::Branch;
use std::collections::{BTreeMap, BTreeSet};

/// How a call compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// As many calls, as many instructions.
    Equal,
    /// The call was open at the end, so callgrind misses instructions of the block that was in flight.
    InFlight,
    /// Instructions below it repeat, and callgrind counts iterations.
    Repeats,
    /// Instructions below it are executed more or less often.
    Layout,
    /// It leads back into the function that calls: counted once by us, at every level by callgrind.
    Recursion,
    /// It is a jump to another function, or the way on into it, which callgrind takes for a call.
    Jump,
    /// None of these.
    Unexplained,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub site: Site,
    /// How it compares.
    pub class: Class,
    /// As counted, and callgrind's.
    pub costs: [Cost; 2],
    /// By how much the instructions may differ.
    pub allowed: i64,
}

impl Row {
    /// By how many instructions the two differ.
    pub fn difference(&self) -> i64 {
        (self.costs[0].instructions - self.costs[1].instructions).abs()
    }

    /// The same as a share of callgrind's.
    pub fn share(&self) -> f64 {
        self.difference() as f64 / self.costs[1].instructions.max(1) as f64
    }
}

/// Compares all calls from instructions in these modules.
pub fn explain(counted: &Counted, dump: &Dump, modules: &BTreeSet<String>) -> Vec<Row> {
    let mut theirs: BTreeMap<Site, (Cost, BTreeSet<(usize, usize)>)> = BTreeMap::new();
    for call in &dump.calls {
        let (cost, ends) = theirs.entry((call.site.clone(), call.entry.clone())).or_default();
        cost.times += call.times;
        cost.instructions += call.instructions;
        ends.insert((call.from.0, call.to.0));
    }
    let mut doubts = Doubts::new(counted, dump);
    let cycles = doubts.cycles();
    let sites: BTreeSet<&Site> = counted.calls.keys().chain(theirs.keys()).collect();
    let mut rows = Vec::new();
    for site in sites.into_iter().filter(|((module, _), _)| modules.contains(module)) {
        let ours = counted.calls.get(site).copied();
        let (cost, ends) = theirs.get(site).cloned().unwrap_or_default();
        let is_recursive = ends.iter().any(|&(from, to)| cycles[from] == cycles[to]);
        let mut below = Doubt::default();
        for function in ends.iter().map(|&(_, to)| to).chain(doubts.holders(&site.1)).collect::<BTreeSet<_>>()
        {
            below += doubts.below(function);
        }
        let costs = [ours.unwrap_or_default(), cost];
        let more = costs[0].instructions - costs[1].instructions;
        let varies = doubts.difference(&site.0) != 0 || doubts.difference(&site.1) != 0;
        let class = if ours.is_none() && is_jump(counted, site) {
            Class::Jump
        } else if costs[0].times != costs[1].times && !varies {
            Class::Unexplained
        } else if costs[0] == costs[1] {
            Class::Equal
        } else if (0..=below.in_flight).contains(&more) {
            Class::InFlight
        } else if (-below.repeats..=below.in_flight).contains(&more) {
            Class::Repeats
        } else if more.abs() <= below.sum() {
            Class::Layout
        } else if is_recursive && more <= below.sum() {
            Class::Recursion
        } else {
            Class::Unexplained
        };
        rows.push(Row { site: site.clone(), class, costs, allowed: below.sum() });
    }
    rows
}

/// Whether control gets from the site to its callee without a call.
fn is_jump(counted: &Counted, ((module, offset), (to_module, to)): &Site) -> bool {
    let Some(executed) = counted.executions.get(&(module.clone(), *offset)) else { return false };
    let branch = Branch::of(&executed.code);
    let leads = branch.can_jump((*offset, executed.code.len() as u64), *to);
    leads && (module == to_module || branch == Branch::IndirectJump)
}

#[cfg(test)]
mod tests {
    use super::super::super::dump::{Call, Function};
    use super::super::totals;
    use super::*;
    use crate::check::executions::Executed;
    use crate::check::segments::Place;

    fn place(offset: u64) -> Place {
        ("/bin/a".to_string(), offset)
    }

    /// Code with which `main` at 0x10 calls `f` at 0x40, which calls itself and `g` at 0x80, and jumps there.
    const CODE: [(u64, i64, &[u8]); 5] = [
        (0x10, 1, &[0xe8, 0x2b, 0, 0, 0]),
        (0x40, 4, &[0xe8, 0xfb, 0xff, 0xff, 0xff]),
        (0x45, 4, &[0xe8, 0x36, 0, 0, 0]),
        (0x4a, 4, &[0xeb, 0x34]),
        (0x80, 8, &[0xc3]),
    ];

    /// Calls as (site, callee, calls, instructions).
    type Calls = [(u64, u64, i64, i64)];

    fn counted(calls: &Calls) -> Counted {
        let mut counted = Counted::default();
        for (offset, length, name) in [(0x10, 0x30, "main"), (0x40, 0x40, "f"), (0x80, 1, "g")] {
            counted.functions.insert(place(offset), (length, name.to_string()));
        }
        for (offset, times, code) in CODE {
            counted.executions.insert(place(offset), Executed { times, code: code.to_vec() });
        }
        for &(site, entry, times, instructions) in calls {
            counted.calls.insert((place(site), place(entry)), Cost { times, instructions });
        }
        counted
    }

    fn dump(calls: &Calls) -> Dump {
        let mut dump = Dump::default();
        for name in ["main", "f", "g"] {
            dump.functions.push(Function { module: "/bin/a".into(), name: name.into() });
        }
        let holder = |offset: u64| [0x40, 0x80].iter().filter(|&&start| offset >= start).count();
        dump.first = vec![1, 3, 8];
        for (offset, times, _) in CODE {
            dump.executions.insert(place(offset), times);
            dump.holders.insert(place(offset), vec![holder(offset)]);
        }
        for &(site, entry, times, instructions) in calls {
            let (from, to) = ((holder(site), 1), (holder(entry), if site == 0x40 { 2 } else { 1 }));
            dump.calls.push(Call { from, to, site: place(site), entry: place(entry), times, instructions });
        }
        dump
    }

    fn classes(counted: &Counted, dump: &Dump) -> Vec<Class> {
        let modules = BTreeSet::from(["/bin/a".to_string()]);
        explain(counted, dump, &modules).iter().map(|row| row.class).collect()
    }

    const OURS: &Calls = &[(0x10, 0x40, 1, 20), (0x40, 0x40, 3, 0), (0x45, 0x80, 4, 4)];
    const THEIRS: &Calls =
        &[(0x10, 0x40, 1, 20), (0x40, 0x40, 3, 30), (0x45, 0x80, 4, 4), (0x4a, 0x80, 4, 4)];

    #[test]
    fn what_is_equal_recursive_or_a_jump_is_told_apart() {
        let expected = [Class::Equal, Class::Recursion, Class::Equal, Class::Jump];
        assert_eq!(classes(&counted(OURS), &dump(THEIRS)), expected);
    }

    #[test]
    fn more_than_callgrind_counts_is_no_recursion() {
        let mut ours = OURS.to_vec();
        ours[1].3 = 31;
        assert_eq!(classes(&counted(&ours), &dump(THEIRS))[1], Class::Unexplained);
    }

    #[test]
    fn a_call_that_is_missing_is_no_jump() {
        assert_eq!(classes(&counted(&OURS[..2]), &dump(THEIRS))[2], Class::Unexplained);
        assert_eq!(classes(&counted(&OURS[1..]), &dump(THEIRS))[0], Class::Unexplained);
    }

    #[test]
    fn costs_differ_by_no_more_than_executions_below_do() {
        let (mut ours, mut theirs) = (OURS.to_vec(), dump(THEIRS));
        theirs.executions.insert(place(0x80), 7);
        (ours[0].3, ours[2].3) = (21, 5);
        assert_eq!(
            classes(&counted(&ours), &theirs),
            [Class::Layout, Class::Recursion, Class::Layout, Class::Jump]
        );
        ours[2].3 = 6;
        assert_eq!(classes(&counted(&ours), &theirs)[2], Class::Unexplained);
        // Executions above a call say nothing of it.
        theirs = dump(THEIRS);
        theirs.executions.insert(place(0x4a), 3);
        assert_eq!(classes(&counted(&ours), &theirs)[2], Class::Unexplained);
    }

    #[test]
    fn totals_of_recursive_functions_are_compared() {
        // The first activation of `f` has 3 instructions of its own, and 30 below the call of itself.
        let theirs: &Calls = &[(0x10, 0x40, 1, 37), (0x40, 0x40, 3, 30), (0x45, 0x80, 4, 4)];
        let modules = BTreeSet::from(["/bin/a".to_string()]);
        let totals = |first_site: i64| {
            let mut ours = OURS.to_vec();
            ours[1].3 = first_site;
            let (counted, dump) = (counted(&ours), dump(theirs));
            totals::compare(&counted, &dump, &explain(&counted, &dump, &modules))
        };
        // 12 instructions of `f`, 4 below the call of `g`: 37 in all.
        let equal = totals(21);
        assert_eq!((equal.equal, equal.different.len()), (1, 0));
        assert_eq!(totals(20).different, [("f".to_string(), 36, 37)]);
    }
}
