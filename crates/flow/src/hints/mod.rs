//! What a reader should look at first, as far as the figures tell: pure conclusions, each with its evidence.
//!
//! A hint says what was measured and nothing about its cause: that a load is slow, not that it misses a cache;
//! that what follows a branch waits, not that the branch was mispredicted. Each threshold is met by the lower
//! limit of a 95 % interval, never by the value alone, and there are no hints where the runs did different work.
//!
//! The processors meant are x86-64 cores of the last ten years: they predict branches, read their first cache
//! in 4 or 5 cycles and their second in 12 to 17, and retire a simple instruction in a cycle at most.

mod branch;
mod costly;
mod fused;
mod slow;
mod surprises;
mod trips;
mod ways;

pub use slow::slow;
pub use ways::Ways;

use crate::analysis::Analysis;
use crate::code::InstructionId;
use crate::cost::{Cost, Estimate};
use crate::loops::LoopId;
use fused::{fused_load, waits_for_load};

/// A hint needs at least this share of the program's time.
pub const LEAST_SHARE: f64 = 0.01;

/// What a hint is about, with what was measured of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Finding {
    /// A division or square root on which the program waits.
    Division(Costly),
    /// A load that takes longer than the second cache of any processor meant; if it is fused with a branch, together with
    /// that.
    SlowLoad(Costly),
    /// A conditional branch that goes both ways; its cost is taken together with that of what stands first
    /// behind it.
    CostlyBranch(Costly, Ways),
    /// A loop that takes time although it goes round few times for each entry.
    ShortTrips(Trips),
}

/// An instruction that costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costly {
    /// The instruction.
    pub instruction: InstructionId,
    /// Cycles of one execution.
    pub cycles_each: Estimate,
    /// How often it was executed.
    pub executions: u64,
    /// Share of the time in user mode, 0 to 1.
    pub share: Estimate,
}

/// A loop of few rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trips {
    /// The loop.
    pub of: LoopId,
    /// How often it was entered.
    pub invocations: u64,
    /// Rounds of all entries.
    pub iterations: u64,
    /// Cycles of one round, without inner loops and callees.
    pub cycles_each: Estimate,
    /// Share of the time in user mode, without inner loops and callees, 0 to 1.
    pub share: Estimate,
}

impl Finding {
    /// Share of the time that it is about.
    pub fn share(&self) -> Estimate {
        match self {
            Finding::Division(costly) | Finding::SlowLoad(costly) | Finding::CostlyBranch(costly, _) => {
                costly.share
            }
            Finding::ShortTrips(trips) => trips.share,
        }
    }

    /// The instruction that it is about: of a loop, the first of its header.
    pub fn instruction(&self, analysis: &Analysis) -> InstructionId {
        match self {
            Finding::Division(costly) | Finding::SlowLoad(costly) | Finding::CostlyBranch(costly, _) => {
                costly.instruction
            }
            Finding::ShortTrips(trips) => {
                let header = analysis.forest.loops[trips.of.index()].header;
                analysis.code.blocks[header.index()].first
            }
        }
    }
}

/// All hints, those about the most time first.
pub fn hints(analysis: &Analysis) -> Vec<Finding> {
    let quality = &analysis.quality;
    let is_measured = quality.counting_runs > 0 && analysis.samples.user.cycles > 0.0;
    if !is_measured || !quality.costs_hold() {
        return Vec::new();
    }
    let costs = analysis.by_instruction();
    let mut found = costly::costly(analysis, &costs);
    found.extend(branch::branches(analysis, &costs));
    found.extend(trips::loops(analysis));
    found.sort_by(|a, b| b.share().value.total_cmp(&a.share().value));
    found
}

/// What an instruction costs, if it is enough of the program's time for a hint.
fn costly_enough(analysis: &Analysis, instruction: InstructionId, cost: &Cost) -> Option<Costly> {
    let share = share(analysis, cost)?;
    let executions = analysis.code.executions(instruction);
    let cycles_each = analysis.ruler.each(analysis.ruler.cycles(cost), executions)?;
    Some(Costly { instruction, cycles_each, executions, share })
}

/// The share of the time, if it is enough for a hint.
fn share(analysis: &Analysis, cost: &Cost) -> Option<Estimate> {
    let (ruler, whole) = (&analysis.ruler, analysis.whole().weight);
    // Of the time where samples measure it: then the clock's drift does not count.
    let (estimate, whole) = match ruler.cycle_ns > 0.0 {
        true => (ruler.time_ns(cost), whole.ns),
        false => (ruler.cycles(cost), whole.cycles),
    };
    let share = |value: f64| (value / whole).min(1.0);
    let share =
        Estimate { value: share(estimate.value), low: share(estimate.low), high: share(estimate.high) };
    (share.low >= LEAST_SHARE).then_some(share)
}
