//! Of which parts the time of a row consists: what BASE and TEST both have, at the count of either, what ran
//! more or less often, and what only one of them has.

use crate::pairing::Pairing;
use crate::sums::{Measure, Sum, sums};
use crate::things::RowsOf;
use timewise_flow::{Analysis, InstructionId};

/// Code that ran this many times more often than in BASE is as good as new if BASE has no time for it.
const MANY_TIMES: f64 = 2.0;

/// Sums of the code of BASE in a row.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct BaseSums {
    /// Everything.
    pub all: Sum,
    /// Code that TEST has too, at the count of TEST.
    pub kept: Sum,
    /// What code cost that ran more often in TEST, for what it ran more often.
    pub grown: Sum,
    /// What code cost that ran less often in TEST, for what it ran less often.
    pub shrunk: Sum,
    /// Code that TEST has not.
    pub gone: Sum,
}

/// Sums of the code of TEST in a row.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TestSums {
    /// Everything.
    pub all: Sum,
    /// Code that BASE has too.
    pub kept: Sum,
    /// Code that BASE has not.
    pub new: Sum,
}

/// Two analyses with the unit of each, and which instruction is which.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// The old one.
    pub base: (&'a Analysis<'a>, Measure),
    /// The new one.
    pub test: (&'a Analysis<'a>, Measure),
    /// Their instructions.
    pub pairs: &'a Pairing,
}

impl Parts<'_> {
    /// Sums of so many rows. An instruction whose partner is in another row is gone from its own, and new in the
    /// partner's.
    pub(crate) fn of_rows(
        self,
        base_rows: &RowsOf,
        test_rows: &RowsOf,
        rows: usize,
    ) -> (Vec<BaseSums>, Vec<TestSums>) {
        const BASE: usize = 5;
        const TEST: usize = 3;
        let in_base = sums(self.base.0, self.base.1, BASE * rows, |id, add| {
            let Some(row) = base_rows.instructions[id.index()] else { return };
            add(BASE * row, 1.0);
            let partner = self.pairs.of_base(id.0).map(InstructionId);
            let partner = partner.filter(|partner| test_rows.instructions[partner.index()] == Some(row));
            match partner.and_then(|partner| self.growth(id, partner)) {
                None => add(BASE * row + 4, 1.0),
                Some(growth) => {
                    add(BASE * row + 1, growth);
                    if growth > 1.0 {
                        add(BASE * row + 2, growth - 1.0);
                    } else if growth < 1.0 {
                        add(BASE * row + 3, 1.0 - growth);
                    }
                }
            }
        });
        let in_test = sums(self.test.0, self.test.1, TEST * rows, |id, add| {
            let Some(row) = test_rows.instructions[id.index()] else { return };
            add(TEST * row, 1.0);
            let partner = self.pairs.of_test(id.0).map(InstructionId);
            let partner = partner.filter(|partner| base_rows.instructions[partner.index()] == Some(row));
            let is_kept = partner.is_some_and(|partner| self.growth(partner, id).is_some());
            add(TEST * row + if is_kept { 1 } else { 2 }, 1.0);
        });
        let base = |s: &[Sum]| BaseSums { all: s[0], kept: s[1], grown: s[2], shrunk: s[3], gone: s[4] };
        let test = |s: &[Sum]| TestSums { all: s[0], kept: s[1], new: s[2] };
        (in_base.chunks(BASE).map(base).collect(), in_test.chunks(TEST).map(test).collect())
    }

    /// How many times as often an instruction ran in TEST as in BASE; `None` where its time in the two cannot
    /// be compared: where it ran on one side only, and where it ran so seldom in BASE that no sample was to be
    /// expected, and many times as often in TEST.
    fn growth(self, base: InstructionId, test: InstructionId) -> Option<f64> {
        // A program that ran already did more natively, where its time is from, than under count.
        let executions = |(analysis, _): (&Analysis, Measure), id| {
            analysis.code.executions(id) as f64 * analysis.ruler.work.value
        };
        let (old, new) = (executions(self.base, base), executions(self.test, test));
        if old == new {
            return Some(1.0);
        }
        let growth = new / old;
        if old == 0.0 || new == 0.0 {
            return None;
        }
        let amount = |(analysis, measure): (&Analysis, Measure), id: InstructionId| {
            measure.amount(&analysis.attributed.at[id.index()])
        };
        let both = amount(self.base, base) + amount(self.test, test);
        let expected = old * both / (old + new);
        (growth < MANY_TIMES || expected >= self.base.1.sample()).then_some(growth)
    }
}
