//! Bounds of a median that assume nothing of the distribution: a value is above the true median as often as a fair
//! coin shows heads.

/// The least k such that the true median exceeds the k-th smallest of n values with a probability of at most
/// `tail`: k or more of n fair coins show heads as seldom. None if it may exceed all of them.
pub fn position_of_bound(n: usize, tail: f64) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_tables() {
        assert_eq!(position_of_bound(5, 0.025), None);
        assert_eq!([6, 10, 20].map(|n| position_of_bound(n, 0.025)), [6, 9, 15].map(Some));
        // Half of so many, and 1.96 times half of the root of so many.
        assert_eq!([1000, 10_000].map(|n| position_of_bound(n, 0.025)), [532, 5099].map(Some));
    }
}
