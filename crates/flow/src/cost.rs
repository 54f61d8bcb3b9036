//! Cost of a set of instructions, with the limits of what is known about it.

use crate::interval::{NORMAL_RANGE, weighted_poisson};
use crate::samples::{Samples, Weight};
use timewise_profile::Clock;

/// Fewer samples than this make a figure that is marked as uncertain: the 95 % interval then spans
/// more than a factor of three.
pub const ENOUGH_SAMPLES: f64 = 10.0;

/// What a set of instructions cost in one run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Samples and time.
    pub weight: Weight,
    /// Variance, in cycles squared, from not knowing how the samples at a block's head divide among
    /// the instructions before it.
    pub split_variance: f64,
    /// Instructions executed.
    pub instructions: u64,
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Estimate {
    /// The best estimate.
    pub value: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

impl Estimate {
    /// What is known exactly to be one.
    pub const ONE: Estimate = Estimate::exactly(1.0);

    /// What is known exactly.
    pub const fn exactly(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    /// So many times as much.
    pub fn times(self, factor: f64) -> Estimate {
        Estimate { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }
}

/// Turns costs into estimates: knows what one sample stands for and how well the clock is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ruler {
    /// Cycles of one sample.
    pub sample_cycles: f64,
    /// Nanoseconds of one cycle.
    pub cycle_ns: f64,
    /// How far below the estimate the true cycles may lie because the clock drifted, as a factor.
    pub clock_low: f64,
    /// Likewise above.
    pub clock_high: f64,
    /// How often the sampled run executed what the counting run executed once.
    pub work: Estimate,
}

impl Ruler {
    /// A ruler for these samples, taken by `clock`. Hardware cycles are exact; cycles that were
    /// estimated from time are as uncertain as the core's frequency.
    pub fn new(samples: &Samples, clock: Option<&Clock>) -> Ruler {
        let drift = clock.filter(|clock| !clock.counts_cycles);
        let factor = |hz: fn(&Clock) -> f64| drift.map_or(1.0, |clock| hz(clock) / clock.core_hz);
        let Weight { ns, cycles, .. } = samples.user;
        Ruler {
            sample_cycles: samples.typical_cycles(),
            cycle_ns: if cycles > 0.0 { ns / cycles } else { 0.0 },
            clock_low: factor(|clock| clock.core_hz_low).min(1.0),
            clock_high: factor(|clock| clock.core_hz_high).max(1.0),
            work: Estimate::ONE,
        }
    }

    /// Cycles or time of one of so many executions as were counted; `None` if there were none.
    pub fn each(&self, estimate: Estimate, executions: u64) -> Option<Estimate> {
        let Estimate { value, low, high } = self.work;
        let each = |amount: f64, work: f64| amount / (executions as f64 * work);
        (executions > 0).then(|| Estimate {
            value: each(estimate.value, value),
            low: each(estimate.low, high),
            high: each(estimate.high, low),
        })
    }

    /// Limits of the cycles of `cost`, with what samples and division at block heads leave open; the clock may
    /// widen them.
    pub fn sampled_limits(&self, cost: &Cost) -> (f64, f64) {
        let Estimate { low, high, .. } = self.sampled(cost);
        (low, high)
    }

    /// Cycles of `cost`, with what samples, division at block heads, and the clock leave open.
    pub fn cycles(&self, cost: &Cost) -> Estimate {
        let Estimate { value, low, high } = self.sampled(cost);
        Estimate { value, low: low * self.clock_low, high: high * self.clock_high }
    }

    /// Nanoseconds of `cost`, with what samples and division at block heads leave open.
    pub fn time_ns(&self, cost: &Cost) -> Estimate {
        let Estimate { low, high, .. } = self.sampled(cost);
        Estimate { value: cost.weight.ns, low: low * self.cycle_ns, high: high * self.cycle_ns }
    }

    fn sampled(&self, cost: &Cost) -> Estimate {
        let value = cost.weight.cycles;
        let (low, high) = weighted_poisson(value, cost.weight.cycles_squared, self.sample_cycles);
        let split = NORMAL_RANGE * NORMAL_RANGE * cost.split_variance;
        let low = value - ((value - low).powi(2) + split).sqrt();
        let high = value + ((high - value).powi(2) + split).sqrt();
        Estimate { value, low: low.max(0.0), high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(samples: f64, each: f64) -> Cost {
        let cycles = samples * each;
        let weight = Weight { samples, ns: cycles, cycles, cycles_squared: samples * each * each };
        Cost { weight, split_variance: 0.0, instructions: 0 }
    }

    fn ruler(sample_cycles: f64, clock: Option<&Clock>) -> Ruler {
        let user = Weight {
            samples: 1.0,
            ns: sample_cycles / 2.0,
            cycles: sample_cycles,
            cycles_squared: sample_cycles * sample_cycles,
        };
        Ruler::new(&Samples { user, ..Samples::default() }, clock)
    }

    #[test]
    fn clock_widens_what_was_estimated_and_leaves_what_was_counted() {
        let clock = |counts_cycles| Clock {
            event: "cpu-clock:u".into(),
            counts_cycles,
            precise_level: 0,
            frequency_hz: 4000,
            scope: None,
            core_hz: 3e9,
            core_hz_low: 2.7e9,
            core_hz_high: 3.3e9,
        };
        let counted = ruler(1000.0, Some(&clock(true))).cycles(&cost(100.0, 1000.0));
        assert!(
            (counted.low - 81_364.0).abs() < 30.0 && (counted.high - 121_627.0).abs() < 30.0,
            "{counted:?}"
        );
        let estimated = ruler(1000.0, Some(&clock(false))).cycles(&cost(100.0, 1000.0));
        assert!((estimated.low - counted.low * 0.9).abs() < 1.0);
        assert!((estimated.high - counted.high * 1.1).abs() < 1.0);
        assert_eq!(estimated.value, 100_000.0);
        let time = ruler(1000.0, Some(&clock(false))).time_ns(&cost(100.0, 1000.0));
        assert!((time.low - counted.low / 2.0).abs() < 1.0, "time needs no core frequency: {time:?}");
    }

    #[test]
    fn nothing_sampled_is_not_nothing_spent() {
        let got = ruler(1000.0, None).cycles(&cost(0.0, 0.0));
        assert_eq!((got.value, got.low), (0.0, 0.0));
        assert!((got.high - 3689.0).abs() < 1.0);
        assert_eq!(ruler(1000.0, None).each(got, 0), None);
    }

    #[test]
    fn what_is_not_known_of_the_work_widens_the_cost_of_each() {
        let work = Estimate { value: 2.0, low: 1.0, high: 4.0 };
        let ruler = Ruler { work, ..ruler(1000.0, None) };
        let each = ruler.each(Estimate { value: 80.0, low: 40.0, high: 120.0 }, 10);
        assert_eq!(each, Some(Estimate { value: 4.0, low: 1.0, high: 12.0 }));
    }

    #[test]
    fn division_at_a_head_widens_both_ways() {
        let plain = ruler(1.0, None).cycles(&cost(10_000.0, 1.0));
        let split = Cost { split_variance: 1e6, ..cost(10_000.0, 1.0) };
        let wide = ruler(1.0, None).cycles(&split);
        assert!(
            (wide.high - 10_000.0 - (1960f64.powi(2) + (plain.high - 10_000.0).powi(2)).sqrt()).abs() < 1.0
        );
        assert!(wide.low < 8_100.0 && wide.low > 7_900.0);
    }
}
