//! How much runs of the same program differ by themselves, beyond what sampling explains.
//!
//! With several runs on a side it is measured: for each row the variance between its runs, less what the
//! samples make. A few runs measure the variance of one row badly, so that of all rows together is taken in
//! with a fixed weight (as Smyth does for gene expression, Statistical Applications in Genetics and Molecular
//! Biology 3, 2004). With one run on each side nothing is measured, and [`ASSUMED`] takes its place.

use crate::limits::Spread;

/// Standard deviation of a row's time between runs, as a share of it, where it could not be measured. On a machine
/// that many share, CPU time of equal runs was seen to differ by a third; on a quiet one it is ten times less.
pub const ASSUMED: f64 = 0.2;

/// What the variance of all rows counts beside a row's own, in degrees of freedom.
const PRIOR_FREEDOM: f64 = 4.0;

/// What is known of how much runs differ.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Noise {
    /// The program's time differs from run to run by this standard deviation, as a share of it.
    Measured(f64),
    /// There is one run on each side: [`ASSUMED`] is taken.
    Unknown,
}

/// A row's time in one run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct InRun {
    /// The time.
    pub amount: f64,
    /// Its variance from sampling.
    pub variance: f64,
}

/// Times of rows in the runs of one side: a list of rows for each run.
pub type Runs = [Vec<InRun>];

/// What is assumed where nothing was measured.
pub const UNKNOWN: Spread = Spread { variance: ASSUMED * ASSUMED, freedom: f64::INFINITY };

/// The spread of each of so many rows.
pub fn spreads(base: &Runs, test: &Runs, rows: usize) -> Vec<Spread> {
    let own: Vec<Moments> = (0..rows).map(|row| of_row(base, row).and(of_row(test, row))).collect();
    let all = own.iter().fold(Moments::default(), |sum, row| sum.and(*row));
    let freedom = freedom(base) + freedom(test);
    if freedom == 0.0 {
        return vec![UNKNOWN; rows];
    }
    let prior = all.relative();
    let spread = |row: &Moments| {
        let own = if row.squares > 0.0 { row.relative() } else { prior };
        let variance = (PRIOR_FREEDOM * prior + freedom * own) / (PRIOR_FREEDOM + freedom);
        Spread { variance, freedom: PRIOR_FREEDOM + freedom }
    };
    own.iter().map(spread).collect()
}

/// The spread of the one row of both sides: of the whole program, whose time needs no sampling.
pub fn of_whole(base: &Runs, test: &Runs) -> (Spread, Noise) {
    let freedom = freedom(base) + freedom(test);
    if freedom == 0.0 {
        return (UNKNOWN, Noise::Unknown);
    }
    let variance = of_row(base, 0).and(of_row(test, 0)).relative();
    (Spread { variance, freedom }, Noise::Measured(variance.sqrt()))
}

fn freedom(runs: &Runs) -> f64 {
    runs.len().saturating_sub(1) as f64
}

/// Sums over sides and rows, each weighed by its degrees of freedom.
#[derive(Clone, Copy, Default)]
struct Moments {
    excess: f64,
    squares: f64,
}

impl Moments {
    fn and(self, other: Moments) -> Moments {
        Moments { excess: self.excess + other.excess, squares: self.squares + other.squares }
    }

    fn relative(self) -> f64 {
        if self.squares > 0.0 { (self.excess / self.squares).max(0.0) } else { 0.0 }
    }
}

fn of_row(runs: &Runs, row: usize) -> Moments {
    let count = runs.len() as f64;
    if runs.len() < 2 {
        return Moments::default();
    }
    let values = || runs.iter().map(|rows| rows[row]);
    let mean = values().map(|run| run.amount).sum::<f64>() / count;
    let sampling = values().map(|run| run.variance).sum::<f64>() / count;
    let deviations: f64 = values().map(|run| (run.amount - mean).powi(2)).sum();
    Moments { excess: deviations - (count - 1.0) * sampling, squares: (count - 1.0) * mean * mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(amounts: &[[f64; 2]], variance: f64) -> Vec<Vec<InRun>> {
        amounts.iter().map(|rows| rows.map(|amount| InRun { amount, variance }).to_vec()).collect()
    }

    #[test]
    fn one_run_each_measures_nothing() {
        assert_eq!(spreads(&runs(&[[1.0, 2.0]], 0.0), &runs(&[[3.0, 4.0]], 0.0), 2), [UNKNOWN; 2]);
        assert_eq!(of_whole(&runs(&[[1.0, 2.0]], 0.0), &runs(&[[3.0, 4.0]], 0.0)).1, Noise::Unknown);
    }

    #[test]
    fn a_row_that_varies_has_a_wider_spread_than_one_that_does_not() {
        let base = runs(&[[100.0, 90.0], [100.0, 110.0]], 0.0);
        let got = spreads(&base, &runs(&[[100.0, 100.0]], 0.0), 2);
        // Deviations of 10 squared twice, over a mean square of 10,000 for each of both rows.
        let (all, noisy) = (200.0 / 20_000.0, 200.0 / 10_000.0);
        assert_eq!(got[0].freedom, 5.0);
        assert!((got[0].variance - 4.0 * all / 5.0).abs() < 1e-12, "{got:?}");
        assert!((got[1].variance - (4.0 * all + noisy) / 5.0).abs() < 1e-12, "{got:?}");
    }

    #[test]
    fn what_sampling_explains_is_no_noise() {
        let base = runs(&[[90.0, 90.0], [110.0, 110.0]], 300.0);
        assert_eq!(spreads(&base, &base, 2)[0].variance, 0.0);
    }

    #[test]
    fn the_whole_program_needs_no_prior() {
        let (spread, noise) = of_whole(&runs(&[[99.0, 0.0], [101.0, 0.0]], 0.0), &runs(&[[200.0, 0.0]], 0.0));
        assert_eq!(spread.freedom, 1.0);
        assert!(matches!(noise, Noise::Measured(share) if (share - 2f64.sqrt() / 100.0).abs() < 1e-6));
    }
}
