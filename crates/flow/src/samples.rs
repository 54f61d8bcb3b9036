//! Samples of the native run, placed on executed instructions.

use crate::code::{Code, InstructionId};
use crate::hash::NumberMap;
use crate::parallel::in_parts;
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use std::thread;
use timewise_profile::{Clock, ModuleKind, Place, Profile, RunId, RunKind, Sample, StackId, Thread};

/// Samples and the time that they stand for, in one run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Weight {
    /// Number of samples; a fraction where a sample was divided.
    pub samples: f64,
    /// CPU time, nanoseconds.
    pub ns: f64,
    /// Cycles, counted or estimated from time.
    pub cycles: f64,
    /// Sum of the squares of the samples' cycles, for confidence intervals.
    pub cycles_squared: f64,
}

impl Weight {
    /// A share of this weight, as if each of its samples had been kept with that probability.
    pub fn share(self, share: f64) -> Weight {
        Weight {
            samples: self.samples * share,
            ns: self.ns * share,
            cycles: self.cycles * share,
            cycles_squared: self.cycles_squared * share,
        }
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.samples += other.samples;
        self.ns += other.ns;
        self.cycles += other.cycles;
        self.cycles_squared += other.cycles_squared;
    }
}

/// Where a sample in user mode fell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Spot {
    /// On an instruction that was counted.
    Counted(InstructionId),
    /// On user code that was not counted.
    Stray(Place),
    /// Outside all known modules.
    Nowhere,
}

/// All samples by where they fell. With several sampling runs, times are those of an average run.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Weight of each instruction of the counted code, by id.
    pub at: Vec<Weight>,
    /// Samples on user code that was not counted.
    pub stray: BTreeMap<Place, Weight>,
    /// Samples outside all known modules.
    pub nowhere: Weight,
    /// Samples in the kernel, by who had called it.
    pub kernel: BTreeMap<Option<StackId>, Weight>,
    /// All samples in user mode.
    pub user: Weight,
    /// Those in user mode by where they fell and who had called.
    pub by_stack: BTreeMap<(Spot, Option<StackId>), Weight>,
}

impl Samples {
    /// Places the profile's samples.
    pub fn new(profile: &Profile, code: &Code) -> Samples {
        let runs = profile.runs_to_average(RunKind::Sampling) as f64;
        Samples::gather(profile, code, runs, |_| true)
    }

    /// Places the samples of one run.
    pub fn of_run(profile: &Profile, code: &Code, run: RunId) -> Samples {
        Samples::gather(profile, code, 1.0, |of| of == Some(run))
    }

    /// Places the samples that belong to a run that is `wanted`, as those of an average of `runs`.
    fn gather(profile: &Profile, code: &Code, runs: f64, wanted: impl Fn(Option<RunId>) -> bool) -> Samples {
        // The core's frequency for each thread whose samples are wanted.
        let hz = |thread: &Thread| {
            let run = profile.processes.get(thread.process.index()).map(|process| process.run);
            let clock = run.and_then(|run| profile.runs.get(run.index())?.clock.as_ref());
            wanted(run).then(|| clock.map_or(1e9, |clock| clock.core_hz))
        };
        let hz: Vec<Option<f64>> = profile.threads.iter().map(hz).collect();
        let groups = Groups::of(&profile.samples, |part| {
            let mut groups = Groups::default();
            for sample in part {
                let Some(hz) = hz.get(sample.thread.index()).copied().flatten() else { continue };
                let ns = sample.weight_ns as f64;
                let cycles = sample.weight_cycles.map_or(ns * hz / 1e9, |cycles| cycles as f64) / runs;
                let weight = Weight { samples: 1.0, ns: ns / runs, cycles, cycles_squared: cycles * cycles };
                let in_kernel =
                    |place: Place| profile.modules[place.module.index()].kind == ModuleKind::Kernel;
                if sample.kernel || sample.place.is_some_and(in_kernel) {
                    *groups.kernel.entry(sample.stack).or_default() += weight;
                } else {
                    groups.add((sample.place, sample.stack), weight);
                }
            }
            groups
        });
        let mut samples = Samples {
            at: vec![Weight::default(); code.instructions.len()],
            kernel: groups.kernel,
            ..Samples::default()
        };
        for ((place, stack), weight) in groups.all {
            let counted = |place| code.instruction_at(place).map_or(Spot::Stray(place), Spot::Counted);
            let spot = place.map_or(Spot::Nowhere, counted);
            samples.user += weight;
            match spot {
                Spot::Counted(instruction) => samples.at[instruction.index()] += weight,
                Spot::Stray(place) => *samples.stray.entry(place).or_default() += weight,
                Spot::Nowhere => samples.nowhere += weight,
            }
            *samples.by_stack.entry((spot, stack)).or_default() += weight;
        }
        samples
    }

    /// Share of the time in user mode that fell on counted code, 0 to 1; 1 if there is none.
    pub fn joined_share(&self) -> f64 {
        let joined: f64 = self.at.iter().map(|weight| weight.cycles).sum();
        // Summed in another order, all may seem more than the whole.
        if self.user.cycles > 0.0 { (joined / self.user.cycles).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Share of the time in user mode that fell on code which the program wrote at run time and whose counts,
    /// if there are any, stand elsewhere, 0 to 1.
    pub fn generated_share(&self, profile: &Profile) -> f64 {
        let is_generated = |place: &Place| profile.modules[place.module.index()].kind == ModuleKind::Jit;
        let stray = self.stray.iter().filter(|(place, _)| is_generated(place));
        let cycles: f64 = stray.map(|(_, weight)| weight.cycles).sum();
        if self.user.cycles > 0.0 { (cycles / self.user.cycles).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Cycles that one more sample would stand for: the mean over cycles, not over samples.
    pub fn typical_cycles(&self) -> f64 {
        let total = self.user;
        if total.cycles > 0.0 { total.cycles_squared / total.cycles } else { 0.0 }
    }
}

/// Place and stack of a sample.
type Where = (Option<Place>, Option<StackId>);

/// Samples of one place and one stack together. There are far fewer of these than samples, and finding the
/// instruction of a place takes longer than all else.
#[derive(Default)]
struct Groups {
    all: Vec<(Where, Weight)>,
    known: NumberMap<Key, u32>,
    /// Those in the kernel.
    kernel: BTreeMap<Option<StackId>, Weight>,
}

/// So many samples are summed one after the other: the same however many processors there are, because sums of
/// fractions depend on it.
const PART: usize = 1 << 19;

impl Groups {
    /// What `sum` makes of all samples, of which it is given parts, several at the same time.
    fn of(samples: &[Sample], sum: impl Fn(&[Sample]) -> Groups + Sync) -> Groups {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let parts: Vec<&[Sample]> = samples.chunks(PART).collect();
        let mut all = Groups::default();
        for side_by_side in parts.chunks(workers) {
            let sums = |part: Range<usize>| part.map(|at| sum(side_by_side[at])).collect::<Vec<_>>();
            in_parts(side_by_side.len(), 1, sums).into_iter().flatten().for_each(|sum| all.append(sum));
        }
        all
    }

    fn append(&mut self, other: Groups) {
        for (stack, weight) in other.kernel {
            *self.kernel.entry(stack).or_default() += weight;
        }
        for (place, weight) in other.all {
            self.add(place, weight);
        }
    }

    fn add(&mut self, place: Where, weight: Weight) {
        let at = *self.known.entry(key(place)).or_insert_with(|| {
            self.all.push((place, Weight::default()));
            self.all.len() as u32 - 1
        });
        self.all[at as usize].1 += weight;
    }
}

/// Place and stack of a sample in as few numbers as hold them: module and version, offset, and the stack with
/// a mark each for what is known.
type Key = (u64, u64, u64);

fn key((place, stack): Where) -> Key {
    let (code, offset) = place.map_or((0, 0), |place| {
        (u64::from(place.module.0) << 32 | u64::from(place.version.0), place.offset.0)
    });
    let stack = stack.map_or(0, |stack| u64::from(stack.0) << 2 | 2);
    (code, offset, stack | u64::from(place.is_some()))
}

/// The clock of the profile's first sampling run, its frequency range widened to that of all.
pub fn clock(profile: &Profile) -> Option<Clock> {
    let mut clocks = profile.runs.iter().filter_map(|run| run.clock.as_ref());
    let mut clock = clocks.next()?.clone();
    for other in clocks {
        clock.core_hz_low = clock.core_hz_low.min(other.core_hz_low);
        clock.core_hz_high = clock.core_hz_high.max(other.core_hz_high);
        clock.counts_cycles &= other.counts_cycles;
        clock.scope = clock.scope.filter(|_| clock.scope == other.scope);
        clock.precise_level = clock.precise_level.min(other.precise_level);
    }
    Some(clock)
}
