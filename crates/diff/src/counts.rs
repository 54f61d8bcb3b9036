//! How much runs of the same program differ in what they execute.
//!
//! Executions are counted exactly, but those of one run need not be those of the next: threads, random numbers and
//! addresses that serve as keys see to that. With several counting runs on a side the difference is measured:
//! what the executions of each run would have taken at the side's average cost, against the average of its runs.
//! A program that executes the same each time has none of it. With one counting run on each side a change of
//! counts is taken as a fact.

use crate::limits::Deviation;
use crate::sums::Measure;
use crate::things::RowsOf;
use timewise_flow::Analysis;
use timewise_profile::{Profile, RunKind};

/// Executions of each block in each counting run of one side.
#[derive(Clone, Debug)]
pub struct CountedRuns(Vec<Vec<u64>>);

impl CountedRuns {
    /// The counting runs of a profile.
    pub fn new(profile: &Profile) -> CountedRuns {
        let mut at = Vec::with_capacity(profile.runs.len());
        let mut counted = 0;
        for run in &profile.runs {
            at.push((run.kind == RunKind::Counting).then_some(counted));
            counted += usize::from(run.kind == RunKind::Counting);
        }
        let mut runs = vec![vec![0u64; profile.blocks.len()]; counted];
        for row in &profile.block_counts {
            let run = profile.processes[row.process.index()].run;
            if let Some(run) = at.get(run.index()).copied().flatten() {
                runs[run][row.block.index()] += row.executions;
            }
        }
        CountedRuns(runs)
    }

    /// Of so many rows, the squared deviations of all runs from their average, in the unit's square.
    fn squares(&self, (analysis, measure): (&Analysis, Measure), of_code: &RowsOf, rows: usize) -> Vec<f64> {
        let mut squares = vec![0.0; rows];
        let differs = |block: usize| self.0.iter().any(|run| run[block] != self.0[0][block]);
        let blocks: Vec<usize> = (0..analysis.code.blocks.len()).filter(|block| differs(*block)).collect();
        let mean =
            |block: usize| self.0.iter().map(|run| run[block] as f64).sum::<f64>() / self.0.len() as f64;
        let means: Vec<f64> = blocks.iter().map(|block| mean(*block)).collect();
        for run in &self.0 {
            let mut deviations = vec![0.0; rows];
            for (block, mean) in blocks.iter().zip(&means) {
                let more = run[*block] as f64 / mean - 1.0;
                for id in analysis.code.blocks[*block].instructions() {
                    let amount = measure.amount(&analysis.attributed.at[id.index()]);
                    of_code.instructions[id.index()]
                        .into_iter()
                        .for_each(|row| deviations[row] += more * amount);
                }
            }
            squares.iter_mut().zip(deviations).for_each(|(sum, deviation)| *sum += deviation * deviation);
        }
        squares
    }

    fn runs(&self) -> f64 {
        self.0.len() as f64
    }
}

/// One side, and the rows of its instructions.
pub(crate) struct Counted<'a> {
    /// Its runs.
    pub runs: &'a CountedRuns,
    /// What its instructions cost.
    pub of: (&'a Analysis<'a>, Measure),
    /// Its rows.
    pub rows: &'a RowsOf,
}

/// How far a change by count may be off in each of so many rows, because other runs would have executed something
/// else. Both sides are taken to differ alike from run to run.
pub(crate) fn deviations(base: Counted, test: Counted, rows: usize) -> Vec<Deviation> {
    let (ours, theirs) = (base.runs.runs(), test.runs.runs());
    let freedom = (ours - 1.0).max(0.0) + (theirs - 1.0).max(0.0);
    if freedom == 0.0 || ours == 0.0 || theirs == 0.0 {
        return vec![Deviation { variance: 0.0, freedom: f64::INFINITY }; rows];
    }
    let of_base = base.runs.squares(base.of, base.rows, rows);
    let of_test = test.runs.squares(test.of, test.rows, rows);
    let of_averages = 1.0 / ours + 1.0 / theirs;
    let deviation = |(a, b): (f64, f64)| Deviation { variance: (a + b) / freedom * of_averages, freedom };
    of_base.into_iter().zip(of_test).map(deviation).collect()
}
