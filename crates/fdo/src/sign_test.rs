//! Medians, with bounds that assume nothing of the distribution: a value is above the true median as often as a fair
//! coin shows heads.

/// The median; of an even number, the mean of the middle two. Not a number for none.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Two values between which the true median lies with a probability of at least 95 %, by the sign test. None
/// for fewer than six values.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let high = position_of_bound(values.len(), 0.025)?;
    Some((sorted[values.len() - high], sorted[high - 1]))
}

/// The smallest value that the true median exceeds with a probability of at most 5 %, by the sign test. None
/// for fewer than five values, of which even the largest is not enough.
pub fn upper_bound(values: &[f64]) -> Option<f64> {
    Some(sorted(values)[position_of_bound(values.len(), 0.05)? - 1])
}

/// The least k such that the true median exceeds the k-th smallest of n values with a probability of at most
/// `tail`: k or more of n fair coins show heads as seldom. None if it may exceed all of them.
fn position_of_bound(n: usize, tail: f64) -> Option<usize> {
    // The logarithm of the probability of k heads: of many coins, that of all is no number of its own.
    let (mut beyond, mut exactly) = (0.0, -(n as f64) * std::f64::consts::LN_2);
    let mut position = None;
    for k in (1..=n).rev() {
        beyond += exactly.exp();
        if beyond > tail {
            break;
        }
        position = Some(k);
        exactly += (k as f64 / (n - k + 1) as f64).ln();
    }
    position
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
        assert_eq!(median_interval(&first(5)), None);
        assert_eq!(median_interval(&first(6)), Some((1.0, 6.0)));
        assert_eq!(median_interval(&first(10)), Some((2.0, 9.0)));
        assert_eq!(median_interval(&first(20)), Some((6.0, 15.0)));
        // Half of so many, and 1.96 times half of the root of so many.
        assert_eq!(median_interval(&first(1000)), Some((469.0, 532.0)));
        assert_eq!(median_interval(&first(10_000)), Some((4902.0, 5099.0)));
    }

    #[test]
    fn middles() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
