//! By how much something may grow, as conditions for continuous integration write it: `time>2%`.

use std::fmt;

/// A share of what there was, by which it may grow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit(pub f64);

impl Limit {
    /// What a condition is of, and its limit; none if it is no `WHAT>N%` of a number that is not negative.
    pub fn split(condition: &str) -> Option<(&str, Limit)> {
        // Names of templates hold this character as well, so the last one counts.
        let (what, limit) = condition.rsplit_once('>')?;
        let percent: f64 = limit.trim().strip_suffix('%')?.trim().parse().ok()?;
        (percent.is_finite() && percent >= 0.0).then(|| (what.trim(), Limit(percent / 100.0)))
    }
}

/// As it is written in a condition, with its sign and unit: `>2%`.
impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        // Rounded where the binary fraction is not the decimal one.
        write!(formatter, ">{}%", (self.0 * 1e8).round() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_back_as_they_were_written() {
        for text in ["0%", "0.5%", "2%", "12.5%", "0.07%", "1000%"] {
            let condition = format!("std::vector<int> time>{text}");
            let (what, limit) = Limit::split(&condition).unwrap();
            assert_eq!((what, limit.to_string()), ("std::vector<int> time", format!(">{text}")));
        }
        assert_eq!(Limit::split(" time > 2 % "), Some(("time", Limit(0.02))));
    }

    #[test]
    fn what_is_no_limit_is_none() {
        for text in ["", "time", "time>2", "time<2%", "time>-1%", "time>NaN%", "time>inf%", "time>%"] {
            assert_eq!(Limit::split(text), None, "{text}");
        }
    }
}
