//! Where the figures come from and how far to trust them.

use crate::number::{count, percent, quantity, samples};
use crate::rows::{self, compact, compact_option};
use crate::style::{Style, Tone};
use serde::Serialize;
use timewise_flow::{Analysis, Policy};
use timewise_profile::{CallStackMethod, ClockScope, Exactness, Exit, Profile};

/// The clock of the samples, in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ClockFacts {
    /// Event name.
    pub event: String,
    /// True when samples count hardware cycles; false when cycles are estimated from time.
    pub counts_cycles: bool,
    /// `precise_ip` level that the kernel granted.
    pub precise_level: u8,
    /// Requested samples per second of CPU time and thread.
    pub frequency_hz: u32,
    /// What it runs along with: "processors", "threads" or "looks"; null if unknown.
    pub scope: Option<&'static str>,
    /// Core frequency by which time is turned into cycles.
    #[serde(serialize_with = "compact")]
    pub core_hz: f64,
    /// Lowest core frequency seen.
    #[serde(serialize_with = "compact")]
    pub core_hz_low: f64,
    /// Highest core frequency seen.
    #[serde(serialize_with = "compact")]
    pub core_hz_high: f64,
    /// Which instruction a sample is charged to: the one that it names, or the one before it.
    pub attribution: &'static str,
}

/// How the callers of samples were found, in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct CallStackFacts {
    /// "frame pointers", "unwind tables", or "both".
    pub method: &'static str,
    /// Samples whose callers were looked for.
    pub taken: u64,
    /// Of those, stacks without their outermost callers: more of the stack was not copied.
    pub cut_short: u64,
    /// Of those, stacks that end in code which does not tell its caller.
    pub broken: u64,
}

/// How much was measured, in JSON. Times are those of an average run, samples those of all.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Sampling runs in the profile.
    pub sampling_runs: usize,
    /// Counting runs in the profile.
    pub counting_runs: usize,
    /// From start to end of a sampling run.
    pub elapsed_ns: u64,
    /// From start to end of a counting run.
    pub counting_elapsed_ns: u64,
    /// CPU time of a sampling run in user mode.
    pub user_ns: u64,
    /// Likewise in the kernel.
    pub kernel_ns: u64,
    /// Samples in user mode.
    pub samples: u64,
    /// Samples in the kernel.
    pub kernel_samples: u64,
    /// Samples that the system dropped.
    pub lost_samples: u64,
    /// Traces of branches.
    pub traces: u64,
    /// Branches that they saw, each as often as it was seen.
    pub traced_branches: u64,
    /// How callers were found; null where samples have none.
    pub call_stacks: Option<CallStackFacts>,
    /// Share of the user time on code that was counted, 0 to 1; null unless there are samples and counts.
    pub joined_share: Option<f64>,
    /// Share of the user time outside all known modules, 0 to 1.
    pub unresolved_share: f64,
    /// Share of the user time whose callers are known up to the beginning of their thread, 0 to 1; null without
    /// samples.
    #[serde(serialize_with = "compact_option")]
    pub rooted_share: Option<f64>,
    /// Calls whose end, and so whose cost, was not seen; null where costs of calls were not counted.
    pub lost_calls: Option<u64>,
    /// How much a program that ran already did natively for what it did in as long under count, by which costs are divided;
    /// null if that is not known, as are its limits.
    #[serde(serialize_with = "compact_option")]
    pub native_work: Option<f64>,
    /// Lower limit.
    #[serde(serialize_with = "compact_option")]
    pub native_work_low: Option<f64>,
    /// Upper limit.
    #[serde(serialize_with = "compact_option")]
    pub native_work_high: Option<f64>,
    /// Whether the runs printed the same; null if that was not compared.
    pub same_output: Option<bool>,
    /// What limits the figures, in words.
    pub warnings: Vec<String>,
}

/// The clock of an analysis; `None` without samples.
pub fn clock(analysis: &Analysis) -> Option<ClockFacts> {
    let clock = analysis.quality.clock.clone()?;
    Some(ClockFacts {
        event: clock.event,
        counts_cycles: clock.counts_cycles,
        precise_level: clock.precise_level,
        frequency_hz: clock.frequency_hz,
        scope: clock.scope.map(|scope| match scope {
            ClockScope::Processors => "processors",
            ClockScope::Threads => "threads",
            ClockScope::Looks => "looks",
        }),
        core_hz: clock.core_hz,
        core_hz_low: clock.core_hz_low,
        core_hz_high: clock.core_hz_high,
        attribution: match analysis.policy {
            Policy::Sampled => "sampled",
            Policy::Predecessor => "predecessor",
        },
    })
}

/// The measurement behind an analysis.
pub fn measurement(analysis: &Analysis) -> Measurement {
    let quality = &analysis.quality;
    let work = quality.turns.map(|turns| turns.factor);
    let both = quality.samples > 0 && quality.counting_runs > 0;
    Measurement {
        sampling_runs: quality.sampling_runs,
        counting_runs: quality.counting_runs,
        elapsed_ns: quality.elapsed_ns as u64,
        counting_elapsed_ns: quality.counting_elapsed_ns as u64,
        user_ns: quality.user_ns as u64,
        kernel_ns: quality.kernel_ns as u64,
        samples: quality.samples,
        kernel_samples: quality.kernel_samples,
        lost_samples: quality.lost_samples,
        traces: rows::traces(analysis.profile),
        traced_branches: rows::times(&analysis.profile.taken_branches),
        call_stacks: quality.call_stacks.as_ref().map(|stacks| CallStackFacts {
            method: match stacks.method {
                CallStackMethod::FramePointers => "frame pointers",
                CallStackMethod::UnwindTables => "unwind tables",
                CallStackMethod::Both => "both",
            },
            taken: stacks.taken,
            cut_short: stacks.cut_short,
            broken: stacks.broken,
        }),
        joined_share: both.then_some(quality.joined_share),
        unresolved_share: quality.unresolved_share,
        rooted_share: analysis.totals().rooted_share,
        lost_calls: lost_calls(analysis),
        native_work: work.map(|work| work.value),
        native_work_low: work.map(|work| work.low),
        native_work_high: work.map(|work| work.high),
        same_output: quality.same_output,
        warnings: quality.warnings.clone(),
    }
}

/// Calls whose cost is not known, of all counting runs together.
fn lost_calls(analysis: &Analysis) -> Option<u64> {
    let lost = analysis.profile.runs.iter().filter_map(|run| run.lost_calls);
    analysis.code.has_call_costs.then(|| lost.fold(0, u64::saturating_add))
}

/// The lines that every text report begins with: origin of its figures, and warnings.
pub fn head(analysis: &Analysis, style: Style) -> String {
    let mut out: String = facts(analysis).iter().map(|line| style.wrap(Tone::Faint, line)).collect();
    out += &warnings(analysis, style);
    out
}

/// A smaller share of the CPU time in the kernel is not worth a word.
const NOTABLE_IN_KERNEL: f64 = 0.1;

/// What was measured, how well, and by which clock: lines of facts joined by ` · `.
pub fn facts(analysis: &Analysis) -> Vec<String> {
    let quality = &analysis.quality;
    let traced = traced(analysis.profile);
    if rows::is_traced_only(analysis.profile) {
        return traced.into_iter().collect();
    }
    let mut facts = Vec::new();
    if quality.sampling_runs > 0 {
        let dropped = format!("{} lost", count(quality.lost_samples));
        facts.push(format!("time sampled: {}, {dropped}", samples(quality.samples)));
    } else {
        facts.push("time not sampled".into());
    }
    match quality.counting_runs {
        0 => facts.push("executions not counted".into()),
        _ => facts.push(format!("executions {}", counted(analysis))),
    }
    facts.extend(traced);
    if let Some(modelled) = &analysis.modelled {
        facts.push(format!("cycles modelled on {}", modelled.simulation.core));
    }
    if quality.samples > 0 && quality.counting_runs > 0 {
        facts.push(format!("{} of the time on counted code", percent(quality.joined_share)));
    }
    if quality.unresolved_share >= 0.0005 {
        facts.push(format!("{} outside all known code", percent(quality.unresolved_share)));
    }
    if let Some(share) = analysis.totals().rooted_share.filter(|share| *share < 0.9995) {
        facts.push(format!("{} of the time under unknown callers", percent(1.0 - share)));
    }
    facts.extend(kernel_in_words(analysis));
    if let Some(lost) = lost_calls(analysis).filter(|lost| *lost > 0) {
        facts.push(format!("cost of {} unknown", quantity(lost, "call")));
    }
    // How long turns take is for us to say, and what others recorded was under conditions of its own.
    let is_whole = analysis.profile.runs.iter().all(|run| run.exit != Exit::Unknown);
    if quality.counting_runs == 1 && is_whole && quality.elapsed_ns > 0.0 && quality.counting_elapsed_ns > 0.0
    {
        facts
            .push(format!("counting took {:.2}x the time", quality.counting_elapsed_ns / quality.elapsed_ns));
    }
    let mut lines = vec![facts.join(" · ")];
    lines.extend(clock_in_words(analysis).map(|clock| match quality.counting_runs {
        0 => clock,
        _ => clock + " · CPI: cycles per instruction",
    }));
    lines.extend(call_stacks_in_words(analysis));
    lines.extend(waiting_in_words(analysis).map(|how| format!("waiting: {how}")));
    lines
}

/// How much of the CPU time is in no row, as it was the kernel's.
fn kernel_in_words(analysis: &Analysis) -> Option<String> {
    let quality = &analysis.quality;
    let share = quality.kernel_ns / (quality.user_ns + quality.kernel_ns);
    let how = if quality.kernel_samples > 0 { " (--by kernel)" } else { "" };
    let is_notable = quality.sampling_runs > 0 && share >= NOTABLE_IN_KERNEL;
    is_notable.then(|| format!("{} of the CPU time in the kernel{how}", percent(share)))
}

/// How well executions were counted: where not exactly, a warning says how far off they may be.
pub fn counted(analysis: &Analysis) -> &'static str {
    match analysis.profile.exactness() {
        Exactness::Exact => "exact",
        Exactness::Within(_) => "counted",
        Exactness::Incomplete => "incomplete",
    }
}

/// Which clock a report shows, if there is anything that it measured.
pub fn clock_in_words(analysis: &Analysis) -> Option<String> {
    let clock = analysis.quality.clock.as_ref().filter(|_| analysis.samples.user.cycles > 0.0)?;
    let charged = match analysis.policy {
        Policy::Sampled => "charged where it fell",
        Policy::Predecessor => "charged to the instruction before",
    };
    let scope = clock.scope.map_or(String::new(), |scope| format!(" {}", scope.in_words()));
    let event = clock.event.clone() + &scope;
    Some(if clock.counts_cycles {
        format!("clock: {event}, hardware cycles · {charged}")
    } else {
        let ghz = |hz: f64| format!("{:.2}", hz / 1e9);
        format!(
            "clock: {event}, time; cycles estimated at {} GHz ({} to {} seen) · {charged}",
            ghz(clock.core_hz),
            ghz(clock.core_hz_low),
            ghz(clock.core_hz_high),
        )
    })
}

/// How callers were found, and of how many samples not all, if any were looked for.
pub fn call_stacks_in_words(analysis: &Analysis) -> Option<String> {
    let stacks = analysis.quality.call_stacks.as_ref().filter(|stacks| stacks.taken > 0)?;
    let method = match stacks.method {
        CallStackMethod::FramePointers => "frame pointers",
        CallStackMethod::UnwindTables => "unwind tables",
        CallStackMethod::Both => "unwind tables and frame pointers",
    };
    let share = |part: u64| percent(part as f64 / stacks.taken as f64);
    let (short, broken) = (share(stacks.cut_short), share(stacks.broken));
    Some(format!("call stacks by {method}: {short} cut short, {broken} broken"))
}

/// How waiting was measured, if threads waited.
pub fn waiting_in_words(analysis: &Analysis) -> Option<String> {
    let waits = &analysis.profile.waits;
    let sum = |measured: bool| -> u64 {
        let of_kind = waits.iter().filter(|wait| wait.times.is_some() == measured);
        of_kind.fold(0, |sum, wait| sum.saturating_add(wait.duration_ns))
    };
    let (measured_ns, estimated_ns) = (sum(true), sum(false));
    match (measured_ns, estimated_ns) {
        (0, 0) => None,
        (0, _) => Some("estimated from looks at threads from time to time".into()),
        (_, 0) => Some("measured at every switch of a thread".into()),
        _ => {
            let share = percent(measured_ns as f64 / (measured_ns as f64 + estimated_ns as f64));
            Some(format!(
                "{share} measured at every switch of a thread, the rest estimated from looks at threads"
            ))
        }
    }
}

/// How many branches traces saw.
fn traced(profile: &Profile) -> Option<String> {
    let branches = rows::times(&profile.taken_branches);
    (branches > 0).then(|| {
        format!("branches traced: {} in {}", count(branches), quantity(rows::traces(profile), "trace"))
    })
}

/// What reports of executions alone say of how well these were counted: all warnings, and that counts are not complete, which
/// a profile may say without one.
pub fn doubts(analysis: &Analysis, style: Style) -> String {
    let is_incomplete = analysis.profile.exactness() == Exactness::Incomplete;
    let told = is_incomplete.then(|| style.wrap(Tone::Warning, "warning: counts are not complete"));
    told.unwrap_or_default() + &warnings(analysis, style)
}

/// All warnings, a line each.
pub fn warnings(analysis: &Analysis, style: Style) -> String {
    let warnings = analysis.quality.warnings.iter();
    warnings.map(|warning| style.wrap(Tone::Warning, &format!("warning: {warning}"))).collect()
}
