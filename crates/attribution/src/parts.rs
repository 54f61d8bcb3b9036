//! Cycles in exact fractions.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

/// An amount of cycles, exact when a cycle is divided among any number of entries that can commit at
/// once.
///
/// Sums of them do not depend on the order of adding, which sums of floating-point numbers would. The
/// range is some 10^16 cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Parts(u64);

impl Parts {
    /// The least common multiple of 1 to 8, the widths of commit.
    pub const OF_A_CYCLE: u64 = 840;
    const _WIDTHS: () = assert!(timewise_trace::WIDTH == 8);

    /// None.
    pub const ZERO: Self = Self(0);

    /// Whole cycles.
    pub const fn cycles(cycles: u64) -> Self {
        Self(cycles * Self::OF_A_CYCLE)
    }

    /// One share when so many cycles are divided among `sharers`, which are 1 to 8.
    pub const fn share(cycles: u64, sharers: usize) -> Self {
        Self(cycles * (Self::OF_A_CYCLE / sharers as u64))
    }

    /// So many parts, of which [`Parts::OF_A_CYCLE`] make a cycle.
    pub const fn raw(parts: u64) -> Self {
        Self(parts)
    }

    /// How many parts this is.
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// The amount in cycles, rounded as floating-point numbers are.
    pub fn as_cycles(self) -> f64 {
        self.0 as f64 / Self::OF_A_CYCLE as f64
    }

    /// This amount as a part of `total`; 0 of nothing.
    pub fn of(self, total: Self) -> f64 {
        if total.0 == 0 { 0.0 } else { self.0 as f64 / total.0 as f64 }
    }

    /// This less `other`, not below nothing.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Parts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Mul<u64> for Parts {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Sum for Parts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

/// In cycles, with as many decimals as it takes, at most three.
impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.3}", self.as_cycles());
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::Parts;

    #[test]
    fn shares_make_a_whole_cycle() {
        for sharers in 1..=8 {
            let sum: Parts = std::iter::repeat_n(Parts::share(1, sharers), sharers).sum();
            assert_eq!(sum, Parts::cycles(1), "{sharers}");
        }
    }

    #[test]
    fn amounts_are_told_in_cycles() {
        assert_eq!((Parts::cycles(40) + Parts::share(1, 2)).to_string(), "40.5");
        assert_eq!(Parts::cycles(100).to_string(), "100");
        assert_eq!(Parts::share(1, 3).to_string(), "0.333");
    }
}
