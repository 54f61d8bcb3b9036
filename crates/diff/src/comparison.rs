//! Two analyses compared: the whole program, and its functions, loops, instructions and lines.

use crate::change::{Change, Levels, RunCounts, difference};
use crate::counts::{Counted, deviations};
use crate::limits::{Deviation, Level, Spread, Term};
use crate::matching::Matching;
use crate::noise::{Noise, of_whole, spreads};
use crate::pairing::Both;
use crate::parts::{BaseSums, Parts, TestSums};
use crate::side::Side;
use crate::sums::{Measure, Sum};
use crate::things::{Grain, Rows, RowsOf, Thing};
use timewise_flow::interval::NORMAL_RANGE;
use timewise_flow::samples::Weight;
use timewise_flow::{Analysis, Estimate, InstructionId, Mismatch};

/// A change that is certain to be less than this share of BASE's time is no finding.
pub const WORTH_FINDING: f64 = 0.001;

/// Probability that a report of two runs of the same program names a change, as far as the noise is known.
const FALSE_FINDINGS: f64 = 0.01;

/// Changes that are judged in each row: of time, by count and by cost.
const TESTS_OF_A_ROW: usize = 3;

/// The share of a row's executed instructions that both sides must have for its time to be divided by them.
const ENOUGH_PAIRED: f64 = 0.5;
/// The same for the whole program, of which each part that was compiled otherwise would count as a change by count.
const ENOUGH_OF_WHOLE: f64 = 0.8;

/// What amounts of time are measured in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// CPU time, nanoseconds.
    Nanoseconds,
    /// Hardware cycles.
    Cycles,
}

/// Why two profiles cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CompareError {
    /// Cycles and time have no common unit.
    #[error("one profile counts cycles and the other measures time: profile both with the same clock")]
    DifferentClocks,
    /// One was only sampled, the other only counted.
    #[error("one profile was only sampled and the other only counted: profile both with timewise run")]
    NothingCommon,
}

/// A thing of either or both sides, and its change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// What it is.
    pub what: Both<Thing>,
    /// How it changed.
    pub change: Change,
    /// Whether the change is more than noise, and large enough to be told.
    pub is_finding: bool,
}

/// Two analyses, and which code of one is which of the other.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The old one.
    pub base: &'a Analysis<'a>,
    /// The new one.
    pub test: &'a Analysis<'a>,
    /// Which code is the same.
    pub matching: Matching,
    /// What amounts are measured in; `None` unless both sides were sampled.
    pub unit: Option<Unit>,
    /// How much runs differ by themselves.
    pub noise: Noise,
    spread: Spread,
    is_counted: bool,
    base_side: Side,
    test_side: Side,
}

impl<'a> Comparison<'a> {
    /// Compares two analyses.
    ///
    /// # Errors
    /// They measured nothing that can be compared.
    pub fn new(base: &'a Analysis<'a>, test: &'a Analysis<'a>) -> Result<Comparison<'a>, CompareError> {
        let unit = unit(base, test)?;
        let is_counted = base.quality.counting_runs > 0 && test.quality.counting_runs > 0;
        if unit.is_none() && !is_counted {
            return Err(CompareError::NothingCommon);
        }
        let counts_cycles = unit == Some(Unit::Cycles);
        let (base_side, test_side) = (Side::new(base, counts_cycles), Side::new(test, counts_cycles));
        let (spread, noise) = of_whole(&base_side.whole(), &test_side.whole());
        let matching = Matching::new(base, test);
        Ok(Comparison { base, test, matching, unit, noise, spread, is_counted, base_side, test_side })
    }

    /// How many sampling runs each side holds.
    pub fn runs(&self) -> RunCounts {
        RunCounts { base: self.base_side.runs(), test: self.test_side.runs() }
    }

    /// Whether loops, instructions and lines can be compared. Which there are is known of what was counted: on a side
    /// that was not, all of them would seem to be missing.
    pub fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Time of the whole program in BASE, in the unit; 0 if it was not sampled.
    pub fn whole_base(&self) -> f64 {
        self.base_side.measure.amount(&self.base.samples.user)
    }

    /// The change of the whole program. What several runs differ by holds what chance made of the number of their samples;
    /// of one run on each side that comes to what runs are assumed to differ by.
    pub fn whole(&self) -> Change {
        let (ours, theirs) = (RowsOf::one(self.base), RowsOf::one(self.test));
        let (base, test) = self.parts().of_rows(&ours, &theirs, 1);
        let whole = |side: &Side, user: &Weight| side.whole_sum(user, self.noise);
        let (old, new) = (
            whole(&self.base_side, &self.base.samples.user),
            whole(&self.test_side, &self.test.samples.user),
        );
        let runs = self.runs();
        let counts = self.count_deviations(&ours, &theirs, 1)[0];
        let levels = levels(1, &[self.spread], &[counts]);
        let of = |terms: &[Term], apart: &[Deviation]| difference(terms, self.spread, apart, &levels);
        let time = of(&runs.time(old, new), &[]);
        let is_sampled = self.unit.is_some();
        let has_parts = is_sampled && self.divides_whole(&ours, &theirs);
        let apart = [counts, self.turns(base[0].kept)];
        let by_cost = runs.by_cost_of_all((old, &base[0]), (new, &test[0]), self.noise);
        Change {
            instructions: self
                .is_counted
                .then(|| (self.base.whole().instructions, self.test.whole().instructions)),
            amounts: is_sampled.then_some((old.amount, new.amount)),
            time: is_sampled.then_some(time),
            by_count: has_parts.then(|| of(&runs.by_count(&base[0], &test[0]), &apart)),
            by_cost: has_parts.then(|| of(&by_cost, &apart)),
        }
    }

    /// Rows of everything of a grain, findings first, those that are certain to have changed most before the others. None
    /// but of functions unless both sides were counted.
    pub fn rows(&self, grain: Grain) -> Vec<Row> {
        if !self.is_counted && grain != Grain::Function {
            return Vec::new();
        }
        let mut rows = self.unordered(&Rows::new(self, grain), grain);
        rows.sort_by(|a, b| order(b).partial_cmp(&order(a)).unwrap_or(std::cmp::Ordering::Equal));
        rows
    }

    /// The same as they stand.
    fn unordered(&self, rows: &Rows, grain: Grain) -> Vec<Row> {
        let (mut base, mut test) = self.parts().of_rows(&rows.base, &rows.test, rows.len());
        add_strays(self.base, self.base_side.measure, &rows.base, |row, stray| base[row].all.add(stray));
        add_strays(self.test, self.test_side.measure, &rows.test, |row, stray| test[row].all.add(stray));
        let spreads = spreads(
            &self.base_side.rows(&rows.base, rows.len()),
            &self.test_side.rows(&rows.test, rows.len()),
            rows.len(),
        );
        // Time of one instruction or line may be another's in the next run of the same program.
        let may_move = matches!(grain, Grain::Instruction | Grain::Line) && self.noise == Noise::Unknown;
        let around = may_move.then(|| self.around(rows));
        let counts = self.count_deviations(&rows.base, &rows.test, rows.len());
        let instructions = self.instruction_counts(rows);
        let is_otherwise = compiled_otherwise(self, rows);
        let least = WORTH_FINDING * self.whole_base();
        let is_tested = |(base, test): &(&BaseSums, &TestSums)| base.all.amount.max(test.all.amount) >= least;
        let tested = base.iter().zip(&test).filter(is_tested).count();
        let levels = levels(tested, &spreads, &counts);
        let row = |(at, what): (usize, &Both<Thing>)| {
            let (base, test) = (&base[at], &test[at]);
            let noise = (spreads[at], counts[at]);
            let change = self.change(base, test, instructions[at], noise, &levels);
            let change = if is_otherwise[at] { change.undivided() } else { change };
            let is_moved = around.as_ref().is_some_and(|around| !around[at].holds(&change));
            let change = if is_moved { change.as_cost_moves() } else { change };
            let is_finding = is_tested(&(base, test)) && change.certain().abs() >= least && least > 0.0;
            Row { what: *what, change, is_finding }
        };
        rows.things.iter().enumerate().map(row).collect()
    }

    /// How the functions changed that each row is of.
    fn around(&self, rows: &Rows) -> Vec<Around> {
        let functions = Rows::new(self, Grain::Function);
        let of = self.unordered(&functions, Grain::Function);
        let mut all = vec![Around::default(); rows.len()];
        for (rows, functions) in [(&rows.base, &functions.base), (&rows.test, &functions.test)] {
            let both = rows.instructions.iter().zip(&functions.instructions);
            for (row, function) in both.filter_map(|(row, function)| Some(((*row)?, (*function)?))) {
                all[row].add(Around::of(&of[function].change));
            }
        }
        all
    }

    fn change(
        &self,
        base: &BaseSums,
        test: &TestSums,
        instructions: (u64, u64),
        (spread, counts): (Spread, Deviation),
        levels: &Levels,
    ) -> Change {
        let runs = self.runs();
        let both = self.unit.is_some() && self.knows_growth();
        let apart = [counts, self.turns(base.kept)];
        let time = |_| difference(&runs.time(base.all, test.all), spread, &[], levels);
        Change {
            instructions: self.is_counted.then_some(instructions),
            amounts: self.unit.map(|_| (base.all.amount, test.all.amount)),
            time: self.unit.map(time),
            by_count: both.then(|| difference(&runs.by_count(base, test), spread, &apart, levels)),
            by_cost: both.then(|| difference(&runs.by_cost(base, test), spread, &apart, levels)),
        }
    }

    /// Whether the time of the whole program is divided: nearly all that one side executes is on both.
    fn divides_whole(&self, ours: &RowsOf, theirs: &RowsOf) -> bool {
        let pairs = &self.matching.instructions;
        let is_on_both = || {
            let base = shares_paired(self.base, &ours.instructions, 1, |id| pairs.of_base(id).map(|_| 0))[0];
            let test =
                shares_paired(self.test, &theirs.instructions, 1, |id| pairs.of_test(id).map(|_| 0))[0];
            base.max(test) >= ENOUGH_OF_WHOLE
        };
        self.knows_growth() && is_on_both()
    }

    /// Whether it is known how much more often code ran in TEST natively, which is where its time is from.
    fn knows_growth(&self) -> bool {
        let in_turns = |side: &Analysis| matches!(side.quality.mismatch, Some(Mismatch::InTurns { .. }));
        self.is_counted && !in_turns(self.base) && !in_turns(self.test)
    }

    /// How far it is known how much more a program that ran already did natively than it was counted, which moves what both
    /// sides have from one part of a change to the other.
    fn turns(&self, kept: Sum) -> Deviation {
        let variance = |side: &Analysis| {
            let Estimate { low, high, .. } = side.ruler.work;
            if high > low { ((high / low).ln() / 2.0 / NORMAL_RANGE).powi(2) } else { 0.0 }
        };
        let variance = (variance(self.base) + variance(self.test)) * kept.amount.powi(2);
        Deviation { variance, freedom: f64::INFINITY }
    }

    /// How far changes by count of so many rows may be off because other runs would have executed something
    /// else.
    fn count_deviations(&self, base_rows: &RowsOf, test_rows: &RowsOf, rows: usize) -> Vec<Deviation> {
        let Parts { base, test, .. } = self.parts();
        deviations(
            Counted { runs: &self.base_side.counts, of: base, rows: base_rows },
            Counted { runs: &self.test_side.counts, of: test, rows: test_rows },
            rows,
        )
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            base: (self.base, self.base_side.measure),
            test: (self.test, self.test_side.measure),
            pairs: &self.matching.instructions,
        }
    }

    fn instruction_counts(&self, rows: &Rows) -> Vec<(u64, u64)> {
        let of = |analysis: &Analysis, side: &RowsOf| {
            let mut counts = vec![0u64; rows.len()];
            for (id, row) in (0..).map(InstructionId).zip(&side.instructions) {
                let Some(count) = row.map(|row| &mut counts[row]) else { continue };
                *count = count.saturating_add(analysis.code.executions(id));
            }
            counts
        };
        of(self.base, &rows.base).into_iter().zip(of(self.test, &rows.test)).collect()
    }
}

/// The levels of so many rows that are tested, whose noise is known from the same degrees of freedom.
pub(crate) fn levels(tested: usize, spreads: &[Spread], counts: &[Deviation]) -> Levels {
    let level = Level::of_all(FALSE_FINDINGS, TESTS_OF_A_ROW * tested);
    let spread = spreads.first().map(|spread| spread.freedom);
    let count = counts.first().map(|count| count.freedom);
    Levels::new(level, &[spread, count].into_iter().flatten().collect::<Vec<_>>())
}

fn unit(base: &Analysis, test: &Analysis) -> Result<Option<Unit>, CompareError> {
    let clock = |analysis: &Analysis| {
        let clock = analysis.quality.clock.as_ref().filter(|_| analysis.samples.user.cycles > 0.0);
        clock.map(|clock| clock.counts_cycles)
    };
    match (clock(base), clock(test)) {
        (Some(true), Some(true)) => Ok(Some(Unit::Cycles)),
        (Some(false), Some(false)) => Ok(Some(Unit::Nanoseconds)),
        (Some(_), Some(_)) => Err(CompareError::DifferentClocks),
        _ => Ok(None),
    }
}

/// For each row whether both sides have it and less than half of what either executes in it is on both: then no growth of
/// instructions tells how much more often it ran.
fn compiled_otherwise(comparison: &Comparison, rows: &Rows) -> Vec<bool> {
    let pairs = &comparison.matching.instructions;
    let in_base = |id| pairs.of_base(id).and_then(|partner| rows.test.instructions[partner as usize]);
    let in_test = |id| pairs.of_test(id).and_then(|partner| rows.base.instructions[partner as usize]);
    let base = shares_paired(comparison.base, &rows.base.instructions, rows.len(), in_base);
    let test = shares_paired(comparison.test, &rows.test.instructions, rows.len(), in_test);
    let is_otherwise = |(what, (base, test)): (&Both<Thing>, (f64, f64))| {
        what.base.is_some() && what.test.is_some() && base.max(test) < ENOUGH_PAIRED
    };
    rows.things.iter().zip(base.into_iter().zip(test)).map(is_otherwise).collect()
}

/// Of so many rows the share of their executed instructions whose partners are in the same row of the other side; 1 of a
/// row without any. The function gives the row of an instruction's partner.
fn shares_paired(
    analysis: &Analysis,
    own: &[Option<usize>],
    rows: usize,
    row_of_partner: impl Fn(u32) -> Option<usize>,
) -> Vec<f64> {
    let mut executed = vec![(0.0, 0.0); rows];
    for (id, row) in (0..).zip(own) {
        let Some(row) = *row else { continue };
        let executions = analysis.code.executions(InstructionId(id)) as f64;
        let (all, paired): &mut (f64, f64) = &mut executed[row];
        *all += executions;
        *paired += if row_of_partner(id) == Some(row) { executions } else { 0.0 };
    }
    executed.into_iter().map(|(all, paired)| if all > 0.0 { paired / all } else { 1.0 }).collect()
}

/// Whether functions are certain to have become slower, and to have become faster.
#[derive(Clone, Copy, Default)]
struct Around {
    slower: bool,
    faster: bool,
}

impl Around {
    fn of(function: &Change) -> Around {
        let certain = function.time.map_or(0.0, |time| time.certain);
        Around { slower: certain > 0.0, faster: certain < 0.0 }
    }

    fn add(&mut self, other: Around) {
        *self = Around { slower: self.slower | other.slower, faster: self.faster | other.faster };
    }

    /// Whether a change by cost within these functions is one of theirs, or there is none.
    fn holds(&self, change: &Change) -> bool {
        match change.by_cost.or(change.time).map_or(0.0, |cost| cost.estimate().value) {
            0.0 => true,
            value if value > 0.0 => self.slower,
            _ => self.faster,
        }
    }
}

/// What comes first has more of this: certain change, any change, changed instructions.
fn order(row: &Row) -> (bool, f64, f64, u64) {
    let certain = row.change.certain().abs();
    let time = row.change.time.map_or(0.0, |time| time.estimate().value.abs());
    let instructions = row.change.instructions.map_or(0, |(base, test)| base.abs_diff(test));
    (row.is_finding, if row.is_finding { certain } else { 0.0 }, time, instructions)
}

/// Adds samples on code that was not counted to the row of their function.
fn add_strays(analysis: &Analysis, measure: Measure, rows: &RowsOf, mut add: impl FnMut(usize, Sum)) {
    for (_, routine, weight) in analysis.strays() {
        rows.of_stray(routine).into_iter().for_each(|row| add(row, measure.sum(&weight)));
    }
}
