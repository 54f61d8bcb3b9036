//! How fast the program goes where, from what was timed of it: the correction for starting points that are chosen
//! by time.
//!
//! A moment of time falls into slow code more often than into fast code, so a trace that would take the program
//! natively a time T is T times as likely to be among those taken as one that takes a unit of it. Each is weighted by
//! 1/T therefore. Only some traces are timed, so T is the number of a trace's instructions times what an
//! instruction takes on average in traces of the same kind; those are of one kind whose most frequent branch leads to
//! the same place.

use timewise_abi::tracing::Timing;

/// Timings that a kind of trace must have to be believed alone; with fewer, the rest is taken from all traces.
const ENOUGH: f64 = 4.0;

/// What was timed of traces of one kind.
#[derive(Debug, Default)]
pub struct Timings {
    /// Ticks of an instruction, in each of them.
    rates: Vec<f64>,
}

impl Timings {
    /// Adds what was timed of a trace, if anything was.
    pub fn add(&mut self, timing: Timing) {
        /// An instruction takes hardly less on any processor.
        const LEAST: f64 = 0.1;
        if timing.timed > 0 {
            self.rates.push((timing.ticks as f64 / timing.timed as f64).max(LEAST));
        }
    }

    /// Ticks of an instruction on average in the middle half, because the rest may have been interrupted, where it ran
    /// or where it was stopped; `None` if nothing was timed.
    pub fn average<'a>(all: impl IntoIterator<Item = &'a Timings>) -> Option<f64> {
        let mut rates: Vec<f64> = all.into_iter().flat_map(|timings| &timings.rates).copied().collect();
        rates.sort_by(f64::total_cmp);
        let left_out = rates.len() / 4;
        let middle = &rates[left_out..rates.len() - left_out];
        (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
    }

    /// Ticks of an instruction in traces of this kind, if `usual` is what one takes in all traces.
    pub fn ticks_of_instruction(&self, usual: f64) -> f64 {
        let Some(own) = Timings::average([self]) else { return usual };
        let belief = (self.rates.len() as f64 / ENOUGH).min(1.0);
        own.powf(belief) * usual.powf(1.0 - belief)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings(rates: &[u64]) -> Timings {
        let mut timings = Timings::default();
        for &ticks in rates {
            timings.add(Timing { ticks, timed: 1000, instructions: 10 });
        }
        timings.add(Timing { ticks: 77, timed: 0, instructions: 10 });
        timings
    }

    #[test]
    fn what_was_interrupted_does_not_count() {
        let found = timings(&[900_000, 2000, 0, 1000]).ticks_of_instruction(5.0);
        assert!((found - 1.5).abs() < 1e-9, "{found}");
    }

    #[test]
    fn the_fewer_timings_the_more_is_taken_from_all() {
        let found = timings(&[1000]).ticks_of_instruction(16.0);
        assert!((found - 8.0).abs() < 1e-9, "{found}");
        assert_eq!(timings(&[]).ticks_of_instruction(16.0), 16.0);
        assert_eq!(Timings::average(&[timings(&[])]), None);
    }
}
