//! Where threads wait, and how long, in a program that waits as long as it was made to.

use crate::program::{alone, built, options, recorded_of};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use timewise_profile::{Place, Profile, Wait};
use timewise_sampler::{Means, Options, attach, record};
use timewise_target::launch::Launch;

/// Seconds that threads waited in a function of the program, or in what it called.
fn waited_in(profile: &Profile, program: &Path, function: &str) -> f64 {
    let output = Command::new("nm").arg("-S").arg(program).output().expect("nm (package binutils) runs");
    let text = String::from_utf8(output.stdout).unwrap();
    let line =
        text.lines().find(|line| line.ends_with(&format!(" {function}"))).expect("the function is there");
    let mut numbers = line.split(' ').map(|field| u64::from_str_radix(field, 16));
    let (start, size) = (numbers.next().unwrap().unwrap(), numbers.next().unwrap().unwrap());
    let holds = |place: Place| {
        let module = &profile.modules[place.module.index()];
        module.path == program.as_os_str().as_bytes() && (start..start + size).contains(&place.offset.0)
    };
    let is_below = |wait: &&Wait| {
        let mut stack = wait.stack;
        while let Some(node) = stack.map(|id| profile.stacks[id.index()]) {
            if holds(node.return_place) {
                return true;
            }
            stack = node.parent;
        }
        wait.place.is_some_and(holds)
    };
    profile.waits.iter().filter(is_below).map(|wait| wait.duration_ns as f64 / 1e9).sum()
}

fn program() -> PathBuf {
    built("waits", &["waits.c"], &["-O1", "-g", "-pthread"]).canonicalize().unwrap()
}

/// Whether the kernel told of every switch, which it does not permit everybody.
fn is_measured(profile: &Profile) -> bool {
    profile.waits.iter().any(|wait| wait.times.is_some())
}

fn all_waits(profile: &Profile) -> f64 {
    profile.waits.iter().map(|wait| wait.duration_ns as f64 / 1e9).sum()
}

#[test]
fn waits_for_locks_pipes_and_time_are_as_long_as_they_were() {
    let program = program();
    for means in [Means::Automatic, Means::Stops] {
        for what in ["lock", "pipe", "time"] {
            let options = Options { means, ..options(1000) };
            let Some(profile) = recorded_of(&program, what, 0, &options) else { return };
            let all = all_waits(&profile);
            // Without switches beside events, only places are known.
            let waited = match means {
                Means::Automatic if !is_measured(&profile) => all / profile.threads.len() as f64,
                _ => waited_in(&profile, &program, &format!("wait_for_{what}")),
            };
            let elapsed = profile.runs[0].elapsed_ns as f64 / 1e9;
            // It was made to wait for 600 ms; a crowded machine wakes threads late, which prolongs it all.
            assert!(waited > 0.5 && waited < elapsed, "{what}, {means:?}: {waited} s of {elapsed} s");
            let threads = profile.threads.len() as f64;
            assert!(all < threads * elapsed, "{what}, {means:?}: {all} s of {threads} times {elapsed} s");
        }
    }
}

/// A recording of the program in a mode in which it tells how long it waited, in two places, and how many seconds
/// those were; `None`, with a remark, where not every switch is told.
fn told(mode: &str, program: &Path) -> Option<(Profile, Vec<f64>)> {
    if let Err(why) = timewise_sampler::choose(&options(1000), None) {
        eprintln!("skipped: {why}");
        return None;
    }
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(mode);
    let profile = {
        let _alone = alone();
        let mut launch = Launch::new(program);
        launch.arguments = vec![mode.into()];
        launch.stdout = File::create(&output).unwrap().into();
        record(launch.stopped().unwrap(), &options(1000)).unwrap()
    };
    if !is_measured(&profile) {
        eprintln!("skipped: {:?}", profile.runs[0].warnings);
        return None;
    }
    let output = std::fs::read_to_string(output).unwrap();
    let seconds = output.split_whitespace().map(|ns| ns.parse::<f64>().unwrap() / 1e9);
    Some((profile, seconds.collect()))
}

#[test]
fn each_wait_is_charged_to_who_waited() {
    let program = program();
    let Some((profile, took)) = told("both", &program) else { return };
    let functions = ["wait_500_ms", "wait_for_holder"];
    for (function, took) in functions.into_iter().zip(took) {
        // What it took is what it waited, a little work, and turns of others on a crowded machine.
        let waited = waited_in(&profile, &program, function);
        assert!(waited > 0.5 * took && waited < took, "{waited} of {took} s in {function}");
    }
    assert!(profile.waits.iter().all(|wait| wait.times.is_some()), "{:?}", profile.waits);
    let once = |wait: &Wait| wait.times == Some(1) && wait.duration_ns > 250_000_000;
    assert!(profile.waits.iter().filter(|wait| once(wait)).count() >= 2, "{:?}", profile.waits);
}

#[test]
fn where_waits_are_too_many_they_are_divided_as_they_are_in_truth() {
    let program = program();
    let Some((profile, truth)) = told("turns", &program) else { return };
    let found = ["wait_for_answer", "wait_a_moment"].map(|function| waited_in(&profile, &program, function));
    // What a function took is what it waited, and a little work.
    let (truth_share, share) = (truth[1] / (truth[0] + truth[1]), found[1] / (found[0] + found[1]));
    assert!((truth_share - share).abs() < 0.05, "{truth:?} {found:?} {:?}", profile.runs[0].warnings);
    assert!(found[0] + found[1] < truth[0] + truth[1], "{truth:?} {found:?}");
    assert!(found[0] + found[1] > 0.5 * (truth[0] + truth[1]), "{truth:?} {found:?}");
}

/// When switches give way to looks, whoever was there before waits on.
#[test]
fn children_wait_on_when_switches_are_too_many() {
    let program = program();
    let Some(profile) = recorded_of(&program, "crowd", 0, &options(1000)) else { return };
    if !profile.runs[0].warnings.iter().any(|warning| warning.contains("a second on a processor")) {
        eprintln!("skipped: {:?}", profile.runs[0].warnings);
        return;
    }
    let (waited, elapsed) =
        (waited_in(&profile, &program, "wait_in_child"), profile.runs[0].elapsed_ns as f64 / 1e9);
    assert!(waited > 0.7 * elapsed && waited < elapsed, "{waited} s of {elapsed} s, {:?}", profile.runs[0]);
}

/// One thread or process after the other waits for less time than lies between two looks.
#[test]
fn threads_that_end_between_looks_are_not_lost() {
    let program = program();
    for mode in ["threads", "processes"] {
        let Some(profile) = attached(mode, &program) else { return };
        let stops = Options { means: Means::Stops, ..options(1000) };
        for profile in [Some(profile), recorded_of(&program, mode, 0, &stops)].into_iter().flatten() {
            let (waited, elapsed) =
                (waited_in(&profile, &program, "wait_in_request"), profile.runs[0].elapsed_ns as f64 / 1e9);
            // There is always one; on a crowded machine, it may have ended long before it is taken note of.
            assert!(
                waited > 0.6 * elapsed && waited < 1.1 * elapsed,
                "{mode}: {waited} s of {elapsed} s, {:?}",
                profile.runs[0]
            );
            let told = |warning: &String| warning.contains("ended before they were looked at again");
            assert!(profile.runs[0].warnings.iter().any(told), "{:?}", profile.runs[0].warnings);
        }
    }
}

/// A recording of a second of the program, which ran already; `None`, with a remark, where sampling is refused.
fn attached(mode: &str, program: &Path) -> Option<Profile> {
    if let Err(why) = timewise_sampler::choose(&options(1000), None) {
        eprintln!("skipped: {why}");
        return None;
    }
    let _alone = alone();
    let mut running = Command::new(program).arg(mode).stdout(Stdio::null()).spawn().unwrap();
    // Until it has mapped all of its code.
    std::thread::sleep(Duration::from_millis(300));
    let profile = attach(running.id() as i32, Duration::from_secs(1), &options(1000), || false).unwrap();
    running.wait().unwrap();
    Some(profile)
}

/// A stop sets the pace of what comes next: the next look must not find the same again and again.
#[test]
fn looks_are_not_in_step_with_what_they_stop() {
    /// On a crowded machine who was woken waits for a processor, too, which is no waiting.
    const ATTEMPTS: usize = 4;
    let program = program();
    let share = |_| {
        let options = Options { means: Means::Stops, ..options(100) };
        let profile = recorded_of(&program, "alternately", 0, &options).unwrap();
        let [asleep, other] =
            ["wait_asleep", "wait_for_other"].map(|function| waited_in(&profile, &program, function));
        asleep / (asleep + other)
    };
    let unfair: Vec<f64> =
        (0..ATTEMPTS).map(share).take_while(|share| !(0.38..0.62).contains(share)).collect();
    assert!(unfair.len() < ATTEMPTS, "{unfair:?}");
}
