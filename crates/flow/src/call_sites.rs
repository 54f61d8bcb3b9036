//! Calls by where they are and what they led to: one row for each call site and function called.

use crate::analysis::Analysis;
use crate::code::Code;
use crate::graph::is_call;
use crate::imports::Imports;
use crate::routine::RoutineId;
use std::collections::HashMap;
use timewise_profile::{BlockId, Place};

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Site {
    /// The counted block that ends in it.
    Counted(BlockId),
    /// Its last byte, in code that was not counted.
    Stray(Place),
}

/// A call site and a function that it called.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// Where the call is.
    pub site: Site,
    /// The function that it is in.
    pub caller: RoutineId,
    /// The function that it led to: of an imported one itself, where its linkage stub led to one only. `None` if
    /// samples do not tell.
    pub callee: Option<RoutineId>,
    /// How often; `None` where counts do not tell.
    pub calls: Option<u64>,
    /// Instructions of the callee and its callees, as in [`crate::code::CallCost`].
    pub instructions: u64,
    /// Where some of these calls led of which nothing is told: counting did not see where they ended, as what they led to
    /// takes its return address off the stack.
    pub untold: Option<BlockId>,
}

impl CallSite {
    /// The place of the call: of its instruction, or of its last byte in code that was not counted.
    pub fn place(&self, code: &Code) -> Place {
        match self.site {
            Site::Counted(block) => code.place(code.blocks[block.index()].last()),
            Site::Stray(place) => place,
        }
    }
}

/// All rows, which grow as stacks show calls that were not counted.
#[derive(Clone, Debug, Default)]
pub struct CallSites {
    /// The rows; those of what was counted come first, by site.
    pub rows: Vec<CallSite>,
    known: HashMap<(Site, Option<RoutineId>), usize>,
    of_site: HashMap<Site, Vec<usize>>,
}

impl CallSites {
    /// The calls that were counted.
    pub fn new(analysis: &Analysis) -> CallSites {
        let (code, owner) = (&analysis.code, &analysis.owner);
        let imports = Imports::new(analysis);
        let callee = |block: BlockId| {
            let routine = owner[block.index()];
            imports.behind(routine).map_or(routine, |block| owner[block.index()])
        };
        let mut sites = CallSites::default();
        let costs = &code.call_costs;
        let is_told = |way| costs.binary_search_by_key(&way, |cost| (cost.site, cost.callee)).is_ok();
        let mut calls: Vec<(BlockId, BlockId, u64)> = code
            .edges
            .iter()
            .filter(|edge| is_call(edge.kind) && edge.count > 0)
            .filter_map(|edge| Some((edge.from?, edge.to?, edge.count)))
            .collect();
        calls.sort_unstable();
        for (from, to, count) in calls {
            let row = sites.row(Site::Counted(from), owner[from.index()], Some(callee(to)));
            let calls = &mut sites.rows[row].calls;
            *calls = Some(calls.unwrap_or(0) + count);
            if code.blocks[to.index()].takes_return_address && !is_told((from, to)) {
                sites.rows[row].untold = Some(to);
            }
        }
        for cost in &code.call_costs {
            let caller = owner[cost.site.index()];
            let row = sites.row(Site::Counted(cost.site), caller, Some(callee(cost.callee)));
            sites.rows[row].instructions += cost.instructions;
        }
        sites
    }

    /// The row that a call on a stack belongs to, where the next frame inwards is of `inner`.
    pub fn on_stack(&mut self, site: Site, caller: RoutineId, inner: Option<RoutineId>) -> usize {
        match self.of_site.get(&site).map(Vec::as_slice) {
            // What is seen instead of the callee is what it went on to by a jump.
            Some([only]) if self.rows[*only].calls.is_some() => *only,
            _ => self.row(site, caller, inner),
        }
    }

    fn row(&mut self, site: Site, caller: RoutineId, callee: Option<RoutineId>) -> usize {
        *self.known.entry((site, callee)).or_insert_with(|| {
            let row = self.rows.len();
            self.rows.push(CallSite { site, caller, callee, calls: None, instructions: 0, untold: None });
            self.of_site.entry(site).or_default().push(row);
            row
        })
    }
}
