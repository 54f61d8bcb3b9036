//! Folded stacks, as flame graphs are made of: a line for each distinct stack, frames from the outermost to
//! the innermost with semicolons between them, then the CPU time in nanoseconds.
//!
//! The outermost frame is the thread's name. Frames of the kernel carry `_[k]`, as flame graph tools expect.

use crate::owners::{Owner, Owners};
use crate::rounding::Rounding;
use crate::stacks::{Frame, Stacks};
use crate::weights::Weights;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use timewise_flow::Analysis;
use timewise_profile::{Place, Profile};

/// All samples by stack, in order of text.
pub fn export(analysis: &Analysis) -> String {
    let profile = analysis.profile;
    let owners = Owners::new(analysis);
    let stacks = Stacks::new(analysis, &owners);
    let weights = Weights::new(profile);
    let mut names: HashMap<(Option<Place>, Owner), String> = HashMap::new();
    let mut times: BTreeMap<String, f64> = BTreeMap::new();
    for sample in &profile.samples {
        let mut frames: Vec<Frame> = stacks.of(sample, &owners).collect();
        // Neighbours of which nothing but the module is known are not calls of itself.
        frames.dedup_by(|one, other| one.owner == other.owner && is_vague(one.owner));
        let mut line = frame_text(&profile.threads[sample.thread.index()].name);
        if line.is_empty() {
            line.push('?');
        }
        for frame in frames.iter().rev() {
            let known = names.entry((frame.place, frame.owner));
            line += known.or_insert_with(|| steps_text(frame, profile, &owners));
        }
        *times.entry(line).or_default() += weights.of(sample).ns;
    }
    let mut text = String::new();
    let mut rounding = Rounding::default();
    for (stack, ns) in times {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{stack} {}", rounding.next(ns));
    }
    text
}

/// The functions of a frame, outermost first, a semicolon before each.
fn steps_text(frame: &Frame, profile: &Profile, owners: &Owners) -> String {
    let kernel = frame.place.is_some_and(|place| owners.is_kernel(place));
    let suffix = if kernel { "_[k]" } else { "" };
    let steps = frame.steps(profile);
    let texts = steps.iter().rev().map(|step| format!(";{}{suffix}", frame_text(&step.name.text(owners))));
    texts.collect()
}

fn is_vague(owner: Owner) -> bool {
    matches!(owner, Owner::Module(_) | Owner::Nowhere)
}

/// A name without what separates frames.
fn frame_text(name: &str) -> String {
    crate::owners::one_line(name).replace(';', ":")
}
