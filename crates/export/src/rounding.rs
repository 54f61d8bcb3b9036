//! Whole numbers that add up to what their fractions add up to.

/// Rounds a sequence of amounts so that after each of them the sum so far is off by less than one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounding {
    exact: f64,
    given: u64,
}

impl Rounding {
    /// The next amount, which is not negative.
    pub fn next(&mut self, amount: f64) -> u64 {
        self.exact += amount;
        let whole = (self.exact.round() as u64).saturating_sub(self.given);
        self.given += whole;
        whole
    }

    /// The sum of all that was given.
    pub fn total(self) -> u64 {
        self.given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_add_up() {
        let mut rounding = Rounding::default();
        let parts: Vec<u64> = (0..9).map(|_| rounding.next(10.0 / 3.0)).collect();
        assert_eq!(parts.iter().sum::<u64>(), 30);
        assert!(parts.iter().all(|&part| part == 3 || part == 4));
        assert_eq!(rounding.total(), 30);
    }
}
