//! Whether the runs did the same work, as far as their times and counts can tell.
//!
//! Time of one run and executions of another are a cost only if both did the same. Little of that can be
//! proved afterwards, and only what is beyond doubt is said: amounts of work that differ by less than the
//! limits below are not seen.

use crate::code::Code;
use crate::cost::{Cost, Ruler};
use crate::samples::Samples;
use crate::turns::TurnsWork;
use timewise_profile::{Clock, Profile, Run, RunKind};

/// Equal work measured twice on a busy machine differs by a tenth or two. A counting run that took less than this share of
/// the CPU time that the sampled one's work takes at least was faster than chance explains.
const LEAST_SHARE: f64 = 0.8;

/// And one that took less than this share did less. Between the two, code may have been slow natively because of where it
/// lies, and stood better where it was counted: a loop that crosses two lines of the cache took 0.69 s on an Intel Xeon of
/// model 207, and 0.35 s a few bytes further on.
const CERTAIN_SHARE: f64 = 0.3;

/// The least share of its time in which code may be done elsewhere that reads what it stores: some processors find most
/// such values without memory in one loop, and hardly any in another that differs by a few `nop`s (2.3 and 0.4 ns a
/// round on an Intel Xeon of model 207).
const LEAST_OF_FORWARDING: f64 = 1.0 / 8.0;

/// The least difference in CPU time that is more than the system's accounting may be off, nanoseconds.
const LEAST_DIFFERENCE_NS: f64 = 50e6;

/// Instructions a cycle that no program sustains from its start to its end.
const MOST_PER_CYCLE: f64 = 6.0;

/// How it shows that the runs did different amounts of work. Costs per execution are then wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mismatch {
    /// The counting run did less: it took this share of the CPU time that the sampled run's work takes at least, below 1.
    CountedLess(f64),
    /// A program that ran already was sampled and counted in turns of the same length, in which it used so many processors
    /// natively and under count, if that is known. Counting slows it, so that it did less in its turns unless it waited
    /// less.
    InTurns {
        /// Processors that it used natively.
        native: Option<f64>,
        /// And under count.
        counted: Option<f64>,
    },
    /// The counting run did more: so many instructions in each cycle of the sampled run are impossible.
    CountedMore(f64),
}

impl Mismatch {
    /// Compares the runs of a profile; `None` if nothing is wrong for certain.
    pub(crate) fn of(
        profile: &Profile,
        code: &Code,
        samples: &Samples,
        (clock, counted_share): (&Clock, Option<f64>),
        turns: Option<TurnsWork>,
    ) -> Option<Mismatch> {
        if profile.runs.iter().all(|run| run.kind != RunKind::Counting) || samples.user.cycles <= 0.0 {
            return None;
        }
        let is_joined = |run: &&Run| matches!(run.kind, RunKind::Sampling | RunKind::Counting);
        if profile.runs.iter().filter(is_joined).all(Run::is_of_a_period) {
            let [native, counted] =
                [RunKind::Sampling, RunKind::Counting].map(|kind| processors(profile, kind));
            // Where it is known how much it did natively, costs are of as much.
            return turns.is_none().then_some(Mismatch::InTurns { native, counted });
        }
        if let Some(share) = counted_share.filter(|&share| share < CERTAIN_SHARE) {
            return Some(Mismatch::CountedLess(share));
        }
        let sampled = mean(profile, RunKind::Sampling, |run| run.user_ns as f64);
        let whole = Cost { weight: samples.user, ..Cost::default() };
        // Threads and processes too short for a sample are in the system's accounting only.
        let accounted = sampled * clock.core_hz_high / 1e9;
        let cycles = Ruler::new(samples, Some(clock)).cycles(&whole).high.max(accounted);
        let per_cycle = code.instructions_executed() as f64 / cycles;
        (per_cycle > MOST_PER_CYCLE).then_some(Mismatch::CountedMore(per_cycle))
    }

    /// What it is, and what follows, as a part of a warning.
    pub(crate) fn in_words(self) -> String {
        match self {
            Mismatch::CountedLess(share) if share < 0.01 => "the counting run took less than 0.01x the CPU time \
                that the sampled one's work takes, so it did at most so much of it, and costs per execution are too \
                high by 100x or more"
                .into(),
            Mismatch::CountedLess(share) => format!(
                "the counting run took {share:.2}x the CPU time that the sampled one's work takes, so it did at most so \
                 much of it, and costs per execution are too high by {:.1}x or more",
                1.0 / share
            ),
            Mismatch::InTurns { native, counted } => match native.zip(counted) {
                // Where it had time to spare it made use of that.
                Some((native, counted)) if counted > native => format!(
                    "sampled and counted in turns, in which it used {native:.2} processors natively and {counted:.2} under \
                     count: as far as counting slows it by more than these {:.2}x it did less there, and by as much costs \
                     per execution are too high",
                    counted / native
                ),
                used => format!(
                    "sampled and counted in turns{}: what it did less of under count, because counting slows it, makes \
                     costs per execution too high, for a program that is always busy by all of what counting slows it by",
                    used.map_or(String::new(), |(native, counted)| format!(
                        ", in which it used {native:.2} processors natively and {counted:.2} under count"
                    ))
                ),
            },
            Mismatch::CountedMore(per_cycle) => format!(
                "the counting run executed {per_cycle:.1} instructions or more for each cycle of the sampled one, \
                 which no program does, so it did more work, and costs per execution are too low"
            ),
        }
    }
}

/// What is said of a counting run that was faster than chance explains, though not for certain by less work.
pub(crate) fn faster_in_words(counted_share: f64) -> Option<String> {
    let share = Some(counted_share).filter(|&share| share >= CERTAIN_SHARE)?;
    Some(format!(
        "the counting run took {share:.2}x the CPU time of the sampled one: either it did less work, and costs per \
         execution are too high by {:.1}x or more (have it do the same each time: a fixed seed, --prepare, or --once), or \
         code that is slow because of where it lies was counted elsewhere",
        1.0 / share
    ))
}

/// Processors that a program used on average in runs of a kind. Of one that ended meanwhile it is not known, and not where
/// no time passed.
fn processors(profile: &Profile, kind: RunKind) -> Option<f64> {
    let of_kind = || profile.runs_of(kind);
    let busy = |run: &Run| run.user_ns as f64 + run.kernel_ns as f64;
    let used: f64 = of_kind().map(busy).sum();
    let passed: f64 = of_kind().map(|run| run.elapsed_ns as f64).sum();
    (passed > 0.0 && of_kind().all(|run| busy(run) > 0.0)).then(|| used / passed)
}

/// How much longer the turns were in which a program that ran already was sampled than those in which it was counted: one
/// may have been interrupted. `None` if it was not observed in turns.
pub(crate) fn lengths_of_turns(profile: &Profile) -> Option<f64> {
    let is_joined = |run: &&Run| matches!(run.kind, RunKind::Sampling | RunKind::Counting);
    let elapsed = |kind| mean(profile, kind, |run| run.elapsed_ns as f64);
    let ratio = elapsed(RunKind::Sampling) / elapsed(RunKind::Counting);
    let is_in_turns = profile.runs.iter().filter(is_joined).all(Run::is_of_a_period);
    (is_in_turns && ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// CPU time of an average run of a kind, nanoseconds; `None` if that of some is not known.
pub(crate) fn mean_busy_ns(profile: &Profile, kind: RunKind) -> Option<f64> {
    let busy: fn(&Run) -> f64 = |run| run.user_ns as f64 + run.kernel_ns as f64;
    let of_kind = || profile.runs_of(kind);
    (of_kind().count() > 0 && of_kind().all(|run| busy(run) > 0.0)).then(|| mean(profile, kind, busy))
}

/// The mean of a value over the runs of a kind; 0 if there are none.
pub(crate) fn mean(profile: &Profile, kind: RunKind, value: fn(&Run) -> f64) -> f64 {
    profile.runs_of(kind).map(value).sum::<f64>() / profile.runs_to_average(kind) as f64
}

/// The counting run's share of the CPU time that the sampled run's work takes at least, if that is less than chance
/// explains.
pub(crate) fn counted_share(profile: &Profile, code: &Code, samples: &Samples) -> Option<f64> {
    let user = |kind| mean(profile, kind, |run| run.user_ns as f64);
    // Where the system divides time between program and kernel by its ticks, only the sum is certain.
    let busy = |kind| mean(profile, kind, |run| run.user_ns as f64 + run.kernel_ns as f64);
    let (sampled, counted) = (user(RunKind::Sampling), user(RunKind::Counting));
    let saved = (sampled - counted).min(busy(RunKind::Sampling) - busy(RunKind::Counting));
    if !(counted > 0.0 && counted < LEAST_SHARE * sampled && saved >= LEAST_DIFFERENCE_NS) {
        return None;
    }
    let least = sampled * (1.0 - (1.0 - LEAST_OF_FORWARDING) * forwarding(profile, code, samples));
    Some(counted / least).filter(|&share| share < LEAST_SHARE)
}

/// Share of the sampled time in blocks that read what they store, 0 to 1.
fn forwarding(profile: &Profile, code: &Code, samples: &Samples) -> f64 {
    let blocks = code.blocks.iter().zip(&profile.blocks);
    let of_it = blocks.filter(|(_, block)| timewise_isa::reads_what_it_stores(&block.code));
    let ids = of_it.flat_map(|(block, _)| block.instructions());
    let cycles: f64 = ids.map(|id| samples.at[id.index()].cycles).sum();
    (cycles / samples.user.cycles).min(1.0)
}
