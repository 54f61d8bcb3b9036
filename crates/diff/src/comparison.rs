//! Two analyses compared: the whole program, and its functions, loops, instructions and lines.

use crate::change::{Change, Levels, RunCounts, difference, rest};
use crate::counts::{Counted, deviations};
use crate::limits::{Deviation, Level, Spread, Term};
use crate::lines::ModuleLine;
use crate::loops::innermost;
use crate::matching::Matching;
use crate::noise::{Noise, of_whole, spreads};
use crate::pairing::{Both, Pairing};
use crate::parts::{BaseSums, Parts, TestSums};
use crate::side::Side;
use crate::sums::{Measure, Sum};
use std::collections::HashMap;
use timewise_flow::samples::Weight;
use timewise_flow::{Analysis, InstructionId, LoopId, RoutineId};

/// A change that is certain to be less than this share of BASE's time is no finding.
pub const WORTH_FINDING: f64 = 0.001;

/// Probability that a report of two runs of the same program names a change, as far as the noise is known.
const FALSE_FINDINGS: f64 = 0.01;

/// Changes that are judged in each row: of time, by count and by cost.
const TESTS_OF_A_ROW: usize = 3;

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
pub struct Row<T> {
    /// What it is.
    pub what: Both<T>,
    /// How it changed.
    pub change: Change,
    /// Whether the change is more than noise, and large enough to be told.
    pub is_finding: bool,
}

impl<T> Row<T> {
    /// The same of what `thing` makes of what it is of.
    pub fn of<U>(self, thing: fn(T) -> U) -> Row<U> {
        let Row { what, change, is_finding } = self;
        Row { what: what.map(thing, thing), change, is_finding }
    }
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

    /// The change of the whole program. Samples weigh the time since the one before, so that their sum needs
    /// no interval for sampling; what remains is how much runs differ.
    pub fn whole(&self) -> Change {
        let (base, test) = self.parts().of_rows(|_| Some(0), |_| Some(0), 1);
        let whole = |side: &Side, user: &Weight| Sum::known(side.measure.amount(user));
        let (old, new) = (
            whole(&self.base_side, &self.base.samples.user),
            whole(&self.test_side, &self.test.samples.user),
        );
        let runs = self.runs();
        let counts = self.count_deviations(|_| Some(0), |_| Some(0), 1)[0];
        let levels = levels(1, &[self.spread], &[counts]);
        let of = |terms: &[Term], apart| difference(terms, self.spread, apart, &levels);
        let time = of(&runs.time(old, new), Deviation::NONE);
        let by_count = of(&runs.by_count(&base[0], &test[0]), counts);
        let is_sampled = self.unit.is_some();
        let has_parts = is_sampled && self.is_counted;
        Change {
            instructions: self
                .is_counted
                .then(|| (self.base.whole().instructions, self.test.whole().instructions)),
            amounts: is_sampled.then_some((old.amount, new.amount)),
            time: is_sampled.then_some(time),
            by_count: has_parts.then_some(by_count),
            by_cost: has_parts.then(|| rest(time, by_count)),
        }
    }

    /// Changes of functions, without their callees.
    pub fn functions(&self) -> Vec<Row<RoutineId>> {
        let owner = |analysis: &Analysis, id: InstructionId| {
            Some(analysis.owner[analysis.code.instructions[id.index()].block.index()].0)
        };
        self.rows(&self.matching.routines, owner, owner, Kind::Function, RoutineId)
    }

    /// Changes of loops, without inner loops and callees; none unless both sides were counted, as of instructions and
    /// lines.
    pub fn loops(&self) -> Vec<Row<LoopId>> {
        let own = |analysis: &Analysis, id| innermost(analysis, id).map(|id| id.0);
        self.rows(&self.matching.loops, own, own, Kind::Loop, LoopId)
    }

    /// Changes of instructions.
    pub fn instructions(&self) -> Vec<Row<InstructionId>> {
        let itself = |_: &Analysis, id: InstructionId| Some(id.0);
        self.rows(&self.matching.instructions, itself, itself, Kind::Place, InstructionId)
    }

    /// Changes of source lines.
    pub fn lines(&self) -> Vec<Row<ModuleLine>> {
        let (base, test) = (&self.matching.base_lines, &self.matching.test_lines);
        let ours = |_: &Analysis, id: InstructionId| base.of[id.index()];
        let theirs = |_: &Analysis, id: InstructionId| test.of[id.index()];
        let rows = self.rows(&self.matching.lines, ours, theirs, Kind::Place, |line| line);
        let line = |row: Row<u32>| Row {
            what: row.what.map(|at| base.all[at as usize], |at| test.all[at as usize]),
            change: row.change,
            is_finding: row.is_finding,
        };
        rows.into_iter().map(line).collect()
    }

    /// Rows of all things that `pairing` holds, findings first, those that are certain to have changed most
    /// before the others. The functions give what an instruction belongs to.
    fn rows<T>(
        &self,
        pairing: &Pairing,
        ours: impl Fn(&Analysis, InstructionId) -> Option<u32>,
        theirs: impl Fn(&Analysis, InstructionId) -> Option<u32>,
        kind: Kind,
        id: fn(u32) -> T,
    ) -> Vec<Row<T>> {
        if !self.is_counted && kind != Kind::Function {
            return Vec::new();
        }
        let all = pairing.all();
        let (row_of_base, row_of_test) = positions(&all);
        let base_row = |id| ours(self.base, id).and_then(|thing| row_of_base.get(&thing).copied());
        let test_row = |id| theirs(self.test, id).and_then(|thing| row_of_test.get(&thing).copied());
        let (mut base, mut test) = self.parts().of_rows(base_row, test_row, all.len());
        let strays = |rows: &HashMap<u32, usize>, routine: RoutineId| {
            rows.get(&routine.0).copied().filter(|_| kind == Kind::Function)
        };
        let base_stray = |routine| strays(&row_of_base, routine);
        let test_stray = |routine| strays(&row_of_test, routine);
        add_strays(self.base, self.base_side.measure, base_stray, |row, stray| base[row].all.add(stray));
        add_strays(self.test, self.test_side.measure, test_stray, |row, stray| test[row].all.add(stray));
        let spreads = spreads(
            &self.base_side.rows(base_row, base_stray, all.len()),
            &self.test_side.rows(test_row, test_stray, all.len()),
            all.len(),
        );
        let may_move = kind == Kind::Place && self.noise == Noise::Unknown;
        let around = may_move.then(|| self.around(base_row, test_row, all.len()));
        let counts = self.count_deviations(base_row, test_row, all.len());
        let instructions = self.instruction_counts(base_row, test_row, all.len());
        let least = WORTH_FINDING * self.whole_base();
        let is_tested = |(base, test): &(&BaseSums, &TestSums)| base.all.amount.max(test.all.amount) >= least;
        let tested = base.iter().zip(&test).filter(is_tested).count();
        let levels = levels(tested, &spreads, &counts);
        let mut rows: Vec<Row<T>> = Vec::with_capacity(all.len());
        for (at, what) in all.into_iter().enumerate() {
            let (base, test) = (&base[at], &test[at]);
            let noise = (spreads[at], counts[at]);
            let change = self.change(base, test, instructions[at], noise, &levels);
            let is_moved = around.as_ref().is_some_and(|around| !around[at].holds(&change));
            let change = if is_moved { change.as_cost_moves() } else { change };
            let is_finding = is_tested(&(base, test)) && change.certain().abs() >= least && least > 0.0;
            rows.push(Row { what: what.map(id, id), change, is_finding });
        }
        rows.sort_by(|a, b| order(b).partial_cmp(&order(a)).unwrap_or(std::cmp::Ordering::Equal));
        rows
    }

    /// How the functions changed that so many rows are of.
    fn around(
        &self,
        base_row: impl Fn(InstructionId) -> Option<usize>,
        test_row: impl Fn(InstructionId) -> Option<usize>,
        rows: usize,
    ) -> Vec<Around> {
        let (mut ours, mut theirs) = (HashMap::new(), HashMap::new());
        for row in self.functions() {
            let around = Around::of(&row.change);
            ours.extend(row.what.base.map(|id| (id, around)));
            theirs.extend(row.what.test.map(|id| (id, around)));
        }
        let mut all = vec![Around::default(); rows];
        let sides: [(_, &HashMap<_, _>, &dyn Fn(_) -> _); 2] =
            [(self.base, &ours, &base_row), (self.test, &theirs, &test_row)];
        for (analysis, functions, row) in sides {
            for id in (0..analysis.code.instructions.len() as u32).map(InstructionId) {
                let function = analysis.owner[analysis.code.instructions[id.index()].block.index()];
                let around = row(id).zip(functions.get(&function));
                around.into_iter().for_each(|(row, around): (usize, &Around)| all[row].add(*around));
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
        let both = self.unit.is_some() && self.is_counted;
        let time = |_| difference(&runs.time(base.all, test.all), spread, Deviation::NONE, levels);
        Change {
            instructions: self.is_counted.then_some(instructions),
            amounts: self.unit.map(|_| (base.all.amount, test.all.amount)),
            time: self.unit.map(time),
            by_count: both.then(|| difference(&runs.by_count(base, test), spread, counts, levels)),
            by_cost: both.then(|| difference(&runs.by_cost(base, test), spread, counts, levels)),
        }
    }

    /// How far changes by count of so many rows may be off because other runs would have executed something
    /// else.
    fn count_deviations(
        &self,
        base_row: impl Fn(InstructionId) -> Option<usize>,
        test_row: impl Fn(InstructionId) -> Option<usize>,
        rows: usize,
    ) -> Vec<Deviation> {
        let Parts { base, test, .. } = self.parts();
        deviations(
            Counted { runs: &self.base_side.counts, of: base, row: base_row },
            Counted { runs: &self.test_side.counts, of: test, row: test_row },
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

    fn instruction_counts(
        &self,
        base_row: impl Fn(InstructionId) -> Option<usize>,
        test_row: impl Fn(InstructionId) -> Option<usize>,
        rows: usize,
    ) -> Vec<(u64, u64)> {
        let mut counts = vec![(0u64, 0u64); rows];
        let all = |analysis: &Analysis| (0..analysis.code.instructions.len() as u32).map(InstructionId);
        let add = |sum: &mut u64, executions: u64| *sum = sum.saturating_add(executions);
        for id in all(self.base) {
            base_row(id).into_iter().for_each(|row| add(&mut counts[row].0, self.base.code.executions(id)));
        }
        for id in all(self.test) {
            test_row(id).into_iter().for_each(|row| add(&mut counts[row].1, self.test.code.executions(id)));
        }
        counts
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

/// What rows are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Functions: samples on code that was not counted are theirs too.
    Function,
    Loop,
    /// Instructions or lines: time of one may be another's in the next run of the same program.
    Place,
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

/// Rows of the things of BASE and of TEST.
pub(crate) fn positions(all: &[Both<u32>]) -> (HashMap<u32, usize>, HashMap<u32, usize>) {
    let rows = |side: fn(&Both<u32>) -> Option<u32>| {
        all.iter().enumerate().filter_map(|(row, both)| Some((side(both)?, row))).collect()
    };
    (rows(|both| both.base), rows(|both| both.test))
}

/// What comes first has more of this: certain change, any change, changed instructions.
fn order<T>(row: &Row<T>) -> (bool, f64, f64, u64) {
    let certain = row.change.certain().abs();
    let time = row.change.time.map_or(0.0, |time| time.estimate().value.abs());
    let instructions = row.change.instructions.map_or(0, |(base, test)| base.abs_diff(test));
    (row.is_finding, if row.is_finding { certain } else { 0.0 }, time, instructions)
}

/// Adds samples on code that was not counted to the row of their function.
fn add_strays(
    analysis: &Analysis,
    measure: Measure,
    row: impl Fn(RoutineId) -> Option<usize>,
    mut add: impl FnMut(usize, Sum),
) {
    for (_, routine, weight) in analysis.strays() {
        row(routine).into_iter().for_each(|row| add(row, measure.sum(&weight)));
    }
}
