//! Medians with bounds that assume nothing of the distribution.

/// The median; of an even number, the mean of the middle two. Not a number for none.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The smallest value that the true median exceeds with a probability of at most 5 %, by the sign test: the
/// k-th smallest, where k or more of n fair coins show heads at most once in 20 times. None for fewer than
/// five values, of which even the largest is not enough.
pub fn upper_bound(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let n = sorted.len();
    let (mut tail, mut choose) = (0.0, 1.0);
    let mut bound = None;
    for k in (1..=n).rev() {
        // `choose` is n over k.
        tail += choose / 2f64.powi(n as i32);
        if tail > 0.05 {
            break;
        }
        bound = Some(sorted[k - 1]);
        choose *= k as f64 / (n - k + 1) as f64;
    }
    bound
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
    }

    #[test]
    fn middles() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!((geomean(&[1.0, 4.0, 2.0]) - 2.0).abs() < 1e-12);
    }
}
