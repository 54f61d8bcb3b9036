//! What the runs of one side measured, each by itself.

use crate::counts::CountedRuns;
use crate::noise::{InRun, Noise};
use crate::sums::{Measure, Sum};
use crate::things::RowsOf;
use std::collections::HashMap;
use timewise_flow::attribute::attribute;
use timewise_flow::samples::{Samples, Weight};
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{Place, RunId, RunKind};

/// All runs of BASE or of TEST.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// The unit of all amounts.
    pub measure: Measure,
    /// What each counting run executed.
    pub counts: CountedRuns,
    runs: Vec<OneRun>,
}

#[derive(Clone, Debug)]
struct OneRun {
    at: Vec<Weight>,
    stray: Vec<(RoutineId, Weight)>,
    user: Weight,
}

impl Side {
    /// The runs that an analysis holds together.
    pub fn new(analysis: &Analysis, counts_cycles: bool) -> Side {
        let profile = analysis.profile;
        let routines: HashMap<Place, RoutineId> =
            analysis.strays().map(|(place, routine, _)| (place, routine)).collect();
        let mut runs = Vec::new();
        for (id, _) in profile.runs.iter().enumerate().filter(|(_, run)| run.kind == RunKind::Sampling) {
            let samples = Samples::of_run(profile, &analysis.code, RunId(id as u32));
            let stray =
                samples.stray.iter().filter_map(|(place, weight)| Some((*routines.get(place)?, *weight)));
            runs.push(OneRun {
                at: attribute(&analysis.code, &samples, &analysis.frames, analysis.policy).at,
                stray: stray.collect(),
                user: samples.user,
            });
        }
        Side { measure: Measure::new(analysis, counts_cycles), counts: CountedRuns::new(profile), runs }
    }

    /// How many sampling runs there are.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The one row of the whole program, in each sampling run.
    pub fn whole(&self) -> Vec<Vec<InRun>> {
        let of = |run: &OneRun| vec![InRun { amount: self.measure.amount(&run.user), variance: 0.0 }];
        self.runs.iter().map(of).collect()
    }

    /// The time of the whole program in an average run, which was sampled. How much runs differ, as it was measured, holds
    /// what chance makes of the number of samples, but of how a run begins and ends between two of them.
    pub fn whole_sum(&self, user: &Weight, noise: Noise) -> Sum {
        let sum = self.measure.sum(user);
        match noise {
            Noise::Unknown => sum,
            Noise::Measured(_) => Sum { squares: sum.unseen.powi(2) / self.runs.len().max(1) as f64, ..sum },
        }
    }

    /// So many rows in each sampling run.
    pub fn rows(&self, of_code: &RowsOf, rows: usize) -> Vec<Vec<InRun>> {
        let of = |run: &OneRun| {
            let mut all = vec![InRun::default(); rows];
            let mut add = |row: usize, weight: &Weight| {
                all[row].amount += self.measure.amount(weight);
                all[row].variance += self.measure.squares(weight);
            };
            for (row, weight) in of_code.instructions.iter().zip(&run.at) {
                row.iter().for_each(|row| add(*row, weight));
            }
            for (routine, weight) in &run.stray {
                of_code.of_stray(*routine).into_iter().for_each(|row| add(row, weight));
            }
            all
        };
        self.runs.iter().map(of).collect()
    }
}
