//! Equal builds raise no alarm, at any granularity.

use super::program::{Built, Program};
use super::{GRANULARITIES, profile};
use crate::check::changes::Changes;
use crate::profiler::Profiler;
use anyhow::{Result, ensure};
use std::path::PathBuf;

/// Runs of each side in comparisons of groups.
const GROUP: usize = 4;

/// What must not be said of equal builds.
const GATES: [&str; 3] = ["time>2%", "time-by-count>0.5%", "instructions>0.1%"];

/// Compares so many pairs of runs of two equal builds, then groups of them.
pub fn raise_no_alarm(
    profiler: &Profiler,
    program: &Program,
    (base, again): (&Built, &Built),
    pairs: usize,
) -> Result<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        ours.push(profile(profiler, base, &base.short, &pair.to_string())?);
        theirs.push(profile(profiler, again, &again.short, &pair.to_string())?);
        no_alarm(profiler, program, &ours[pair..], &theirs[pair..])?;
    }
    let groups = ours.chunks(GROUP).zip(theirs.chunks(GROUP)).filter(|(ours, _)| ours.len() > 2);
    let mut compared = 0;
    for (ours, theirs) in groups {
        no_alarm(profiler, program, ours, theirs)?;
        compared += 1;
    }
    println!(
        "{:8} {pairs} pairs of equal builds, and {compared} of up to {GROUP} runs each, by {}: no finding, and the gates \
         {} pass",
        program.name,
        GRANULARITIES.join(", "),
        GATES.join(", ")
    );
    Ok(())
}

fn no_alarm(profiler: &Profiler, program: &Program, base: &[PathBuf], test: &[PathBuf]) -> Result<()> {
    let function = format!("function:{} time>5%", program.function);
    let gates = GATES.into_iter().chain([function.as_str()]).flat_map(|gate| ["--fail-if", gate]);
    let gates: Vec<&str> = gates.collect();
    for by in GRANULARITIES {
        let arguments = [&["--by", by], &gates[..]].concat();
        let changes = Changes::between(profiler, base, test, &arguments)?;
        let first = changes.first();
        let place = format!("{} {}", first.name("function"), first.name("text"));
        ensure!(
            !first.is_finding(),
            "by {by}, a finding in {} of equal builds: {place}: {first}",
            base[0].display()
        );
        ensure!(
            changes.status == 0,
            "a gate failed on {} of equal builds: {}",
            base[0].display(),
            changes.whole()
        );
    }
    Ok(())
}
