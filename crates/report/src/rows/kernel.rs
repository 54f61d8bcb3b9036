//! Rows of call stacks with which the kernel was called, where its time was sampled.

use super::compact;
use super::stacked::{self, Joined, Stacked};
use serde::Serialize;
use timewise_flow::Analysis;
use timewise_flow::kernel::{KernelStack, culprit, stacks};
use timewise_flow::names::Names;
use timewise_flow::waiting::Programs;

/// What the kernel took when it was called with one stack.
#[derive(Clone, Default, Debug, Serialize)]
pub struct InKernel {
    /// Samples of the kernel.
    #[serde(serialize_with = "compact")]
    pub samples: f64,
    /// Their cycles, those of the user's time being as long.
    #[serde(serialize_with = "compact")]
    pub cycles: f64,
    /// Their share of all CPU time that was sampled, 0 to 1.
    #[serde(serialize_with = "compact")]
    pub share: f64,
}

impl Joined for InKernel {
    fn join(&mut self, other: InKernel) {
        self.samples += other.samples;
        self.cycles += other.cycles;
        self.share += other.share;
    }

    fn size(&self) -> f64 {
        self.cycles
    }
}

/// The kernel's share of all CPU time that was sampled, 0 to 1.
pub fn kernel_share(rows: &[Stacked<InKernel>]) -> f64 {
    rows.iter().map(|row| row.fields.share).sum()
}

/// Whether what the kernel did was a notable part of the CPU time.
pub fn kernel_stands_out(rows: &[Stacked<InKernel>]) -> bool {
    kernel_share(rows) >= stacked::WORTH_SHOWING
}

/// All stacks with which the kernel was called, costliest first.
pub fn kernel(analysis: &Analysis) -> Vec<Stacked<InKernel>> {
    let profile = analysis.profile;
    let (names, programs) = (Names::of(profile), Programs::of(profile));
    let stacks = stacks(profile, &analysis.samples);
    let whole = stacks.iter().map(|stack| stack.weight.cycles).sum::<f64>() + analysis.samples.user.cycles;
    let row = |KernelStack { frames, weight }| {
        let (samples, cycles) = (weight.samples, weight.cycles);
        let took = InKernel { samples, cycles, share: cycles / whole };
        Stacked::new(profile, &names, (&frames, culprit(profile, &programs, &frames)), took)
    };
    stacked::all(stacks.into_iter().map(row))
}
