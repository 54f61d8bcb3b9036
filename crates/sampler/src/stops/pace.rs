//! How often to stop the program: as often as was asked for, and no more often than stops are cheap.

use super::Stops;
use crate::options::Options;
use crate::period;
use std::time::Duration;

/// No stop of a thread that has a processor takes longer.
const LONGEST_STOP: Duration = Duration::from_micros(250);
/// Nor shorter.
const SHORTEST_STOP: Duration = Duration::from_micros(2);
/// However costly, fewer samples than this say too little.
const LOWEST_HZ: u32 = 100;
/// The estimate of what a stop costs is what this part of the stops took at most: others found their thread
/// without a processor, and cost it nothing by waiting for one.
const QUICK_PART: f64 = 0.25;
/// By how much the estimate follows a single stop.
const STEP: f64 = 0.1;

/// How often `options` have a program stopped where that costs so much each time.
pub fn affordable_hz(options: &Options, cost: Duration) -> u32 {
    (1.0 / Pace::new(options, cost).period().as_secs_f64()).round() as u32
}

/// Keeps the intervals, and the books on them.
#[derive(Debug)]
pub struct Pace {
    /// Between two looks, if stops cost nothing.
    shortest: Duration,
    longest: Duration,
    cost_limit: Option<f64>,
    /// Of one stop, as far as is known.
    cost: Duration,
    stops: u64,
    looks: u64,
    late: Duration,
    weights: Weights,
}

/// Sums of the samples' weights and of their squares, milliseconds.
#[derive(Debug, Default)]
struct Weights {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Pace {
    /// As `options` ask for, where a stop costs so much at first.
    pub fn new(options: &Options, cost: Duration) -> Pace {
        let every = |frequency_hz| Duration::from_nanos(period::of_clock_ns(frequency_hz));
        Pace {
            shortest: every(options.frequency_hz),
            longest: every(LOWEST_HZ.min(options.frequency_hz)),
            cost_limit: options.cost_limit,
            cost: cost.clamp(SHORTEST_STOP, LONGEST_STOP),
            stops: 0,
            looks: 0,
            late: Duration::ZERO,
            weights: Weights::default(),
        }
    }

    /// From one look at the program to the next.
    pub fn period(&self) -> Duration {
        let affordable = self.cost_limit.map_or(Duration::ZERO, |share| self.cost.div_f64(share));
        affordable.clamp(self.shortest, self.longest)
    }

    /// Notes a look that came this late.
    pub fn ticked(&mut self, late: Duration) {
        self.looks += 1;
        self.late += late;
    }

    /// Notes that a thread was asked to stop and let go of after `took`.
    pub fn stopped(&mut self, took: Duration) {
        let took = took.min(LONGEST_STOP);
        self.stops += 1;
        // Up by a quarter of a step or down by three, so that it rests where a quarter lies below.
        let change = if took < self.cost { QUICK_PART - 1.0 } else { QUICK_PART };
        self.cost = self.cost.mul_f64(1.0 + STEP * change).clamp(SHORTEST_STOP, LONGEST_STOP);
    }

    /// Notes the weight of a sample.
    pub fn weighed(&mut self, weight_ns: u64) {
        let weight_ms = weight_ns as f64 / 1e6;
        self.weights.count += 1.0;
        self.weights.sum += weight_ms;
        self.weights.squares += weight_ms * weight_ms;
    }

    /// What it came to over `elapsed`, in which threads could not be stopped so many times.
    pub fn summary(&self, elapsed: Duration, untraceable: u64) -> Stops {
        let looks = self.looks.max(1);
        // However early a program ends, there are no more looks than that.
        let elapsed_each = (elapsed.as_secs_f64() / looks as f64).max(self.shortest.as_secs_f64());
        let frequency_hz = elapsed_each.recip().round() as u32;
        let Weights { count, sum, squares } = self.weights;
        let mean = sum / count.max(1.0);
        let deviation = (squares / count.max(1.0) - mean * mean).max(0.0).sqrt();
        let mut precision = format!(
            "{} stops, of which the quick ones took {:.0} µs; a sample weighs its thread's CPU time since the one before, {mean:.2} \
             ±{deviation:.2} ms; looks were {:.0} µs late on average",
            self.stops,
            self.cost.as_secs_f64() * 1e6,
            self.late.as_secs_f64() / looks as f64 * 1e6,
        );
        if untraceable > 0 {
            precision +=
                &format!("; {untraceable} times a thread was not to be stopped, and its time is missing");
        }
        Stops { frequency_hz, precision }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_stops_are_made_less_often() {
        let options = Options { frequency_hz: 4000, cost_limit: Some(0.01), ..Options::default() };
        let period_ms = |stop_us| {
            let mut pace = Pace::new(&options, Duration::ZERO);
            (0..1000).for_each(|_| pace.stopped(Duration::from_micros(stop_us)));
            pace.period().as_secs_f64() * 1e3
        };
        for (stop_us, expected_ms) in [(0, 0.25), (10, 1.0), (30, 3.0), (100_000, 10.0)] {
            let found = period_ms(stop_us);
            assert!((found / expected_ms - 1.0).abs() < 0.1, "{stop_us} µs: {found} ms");
        }
        let unlimited = Pace::new(&Options { cost_limit: None, ..options }, LONGEST_STOP);
        assert!(unlimited.period() < Duration::from_micros(251));
    }

    #[test]
    fn the_summary_tells_how_even_the_samples_are() {
        let mut pace = Pace::new(&Options::default(), Duration::ZERO);
        for weight_ns in [1_000_000, 3_000_000] {
            pace.ticked(Duration::from_micros(7));
            pace.stopped(Duration::from_micros(20));
            pace.weighed(weight_ns);
        }
        let summary = pace.summary(Duration::from_millis(4), 3);
        assert_eq!(summary.frequency_hz, 500);
        for part in ["2 stops", "2.00 ±1.00 ms", "7 µs late", "3 times a thread"] {
            assert!(summary.precision.contains(part), "{part}: {}", summary.precision);
        }
    }
}
