//! Timing the program natively in a trace: how fast it goes there.
//!
//! The thread is let go from one visit to a place on the trace to a later one, which is told by how often it comes by:
//! the kernel counts hits of the breakpoint. What a hit takes is known, and what it takes to be stopped is measured at
//! the instruction behind; both are taken off. The stretch begins when a fifth of the trace is over, because evaluation
//! leaves little of the program in the caches.

use crate::visits::Stretch;
use timewise_abi::tracing::{Plan, Stage, TraceHeader, TraceSlot};

/// A stop that a thread is let go to: where, and at which visit from now on.
pub struct Stop {
    /// The address.
    pub address: u64,
    /// The number of the visit, counted from 1.
    pub visit: u32,
}

/// Plans to time a stretch: where the thread is stopped first.
pub fn plan(stretch: &Stretch) -> (Stop, Plan) {
    let plan = Plan {
        stage: Stage::Start,
        to: stretch.address,
        further: stretch.further.into(),
        behind: stretch.behind,
        instructions: stretch.instructions.into(),
        ..Plan::default()
    };
    (Stop { address: stretch.address, visit: stretch.first }, plan)
}

/// The thread has reached the breakpoint that it was on its way to: where it is stopped next, if it is.
pub fn reached(header: &TraceHeader, slot: &mut TraceSlot) -> Option<Stop> {
    let plan = &mut slot.plan;
    // What another signal came into is of no use.
    let elapsed = (plan.left > 0).then(|| plan.entered.wrapping_sub(plan.left));
    match plan.stage {
        Stage::Start => {
            plan.stage = Stage::End;
            Some(Stop { address: plan.to, visit: plan.further as u32 })
        }
        Stage::End => {
            plan.stage = Stage::Behind;
            plan.ticks = elapsed?.saturating_sub((plan.further - 1) * u64::from(header.hit_ticks));
            Some(Stop { address: plan.behind, visit: 1 })
        }
        Stage::Behind => {
            plan.stage = Stage::Untimed;
            slot.timing.ticks = plan.ticks.saturating_sub(elapsed?);
            slot.timing.timed = plan.instructions;
            None
        }
        Stage::Untimed => None,
    }
}
