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
const ENOUGH: f64 = 3.0;

/// Stretches of at most so many instructions take hardly any time beside that of being stopped.
const SHORT: u32 = 256;

/// A stretch that took so many times as long as usual was interrupted.
const INTERRUPTED: f64 = 8.0;

/// What was timed of traces of one kind.
#[derive(Debug, Default)]
pub struct Timings {
    timings: Vec<Timing>,
}

impl Timings {
    /// Adds what was timed of a trace, if anything was.
    pub fn add(&mut self, timing: Timing) {
        if timing.stretches > 0 {
            self.timings.push(timing);
        }
    }

    /// Ticks that each stretch takes besides the program's own: those of letting it go and stopping it.
    pub fn overhead<'a>(all: impl Iterator<Item = &'a Timings>) -> f64 {
        let mut each: Vec<(u32, f64)> = all
            .flat_map(|timings| &timings.timings)
            .map(|timing| {
                (timing.timed / timing.stretches, timing.ticks as f64 / f64::from(timing.stretches))
            })
            .collect();
        each.sort_by(|one, other| one.1.total_cmp(&other.1));
        let short: Vec<f64> =
            each.iter().filter(|(timed, _)| *timed <= SHORT).map(|&(_, ticks)| ticks).collect();
        match short.get(short.len() / 2) {
            Some(&middle) if short.len() >= 10 => middle,
            // The fastest of all were hardly slower than nothing.
            _ => each
                .get(each.len() / 100)
                .map_or(0.0, |&(timed, ticks)| (ticks - f64::from(timed) / 4.0).max(0.0)),
        }
    }

    /// Ticks and instructions, without what was interrupted.
    pub fn sums(&self, overhead: f64) -> (f64, f64) {
        let own = |timing: &Timing| {
            let least = f64::from(timing.timed) / 8.0;
            (timing.ticks as f64 - overhead * f64::from(timing.stretches)).max(least)
        };
        let mut rates: Vec<f64> =
            self.timings.iter().map(|timing| own(timing) / f64::from(timing.timed)).collect();
        rates.sort_by(f64::total_cmp);
        let most = rates.get(rates.len() / 2).map_or(0.0, |middle| INTERRUPTED * middle);
        let kept = self.timings.iter().filter(|timing| own(timing) <= most * f64::from(timing.timed));
        kept.fold((0.0, 0.0), |(ticks, timed), timing| (ticks + own(timing), timed + f64::from(timing.timed)))
    }

    /// Ticks of an instruction in traces of this kind; `usual` is what one takes in all of them.
    pub fn ticks_of_instruction(&self, overhead: f64, usual: (f64, f64)) -> f64 {
        let (ticks, timed) = self.sums(overhead);
        let missing = (ENOUGH - self.timings.len() as f64).max(0.0) / ENOUGH;
        let average = usual.0 / usual.1.max(1.0);
        // What is missing is filled up to as many instructions as there are otherwise.
        let own = if timed > 0.0 { ticks / timed } else { average };
        own.powf(1.0 - missing) * average.powf(missing)
    }
}
