//! The whole job for a program that runs already: it is sampled natively and counted, in turns of the same length.

use crate::attached::enough;
use crate::{count, sample, symbolise};
use std::collections::BTreeSet;
use std::time::Duration;
use timewise_flow::Analysis;
use timewise_flow::turns::{Limits, places_to_tally};
use timewise_profile::{Module, Offset, Place, Profile, RunKind};
use timewise_sampler::{SampleError, tally};
use timewise_target::attachable::lives;

/// How often each has its turn: what the program does may change, and both shall see of all of it.
const TURNS: u32 = 3;

/// Hits of breakpoints may take this share of the CPU time in which these are set, if the program executes their places as
/// often natively as under count. It will one to four times as often.
const SHARE_OF_HITS: f64 = 0.05;

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
    let mut sampling = sampling.clone();
    let mut profile = sample::attach(pid, turn, &sampling)?;
    let (mut why, mut ended) = (None, false);
    for number in 0..TURNS {
        if number > 0 && why.is_none() && !enough() {
            match sample::attach(pid, turn, &sampling) {
                Ok(sampled) => profile.append(sampled),
                Err(SampleError::Attach(_)) if !lives(pid) => {
                    ended = true;
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
            Err(_) if !lives(pid) => {
                ended = true;
                break;
            }
            // Nothing was counted: then that is what matters.
            Err(error) if number == 0 => return Err(error.into()),
            Err(error) => why = Some(error.to_string()),
        }
        if number == 0 {
            sampling.tallied = to_tally(&profile);
        }
    }
    say_once(&mut profile);
    let is_counted = profile.runs.iter().any(|run| run.kind == RunKind::Counting);
    let run = &mut profile.runs[0];
    run.warnings.extend(why.map(|why| format!("some turns are missing: {why}")));
    let warning = match (is_counted, ended) {
        (true, true) => Some("some turns are missing: the program ended"),
        (true, false) => None,
        (false, true) => Some("not counted: the program ended before the first turn under count"),
        (false, false) => Some("not counted: it was interrupted before the first turn under count"),
    };
    run.warnings.extend(warning.map(String::from));
    Ok(profile)
}

/// Which instructions the native turns that are left should count, by what the first two turns tell.
fn to_tally(profile: &Profile) -> Vec<(Module, Offset)> {
    let Some(hit) = tally::cost_of_a_hit() else { return Vec::new() };
    let busy_ns: u64 = profile.runs[0].user_ns + profile.runs[0].kernel_ns;
    let limits = Limits {
        places: tally::MOST_PLACES,
        cpu_seconds: busy_ns as f64 / 1e9 * f64::from(TURNS - 1) * tally::SHARE_SET,
        most_a_second: SHARE_OF_HITS / hit.as_secs_f64().max(1e-9),
    };
    // What is a function is told by symbols.
    let mut named = profile.clone();
    symbolise::symbolise(&mut named);
    let module = |place: &Place| profile.modules[place.module.index()].clone();
    let places = places_to_tally(&Analysis::new(&named, None), &limits);
    places.iter().map(|place| (module(place), place.offset)).collect()
}

/// What is told of each turn is told once.
fn say_once(profile: &mut Profile) {
    let mut said = BTreeSet::new();
    for run in &mut profile.runs {
        run.warnings.retain(|warning| said.insert(without_figures(warning)));
    }
}

/// A warning without what was measured in it, which differs from turn to turn: shares, frequencies and times.
fn without_figures(warning: &str) -> String {
    const UNITS: [&str; 4] = ["%", "Hz", "microseconds", "ms"];
    let words: Vec<&str> = warning.split(' ').collect();
    let is_unit = |word: &&str| UNITS.iter().any(|unit| word.starts_with(unit));
    let is_kept = |&(at, _): &(usize, &&str)| !words.get(at + 1).is_some_and(is_unit);
    words.iter().enumerate().filter(is_kept).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::Run;

    #[test]
    fn what_only_differs_in_its_share_is_said_once() {
        let run = |warnings: &[&str]| Run {
            warnings: warnings.iter().map(|warning| (*warning).to_string()).collect(),
            ..Run::new(RunKind::Sampling)
        };
        let (first, other) =
            (["18.4 % of it is deep", "process 7 is gone"], ["1.9 % of it is deep", "process 8 is gone"]);
        let mut profile = Profile { runs: vec![run(&first), run(&other)], ..Profile::default() };
        say_once(&mut profile);
        assert_eq!(
            (&profile.runs[0].warnings[..], &profile.runs[1].warnings[..]),
            (&first.map(String::from)[..], &["process 8 is gone".to_string()][..])
        );
    }
}
