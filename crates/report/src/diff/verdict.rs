//! How a gate was judged, in words, and what to mind of a comparison.

use super::{By, Grain};
use crate::number::{count, percent};
use crate::visible::visible;
use timewise_diff::gate::Metric;
use timewise_diff::waiting::knows_waiting;
use timewise_diff::{Comparison, Gate, Verdict, Work, share_a_run};
use timewise_flow::naming::to_type;
use timewise_flow::quality::{Quality, kind_in_words};
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::ends::{ended_otherwise, printed_otherwise};
use timewise_profile::{Exit, Profile, Run};

/// One line: what was asked, whether it holds, and what was found.
pub fn verdict(gate: &Gate, verdict: &Verdict) -> String {
    let growth = &verdict.growth;
    let percent = |share: f64| match share.is_finite() {
        true => format!("{:+.2} %", 100.0 * share),
        false => "from nothing".into(),
    };
    let interval = match (growth.low.is_finite(), growth.high.is_finite()) {
        _ if verdict.confidence == 1.0 => "exact".into(),
        (_, true) => {
            format!("{}: {} to {}", sure(verdict.confidence), percent(growth.low), percent(growth.high))
        }
        (true, false) => format!("{}: {} or more", sure(verdict.confidence), percent(growth.low)),
        (false, false) => format!("{}: BASE has no time of it", sure(verdict.confidence)),
    };
    let outcome = if verdict.fails { "gate failed" } else { "gate passed" };
    let mut found = percent(growth.value);
    let metric = match gate.metric {
        Metric::Instructions => Some("instructions"),
        Metric::ModelledCycles => Some("cycles"),
        Metric::Time | Metric::TimeByCount | Metric::Elapsed | Metric::CpuTime => None,
    };
    // A few of thousands of millions are no digit of the share, and more than a limit of nothing.
    if let Some(metric) = metric.filter(|_| verdict.grown != 0.0 && is_zero(&found)) {
        let sign = if verdict.grown < 0.0 { '-' } else { '+' };
        found += &format!(", {sign}{} {metric}", count(verdict.grown.abs().round() as u64));
    }
    let text = format!("{outcome}: {gate}: {found} ({interval})");
    // What is left unsaid by an interval wider than the limit.
    let width = growth.value - growth.low;
    if verdict.fails || growth.low.is_infinite() || width <= gate.limit.0 {
        return text;
    }
    let unseen = match verdict.least_seen.is_finite() {
        true => format!("growth of less than {:.1} %", 100.0 * verdict.least_seen),
        false => "growth, however large,".into(),
    };
    let more = match gate.metric {
        Metric::ModelledCycles => "in these windows: take more of them",
        _ => "in these runs: add more of them",
    };
    format!("{text}; {unseen} would not be seen {more}")
}

/// Whether a figure is nothing once it is rounded.
fn is_zero(figure: &str) -> bool {
    !figure.contains(|c: char| ('1'..='9').contains(&c)) && figure.contains('0')
}

/// A confidence with as many digits as tell it from certainty: `95 %`, `99.7 %`, `99.99 %`.
fn sure(confidence: f64) -> String {
    let doubt = 100.0 * (1.0 - confidence);
    // What is a digit but for rounding is that digit.
    let digits = (-doubt.log10() - 1e-6).ceil().clamp(0.0, 9.0) as usize;
    format!("{:.digits$} %", 100.0 - doubt)
}

/// What to mind of a comparison as a whole, one line each.
pub fn cautions(base: &Profile, test: &Profile) -> Vec<String> {
    let mut told = Vec::from_iter(ends(base, test));
    if printed_otherwise(base, test) {
        let text = "warning: test printed other output than base: see that it did the same work";
        told.push(text.into());
    }
    if let (Some(ours), Some(theirs)) = (processor(base), processor(test))
        && ours != theirs
    {
        told.push(format!(
            "warning: base ran on {ours}, test on {theirs}: time and cost differ by that as well, and libraries may have \
             executed other code"
        ));
    }
    if share_a_run(base, test) {
        let text = "warning: both sides hold the same run, which does not differ from itself: conditions may hold \
                    whatever changed";
        told.push(text.into());
    }
    told
}

/// The processor that all runs of a profile were on; `None` if that is not known, or they were on several.
fn processor(profile: &Profile) -> Option<&str> {
    let mut all =
        profile.runs.iter().map(|run| run.machine.processor.as_str()).filter(|name| !name.is_empty());
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Which runs ended how, where they did not all end alike.
fn ends(base: &Profile, test: &Profile) -> Option<String> {
    let known = |profile: &Profile| {
        profile.runs.iter().map(|run| run.exit).filter(|exit| *exit != Exit::Unknown).collect::<Vec<_>>()
    };
    let all = [known(base), known(test)].concat();
    let first = all.first()?;
    if all.iter().all(|exit| exit == first) {
        return None;
    }
    let follows = match ended_otherwise(base, test) {
        Some(_) => "what ended otherwise did not do the same work, and no condition can be judged",
        None => "they may not have done the same work",
    };
    let sides = [ends_of("base", base), ends_of("test", test)].concat();
    Some(format!("warning: {}: {follows}", sides.join(", ")))
}

/// How the runs of a side ended: once if all did alike, else of each.
fn ends_of(side: &str, profile: &Profile) -> Vec<String> {
    let known: Vec<_> = profile.runs.iter().filter(|run| run.exit != Exit::Unknown).collect();
    let Some(first) = known.first() else { return Vec::new() };
    if known.iter().all(|run| run.exit == first.exit) {
        return vec![format!("{side} {}", first.exit.in_words())];
    }
    let runs = profile.runs.iter().enumerate().filter(|(_, run)| run.exit != Exit::Unknown);
    let told = |(at, run): (usize, &Run)| {
        let of_kind = |runs: &[Run]| runs.iter().filter(|other| other.kind == run.kind).count();
        let number = match of_kind(&profile.runs) {
            1 => String::new(),
            _ => format!(" {}", of_kind(&profile.runs[..=at])),
        };
        format!("{side}'s {} run{number} {}", kind_in_words(run.kind), run.exit.in_words())
    };
    runs.map(told).collect()
}

/// All that is to be minded, as in text, but not called warnings.
pub fn warnings(comparison: &Comparison) -> Vec<String> {
    let all = cautions(comparison.base.profile, comparison.test.profile).into_iter();
    let all = all.chain(other_programs(comparison)).chain(narrowed(comparison)).chain(parts(comparison));
    let all = all.chain(lost(comparison));
    all.map(|text| text.trim_start_matches("warning: ").to_string()).collect()
}

/// Why nothing is known of the rows that were asked for, if so.
pub fn uncompared(comparison: &Comparison, by: By) -> Option<String> {
    if is_compared(comparison, by) {
        return None;
    }
    let is_missing: fn(&Analysis) -> bool = match by {
        By::Code(_) => |analysis| analysis.quality.counting_runs == 0,
        By::Waiting => |analysis| !knows_waiting(analysis),
    };
    let sides = [("BASE", comparison.base), ("TEST", comparison.test)];
    let missing = sides.iter().filter(|(_, analysis)| is_missing(analysis));
    let names: Vec<&str> = missing.map(|(name, _)| *name).collect();
    let missing = match names.as_slice() {
        [one] => format!("{one} was"),
        _ => format!("{} were", names.join(" and ")),
    };
    Some(match by {
        By::Code(_) => format!(
            "not known: loops, instructions and lines are compared where both sides were counted, as by timewise run, \
             and {missing} not; --by function compares functions by their samples"
        ),
        By::Waiting => format!(
            "not known: waiting is compared where timewise sampled both sides, as by timewise run, and {missing} not"
        ),
    })
}

/// Whether rows of this kind are known. Functions are also where there are samples alone.
pub fn is_compared(comparison: &Comparison, by: By) -> bool {
    match by {
        By::Code(grain) => grain == Grain::Function || comparison.is_counted(),
        By::Waiting => comparison.knows_waiting(),
    }
}

/// What to mind where programs have other names, and not enough in common to be builds of one, one line.
pub fn other_programs(comparison: &Comparison) -> Option<String> {
    let [base, test] = [comparison.base, comparison.test].map(|side| program(side.profile));
    if base == test || comparison.is_of_one_program() {
        return None;
    }
    let [base, test] = [base, test].map(Option::unwrap_or_default);
    Some(format!(
        "warning: base ran {base}, test ran {test}: functions of equal names may have nothing in common"
    ))
}

/// What to mind of modelled cycles of parts of programs, one line if anything.
pub fn parts(comparison: &Comparison) -> Option<String> {
    let (base, test) = comparison.simulations()?;
    let follows = match comparison.modelled_work()? {
        Work::Same => return None,
        Work::Estimated { .. } => "rows of modelled cycles tell of these parts alone",
        Work::Unequal => "modelled cycles tell of these parts alone; simulate all: --instructions 0",
    };
    let [old, new] = [(comparison.base, base), (comparison.test, test)]
        .map(|(analysis, simulation)| simulation.executed.unwrap_or_else(|| analysis.whole().instructions));
    Some(format!(
        "warning: {} of {} instructions were simulated of base, {} of {} of test: equal parts are not equal work, and {follows}",
        count(base.instructions),
        count(old),
        count(test.instructions),
        count(new)
    ))
}

/// What to mind of times of which too many samples were lost, one line for each side.
pub fn lost(comparison: &Comparison) -> Vec<String> {
    let sides = [("base", &comparison.base.quality), ("test", &comparison.test.quality)].into_iter();
    let line = |(side, quality): (&str, &Quality)| {
        format!(
            "warning: samples of {} of {side}'s time were lost: all intervals of time are as much wider, as it may have passed \
             anywhere, and no condition on time can be judged; record {side} anew with a lower --frequency, or on a quieter \
             machine",
            percent(quality.missing_share)
        )
    };
    sides.filter(|(_, quality)| quality.lost_too_much()).map(line).collect()
}

/// What to mind of functions that were too long to align as a whole, one line each.
pub fn narrowed(comparison: &Comparison) -> Vec<String> {
    let line = |id: &RoutineId| {
        format!(
            "warning: {} is too long to align as a whole: what moved far within it counts as gone and new, which is a \
             change by count",
            visible(&to_type(comparison.base, *id))
        )
    };
    comparison.matching.narrowed.iter().map(line).collect()
}

/// The file name of the program that a profile is of.
fn program(profile: &Profile) -> Option<String> {
    let path = profile.runs.first()?.command.first()?;
    Some(String::from_utf8_lossy(path.rsplit(|&byte| byte == b'/').next()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_flow::Estimate;
    use timewise_profile::RunKind;

    #[test]
    fn other_processors_are_told() {
        let on = |names: &[&str]| {
            let run = |name: &&str| {
                let mut run = Run::new(RunKind::Sampling);
                run.machine.processor = name.to_string();
                run
            };
            Profile { runs: names.iter().map(run).collect(), ..Profile::default() }
        };
        let told = |base: &[&str], test: &[&str]| cautions(&on(base), &on(test)).join(" ");
        assert!(told(&["A"], &["B", "B"]).contains("base ran on A, test on B"));
        for alike in [told(&["A"], &["A"]), told(&[""], &["B"])] {
            assert!(!alike.contains("ran on"), "{alike}");
        }
    }

    #[test]
    fn verdicts_say_what_was_found() {
        let gate: Gate = "time>2%".parse().unwrap();
        let told = |[value, low, high]: [f64; 3], confidence, least_seen, fails| {
            let growth = Estimate { value, low, high };
            verdict(&gate, &Verdict { growth, grown: value * 1e9, confidence, least_seen, fails })
        };
        assert_eq!(
            told([0.051, 0.032, 0.07], 0.95, 0.04, true),
            "gate failed: time>2%: +5.10 % (95 %: +3.20 % to +7.00 %)"
        );
        assert_eq!(
            told([0.01, -0.03, 0.05], 1.0 - 0.01 / 3.0, 0.0612, false),
            "gate passed: time>2%: +1.00 % (99.7 %: -3.00 % to +5.00 %); growth of less than 6.1 % would not be seen in \
             these runs: add more of them"
        );
        assert_eq!(
            told([0.5, -0.6, 2.5], 0.9999, f64::INFINITY, false),
            "gate passed: time>2%: +50.00 % (99.99 %: -60.00 % to +250.00 %); growth, however large, would not be seen in \
             these runs: add more of them"
        );
        assert_eq!(told([0.0; 3], 1.0, 0.02, false), "gate passed: time>2%: +0.00 % (exact)");
        assert_eq!(
            told([f64::INFINITY, 1.5, f64::INFINITY], 0.95, f64::INFINITY, true),
            "gate failed: time>2%: from nothing (95 %: +150.00 % or more)"
        );
        assert_eq!(
            told([f64::INFINITY; 3], 0.95, f64::INFINITY, true),
            "gate failed: time>2%: from nothing (95 %: BASE has no time of it)"
        );
    }

    #[test]
    fn few_instructions_of_many_are_told_by_their_number() {
        let told = |gate: &str, grown: f64| {
            let share = grown / 3e9;
            let growth = Estimate { value: share, low: share, high: share };
            let gate = gate.parse().unwrap();
            verdict(&gate, &Verdict { growth, grown, confidence: 1.0, least_seen: 0.0, fails: share > 0.0 })
        };
        let few = "gate failed: instructions>0%: +0.00 %, +4,098 instructions (exact)";
        assert_eq!(told("instructions>0%", 4098.0), few);
        assert_eq!(
            told("modelled-cycles>0%", -12.0),
            "gate passed: modelled-cycles>0%: -0.00 %, -12 cycles (exact)"
        );
        assert_eq!(told("instructions>0%", 0.0), "gate passed: instructions>0%: +0.00 % (exact)");
        assert_eq!(told("instructions>0%", 3e6), "gate failed: instructions>0%: +0.10 % (exact)");
    }

    #[test]
    fn runs_that_ended_otherwise_are_told_first() {
        let of = |program: &str, runs: &[(RunKind, Exit, u64)]| {
            let run = |&(kind, exit, hash): &(RunKind, Exit, u64)| Run {
                command: vec![program.into()],
                exit,
                stdout_hash: Some(hash),
                elapsed_ns: hash,
                ..Run::new(kind)
            };
            Profile { runs: runs.iter().map(run).collect(), ..Profile::default() }
        };
        let (fine, crashed) = (Exit::Code(0), Exit::Signal(11));
        let (sampled, counted) = (RunKind::Sampling, RunKind::Counting);
        let base = of("old", &[(sampled, fine, 1), (counted, fine, 1)]);
        let told = cautions(&base, &of("new", &[(sampled, crashed, 2), (counted, crashed, 2)]));
        assert_eq!(
            told,
            [
                "warning: base ended with status 0, test was ended by signal 11: what ended otherwise did not do the same \
                 work, and no condition can be judged",
                "warning: test printed other output than base: see that it did the same work",
            ]
        );
        let some = of("old", &[(sampled, fine, 1), (sampled, crashed, 2), (counted, fine, 3)]);
        let told = cautions(&some, &of("old", &[(sampled, Exit::Code(3), 4), (counted, Exit::Unknown, 5)]));
        let ends = "warning: base's sampling run 1 ended with status 0, base's sampling run 2 was ended by signal 11, base's \
                    counting run ended with status 0, test ended with status 3: they may not have done the same work";
        assert_eq!(told, [ends], "what base prints differs by itself");
    }

    #[test]
    fn a_run_on_both_sides_is_told() {
        let run = Run { elapsed_ns: 5, ..Run::new(RunKind::Sampling) };
        let one = Profile { runs: vec![run], ..Profile::default() };
        let told = cautions(&one, &one);
        assert!(told[0].starts_with("warning: both sides hold the same run"), "{told:?}");
    }
}
