//! The whole job for a program that runs already: it is sampled natively and counted, in turns of the same length.

use crate::attached::enough;
use crate::{count, sample};
use std::collections::BTreeSet;
use std::time::Duration;
use timewise_profile::{Profile, RunKind};
use timewise_sampler::SampleError;
use timewise_target::attachable::lives;

/// How often each has its turn: what the program does may change, and both shall see of all of it.
const TURNS: u32 = 3;

/// Samples and counts process `pid` in turns, for `time` in all: a profile with a run for each turn.
///
/// # Errors
/// If it cannot be attached to. What went wrong later is told in the profile.
pub fn profile(
    pid: i32,
    time: Duration,
    sampling: &timewise_sampler::Options,
    counting: &timewise_engine::Options,
) -> anyhow::Result<Profile> {
    let turn = time / (2 * TURNS);
    let mut profile = sample::attach(pid, turn, sampling)?;
    let mut why = None;
    for number in 0..TURNS {
        if number > 0 && why.is_none() && !enough() {
            match sample::attach(pid, turn, sampling) {
                Ok(sampled) => profile.append(sampled),
                // Most have ended.
                Err(SampleError::Attach(error)) => {
                    why = lives(pid).then(|| error.to_string());
                    break;
                }
                Err(error) => why = Some(error.to_string()),
            }
        }
        if enough() {
            break;
        }
        match count::attach(pid, turn, counting) {
            Ok(counted) => profile.append(counted),
            // Nothing was counted: then that is what matters.
            Err(error) if number == 0 => return Err(error.into()),
            Err(error) => why = Some(error.to_string()),
        }
    }
    say_once(&mut profile);
    let rates = [RunKind::Sampling, RunKind::Counting].map(|kind| cpu_share(&profile, kind));
    let is_counted = profile.runs.iter().any(|run| run.kind == RunKind::Counting);
    let run = &mut profile.runs[0];
    run.warnings.extend(why.map(|why| format!("some turns are missing: {why}")));
    run.warnings.push(match is_counted {
        true => format!(
            "sampled and counted in turns of {:.1} s: costs per execution hold as far as the program did as much in \
             both; it used {:.2} processors natively and {:.2} under count",
            turn.as_secs_f64(),
            rates[0],
            rates[1]
        ),
        false => "not counted: it was interrupted, or the program ended, before the first turn under count".into(),
    });
    Ok(profile)
}

/// What is told of each turn is told once.
fn say_once(profile: &mut Profile) {
    let mut said = BTreeSet::new();
    for run in &mut profile.runs {
        run.warnings.retain(|warning| said.insert(warning.clone()));
    }
}

/// Processors that the program used on average in runs of a kind.
fn cpu_share(profile: &Profile, kind: RunKind) -> f64 {
    let runs = || profile.runs.iter().filter(|run| run.kind == kind);
    let used: u64 = runs().map(|run| run.user_ns + run.kernel_ns).sum();
    let passed: u64 = runs().map(|run| run.elapsed_ns).sum();
    used as f64 / passed.max(1) as f64
}
