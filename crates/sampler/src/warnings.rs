//! What a reader of a recording must know to trust its numbers, in words.

use crate::collector::Collector;
use crate::options::LARGEST_STACK;
use crate::refusal::Refusal;
use crate::spells::Spells;
use std::collections::BTreeSet;
use timewise_callers::stacks_left_out;
use timewise_profile::{CallStackMethod, ClockScope, Profile, Run, RunId};
use timewise_target::run::outlived_by;

/// The share of samples in code written at run time that is worth a word.
const NOTABLE_SHARE: f64 = 0.01;

/// The share of call stacks without their outermost callers that is worth a word.
const NOTABLE_LOSS: f64 = 0.05;

/// The share of the time of all threads from which on it matters how well waiting was measured.
const NOTABLE_WAITING: f64 = 0.05;

/// How waiting was measured, where that limits what it says and there was some: `looks` is why every switch of a
/// thread could not be seen, if so.
pub fn of_waits(run: &Run, collector: &Collector, looks: Option<&Refusal>) -> Vec<String> {
    let mut warnings = Vec::new();
    let waited_ns = collector.waits.total_ns();
    if let Some(why) = looks
        && notable(waited_ns, waited_ns.saturating_add(run.user_ns + run.kernel_ns))
    {
        warnings.push(format!(
            "waiting is estimated by looking at threads from time to time where their switches could not be seen \
             ({why})"
        ));
    }
    if notable(collector.unseen_wait_ns, waited_ns) {
        warnings.push(format!(
            "threads ended before they were looked at again: {:.0} % of the waiting is the time up to their ends, less \
             CPU time by the accounts of their processes; where they waited is that of others like them",
            100.0 * collector.unseen_wait_ns as f64 / waited_ns as f64
        ));
    }
    let Spells { divided_ns, placeless_ns, .. } = collector.spells;
    warnings.extend(of_missing_stacks(divided_ns, placeless_ns, waited_ns));
    if collector.unseen > 0 {
        warnings.push(format!(
            "{} records of threads that began or ceased to wait were lost: there may have been more waiting",
            collector.unseen
        ));
    }
    warnings
}

/// Whether a part of the waiting is worth a word.
fn notable(part_ns: u64, whole_ns: u64) -> bool {
    part_ns as f64 > NOTABLE_WAITING * whole_ns as f64
}

/// What became of waits that were too many for each to have its stack.
fn of_missing_stacks(divided_ns: u64, placeless_ns: u64, waited_ns: u64) -> Option<String> {
    let parts = [
        (divided_ns, "is divided among the places of a thread's other waits that lasted as long"),
        (placeless_ns, "has no known place, as no other wait of its thread that lasted as long has one"),
    ];
    let told = parts.into_iter().filter(|(part_ns, _)| notable(*part_ns, waited_ns));
    let told = told.map(|(part_ns, what)| {
        format!("{:.0} % of the waiting {what}", 100.0 * part_ns as f64 / waited_ns as f64)
    });
    let told = told.collect::<Vec<_>>().join(", ");
    (!told.is_empty()).then(|| format!("threads waited too often for every stack to be taken: {told}"))
}

/// The profile of one run, with warnings before all others if its samples stand for another time than the program
/// used, and if some were lost.
pub fn with_that_of_time(mut profile: Profile) -> Profile {
    let of_time = match profile.disagreement(RunId(0)) {
        Some(disagreement) => Some(disagreement.to_string()),
        None => profile.samples.is_empty().then(|| of_too_little(&profile.runs[0])),
    };
    let warnings: Vec<String> = of_time.into_iter().chain(of_lost(&profile)).collect();
    profile.runs[0].warnings.splice(0..0, warnings);
    profile
}

/// How much time is missing, which may be far less than the share of samples that were lost: where whole processors are
/// watched, most of them may be other programs'.
fn of_lost(profile: &Profile) -> Option<String> {
    let run = &profile.runs[0];
    let scope = run.clock.as_ref().and_then(|clock| clock.scope);
    let at_most = if scope == Some(ClockScope::Processors) { "at most " } else { "" };
    (run.lost_samples > 0).then(|| {
        format!(
            "{at_most}{} samples were lost because the buffer was full: {:.1} % of the program's time is missing, not everywhere \
             alike; lower --frequency, or record again when the machine is less busy",
            run.lost_samples,
            100.0 * profile.missing_share(RunId(0))
        )
    })
}

fn of_too_little(run: &Run) -> String {
    format!(
        "no samples: the program used {:.1} ms of CPU time; at {} Hz that is too little; repeat its work, or raise \
         --frequency",
        (run.user_ns + run.kernel_ns) as f64 / 1e6,
        run.clock.as_ref().map_or(0, |clock| clock.frequency_hz)
    )
}

/// All else that went less than perfectly; `processes_left` descendants outlived the program, and `is_ours` says whether we
/// recorded it, not `perf`.
pub fn of(run: &Run, collector: &Collector, processes_left: usize, is_ours: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let taken = collector.samples.taken();
    if collector.untracked > 0 {
        warnings.push(format!(
            "{} records of new processes and mappings were lost: some code may be unknown or taken for another",
            collector.untracked
        ));
    }
    if collector.throttled > 0 {
        warnings.push(format!(
            "the kernel paused sampling {} times to limit its cost; lower --frequency, or run: sudo sysctl \
             kernel.perf_cpu_time_max_percent=0",
            collector.throttled
        ));
    }
    if collector.samples.merged() > 1 {
        warnings.push(format!(
            "there were more samples than are kept: each stands for {} neighbours in its thread",
            collector.samples.merged()
        ));
    }
    if collector.unplaced > 0 {
        let share = 100.0 * collector.unplaced as f64 / taken.max(1) as f64;
        warnings.push(format!("{} samples ({share:.1} %) lie outside of all known code", collector.unplaced));
    }
    if let Some(stacks) = &run.call_stacks {
        let share = |part: u64| part as f64 / stacks.taken.max(1) as f64;
        if share(stacks.cut_short) >= NOTABLE_LOSS {
            let advice = format!(
                "; copy more with {}--call-graph {},{LARGEST_STACK}",
                if is_ours { "" } else { "perf record " },
                if !is_ours || stacks.method == CallStackMethod::UnwindTables { "dwarf" } else { "auto" },
            );
            let all_copied = collector.largest_copy >= LARGEST_STACK as usize;
            warnings.push(format!(
                "{:.1} % of the call stacks are deeper than what {} taken of them: their outermost callers are unknown{}",
                100.0 * share(stacks.cut_short),
                if all_copied { "can be" } else { "was" },
                if all_copied { "" } else { &advice },
            ));
        }
        if share(stacks.broken) >= NOTABLE_LOSS {
            warnings.push(format!(
                "{:.1} % of the call stacks end in code that does not tell its caller, without {}",
                100.0 * share(stacks.broken),
                match stacks.method {
                    CallStackMethod::FramePointers if is_ours =>
                        "frame pointers; --call-graph auto uses unwind tables",
                    CallStackMethod::FramePointers =>
                        "frame pointers; of perf record --call-graph dwarf, unwind tables are used",
                    CallStackMethod::UnwindTables =>
                        "unwind tables; --call-graph auto uses frame pointers there",
                    CallStackMethod::Both => "unwind tables or frame pointers",
                }
            ));
        }
    }
    warnings.extend(stacks_left_out(collector.stacks.left_out));
    let written = collector.written as f64 / taken.max(1) as f64;
    if written >= NOTABLE_SHARE {
        warnings.push(format!(
            "{:.1} % of the samples lie in code that the program wrote at run time: they meet counts of another run \
             only where both runs had it at the same addresses and never wrote it anew",
            100.0 * written
        ));
    }
    warnings.extend(of_unreadable(collector.modules.unreadable.iter().map(Vec::as_slice).collect()));
    warnings.extend(outlived_by(processes_left));
    warnings
}

/// One line for all files that could not be read: a program under Wine has dozens that are of another kind.
fn of_unreadable(paths: BTreeSet<&[u8]>) -> Option<String> {
    let name = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let (first, last) = (name(paths.first()?), name(paths.last()?));
    Some(match paths.len() {
        1 => format!(
            "{first}: gone, replaced or not an ELF file while the program ran: its code has offsets in the file only"
        ),
        many => format!(
            "{many} files, from {first} to {last}: gone, replaced or not ELF files while the program ran: their code \
             has offsets in the files only"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{Clock, Exit, Process, ProcessId, RunKind, Sample, Thread, ThreadId};

    /// Nine in ten of the samples that a busy machine lost were others': of 2 s of this program a second is missing.
    #[test]
    fn what_is_told_of_lost_samples_is_the_time_that_is_missing() {
        let told = |scope| {
            let clock = Clock {
                event: "cpu-clock:u".into(),
                counts_cycles: false,
                precise_level: 0,
                frequency_hz: 1000,
                scope,
                core_hz: 2e9,
                core_hz_low: 2e9,
                core_hz_high: 2e9,
            };
            let process = Process {
                run: RunId(0),
                pid: 1,
                parent: None,
                executable: Vec::new(),
                exit: Exit::default(),
                count_uncertainty: 0,
            };
            let thread = Thread { process: ProcessId(0), tid: 1, name: String::new(), instructions: None };
            let sample = Sample {
                thread: ThreadId(0),
                time_ns: 0,
                weight_ns: 1_000_000,
                weight_cycles: None,
                place: None,
                kernel: false,
                stack: None,
            };
            let run = Run {
                clock: Some(clock),
                user_ns: 2_000_000_000,
                lost_samples: 9000,
                ..Run::new(RunKind::Sampling)
            };
            let profile = Profile {
                runs: vec![run],
                processes: vec![process],
                threads: vec![thread],
                samples: vec![sample; 1000],
                ..Profile::default()
            };
            with_that_of_time(profile).runs[0].warnings.concat()
        };
        let by_processors = told(Some(ClockScope::Processors));
        assert!(by_processors.starts_with("at most 9000 samples were lost"), "{by_processors}");
        assert!(by_processors.contains(": 50.0 % of the program's time"), "{by_processors}");
        // Where nothing but samples tells of the time, as in what perf recorded.
        assert!(told(None).contains(": 90.0 % of the program's time"), "{}", told(None));
    }

    #[test]
    fn waits_without_a_place_are_not_said_to_be_divided() {
        let told =
            |divided_ns, placeless_ns| of_missing_stacks(divided_ns, placeless_ns, 1000).unwrap_or_default();
        assert_eq!(told(50, 50), "");
        assert_eq!(
            told(0, 880),
            "threads waited too often for every stack to be taken: 88 % of the waiting has no known place, as no other wait \
             of its thread that lasted as long has one"
        );
        assert_eq!(
            told(400, 100),
            "threads waited too often for every stack to be taken: 40 % of the waiting is divided among the places of a \
             thread's other waits that lasted as long, 10 % of the waiting has no known place, as no other wait of its \
             thread that lasted as long has one"
        );
    }

    #[test]
    fn files_that_cannot_be_read_are_one_line() {
        let told = |paths: &[&'static str]| of_unreadable(paths.iter().map(|path| path.as_bytes()).collect());
        assert_eq!(told(&[]), None);
        assert!(told(&["/a", "/a"]).unwrap().starts_with("/a: gone, replaced or not an ELF file"));
        assert!(
            told(&["/c", "/a", "/b"])
                .unwrap()
                .starts_with("3 files, from /a to /c: gone, replaced or not ELF")
        );
    }
}
