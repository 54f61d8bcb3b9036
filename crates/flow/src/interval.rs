//! Confidence intervals for a sum of weighted samples.
//!
//! Samples arrive as a Poisson process, so the exact interval of a count (Garwood 1936) is one of the
//! gamma distribution. Samples do not all weigh the same (interrupts come late); Fay and Feuer
//! (Confidence intervals for directly standardized rates, Statistics in Medicine 16, 1997) extend the
//! exact interval to weighted sums, and give the same when all weights are equal.
//!
//! Their upper limit adds one unseen sample of the largest weight that there can be, and is then never too
//! low as far as is known. Weights of samples have no such bound: one interrupt that came late weighs as much
//! as hundreds, and would widen the interval of every row that has few samples, and of those that have none.
//! Here the unseen sample weighs what samples weigh on average over the cycles
//! ([`crate::samples::Samples::typical_cycles`]), which is no less than the mean weight and near it where
//! interrupts come on time. The upper limit is thus not guaranteed where few samples are much heavier than
//! the rest.

use statrs::function::gamma::{gamma_lr, ln_gamma};

/// Share of intervals that hold the true value, in the long run.
pub const CONFIDENCE: f64 = 0.95;

/// Standard deviations of a normal distribution within which [`CONFIDENCE`] of it lies.
pub const NORMAL_RANGE: f64 = 1.959_963_984_540_054;

/// Lower and upper limit of the expected value of `sum`, a sum of sample weights whose squares add up
/// to `squares`; `weight` is that of one sample yet unseen. All in the same unit.
pub fn weighted_poisson(sum: f64, squares: f64, weight: f64) -> (f64, f64) {
    weighted_poisson_beyond(sum, squares, weight, (1.0 - CONFIDENCE) / 2.0)
}

/// Likewise, where the true value lies below the lower limit with the probability `tail` at most, and above
/// the upper limit likewise.
pub fn weighted_poisson_beyond(sum: f64, squares: f64, weight: f64, tail: f64) -> (f64, f64) {
    let low = if sum > 0.0 && squares > 0.0 {
        squares / sum * gamma_quantile(sum * sum / squares, tail)
    } else {
        0.0
    };
    let (sum, squares) = (sum + weight, squares + weight * weight);
    let high = if sum > 0.0 { squares / sum * gamma_quantile(sum * sum / squares, 1.0 - tail) } else { 0.0 };
    (low, high)
}

/// The value below which a share `p` of the gamma distribution of this shape (and scale 1) lies.
pub fn gamma_quantile(shape: f64, p: f64) -> f64 {
    if shape == 1.0 {
        return -(1.0 - p).ln();
    }
    let start = wilson_hilferty(shape, p);
    // Beyond this the approximation's error is below 1e-7 of the value.
    if shape > 10_000.0 {
        return start;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut x = if start > 0.0 { start } else { ((p.ln() + ln_gamma(shape + 1.0)) / shape).exp() };
    for _ in 0..100 {
        // Of a small part of one sample even the upper quantiles are below the smallest number.
        if x < f64::MIN_POSITIVE {
            return 0.0;
        }
        let error = gamma_lr(shape, x) - p;
        if error > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = ((shape - 1.0) * x.ln() - x - ln_gamma(shape)).exp();
        let newton = x - error / density;
        let next = match newton > low && newton < high {
            true => newton,
            false if high.is_finite() => (low + high) / 2.0,
            false => x * 2.0,
        };
        if (next - x).abs() <= 1e-10 * x {
            return next;
        }
        x = next;
    }
    x
}

/// Wilson and Hilferty's approximation: the cube root of a gamma variable is nearly normal.
fn wilson_hilferty(shape: f64, p: f64) -> f64 {
    let z = std::f64::consts::SQRT_2 * statrs::function::erf::erf_inv(2.0 * p - 1.0);
    let spread = 1.0 / (9.0 * shape);
    shape * (1.0 - spread + z * spread.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() <= 0.0006 * want.max(1.0), "{got} is not {want}");
    }

    /// The table of exact 95 % limits for a Poisson count that is printed in textbooks (for example
    /// Pearson and Hartley, Biometrika Tables for Statisticians, table 40).
    #[test]
    fn counts_have_the_limits_of_the_table() {
        let table = [
            (0.0, 0.0, 3.689),
            (1.0, 0.0253, 5.572),
            (2.0, 0.2422, 7.225),
            (3.0, 0.6187, 8.767),
            (5.0, 1.623, 11.668),
            (10.0, 4.795, 18.390),
            (20.0, 12.217, 30.888),
            (50.0, 37.111, 65.919),
            (100.0, 81.364, 121.627),
        ];
        for (count, low, high) in table {
            let got = weighted_poisson(count, count, 1.0);
            near(got.0, low);
            near(got.1, high);
        }
    }

    #[test]
    fn equal_weights_only_scale() {
        let (low, high) = weighted_poisson(10.0 * 7.0, 10.0 * 49.0, 7.0);
        near(low, 7.0 * 4.795);
        near(high, 7.0 * 18.390);
    }

    #[test]
    fn unequal_weights_widen_the_interval() {
        // Ten samples of weight 1 and one of weight 10: far fewer than eleven independent parts.
        let (low, high) = weighted_poisson(20.0, 110.0, 1.0);
        let equal = weighted_poisson(20.0, 40.0, 2.0);
        assert!(low < equal.0 && high > equal.1, "{low} {high} {equal:?}");
    }

    #[test]
    fn many_samples_approach_the_normal_interval_without_a_step() {
        for count in [9_999.0f64, 10_001.0, 1e6] {
            let (low, high) = weighted_poisson(count, count, 1.0);
            // The first correction of Cornish and Fisher's expansion for the skewed distribution.
            let skew = (NORMAL_RANGE * NORMAL_RANGE - 1.0) / 3.0 / count.sqrt();
            near((count - low) / count.sqrt(), NORMAL_RANGE - skew);
            assert!((high - count) / count.sqrt() < 1.99);
        }
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        assert_eq!(gamma_quantile(1e-7, 0.025), 0.0);
        for shape in [0.01, 0.3, 0.9, 1.5, 4.0, 33.3, 900.0] {
            for p in [0.025, 0.5, 0.975] {
                assert!((gamma_lr(shape, gamma_quantile(shape, p)) - p).abs() < 1e-8, "{shape} {p}");
            }
        }
    }

    #[test]
    fn every_shape_has_quantiles() {
        let mut shape = 1e-12;
        while shape < 1e9 {
            let (low, high) = (gamma_quantile(shape, 0.025), gamma_quantile(shape, 0.975));
            assert!(0.0 <= low && low <= high && high.is_finite(), "{shape}: {low} {high}");
            shape *= 1.37;
        }
    }
}
