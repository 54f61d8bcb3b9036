//! Timing the program natively behind a trace: how fast it goes there.
//!
//! Evaluation leaves little of the program in the caches, so the thread first goes on natively for a while, is then
//! let go from one breakpoint to another, and then to the next instruction: how long that takes is what it takes to
//! be stopped, and is taken off.

use crate::ahead::{Step, Steps, first_time};
use timewise_abi::tracing::{Plan, Stage, TraceSlot};
use timewise_isa::State;

/// Instructions before the stretch that is timed.
const WARM: u32 = 8192;

/// Instructions of the stretch, at least: that it takes longer than being stopped.
const TIMED: u32 = 32_768;

/// Plans to time a thread that will be at `address` in `state`: where it has to be stopped first. Afterwards `state` is
/// what it will be at the end of the stretch. `None`, with `state` of no further use, if there are no such places.
pub fn plan(address: u64, state: &mut State, steps: &mut impl Steps) -> Option<(u64, Plan)> {
    let start = first_time(address, state, steps, steps.instructions() + WARM)?;
    let before = steps.instructions();
    let to = first_time(start, state, steps, before + TIMED)?;
    let instructions = u64::from(steps.instructions() - before);
    let mut further = *state;
    let Step::Went { way, .. } = steps.step(to, &mut further) else { return None };
    let is_of_use = start != to && way.address != to;
    let plan = Plan { stage: Stage::Start, to, behind: way.address, instructions, ..Plan::default() };
    is_of_use.then_some((start, plan))
}

/// The thread has reached the breakpoint that it was on its way to: where it is stopped next, if it is.
pub fn reached(slot: &mut TraceSlot) -> Option<u64> {
    let plan = &mut slot.plan;
    // What another signal came into is of no use.
    let elapsed = (plan.left > 0).then(|| plan.entered.wrapping_sub(plan.left));
    match plan.stage {
        Stage::Start => {
            plan.stage = Stage::End;
            Some(plan.to)
        }
        Stage::End => {
            plan.stage = Stage::Behind;
            plan.ticks = elapsed?;
            Some(plan.behind)
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
