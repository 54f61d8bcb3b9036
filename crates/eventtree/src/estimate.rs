//! Amounts that were measured in several runs, and their differences.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Share of intervals that hold the true value, in the long run.
const CONFIDENCE: f64 = 0.95;

/// A mean over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Variance of the mean; `None` of fewer than two runs.
    pub variance: Option<f64>,
    /// How many runs.
    pub runs: usize,
}

impl Estimate {
    /// The mean of what was measured.
    pub fn of(values: &[f64]) -> Estimate {
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs.max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = (runs > 1).then(|| squares / (runs - 1) as f64 / runs as f64);
        Estimate { mean, variance, runs }
    }
}

/// How much more the one mean is than the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Test less base.
    pub amount: f64,
    /// Distance to the limits of its 95 % interval; `None` where one side has a single run.
    pub within: Option<f64>,
}

impl Difference {
    /// By Welch's t, which does not expect that both sides vary alike (Welch, Biometrika 34, 1947).
    pub fn between(base: Estimate, test: Estimate) -> Difference {
        let within = base.variance.zip(test.variance).map(|variances| half_width(base, test, variances));
        Difference { amount: test.mean - base.mean, within }
    }

    /// Whether it is more than chance: unknown, and so not, without an interval.
    pub fn is_significant(self) -> bool {
        self.within.is_some_and(|within| self.amount.abs() > within)
    }
}

/// Shorter times than that, in nanoseconds, are not told apart.
const RESOLUTION_NS: f64 = 1e3;

/// With which probability equal programs take times as different at least; `None` unless both sides have several.
///
/// What a machine adds to a time is an amount, or in proportion to it: times and their logarithms are both judged, and the
/// more certain of the two counts, at half its certainty (Bonferroni).
pub fn chance_of_times(base: &[f64], test: &[f64]) -> Option<f64> {
    let scales: [fn(f64) -> f64; 2] = [|time| time, |time| (time + RESOLUTION_NS).ln()];
    let judged = scales.map(|scale| {
        let [base, test] =
            [base, test].map(|times| Estimate::of(&times.iter().copied().map(scale).collect::<Vec<_>>()));
        probability_of_chance(base, test)
    });
    Some((2.0 * judged[0]?.min(judged[1]?)).min(1.0))
}

/// With which probability equal programs differ by as much at least; `None` where one side has a single run. It is 1 where
/// it is certainly more than one in twenty.
pub fn probability_of_chance(base: Estimate, test: Estimate) -> Option<f64> {
    /// No distribution has less than a twentieth beyond so many deviations on both sides.
    const LIKELY: f64 = 1.95;
    let variances = base.variance.zip(test.variance)?;
    let amount = (test.mean - base.mean).abs();
    let deviation = (variances.0 + variances.1).sqrt();
    if amount <= LIKELY * deviation {
        return Some(1.0);
    }
    let beyond = |t: StudentsT| 2.0 * t.sf(amount / deviation);
    Some(if deviation == 0.0 { 0.0 } else { distribution(base, test, variances).map_or(1.0, beyond) })
}

fn half_width(base: Estimate, test: Estimate, variances: (f64, f64)) -> f64 {
    let sum = variances.0 + variances.1;
    if sum == 0.0 {
        return 0.0;
    }
    let t =
        distribution(base, test, variances).map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0));
    t * sum.sqrt()
}

/// That of a difference over its standard deviation, whose square is no 0.
fn distribution(base: Estimate, test: Estimate, (of_base, of_test): (f64, f64)) -> Option<StudentsT> {
    let part = |variance: f64, runs: usize| variance.powi(2) / (runs - 1) as f64;
    let freedom = (of_base + of_test).powi(2) / (part(of_base, base.runs) + part(of_test, test.runs));
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the variances of the means, 2/3 and 1/3, add up to 1, with 4.9 degrees of freedom, where tables of t have
    /// 2.776 for 4 and 2.571 for 5.
    #[test]
    fn limits_are_those_of_welch() {
        let difference = Difference::between(Estimate::of(&[9., 11., 13., 11.]), Estimate::of(&[5., 7., 6.]));
        assert!((difference.amount + 5.0).abs() < 1e-12);
        let within = difference.within.unwrap();
        assert!(within > 2.571 && within < 2.6, "{within}");
        assert!(difference.is_significant());
        // Tables of t have 4.604 for one in a hundred and 4 degrees of freedom, and 4.032 for 5; and 7.173 and 5.893 for one
        // in five hundred.
        let chance = probability_of_chance(Estimate::of(&[9., 11., 13., 11.]), Estimate::of(&[5., 7., 6.]));
        assert!(chance.is_some_and(|chance| chance > 0.002 && chance < 0.01), "{chance:?}");
        let near = probability_of_chance(Estimate::of(&[9., 11.]), Estimate::of(&[10., 11.]));
        assert_eq!(near, Some(1.0));
        // A thousand times as long, however much that varies; and a little longer than what varies by as much.
        let times = |scale: f64| [1.0, 1.4, 0.8, 1.1].map(|time| time * scale);
        assert!(chance_of_times(&times(2e4), &times(2e7)).is_some_and(|chance| chance < 1e-4));
        assert_eq!(chance_of_times(&times(2e4), &times(2.2e4)), Some(1.0));
        assert_eq!(chance_of_times(&times(2e4), &[2e7]), None);
    }

    #[test]
    fn one_run_tells_nothing_of_chance() {
        let difference = Difference::between(Estimate::of(&[9.0]), Estimate::of(&[1.0, 2.0]));
        assert_eq!((difference.within, difference.is_significant()), (None, false));
        let equal = Difference::between(Estimate::of(&[3.0; 2]), Estimate::of(&[3.0; 3]));
        assert_eq!((equal.amount, equal.within, equal.is_significant()), (0.0, Some(0.0), false));
    }
}
