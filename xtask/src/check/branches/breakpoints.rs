//! What traces cost in breakpoints, and what all workloads come to.

use super::overlap::Agreement;
use std::fmt;

/// Breakpoints for each branch that was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Breakpoints {
    /// Those that were reached.
    pub reached: f64,
    /// Those that algorithm 1 would have needed for the same branches.
    pub without_evaluation: f64,
}

impl Breakpoints {
    /// Titles of the columns.
    pub const TITLES: &str = "breakpoints a branch  algorithm 1's";

    /// The mean of several runs.
    pub fn mean(runs: &[Breakpoints]) -> Breakpoints {
        let mean = |of: fn(&Breakpoints) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        Breakpoints {
            reached: mean(|run| run.reached),
            without_evaluation: mean(|run| run.without_evaluation),
        }
    }

    /// What `timewise branches` says of them.
    pub fn said(text: &str) -> Breakpoints {
        let before = |words: &str| {
            let number = text.split_once(words)?.0.rsplit(['(', ' ']).next()?;
            number.parse().ok()
        };
        let after = |words: &str| text.split_once(words)?.1.split(')').next()?.trim().parse().ok();
        Breakpoints {
            reached: before(" a branch; ").unwrap_or(f64::NAN),
            without_evaluation: after("without evaluation").unwrap_or(f64::NAN),
        }
    }
}

impl fmt::Display for Breakpoints {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{:10.4} {:10.2}", self.reached, self.without_evaluation)
    }
}

/// Agreement of all workloads.
#[derive(Debug, Default)]
pub struct Sums {
    agreements: Vec<[f64; 4]>,
    ratios: Vec<f64>,
}

impl Sums {
    /// Adds a workload.
    pub fn add(&mut self, agreement: &Agreement, breakpoints: &Breakpoints) {
        let ([seen, weighted], [within, within_weighted]) =
            (agreement.whole_program, agreement.within_functions);
        self.agreements.push([seen, weighted, within, within_weighted]);
        self.ratios.push(breakpoints.reached / breakpoints.without_evaluation);
    }

    /// Geometric mean and lowest, in percent, of the whole program as seen and by weight, and within functions
    /// likewise.
    fn of(&self, column: usize) -> (f64, f64) {
        let logarithms: f64 = self.agreements.iter().map(|row| row[column].max(1e-9).ln()).sum();
        let mean = (logarithms / self.agreements.len().max(1) as f64).exp();
        let lowest = self.agreements.iter().map(|row| row[column]).fold(1.0, f64::min);
        (100.0 * mean, 100.0 * lowest)
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let names = ["whole", "whole, by weight", "within", "within, by weight"];
        for (column, name) in names.into_iter().enumerate() {
            let (mean, lowest) = self.of(column);
            writeln!(formatter, "{name:18} geometric mean {mean:5.1} %, lowest {lowest:5.1} %")?;
        }
        let most = self.ratios.iter().copied().fold(0.0, f64::max);
        write!(formatter, "breakpoints: at most {most:.3} of algorithm 1's own")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let text = "traced in 1.2 s: 1,000 branches in 10 traces, 25 breakpoints reached (0.0250 a branch; without \
                    evaluation 1.25)\n";
        assert_eq!(Breakpoints::said(text), Breakpoints { reached: 0.025, without_evaluation: 1.25 });
        assert!(Breakpoints::said("nothing").reached.is_nan());
    }
}
