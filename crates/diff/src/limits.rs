//! Limits of sums and differences of measured amounts.
//!
//! Each amount has the limits of a weighted Poisson sum (`timewise_flow::interval`), which are not symmetric. A
//! sum or difference takes from each of its terms the distance to the limit that matters, and adds their
//! squares (the method of variance estimates recovery; Zou and Donner, Statistics in Medicine 27, 2008).
//! What runs differ by themselves is a further independent distance; it multiplies an amount, so that no time
//! becomes negative by it, and all of a side that is added, or subtracted, at once, since it is of the same runs. What is
//! added and what is subtracted of one side are of different code, which need not be slow at once: they are taken for
//! independent, which is never too narrow.

use crate::sums::Sum;
use statrs::distribution::{ContinuousCDF, StudentsT};
use timewise_flow::Estimate;
use timewise_flow::interval::{CONFIDENCE, weighted_poisson_beyond};

/// How surely the true value lies within limits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Level {
    /// Probability that it lies beyond one limit.
    tail: f64,
}

impl Level {
    /// The level of all intervals that are shown.
    pub const SHOWN: Level = Level { tail: (1.0 - CONFIDENCE) / 2.0 };

    /// The level at which of `tests` intervals together none misses its true value, but with this probability
    /// (Bonferroni's correction).
    pub fn of_all(error: f64, tests: usize) -> Level {
        Level { tail: error / 2.0 / tests.max(1) as f64 }
    }

    fn confidence(self) -> f64 {
        1.0 - 2.0 * self.tail
    }

    /// Standard deviations within which a value lies whose deviation is known from so many degrees of freedom;
    /// infinitely many for one that is known.
    fn deviations(self, freedom: f64) -> f64 {
        const LARGE: f64 = 1e6;
        match StudentsT::new(0.0, 1.0, freedom.clamp(1.0, LARGE)) {
            Ok(distribution) => distribution.inverse_cdf(1.0 - self.tail),
            Err(_) => f64::INFINITY,
        }
    }
}

/// A level, with the standard deviations within which values lie at it. Rows of a comparison have few degrees of
/// freedom in common, and to find the deviations anew for each row would take most of the comparison's time.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantiles {
    level: Level,
    /// Degrees of freedom, and the deviations that belong to them.
    known: Vec<(f64, f64)>,
}

impl Quantiles {
    /// Those of the degrees of freedom from which noise is known.
    pub fn new(level: Level, freedoms: &[f64]) -> Quantiles {
        let mut quantiles = Quantiles { level, known: Vec::new() };
        for freedom in freedoms.iter().copied().chain([f64::INFINITY]) {
            if quantiles.of(freedom).is_none() {
                quantiles.known.push((freedom, level.deviations(freedom)));
            }
        }
        quantiles
    }

    fn of(&self, freedom: f64) -> Option<f64> {
        self.known.iter().find(|known| known.0 == freedom).map(|known| known.1)
    }

    fn deviations(&self, freedom: f64) -> f64 {
        self.of(freedom).unwrap_or_else(|| self.level.deviations(freedom))
    }
}

/// How much runs of the same program differ by themselves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// Variance of one run's time, as a share of the time's square.
    pub variance: f64,
    /// Degrees of freedom from which it is known.
    pub freedom: f64,
}

/// How far a change may be off for a reason of its own, whatever its amounts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Deviation {
    /// Variance, in the square of the amounts' unit.
    pub variance: f64,
    /// Degrees of freedom from which it is known.
    pub freedom: f64,
}

/// An amount that is added or subtracted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Term {
    /// The amount.
    pub sum: Sum,
    /// Whether it is of BASE's runs; else of TEST's.
    pub is_of_base: bool,
    /// Whether it is subtracted.
    pub is_negative: bool,
    /// Runs that it is the average of.
    pub runs: usize,
}

/// What terms make together, and how sure that is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Interval {
    /// The value and its limits.
    pub estimate: Estimate,
    /// Probability with which the limits hold the true value.
    pub confidence: f64,
    /// What of the value was added, not subtracted.
    pub added: f64,
    /// Variance of that from differences between runs, which grow with it.
    pub added_noise: f64,
    /// Variance of that from sampling, which grows with its root.
    pub added_sampling: f64,
    /// As much as what was subtracted may be: its upper limit.
    pub most_subtracted: f64,
    /// Time of lost samples that may be missing from what was subtracted.
    pub missing: f64,
}

impl Interval {
    /// By how much one estimate is above another that is independent of it, both with limits of [`Level::SHOWN`]. What
    /// is less sure of the upper one is as sure whatever its size.
    pub fn between(lower: Estimate, upper: Estimate) -> Interval {
        let value = upper.value - lower.value;
        let below = (upper.value - upper.low).hypot(lower.high - lower.value);
        let above = (upper.high - upper.value).hypot(lower.value - lower.low);
        Interval {
            estimate: Estimate { value, low: value - below, high: value + above },
            confidence: Level::SHOWN.confidence(),
            added: upper.value,
            most_subtracted: lower.high,
            ..Interval::default()
        }
    }

    /// The least value whose lower limit would exceed `limit`. A larger value is one to which more was added, and so
    /// is less certain; all else that widens the interval stays.
    pub fn least_seen(&self, limit: f64) -> f64 {
        let Estimate { value, low, .. } = self.estimate;
        let of_added = |variance: f64| if self.added > 0.0 { variance / self.added } else { 0.0 };
        let noise = of_added(of_added(self.added_noise));
        let sampling = of_added(self.added_sampling);
        let rest = ((value - low - self.missing).powi(2) - self.added_noise - self.added_sampling).max(0.0);
        // What must be added, x, solves (x - clear)² = rest + sampling x + noise x².
        let clear = limit - value + self.added + self.missing;
        let slope = 1.0 - noise;
        if slope <= 0.0 {
            return f64::INFINITY;
        }
        let middle = clear + sampling / 2.0;
        let root = (middle * middle - slope * (clear * clear - rest)).max(0.0).sqrt();
        (middle + root) / slope + value - self.added
    }
}

/// Limits of what `terms` make together, in an average run, which may be off for further reasons, each independent of the
/// others.
pub fn limits(terms: &[Term], spread: Spread, apart: &[Deviation], quantiles: &Quantiles) -> Interval {
    let normal = quantiles.deviations(f64::INFINITY);
    let of_reason = |reason: &Deviation| match reason.variance {
        0.0 => 0.0,
        variance => quantiles.deviations(reason.freedom).powi(2) * variance,
    };
    let apart: f64 = apart.iter().map(of_reason).sum();
    let (mut value, mut below, mut above) = (0.0, apart, apart);
    let (mut added, mut added_noise, mut added_sampling) = (0.0, 0.0, 0.0);
    let (mut subtracted, mut subtracted_up) = (0.0, 0.0);
    // Lost samples are no chance: where they were is not known, but all of them only add.
    let (mut missing, mut missing_of_added) = (0.0, 0.0);
    for Term { sum, is_negative, .. } in terms {
        let (low, high) = match sum.is_sampled() {
            true => weighted_poisson_beyond(sum.amount, sum.squares, sum.unseen, quantiles.level.tail),
            false => (sum.amount, sum.amount),
        };
        let split = normal * normal * sum.split;
        let down = (sum.amount - low).powi(2) + split;
        let up = (high - sum.amount).powi(2) + split;
        if *is_negative {
            subtracted += sum.amount;
            subtracted_up += up;
            missing += sum.missing;
        } else {
            added += sum.amount;
            added_sampling += down;
            missing_of_added += sum.missing;
        }
        let (sign, down, up) = if *is_negative { (-1.0, up, down) } else { (1.0, down, up) };
        value += sign * sum.amount;
        below += down;
        above += up;
    }
    for (is_of_base, is_negative) in [(false, false), (false, true), (true, false), (true, true)] {
        let is_alike = |term: &&Term| (term.is_of_base, term.is_negative) == (is_of_base, is_negative);
        let alike = || terms.iter().filter(is_alike);
        let amount: f64 = alike().map(|term| term.sum.amount).sum();
        let runs = alike().map(|term| term.runs).next().unwrap_or(1).max(1);
        let factor = (quantiles.deviations(spread.freedom) * (spread.variance / runs as f64).sqrt()).exp();
        let (less, more) = ((amount * (1.0 - 1.0 / factor)).powi(2), (amount * (factor - 1.0)).powi(2));
        if is_negative {
            subtracted_up += more;
            (below, above) = (below + more, above + less);
        } else {
            added_noise += less;
            (below, above) = (below + less, above + more);
        }
    }
    Interval {
        estimate: Estimate {
            value,
            low: value - below.sqrt() - missing,
            high: value + above.sqrt() + missing_of_added,
        },
        confidence: quantiles.level.confidence(),
        added,
        added_noise,
        added_sampling,
        most_subtracted: subtracted + subtracted_up.sqrt() + missing,
        missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Spread = Spread { variance: 0.0, freedom: f64::INFINITY };

    fn shown() -> Quantiles {
        Quantiles::new(Level::SHOWN, &[])
    }

    fn term(samples: f64, is_negative: bool) -> Term {
        Term {
            sum: Sum { amount: samples, squares: samples, unseen: 1.0, ..Sum::default() },
            is_negative,
            is_of_base: is_negative,
            runs: 1,
        }
    }

    /// Student's distribution as printed in textbooks.
    #[test]
    fn deviations_are_those_of_the_tables() {
        let level = |tail: f64| Level { tail };
        for (tail, freedom, want) in [
            (0.025, 1.0, 12.706),
            (0.025, 4.0, 2.776),
            (0.005, 10.0, 3.169),
            (0.0005, 5.0, 6.869),
            (0.025, f64::INFINITY, 1.960),
            (0.0005, f64::INFINITY, 3.291),
        ] {
            let got = level(tail).deviations(freedom);
            assert!((got - want).abs() < 0.002, "{tail} {freedom}: {got} is not {want}");
        }
        // The normal distribution far out: 4.8916 deviations for one in a million on both sides.
        assert!((Level::of_all(0.01, 10_000).deviations(f64::INFINITY) - 4.8916).abs() < 0.001);
    }

    #[test]
    fn one_term_has_the_limits_of_its_sum() {
        let got = limits(&[term(10.0, false)], KNOWN, &[], &shown()).estimate;
        assert!((got.low - 4.795).abs() < 0.01 && (got.high - 18.390).abs() < 0.01, "{got:?}");
        let got = limits(&[term(10.0, true)], KNOWN, &[], &shown()).estimate;
        assert!((got.low + 18.390).abs() < 0.01 && (got.high + 4.795).abs() < 0.01, "{got:?}");
    }

    #[test]
    fn lost_samples_only_add() {
        let of = |missing: f64, is_negative| {
            let Term { sum, .. } = term(10.0, is_negative);
            let term = Term { sum: Sum { missing, ..sum }, ..term(10.0, is_negative) };
            limits(&[term], KNOWN, &[], &shown())
        };
        let [all, some] = [0.0, 3.0].map(|missing| of(missing, false).estimate);
        assert_eq!((some.low, some.high), (all.low, all.high + 3.0));
        let [all, some] = [0.0, 3.0].map(|missing| of(missing, true));
        assert_eq!(some.estimate.high, all.estimate.high);
        assert_eq!(some.estimate.low, all.estimate.low - 3.0);
        assert!((some.least_seen(2.0) - all.least_seen(2.0) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_has_no_width() {
        let nothing = Term { sum: Sum::default(), is_negative: true, is_of_base: true, runs: 1 };
        assert_eq!(limits(&[nothing, nothing], KNOWN, &[], &shown()).estimate, Estimate::default());
    }

    #[test]
    fn a_deviation_apart_adds_to_both_sides() {
        let apart = Deviation { variance: 4.0, freedom: 4.0 };
        let got = limits(
            &[Term { sum: Sum::known(1.0), is_negative: false, is_of_base: false, runs: 1 }],
            KNOWN,
            &[apart],
            &shown(),
        )
        .estimate;
        assert!(
            (got.low - (1.0 - 2.0 * 2.776)).abs() < 0.01 && (got.high - (1.0 + 2.0 * 2.776)).abs() < 0.01
        );
    }

    /// What is known of few runs needs Student's distribution, what is known well does not because of that.
    #[test]
    fn reasons_keep_their_own_degrees_of_freedom() {
        let few = Deviation { variance: 4.0, freedom: 4.0 };
        let well = Deviation { variance: 9.0, freedom: f64::INFINITY };
        let known = Term { sum: Sum::known(1.0), is_negative: false, is_of_base: false, runs: 1 };
        let got = limits(&[known], KNOWN, &[few, well], &shown()).estimate;
        let want = (2.0 * 2.7764_f64).hypot(3.0 * 1.9600);
        assert!((got.high - (1.0 + want)).abs() < 0.001 && (got.low - (1.0 - want)).abs() < 0.001, "{got:?}");
    }

    /// The runs of a side are slow or fast in all that they do.
    #[test]
    fn what_is_subtracted_of_the_same_runs_is_off_at_once() {
        let spread = Spread { variance: 0.01, freedom: f64::INFINITY };
        let less =
            |amount, is_of_base| Term { sum: Sum::known(amount), is_negative: true, is_of_base, runs: 1 };
        let low = |terms: &[Term]| limits(terms, spread, &[], &shown()).estimate.low;
        let once = low(&[less(100.0, true)]);
        assert!((low(&[less(60.0, true), less(40.0, true)]) - once).abs() < 1e-9);
        let apart = low(&[less(60.0, true), less(40.0, false)]);
        let factor = (0.1 * 1.959_964_f64).exp() - 1.0;
        let want = -100.0 - (60.0 * factor).hypot(40.0 * factor);
        assert!((apart - want).abs() < 0.01 && apart > once + 5.0, "{apart} {want} {once}");
    }

    #[test]
    fn noise_shrinks_with_runs_and_grows_with_doubt() {
        let limits = |runs, freedom| {
            let term = Term { runs, ..term(1e10, false) };
            let spread = Spread { variance: 0.01, freedom };
            let got = limits(&[term], spread, &[], &shown()).estimate;
            [got.low / 1e10, got.high / 1e10]
        };
        let near = |got: [f64; 2], want: f64| {
            assert!(
                (got[0] - (-want).exp()).abs() < 1e-3 && (got[1] - want.exp()).abs() < 1e-3,
                "{got:?} {want}"
            );
        };
        near(limits(1, f64::INFINITY), 0.196);
        near(limits(4, f64::INFINITY), 0.098);
        near(limits(1, 4.0), 0.2776);
    }

    #[test]
    fn quantiles_found_once_are_those_of_each_row() {
        let spread = Spread { variance: 0.01, freedom: 4.0 };
        let apart = Deviation { variance: 4.0, freedom: 6.0 };
        let known = Term { sum: Sum::known(1.0), is_negative: false, is_of_base: false, runs: 1 };
        let [once, anew] = [&[4.0, 6.0][..], &[]].map(|freedoms| Quantiles::new(Level::SHOWN, freedoms));
        assert!(once.of(6.0).is_some() && anew.of(6.0).is_none());
        assert_eq!(limits(&[known], spread, &[apart], &once), limits(&[known], spread, &[apart], &anew));
    }

    #[test]
    fn the_least_value_that_is_seen_has_its_lower_limit_there() {
        let spread = Spread { variance: 0.04, freedom: f64::INFINITY };
        let change = |test: f64| {
            let known = |amount, is_negative| Term {
                sum: Sum::known(amount),
                is_negative,
                is_of_base: is_negative,
                runs: 1,
            };
            limits(&[known(test, false), known(100.0, true)], spread, &[], &shown())
        };
        for test in [100.0, 130.0, 60.0] {
            let seen = change(test).least_seen(2.0);
            assert!((change(100.0 + seen).estimate.low - 2.0).abs() < 1e-9, "{test}: {seen}");
        }
        let exact = Interval { confidence: 1.0, ..Interval::default() };
        assert_eq!(exact.least_seen(2.0), 2.0);
    }

    /// A single sample may be none, a hundred may not.
    #[test]
    fn what_is_seen_does_not_depend_on_how_little_was_added() {
        let spread = Spread { variance: 0.04, freedom: f64::INFINITY };
        let change = |added: f64| limits(&[term(added, false)], spread, &[], &shown());
        for added in [1.0, 10.0] {
            let seen = change(added).least_seen(2.0);
            assert!((4.0..10.0).contains(&seen), "{added}: {seen}");
        }
    }
}
