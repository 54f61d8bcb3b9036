//! Loops that go round few times for each entry, so that getting in and out is a large part of each round.

use super::{Finding, Trips, share};
use crate::analysis::Analysis;
use crate::cost::Cost;
use crate::loops::LoopId;

/// Rounds for each entry, on average, above which a loop is no short one.
const MOST_ROUNDS: f64 = 4.0;

/// Fewer rounds for each entry are no loop to its reader but code that is hardly ever done again, as the attempts of a
/// compare-and-exchange are: getting in and out of it is nothing that more rounds at a time would save.
const FEWEST_ROUNDS: f64 = 1.2;

/// A round that takes fewer cycles costs nothing worth mentioning.
const DEAR_ROUND: f64 = 8.0;

/// In a round that takes more cycles, getting in and out is a small part.
const LONG_ROUND: f64 = 100.0;

/// Hints on loops.
pub fn loops(analysis: &Analysis) -> Vec<Finding> {
    let of = |(index, cost): (usize, Cost)| {
        let one = &analysis.forest.loops[index];
        let rounds = one.iterations as f64 / one.invocations.max(1) as f64;
        let share = share(analysis, &cost).filter(|_| (FEWEST_ROUNDS..=MOST_ROUNDS).contains(&rounds))?;
        let cycles_each = analysis.ruler.each(analysis.ruler.cycles(&cost), one.iterations)?;
        let is_short = cycles_each.low >= DEAR_ROUND && cycles_each.high <= LONG_ROUND;
        is_short.then_some(Finding::ShortTrips(Trips {
            of: LoopId(index as u32),
            invocations: one.invocations,
            iterations: one.iterations,
            cycles_each,
            share,
        }))
    };
    analysis.by_loop_self().into_iter().enumerate().filter_map(of).collect()
}
