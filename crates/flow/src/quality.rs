//! What a reader must know to trust the figures: origin, amount, and what went wrong.

use crate::code::Code;
use crate::samples::{Samples, clock};
use crate::turns::TurnsWork;
use crate::work::{Mismatch, counted_share, faster_in_words, mean};
use std::collections::BTreeMap;
use timewise_profile::{CallStacks, Clock, Exit, HASH_OF_NO_OUTPUT, Profile, Run, RunId, RunKind};

/// Facts about the measurement as a whole. Times are those of an average run, samples those of all.
#[derive(Clone, Debug, Default)]
pub struct Quality {
    /// Clock of the samples; `None` without a sampling run.
    pub clock: Option<Clock>,
    /// Sampling runs in the profile.
    pub sampling_runs: usize,
    /// Counting runs in the profile.
    pub counting_runs: usize,
    /// Samples in user mode.
    pub samples: u64,
    /// Samples in the kernel.
    pub kernel_samples: u64,
    /// Samples that the system dropped.
    pub lost_samples: u64,
    /// How callers were found, in all sampling runs; `None` where samples have none.
    pub call_stacks: Option<CallStacks>,
    /// Share of the user time whose samples fell on counted code, 0 to 1.
    pub joined_share: f64,
    /// Share of the user time whose samples fell outside all known modules, 0 to 1.
    pub unresolved_share: f64,
    /// Nanoseconds from start to end of a sampling run.
    pub elapsed_ns: f64,
    /// CPU time in user mode of a sampling run.
    pub user_ns: f64,
    /// CPU time in the kernel of a sampling run.
    pub kernel_ns: f64,
    /// Nanoseconds from start to end of a counting run.
    pub counting_elapsed_ns: f64,
    /// Processes of the sampling run that had most of them: several runs, or turns, are of the same ones.
    pub processes: usize,
    /// Threads, likewise.
    pub threads: usize,
    /// Whether standard output of the sampling and the counting runs was the same; `None` if it was
    /// not compared.
    pub same_output: Option<bool>,
    /// Whether any run wrote to standard output: that outputs of nothing are the same tells nothing.
    pub has_output: bool,
    /// How it shows that the runs did different amounts of work, if it does.
    pub mismatch: Option<Mismatch>,
    /// Share of the sampled run's time that is missing because samples were lost, 0 to 1, as far as that is certain.
    pub missing_share: f64,
    /// Whether a run ended otherwise than the first.
    pub other_end: bool,
    /// How much a program that ran already did natively for what it did under count, if that is known.
    pub turns: Option<TurnsWork>,
    /// In which way runs of the program differ, in words; one of the warnings.
    pub differing_runs: Option<String>,
    /// What else limits the figures, in words.
    pub warnings: Vec<String>,
}

/// Below this share of samples on counted code the join is worth a warning, and the whole has no cost of an instruction.
pub const JOINED_ENOUGH: f64 = 0.95;

/// From this share of time that is missing on, costs carry no interval, as those of samples do not know of it, and no
/// condition is judged by times.
const MISSING_TOO_MUCH: f64 = 0.05;

/// The share of the time in user mode of all sampling runs together that no sample stands for, if samples were lost.
fn missing_share(profile: &Profile) -> f64 {
    let (mut missing, mut used) = (0.0, 0.0);
    for (id, run) in (0..).map(RunId).zip(&profile.runs).filter(|(_, run)| run.kind == RunKind::Sampling) {
        // Of runs whose time is not known, each counts as much.
        let time = run.user_ns.max(1) as f64;
        missing += profile.missing_share(id) * time;
        used += time;
    }
    if used > 0.0 { missing / used } else { 0.0 }
}

/// How often the run occurs that occurs most often.
fn most_of_a_run<'a>(runs: impl Iterator<Item = &'a RunId>) -> usize {
    let mut counts = BTreeMap::new();
    runs.for_each(|run| *counts.entry(run.index()).or_default() += 1);
    counts.into_values().max().unwrap_or(0)
}

/// Of runs that take samples.
fn lost_samples(profile: &Profile) -> u64 {
    profile.runs.iter().filter(|run| run.kind != RunKind::Events).map(|run| run.lost_samples).sum()
}

/// Those of samples, of all runs together, by the method of the first.
fn call_stacks(profile: &Profile) -> Option<CallStacks> {
    let sampled = profile.runs.iter().filter(|run| run.kind != RunKind::Events);
    sampled.filter_map(|run| run.call_stacks.clone()).reduce(|sum, run| CallStacks {
        method: sum.method,
        taken: sum.taken.saturating_add(run.taken),
        cut_short: sum.cut_short.saturating_add(run.cut_short),
        broken: sum.broken.saturating_add(run.broken),
    })
}

impl Quality {
    /// Judges the measurement of a profile.
    pub fn new(profile: &Profile, code: &Code, samples: &Samples) -> Quality {
        let thread_runs = profile.threads.iter().map(|thread| &profile.processes[thread.process.index()].run);
        let in_sampling =
            |run: &&timewise_profile::RunId| profile.runs[run.index()].kind == RunKind::Sampling;
        let user = samples.user.cycles;
        let clock = clock(profile);
        let share = counted_share(profile, code, samples);
        let turns = TurnsWork::of(profile, code);
        let mismatch =
            clock.as_ref().and_then(|clock| Mismatch::of(profile, code, samples, (clock, share), turns));
        let mut quality = Quality {
            clock,
            sampling_runs: profile.runs_of(RunKind::Sampling).count(),
            counting_runs: profile.runs_of(RunKind::Counting).count(),
            samples: samples.user.samples.round() as u64,
            kernel_samples: samples.kernel.values().map(|weight| weight.samples).sum::<f64>().round() as u64,
            lost_samples: lost_samples(profile),
            call_stacks: call_stacks(profile),
            joined_share: samples.joined_share(),
            unresolved_share: if user > 0.0 { samples.nowhere.cycles / user } else { 0.0 },
            elapsed_ns: mean(profile, RunKind::Sampling, |run| run.elapsed_ns as f64),
            user_ns: mean(profile, RunKind::Sampling, |run| run.user_ns as f64),
            kernel_ns: mean(profile, RunKind::Sampling, |run| run.kernel_ns as f64),
            counting_elapsed_ns: mean(profile, RunKind::Counting, |run| run.elapsed_ns as f64),
            processes: most_of_a_run(
                profile.processes.iter().map(|process| &process.run).filter(in_sampling),
            ),
            threads: most_of_a_run(thread_runs.filter(in_sampling)),
            same_output: same_output(profile),
            has_output: profile.runs.iter().any(|run| run.stdout_hash != Some(HASH_OF_NO_OUTPUT)),
            mismatch,
            missing_share: missing_share(profile),
            other_end: differing_ends(profile).is_some(),
            turns,
            differing_runs: None,
            warnings: Vec::new(),
        };
        // What several runs are warned of is said once.
        for warning in profile.runs.iter().flat_map(|run| &run.warnings) {
            if !quality.warnings.contains(warning) {
                quality.warnings.push(warning.clone());
            }
        }
        quality.warn_of_differing_runs(profile, samples.generated_share(profile));
        if quality.samples > 0 {
            quality.warnings.extend(turns.map(TurnsWork::in_words));
            let is_told = turns.is_some() || matches!(quality.mismatch, Some(Mismatch::InTurns { .. }));
            quality.warnings.extend(share.filter(|_| !is_told).and_then(faster_in_words));
        }
        quality.warn_of_missing_samples();
        quality.warn_of_unseen_ends(profile);
        quality
    }

    /// Whether time may be divided by executions: as far as is known the runs did the same, and no time is missing.
    pub fn costs_hold(&self) -> bool {
        let ended_alike = !self.other_end || !self.has_both();
        self.mismatch.is_none() && ended_alike && !self.lost_too_much()
    }

    /// Whether so many samples were lost that nothing may rest on the time of the others.
    pub fn lost_too_much(&self) -> bool {
        self.missing_share >= MISSING_TOO_MUCH
    }

    fn has_both(&self) -> bool {
        self.sampling_runs > 0 && self.counting_runs > 0
    }

    /// One warning, of all that differs and of what follows from it.
    fn warn_of_differing_runs(&mut self, profile: &Profile, generated_share: f64) {
        let mut differences = Vec::new();
        if let Some((first, other)) = differing_ends(profile) {
            let told = |run: &Run| format!("{} {}", kind_in_words(run.kind), run.exit.in_words());
            differences.push(format!("{}, {}", told(first), told(other)));
        }
        if self.same_output == Some(false) {
            differences.push("they printed different output".into());
        }
        differences.extend(self.mismatch.map(Mismatch::in_words));
        let comparable = self.has_both() && self.samples > 0;
        // Of generated code, whose counts may stand elsewhere, the sampling run warns.
        let missed = (1.0 - self.joined_share - generated_share).max(0.0);
        let missed_percent = if comparable { 100.0 * missed } else { 0.0 };
        if missed_percent > 100.0 * (1.0 - JOINED_ENOUGH) || !differences.is_empty() && missed_percent >= 0.05
        {
            // Of runs that did different work, more is known and has been said.
            let follows = match self.mismatch {
                Some(_) => "",
                None => ", and costs per execution are off by as much as the counts differ",
            };
            differences.push(format!(
                "{missed_percent:.1} % of the sampled time fell on code that the counting run never executed{follows}"
            ));
        }
        if !differences.is_empty() {
            let remedy = match self.mismatch {
                Some(Mismatch::InTurns { .. }) => "; launched by timewise run, it does the same in both",
                Some(_) => {
                    "; make the program do the same each time (a fixed seed, --prepare to restore its files), or --once"
                }
                None => "",
            };
            // First of all: it concerns every figure.
            let told = format!("the runs differ: {}{remedy}", differences.join("; "));
            self.warnings.insert(0, told.clone());
            self.differing_runs = Some(told);
        }
    }

    /// That there are none at all, or that some were lost, is among the run's own warnings.
    fn warn_of_missing_samples(&mut self) {
        if self.sampling_runs > 0 && self.samples == 0 && self.kernel_samples > 0 {
            let why = "all samples are in the kernel: the program itself used too little CPU time; \
                       try a higher --frequency";
            self.warnings.push(why.into());
        }
    }

    fn warn_of_unseen_ends(&mut self, profile: &Profile) {
        let unseen = profile.processes.iter().map(|process| process.count_uncertainty).sum::<u32>();
        if unseen > 0 {
            let threads = if unseen == 1 { "1 thread was" } else { &format!("{unseen} threads were") };
            self.warnings.push(format!(
                "{threads} stopped where nobody saw: executions of a block are exact to within {unseen}"
            ));
        }
    }
}

/// The first run of which it is known how it ended, and the first that ended differently.
fn differing_ends(profile: &Profile) -> Option<(&Run, &Run)> {
    let mut known = profile.runs.iter().filter(|run| run.exit != Exit::Unknown);
    let first = known.next()?;
    known.find(|run| run.exit != first.exit).map(|other| (first, other))
}

/// What a run of a kind is called.
pub fn kind_in_words(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Sampling => "sampling",
        RunKind::Counting => "counting",
        RunKind::Branches => "branch tracing",
        RunKind::Events => "event recording",
        RunKind::Simulation => "simulation",
    }
}

fn same_output(profile: &Profile) -> Option<bool> {
    let hashes = |kind| profile.runs_of(kind).map(|run| run.stdout_hash);
    let sampled: Vec<u64> = hashes(RunKind::Sampling).collect::<Option<_>>()?;
    let counted: Vec<u64> = hashes(RunKind::Counting).collect::<Option<_>>()?;
    let (first, rest) = sampled.split_first()?;
    let compared = !counted.is_empty();
    compared.then(|| rest.iter().chain(&counted).all(|hash| hash == first))
}
