//! Medians with bounds that assume nothing of the distribution.

use timewise_fdo::sign_test::position_of_bound;

/// The median; of an even number, the mean of the middle two. Not a number for none.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The smallest value that the true median exceeds with a probability of at most 5 %, by the sign test. None
/// for fewer than five values, of which even the largest is not enough.
pub fn upper_bound(values: &[f64]) -> Option<f64> {
    Some(sorted(values)[position_of_bound(values.len(), 0.05)? - 1])
}

/// Two values between which the true median lies with a probability of at least 95 %, by the sign test. None
/// for fewer than six values.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let high = position_of_bound(values.len(), 0.025)?;
    Some((sorted[values.len() - high], sorted[high - 1]))
}

/// The geometric mean; not a number for none.
pub fn geomean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_agree_with_tables_of_the_sign_test() {
        let first = |n: u32| (1..=n).map(f64::from).collect::<Vec<f64>>();
        assert_eq!(upper_bound(&first(4)), None);
        assert_eq!(upper_bound(&first(5)), Some(5.0));
        assert_eq!(upper_bound(&first(8)), Some(7.0));
        assert_eq!(upper_bound(&first(10)), Some(9.0));
        assert_eq!(upper_bound(&first(20)), Some(15.0));
        // From the second to the ninth of ten, from the sixth to the fifteenth of twenty.
        assert_eq!(median_interval(&first(10_000)), Some((4902.0, 5099.0)));
        assert_eq!(median_interval(&first(5)), None);
        assert_eq!(median_interval(&first(6)), Some((1.0, 6.0)));
        assert_eq!(median_interval(&first(10)), Some((2.0, 9.0)));
        assert_eq!(median_interval(&first(20)), Some((6.0, 15.0)));
    }

    #[test]
    fn middles() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!((geomean(&[1.0, 4.0, 2.0]) - 2.0).abs() < 1e-12);
    }
}
