//! Costs with callees: of functions, of loops, and of calls.
//!
//! Of every thing that stands several times on a stack only the most recent instance counts, and a caller is
//! charged at the call that its most recent instance is in (OptiWISE, section IV-D). So recursion counts once, and
//! what a function costs by itself and what its call sites cost add up to its total. Instructions are counted so
//! in the run; time is summed up here from the stacks of samples.

use crate::analysis::Analysis;
use crate::call_sites::{CallSite, CallSites, Site};
use crate::cost::{Cost, Estimate, Ruler};
use crate::doubt;
use crate::inclusive::Inclusive;
use crate::loops::LoopId;
use crate::routine::RoutineId;
use crate::walk::Thing;
use timewise_profile::BlockId;

/// With less than this share of the time under known callers nothing is said of what calls.
const ENOUGH_ROOTED: f64 = 0.5;

/// What something cost with all that it called.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Total {
    /// Time as far as stacks show it, and instructions.
    pub cost: Cost,
    /// Cycles of samples whose stacks end too early, so that they may belong to it as well.
    pub open_cycles: f64,
    /// Whether time is known, at least from below: most stacks are whole, or nothing was called.
    pub has_time: bool,
    /// Whether instructions are known: what calls cost was counted, or nothing was called.
    pub has_instructions: bool,
}

impl Total {
    /// Its cycles, with what stacks leave open above.
    pub fn cycles(&self, ruler: &Ruler) -> Estimate {
        self.opened(ruler.cycles(&self.cost), ruler.clock_high)
    }

    /// Its nanoseconds, likewise.
    pub fn time_ns(&self, ruler: &Ruler) -> Estimate {
        self.opened(ruler.time_ns(&self.cost), ruler.cycle_ns)
    }

    fn opened(&self, estimate: Estimate, unit: f64) -> Estimate {
        Estimate { high: estimate.high + self.open_cycles * unit, ..estimate }
    }
}

/// The totals of a profile.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Of each routine.
    pub routines: Vec<Total>,
    /// Of each loop, inner loops included.
    pub loops: Vec<Total>,
    /// Where calls are and what they led to.
    pub call_sites: Vec<CallSite>,
    /// Of each of them: what was called there.
    pub calls: Vec<Total>,
    /// Share of the user time whose callers are known up to the beginning of their thread, 0 to 1; `None` without
    /// samples.
    pub rooted_share: Option<f64>,
}

impl Totals {
    pub(crate) fn new(analysis: &Analysis) -> Totals {
        let mut sites = CallSites::new(analysis);
        let inclusive = Inclusive::new(analysis, &mut sites);
        let sites = sites.rows;
        let user = analysis.samples.user.cycles;
        let rooted_share = (user > 0.0).then(|| (1.0 - inclusive.unrooted_cycles / user).clamp(0.0, 1.0));
        let is_rooted = rooted_share.is_some_and(|share| share >= ENOUGH_ROOTED);
        let total = |thing: Thing, instructions: u64, calls: bool| {
            let sums = inclusive.get(thing);
            Total {
                cost: Cost { weight: sums.weight, split_variance: sums.split_variance, instructions },
                open_cycles: if calls {
                    (inclusive.unrooted_cycles - sums.unrooted_cycles).max(0.0)
                } else {
                    0.0
                },
                has_time: is_rooted || !calls,
                has_instructions: analysis.code.has_call_costs || !calls,
            }
        };

        let mut of_routines: Vec<u64> = analysis.by_routine().iter().map(|cost| cost.instructions).collect();
        let mut of_loops: Vec<u64> = analysis.by_loop_total().iter().map(|cost| cost.instructions).collect();
        for cost in &analysis.code.call_costs {
            of_routines[analysis.owner[cost.site.index()].index()] += cost.instructions;
            analysis.forest.around(cost.site).for_each(|one| of_loops[one.index()] += cost.instructions);
        }
        let routines = (0..analysis.routines.len()).map(|at| {
            let blocks = &analysis.routines[at].blocks;
            // Of code that was not counted nobody knows what it calls.
            let calls = blocks.is_empty() || blocks.iter().any(|&block| makes_calls(analysis, block));
            total(Thing::Routine(RoutineId(at as u32)), of_routines[at], calls)
        });
        let loops_that_call = analysis.loops_that_call();
        let loops = (0..analysis.forest.loops.len())
            .map(|at| total(Thing::Loop(LoopId(at as u32)), of_loops[at], loops_that_call[at]));
        let calls = sites.iter().enumerate().map(|(row, site)| Total {
            has_instructions: analysis.code.has_call_costs && site.calls.is_some() && site.untold.is_none(),
            ..total(Thing::Call(row), site.instructions, true)
        });
        let (mut routines, mut loops): (Vec<Total>, Vec<Total>) = (routines.collect(), loops.collect());
        let mut calls: Vec<Total> = calls.collect();
        // What such a call led to is of its caller, or of a loop around it, only where the code is.
        for (site, to) in sites.iter().filter_map(|site| Some((site, site.untold?))) {
            if site.callee != Some(site.caller) {
                routines[site.caller.index()].has_instructions = false;
            }
            if let Site::Counted(block) = site.site {
                let without = |one: &LoopId| !analysis.forest.around(to).any(|other| other == *one);
                let around = analysis.forest.around(block).filter(without);
                around.for_each(|one| loops[one.index()].has_instructions = false);
            }
        }
        let mut is_doubtful = vec![false; routines.len()];
        doubt::doubtful(analysis).into_iter().for_each(|routine| is_doubtful[routine.index()] = true);
        for (site, total) in sites.iter().zip(&mut calls).filter(|(site, _)| is_doubtful[site.caller.index()])
        {
            total.has_instructions = false;
            routines[site.caller.index()].has_instructions = false;
        }
        for ((one, total), calls) in analysis.forest.loops.iter().zip(&mut loops).zip(loops_that_call) {
            total.has_instructions &= !(calls && is_doubtful[one.routine.index()]);
        }
        Totals { routines, loops, call_sites: sites, calls, rooted_share }
    }

    /// The total of a routine.
    pub fn of_routine(&self, routine: RoutineId) -> &Total {
        &self.routines[routine.index()]
    }

    /// The total of a loop.
    pub fn of_loop(&self, one: LoopId) -> &Total {
        &self.loops[one.index()]
    }
}

fn makes_calls(analysis: &Analysis, block: BlockId) -> bool {
    analysis.code.blocks[block.index()].executions > 0 && analysis.code.ends_in_call(block)
}
