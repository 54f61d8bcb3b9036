//! What a recording says, against what the program did and what the kernel accounted.

use crate::program::{function, lies_in, options, path, recorded, seconds};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;
use timewise_profile::{Exit, ModuleKind, ProcessId, Profile, Sample};
use timewise_sampler::{Means, Options, Scope};

/// The kernel measures time on a processor exactly but divides it into user's and its own by what the
/// tick meets every few milliseconds. Samples must agree with the exact sum, and with the user's part
/// as far as that is known, together with those that were lost: a busy machine may keep the reader from the
/// buffers for longer than they last.
fn agrees_with_the_kernels_accounts(profile: &Profile) {
    let run = &profile.runs[0];
    let (user, kernel) = (run.user_ns as f64 / 1e9, run.kernel_ns as f64 / 1e9);
    let sampled = seconds(profile, |_| true);
    let lost = run.lost_samples as f64 / f64::from(run.clock.as_ref().unwrap().frequency_hz);
    let (low, high) = (0.95 * user - 0.008, 1.05 * (user + kernel) + 0.008);
    let told = (run.lost_samples, &run.warnings);
    assert!(
        low < sampled + lost && sampled < high,
        "{sampled} s sampled, {user} s + {kernel} s accounted, {told:?}"
    );
}

#[test]
fn time_is_where_the_work_is() {
    for scope in [Scope::Automatic, Scope::Threads] {
        let before = Instant::now();
        let Some(profile) = recorded("split", 250, &Options { scope, ..options(4000) }) else { return };
        agrees_with_the_kernels_accounts(&profile);
        let (heavy, light, caller) = (function("heavy"), function("light"), function("split"));
        let time_in = |f| seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, f)));
        let (in_heavy, in_light) = (time_in(&heavy), time_in(&light));
        // Work of 3 to 1. With over 1,000 samples the share's standard error is below 0.014.
        let share = in_heavy / (in_heavy + in_light);
        assert!((0.69..0.81).contains(&share), "{share} of the time in the heavy function");
        assert!(in_heavy + in_light > 0.95 * seconds(&profile, |_| true));
        for sample in profile.samples.iter().filter(|s| s.place.is_some_and(|p| lies_in(&profile, p, &heavy)))
        {
            let innermost = profile.stacks[sample.stack.expect("it has callers").index()];
            // In the function's first and last instructions its frame is not there, and the caller's
            // caller is found in the place of the caller.
            let main = function_once("main");
            let place = innermost.return_place;
            assert!(lies_in(&profile, place, &caller) || lies_in(&profile, place, &main), "{place:?}");
        }
        let run = &profile.runs[0];
        assert_eq!(run.exit, Exit::Code(0));
        // They have been accounted for; a user's buffers are small, and a busy machine's reader late.
        assert!(run.lost_samples < profile.samples.len() as u64, "{:?}", run.warnings);
        let is_of_the_machine =
            |warning: &String| warning.contains("were lost") || warning.contains("a sample takes");
        assert!(run.warnings.iter().all(is_of_the_machine), "{:?}", run.warnings);
        assert_eq!(run.command, [path().as_os_str().as_bytes(), b"split", b"250"]);
        assert!(profile.samples.is_sorted_by_key(|sample| sample.time_ns));
        assert!(u128::from(profile.samples.last().unwrap().time_ns) <= before.elapsed().as_nanos());
    }
}

fn function_once(name: &str) -> std::ops::Range<u64> {
    static MAIN: std::sync::OnceLock<std::ops::Range<u64>> = std::sync::OnceLock::new();
    MAIN.get_or_init(|| function(name)).clone()
}

/// By stopping the program instead, which needs no permission.
fn by_stops() -> Options {
    Options { means: Means::Stops, ..options(1000) }
}

#[test]
fn stops_find_time_where_the_work_is() {
    let profile = recorded("split", 400, &by_stops()).unwrap();
    agrees_with_the_kernels_accounts(&profile);
    let (heavy, light, caller) = (function("heavy"), function("light"), function("split"));
    let time_in = |f| seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, f)));
    let (in_heavy, in_light) = (time_in(&heavy), time_in(&light));
    // Work of 3 to 1. With over 300 samples the share's standard error is below 0.025.
    let share = in_heavy / (in_heavy + in_light);
    assert!((0.65..0.85).contains(&share), "{share} of the time in the heavy function");
    assert!(in_heavy + in_light > 0.95 * seconds(&profile, |_| true));
    let main = function_once("main");
    let called = |s: &Sample| {
        let stack = s.stack.map(|stack| profile.stacks[stack.index()].return_place);
        stack.is_some_and(|place| [&caller, &main].iter().any(|f| lies_in(&profile, place, f)))
    };
    let of_split = seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, &heavy)) && called(s));
    assert!(of_split > 0.9 * in_heavy, "{of_split} of {in_heavy} s were called by split or main");
    let run = &profile.runs[0];
    assert_eq!((run.exit, &*run.clock.as_ref().unwrap().event), (Exit::Code(0), "ptrace"));
    assert!(
        run.warnings.iter().any(|warning| warning.starts_with("sampled with ptrace: ")),
        "{:?}",
        run.warnings
    );
}

/// Most threads that run wait for a processor then, in the call by which they gave way: their time passed elsewhere.
#[test]
fn stops_find_the_time_of_threads_that_give_way() {
    let profile = recorded("yields", 100, &by_stops()).unwrap();
    let run = &profile.runs[0];
    let (user, all) = (run.user_ns as f64 / 1e9, (run.user_ns + run.kernel_ns) as f64 / 1e9);
    let sampled = seconds(&profile, |_| true);
    // Of a thread that gave no sample nothing is told.
    assert!(
        (0.6 * user..1.05 * all).contains(&sampled),
        "{sampled} s sampled, {user} s of {all} s in user mode"
    );
    let light = function("light");
    let in_light = seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, &light)));
    assert!(in_light > 0.9 * sampled, "{in_light} of {sampled} s");
}

#[test]
fn stops_follow_threads_children_and_what_they_execute() {
    let profile = recorded("threads", 100, &by_stops()).unwrap();
    agrees_with_the_kernels_accounts(&profile);
    let mut by_thread = BTreeMap::new();
    for sample in &profile.samples {
        *by_thread.entry(sample.thread).or_insert(0) += sample.weight_ns;
    }
    by_thread.retain(|_, weight_ns| *weight_ns > 20_000_000);
    let (least, most) = (by_thread.values().min().unwrap(), by_thread.values().max().unwrap());
    assert_eq!(by_thread.len(), 3, "{by_thread:?}");
    assert!(*most < 3 * *least, "equal work, but for how fast processors are: {by_thread:?} ns");

    let profile = recorded("forks", 100, &by_stops()).unwrap();
    agrees_with_the_kernels_accounts(&profile);
    assert_eq!(profile.processes.len(), 4);
    assert!(profile.processes[1..].iter().all(|child| child.parent == Some(ProcessId(0))));
    let heavy = function("heavy");
    let in_heavy = seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, &heavy)));
    assert!(in_heavy > 0.15 * seconds(&profile, |_| true));
    assert!(profile.threads.iter().any(|thread| thread.name == "exe"));
}

#[test]
fn stops_leave_the_end_and_waiting_alone() {
    let profile = recorded("die", 100, &by_stops()).unwrap();
    assert_eq!(profile.runs[0].exit, Exit::Signal(libc::SIGSEGV));
    agrees_with_the_kernels_accounts(&profile);
    let profile = recorded("sleep", 60, &by_stops()).unwrap();
    agrees_with_the_kernels_accounts(&profile);
    let run = &profile.runs[0];
    let waited_ns = run.elapsed_ns - run.user_ns - run.kernel_ns;
    // A crowded machine lets it wait for a processor besides.
    assert!(waited_ns > 290_000_000, "{waited_ns} ns");
}

#[test]
fn every_thread_has_its_time() {
    let Some(profile) = recorded("threads", 100, &options(4000)) else { return };
    agrees_with_the_kernels_accounts(&profile);
    let mut by_thread = BTreeMap::new();
    for sample in &profile.samples {
        *by_thread.entry(sample.thread).or_insert(0_u32) += 1;
    }
    by_thread.retain(|_, samples| *samples > 20);
    let (least, most) = (by_thread.values().min().unwrap(), by_thread.values().max().unwrap());
    assert_eq!(by_thread.len(), 3, "{by_thread:?}");
    assert!(*most < 3 * least, "equal work, but for how fast processors are: {by_thread:?} samples");
    assert_eq!((profile.threads.len(), profile.processes.len()), (4, 1));
}

#[test]
fn children_and_what_they_execute_are_followed() {
    let Some(profile) = recorded("forks", 60, &options(4000)) else { return };
    agrees_with_the_kernels_accounts(&profile);
    assert_eq!(profile.processes.len(), 4);
    let children = &profile.processes[1..];
    assert!(children.iter().all(|child| child.parent == Some(ProcessId(0))));
    let working: BTreeSet<_> =
        profile.samples.iter().map(|s| profile.threads[s.thread.index()].process).collect();
    assert_eq!(working.len() - usize::from(working.contains(&ProcessId(0))), 3);
    // The one that executed the program again mapped it at other addresses; its offsets are the same.
    let heavy = function("heavy");
    let in_heavy = seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, &heavy)));
    assert!(in_heavy > 0.15 * seconds(&profile, |_| true));
    assert!(profile.threads.iter().any(|thread| thread.name == "exe"));
}

#[test]
fn what_a_killed_program_did_is_kept() {
    let Some(profile) = recorded("die", 80, &options(4000)) else { return };
    assert_eq!(profile.runs[0].exit, Exit::Signal(libc::SIGSEGV));
    assert_eq!(profile.processes[0].exit, Exit::Signal(libc::SIGSEGV));
    agrees_with_the_kernels_accounts(&profile);
}

#[test]
fn what_does_not_fit_is_counted_as_lost() {
    const FREQUENCY_HZ: u32 = 20_000;
    // Beside whole processors, samples of other programs would be lost as well.
    let small = Options { ring_bytes: 4096, scope: Scope::Threads, ..options(FREQUENCY_HZ) };
    let Some(profile) = recorded("deep", 150, &small) else { return };
    let run = &profile.runs[0];
    assert!(run.lost_samples > 0);
    assert!(run.warnings.iter().any(|warning| warning.contains("were lost")), "{:?}", run.warnings);
    // Taken and lost together are all that were due.
    let due = run.user_ns as f64 / 1e9 * f64::from(FREQUENCY_HZ);
    let found = (profile.samples.len() as u64 + run.lost_samples) as f64;
    assert!((0.9..1.1).contains(&(found / due)), "{found} taken and lost, {due} due");
    let whole = Options { ring_bytes: Options::default().ring_bytes, ..small };
    let enough = recorded("deep", 50, &whole).unwrap();
    // None, but where a busy machine keeps the reader from the ring for longer than it lasts.
    let lost = |profile: &Profile| {
        let lost = profile.runs[0].lost_samples as f64;
        lost / (lost + profile.samples.len() as f64)
    };
    assert!(lost(&enough) < 0.5 * lost(&profile), "{} lost, {} before", lost(&enough), lost(&profile));
}

#[test]
fn memory_is_bounded_and_the_time_is_still_all_there() {
    let few = Options { sample_limit: 100, ..options(4000) };
    let Some(profile) = recorded("split", 150, &few) else { return };
    assert!((50..=101).contains(&profile.samples.len()), "{} samples", profile.samples.len());
    agrees_with_the_kernels_accounts(&profile);
    assert!(profile.runs[0].warnings.iter().any(|warning| warning.contains("each stands for")));
}

#[test]
fn written_code_is_a_module_of_its_own() {
    let Some(profile) = recorded("jit", 200, &options(4000)) else { return };
    agrees_with_the_kernels_accounts(&profile);
    let is_jit = |p: timewise_profile::Place| profile.modules[p.module.index()].kind == ModuleKind::Jit;
    let in_jit = profile.samples.iter().filter_map(|sample| sample.place.filter(|&place| is_jit(place)));
    let offsets: BTreeSet<u64> = in_jit.map(|place| place.offset.0).collect();
    assert!(!offsets.is_empty() && offsets.iter().all(|offset| (10..=13).contains(offset)), "{offsets:?}");
    assert!(seconds(&profile, |s| s.place.is_some_and(is_jit)) > 0.9 * seconds(&profile, |_| true));
    assert!(profile.runs[0].warnings.iter().any(|warning| warning.contains("wrote at run time")));
}

#[test]
fn waiting_is_not_time_on_a_processor() {
    let Some(profile) = recorded("sleep", 30, &options(4000)) else { return };
    agrees_with_the_kernels_accounts(&profile);
    let run = &profile.runs[0];
    assert!(run.elapsed_ns - run.user_ns - run.kernel_ns > 290_000_000);
}

#[test]
fn too_short_a_program_is_no_empty_success() {
    let Some(profile) = recorded("nothing", 0, &options(10)) else { return };
    assert!(profile.samples.is_empty());
    assert!(profile.runs[0].warnings[0].starts_with("no samples: the program used"));
}

/// Kernel samples add what the program had the kernel do, and take nothing away.
#[test]
fn kernel_samples_are_told_apart() {
    let with_kernel = Options { kernel: true, ..options(4000) };
    let Some(profile) = recorded("forks", 30, &with_kernel) else { return };
    assert!(profile.samples.iter().any(|sample| sample.kernel));
    for sample in &profile.samples {
        let kind = sample.place.map(|place| profile.modules[place.module.index()].kind);
        assert_eq!(sample.kernel, kind == Some(ModuleKind::Kernel), "{sample:?}");
    }
    assert_eq!(profile.threads.len(), 4, "the kernel's work for ended threads makes no new rows");
}

/// The loader maps the C library, which calls `main`, after the recording has begun. A program that ends soon has
/// callers as well.
#[test]
fn stops_of_a_short_run_find_who_called() {
    let profile = recorded("split", 80, &by_stops()).unwrap();
    let stacks = profile.runs[0].call_stacks.as_ref().unwrap();
    assert!(stacks.taken > 4, "{stacks:?}");
    // The loader itself calls in ways of its own.
    assert!(stacks.broken * 4 < stacks.taken, "{stacks:?}");
}
