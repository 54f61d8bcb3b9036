//! The format of speedscope (<https://www.speedscope.app/file-format-schema.json>): a profile for each
//! thread, whose samples weigh CPU time in nanoseconds.

use crate::owners::{Owners, one_line};
use crate::stacks::{Name, Stacks};
use crate::weights::Weights;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use timewise_flow::Analysis;
use timewise_profile::ThreadId;

#[derive(Serialize)]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: Shared,
    profiles: Vec<Thread>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<NamedFrame>,
}

#[derive(Serialize)]
struct NamedFrame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Thread {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: f64,
    #[serde(rename = "endValue")]
    end: f64,
    /// Indexes of frames, outermost first.
    samples: Vec<Vec<usize>>,
    weights: Vec<f64>,
}

/// All samples by thread; the thread that used most time is shown first.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn export(analysis: &Analysis) -> serde_json::Result<String> {
    let profile = analysis.profile;
    let owners = Owners::new(analysis);
    let stacks = Stacks::new(analysis, &owners);
    let weights = Weights::new(profile);
    let mut frames = Frames::default();
    let mut threads: BTreeMap<ThreadId, Thread> = BTreeMap::new();
    for sample in &profile.samples {
        let thread = threads.entry(sample.thread).or_insert_with(|| empty(analysis, sample.thread));
        let mut stack = Vec::new();
        for frame in stacks.of(sample, &owners) {
            stack.extend(frame.steps(profile).into_iter().map(|step| frames.of(&owners, step.name)));
        }
        stack.reverse();
        let ns = weights.of(sample).ns;
        thread.samples.push(stack);
        thread.weights.push(ns);
        thread.end += ns;
    }
    let profiles: Vec<Thread> = threads.into_values().collect();
    let busiest = profiles.iter().enumerate().max_by(|one, other| one.1.end.total_cmp(&other.1.end));
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("timewise {}", env!("CARGO_PKG_VERSION")),
        name: program(analysis),
        active: busiest.map_or(0, |(at, _)| at),
        shared: Shared { frames: frames.list },
        profiles,
    };
    serde_json::to_string(&file)
}

fn empty(analysis: &Analysis, id: ThreadId) -> Thread {
    let thread = &analysis.profile.threads[id.index()];
    let name = format!("{} (thread {})", one_line(&thread.name), thread.tid);
    let (samples, weights) = (Vec::new(), Vec::new());
    Thread { kind: "sampled", name, unit: "nanoseconds", start: 0.0, end: 0.0, samples, weights }
}

/// The command line of the first run.
fn program(analysis: &Analysis) -> String {
    let words = analysis.profile.runs.first().map(|run| &run.command[..]).unwrap_or_default();
    let words: Vec<_> = words.iter().map(|word| one_line(&String::from_utf8_lossy(word))).collect();
    words.join(" ")
}

/// A frame for each function: speedscope takes frames of two lines for two functions.
#[derive(Default)]
struct Frames<'p> {
    list: Vec<NamedFrame>,
    known: HashMap<Name<'p>, usize>,
}

impl<'p> Frames<'p> {
    fn of(&mut self, owners: &Owners, name: Name<'p>) -> usize {
        *self.known.entry(name).or_insert_with(|| {
            let (file, line) = name.declared(owners).unzip();
            self.list.push(NamedFrame { name: name.text(owners), file, line });
            self.list.len() - 1
        })
    }
}
