//! The change of one row: a function, a loop, an instruction, a line, or the whole program.

use crate::limits::{Deviation, Interval, Level, Quantiles, Spread, Term, limits};
use crate::noise::Noise;
use crate::parts::{BaseSums, TestSums};
use crate::sums::Sum;
use timewise_flow::Estimate;

/// A change of time in an average run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Difference {
    /// The change and its 95 % interval.
    pub shown: Interval,
    /// The change and its interval at the level at which all rows together hold.
    pub all: Interval,
    /// The part of it that is certain: the limit of `all` that is nearer to zero; 0 where that interval
    /// holds zero.
    pub certain: f64,
}

/// What changed. Amounts are of an average run, in the unit of the comparison.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Change {
    /// Instructions executed in BASE and in TEST; `None` unless both were counted.
    pub instructions: Option<(u64, u64)>,
    /// Time in BASE and in TEST; `None` unless both were sampled.
    pub amounts: Option<(f64, f64)>,
    /// Change of time.
    pub time: Option<Difference>,
    /// What of it comes from code that ran more or less often, is new or gone, at the old cost where there is
    /// one; `None` unless both were counted.
    pub by_count: Option<Difference>,
    /// What of it comes from executions that cost more or less than before, at the new count.
    pub by_cost: Option<Difference>,
}

impl Difference {
    /// The change and its 95 % interval.
    pub fn estimate(&self) -> Estimate {
        self.shown.estimate
    }
}

impl Change {
    /// The same where time may have moved to neighbours by itself, as far as is known: nothing is certain but what
    /// comes from counts.
    pub fn as_cost_moves(self) -> Change {
        let uncertain = |part: Difference| Difference { certain: 0.0, ..part };
        Change { time: self.time.map(uncertain), by_cost: self.by_cost.map(uncertain), ..self }
    }

    /// The same where it is not known what of it comes from counts.
    pub fn undivided(self) -> Change {
        Change { by_count: None, by_cost: None, ..self }
    }

    /// The largest part that is certain, with its sign.
    pub fn certain(&self) -> f64 {
        let parts = [self.time, self.by_count, self.by_cost].into_iter().flatten();
        parts
            .map(|part| part.certain)
            .fold(0.0, |most, part| if part.abs() > f64::abs(most) { part } else { most })
    }
}

/// How many runs the sums are averages of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunCounts {
    /// Of BASE.
    pub base: usize,
    /// Of TEST.
    pub test: usize,
}

impl RunCounts {
    fn plus(self, base: bool, sum: Sum) -> Term {
        Term { sum, is_negative: false, is_of_base: base, runs: if base { self.base } else { self.test } }
    }

    fn minus(self, base: bool, sum: Sum) -> Term {
        Term { is_negative: true, ..self.plus(base, sum) }
    }

    /// Terms of the change as a whole.
    pub fn time(self, base: Sum, test: Sum) -> Vec<Term> {
        vec![self.plus(false, test), self.minus(true, base)]
    }

    /// Terms of the change by count.
    pub fn by_count(self, base: &BaseSums, test: &TestSums) -> Vec<Term> {
        vec![
            self.plus(true, base.grown),
            self.plus(false, test.new),
            self.minus(true, base.shrunk),
            self.minus(true, base.gone),
        ]
    }

    /// Terms of the change by cost.
    pub fn by_cost(self, base: &BaseSums, test: &TestSums) -> Vec<Term> {
        vec![self.plus(false, test.kept), self.minus(true, base.kept)]
    }

    /// Terms of the change by cost of a whole program: all that TEST took but for what is new, and all that BASE took at
    /// TEST's counts.
    pub fn by_cost_of_all(
        self,
        (all_base, base): (Sum, &BaseSums),
        (all_test, test): (Sum, &TestSums),
        noise: Noise,
    ) -> Vec<Term> {
        let at_test = all_base.amount + base.grown.amount - base.shrunk.amount - base.gone.amount;
        let kept = all_test.amount - test.new.amount;
        let [base, test] = match noise {
            Noise::Unknown => [
                sampled(at_test, all_base, base.all, base.kept),
                sampled(kept, all_test, test.all, test.kept),
            ],
            // What the number of all samples owes to chance is in the noise.
            Noise::Measured(_) => [
                Sum {
                    missing: base.kept.missing,
                    ..of_parts(at_test, &[all_base, base.grown, base.shrunk, base.gone])
                },
                Sum { missing: test.kept.missing, ..of_parts(kept, &[all_test, test.new]) },
            ],
        };
        vec![self.plus(false, test), self.minus(true, base)]
    }
}

/// An amount that is as uncertain as these parts of it together.
fn of_parts(amount: f64, parts: &[Sum]) -> Sum {
    let squares = parts.iter().map(|part| part.squares).sum();
    let split = parts.iter().map(|part| part.split).sum();
    Sum { amount, squares, split, ..Sum::default() }
}

/// An amount of what is kept, and of what of the whole is on code that was not counted.
fn sampled(amount: f64, whole: Sum, counted: Sum, kept: Sum) -> Sum {
    Sum { amount, squares: (whole.squares - counted.squares).max(0.0) + kept.squares, ..kept }
}

/// The two levels of a row: of the interval that is shown, and that at which all rows together hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Levels {
    /// Of what is shown.
    pub shown: Quantiles,
    /// Of all rows together.
    pub all: Quantiles,
}

impl Levels {
    /// Levels for rows whose noise is known from these degrees of freedom.
    pub fn new(all: Level, freedoms: &[f64]) -> Levels {
        Levels { shown: Quantiles::new(Level::SHOWN, freedoms), all: Quantiles::new(all, freedoms) }
    }
}

/// What `terms` make together; what is certain is judged at the level of all rows.
pub fn difference(terms: &[Term], spread: Spread, apart: &[Deviation], levels: &Levels) -> Difference {
    judged(limits(terms, spread, apart, &levels.shown), limits(terms, spread, apart, &levels.all))
}

fn judged(shown: Interval, all: Interval) -> Difference {
    Difference { shown, all, certain: all.estimate.low.max(0.0) + all.estimate.high.min(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that does all of it twice at the old cost: what its runs differ by is that of twice BASE's time.
    #[test]
    fn the_old_cost_at_the_new_count_is_as_noisy_as_it_is_long() {
        let base = BaseSums { grown: Sum::known(100.0), ..BaseSums::default() };
        let terms = RunCounts { base: 1, test: 1 }.by_cost_of_all(
            (Sum::known(100.0), &base),
            (Sum::known(200.0), &TestSums::default()),
            Noise::Unknown,
        );
        let spread = Spread { variance: 0.01, freedom: f64::INFINITY };
        let got = difference(&terms, spread, &[], &Levels::new(Level::SHOWN, &[])).estimate();
        let (less, more) = (1.0 - (-0.196_f64).exp(), 0.196_f64.exp() - 1.0);
        assert_eq!(got.value, 0.0);
        assert!((got.high - (200.0 * more).hypot(200.0 * less)).abs() < 0.05, "{got:?}");
    }

    /// Of one run on each side, what each sample stands for is scaled by how much more often its code runs.
    #[test]
    fn of_single_runs_samples_at_the_new_count_are_uncertain() {
        let seen = |amount, squares| Sum { amount, squares, split: 0.0, unseen: 1.0, missing: 0.0 };
        let base = BaseSums {
            all: seen(100.0, 100.0),
            kept: seen(200.0, 400.0),
            grown: seen(100.0, 100.0),
            ..BaseSums::default()
        };
        let test = TestSums { all: seen(200.0, 200.0), kept: seen(200.0, 200.0), ..TestSums::default() };
        let terms = RunCounts { base: 1, test: 1 }.by_cost_of_all(
            (seen(100.0, 100.0), &base),
            (seen(200.0, 200.0), &test),
            Noise::Unknown,
        );
        let squares: Vec<f64> = terms.iter().map(|term| term.sum.squares).collect();
        assert_eq!((terms[0].sum.amount, terms[1].sum.amount, squares), (200.0, 200.0, vec![200.0, 400.0]));
    }

    /// Only what was seen in samples of code that ran more often is uncertain beside that.
    #[test]
    fn of_the_whole_only_what_changed_in_count_is_sampled() {
        let sampled = Sum { amount: 50.0, squares: 25.0, split: 0.0, unseen: 0.5, missing: 0.0 };
        let runs = RunCounts { base: 1, test: 1 };
        let none = Spread { variance: 0.0, freedom: f64::INFINITY };
        let width = |base: BaseSums| {
            let terms = runs.by_cost_of_all(
                (Sum::known(1000.0), &base),
                (Sum::known(1000.0), &TestSums::default()),
                Noise::Measured(0.0),
            );
            let got = difference(&terms, none, &[], &Levels::new(Level::SHOWN, &[])).estimate();
            got.high - got.low
        };
        assert_eq!(width(BaseSums { kept: sampled, ..BaseSums::default() }), 0.0);
        let grown = width(BaseSums { grown: sampled, ..BaseSums::default() });
        assert!((grown - 2.0 * 1.96 * 5.0).abs() < 0.2, "{grown}");
    }
}
