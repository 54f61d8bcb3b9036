//! Rows of call stacks with which the kernel was called, where its time was sampled.

use super::compact;
use super::ends::{self, Ends};
use super::names::Names;
use serde::Serialize;
use std::collections::BTreeMap;
use timewise_flow::Analysis;
use timewise_flow::waiting::{KernelStack, kernel_culprit, kernel_stacks};

/// A call stack with which the kernel was called.
#[derive(Clone, Default, Debug, Serialize)]
pub struct KernelRow {
    /// Path of the module that called the kernel; empty outside all known code.
    pub module: String,
    /// The function that was called into it, such as `read`; of the program itself the one that called the kernel or met a
    /// fault.
    pub function: String,
    /// The function that called it; null if there is none.
    pub caller: Option<String>,
    /// Source file of that call or, of the program itself, of what is executed next, if known.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// Samples of the kernel.
    #[serde(serialize_with = "compact")]
    pub samples: f64,
    /// Their cycles, those of the user's time being as long.
    #[serde(serialize_with = "compact")]
    pub cycles: f64,
    /// Their share of all CPU time that was sampled, 0 to 1.
    #[serde(serialize_with = "compact")]
    pub share: f64,
    /// All functions of the stack, innermost first, between semicolons.
    pub stack: String,
}

impl KernelRow {
    /// As tables call it.
    pub fn title(&self) -> String {
        ends::title(&self.function, self.caller.as_deref(), (self.file.as_deref(), self.line))
    }
}

/// All stacks with which the kernel was called, as far as functions and the line of the call tell them apart; costliest
/// first.
pub fn kernel(analysis: &Analysis) -> Vec<KernelRow> {
    let names = Names::of(analysis.profile);
    let stacks = kernel_stacks(analysis.profile, &analysis.samples);
    let whole = stacks.iter().map(|stack| stack.weight.cycles).sum::<f64>() + analysis.samples.user.cycles;
    let row = |KernelStack { frames, weight }| {
        let culprit = kernel_culprit(analysis.profile, &frames);
        let Ends { module, function, caller, file, line, stack } =
            Ends::of(analysis.profile, &names, &frames, culprit);
        let (samples, cycles, share) = (weight.samples, weight.cycles, weight.cycles / whole);
        KernelRow { module, function, caller, file, line, samples, cycles, share, stack }
    };
    merged(stacks.into_iter().map(row), |row| (row.module.clone(), row.title(), row.stack.clone()))
}

/// Those of which only the innermost end is told apart, as tables show it.
pub fn titled_kernel(analysis: &Analysis) -> Vec<KernelRow> {
    merged(kernel(analysis).into_iter(), KernelRow::title)
}

/// One row for all that look alike.
fn merged<K: Ord>(rows: impl Iterator<Item = KernelRow>, look: impl Fn(&KernelRow) -> K) -> Vec<KernelRow> {
    let mut alike: BTreeMap<K, KernelRow> = BTreeMap::new();
    for row in rows {
        let (samples, cycles, share) = (row.samples, row.cycles, row.share);
        let known =
            alike.entry(look(&row)).or_insert(KernelRow { samples: 0.0, cycles: 0.0, share: 0.0, ..row });
        known.samples += samples;
        known.cycles += cycles;
        known.share += share;
    }
    let mut rows: Vec<KernelRow> = alike.into_values().collect();
    rows.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    rows
}
