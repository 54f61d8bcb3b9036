//! The time that passed, and what of it the kernel spent for the program: beside CPU time in user mode, which all else of
//! a comparison is of.

use crate::change::{Difference, difference};
use crate::comparison::{Comparison, levels};
use crate::noise::{InRun, Noise, of_whole};
use crate::sums::Sum;
use timewise_profile::{Profile, Run, RunKind};

/// What a tick of the system's clock stands for at most, by which most kernels divide CPU time between the program and
/// themselves.
const TICK_NS: f64 = 10e6;

/// Nanoseconds of the whole program in an average run that was sampled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Passed {
    /// In BASE.
    pub base_ns: f64,
    /// In TEST.
    pub test_ns: f64,
    /// What changed, of which runs differ by themselves.
    pub change: Difference,
    /// By how much they do.
    pub noise: Noise,
}

impl Comparison<'_> {
    /// Time from start to end; `None` unless both sides were sampled, each from a start to an end: how long a program is
    /// watched that ran already is up to who watches.
    pub fn elapsed(&self) -> Option<Passed> {
        self.passed(|run| run.elapsed_ns, 0.0)
    }

    /// CPU time in user mode and in the kernel together, which the system accounts exactly; `None` where
    /// [`Comparison::elapsed`] is.
    pub fn cpu_time(&self) -> Option<Passed> {
        self.passed(|run| run.user_ns.saturating_add(run.kernel_ns), 0.0)
    }

    /// CPU time in the kernel, as the system accounts it; `None` where [`Comparison::elapsed`] is.
    pub fn in_kernel(&self) -> Option<Passed> {
        self.passed(|run| run.kernel_ns, TICK_NS)
    }

    /// A time that is accounted by ticks of so many nanoseconds, as what each of them meets; 0 where it is measured.
    fn passed(&self, time_ns: fn(&Run) -> u64, tick_ns: f64) -> Option<Passed> {
        let [base, test] = [self.base, self.test].map(|side| in_runs(side.profile, time_ns, tick_ns));
        let (base, test) = (base?, test?);
        let (spread, noise) = of_whole(&base, &test);
        let [base_ns, test_ns] =
            [&base, &test].map(|runs| runs.iter().map(|run| run[0].amount).sum::<f64>() / runs.len() as f64);
        let sum = |amount: f64, runs: usize| {
            let squares = amount * tick_ns / runs as f64;
            Sum { amount, squares, unseen: tick_ns / runs as f64, ..Sum::default() }
        };
        let terms = self.runs().time(sum(base_ns, base.len()), sum(test_ns, test.len()));
        let change = difference(&terms, spread, &[], &levels(1, &[spread], &[]));
        Some(Passed { base_ns, test_ns, change, noise })
    }
}

/// A time of each sampled run; `None` if there are none, or some are of a period.
fn in_runs(profile: &Profile, time_ns: fn(&Run) -> u64, tick_ns: f64) -> Option<Vec<Vec<InRun>>> {
    let sampled = || profile.runs_of(RunKind::Sampling);
    let is_known = sampled().count() > 0 && sampled().all(|run| run.elapsed_ns > 0 && !run.is_of_a_period());
    let of = |run: &Run| {
        let amount = time_ns(run) as f64;
        vec![InRun { amount, variance: amount * tick_ns }]
    };
    is_known.then(|| sampled().map(of).collect())
}
