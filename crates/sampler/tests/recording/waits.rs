//! Where threads wait, and how long, in a program that waits as long as it was made to.

use crate::program::{built, options, recorded_of};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use timewise_profile::{Place, Profile, Wait};
use timewise_sampler::{Means, Options};

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

#[test]
fn waits_for_locks_pipes_and_time_are_as_long_as_they_were() {
    let program = built("waits", &["waits.c"], &["-O1", "-g", "-pthread"]).canonicalize().unwrap();
    for means in [Means::Automatic, Means::Stops] {
        for what in ["lock", "pipe", "time"] {
            let options = Options { means, ..options(1000) };
            let Some(profile) = recorded_of(&program, what, 0, &options) else { return };
            let all: f64 = profile.waits.iter().map(|wait| wait.duration_ns as f64 / 1e9).sum();
            // Callers are known of threads that were stopped alone.
            let waited = match means {
                Means::Stops => waited_in(&profile, &program, &format!("wait_for_{what}")),
                _ => all / profile.threads.len() as f64,
            };
            let elapsed = profile.runs[0].elapsed_ns as f64 / 1e9;
            // It was made to wait for 600 ms; a crowded machine wakes threads late, which prolongs it all.
            assert!(waited > 0.5 && waited < elapsed, "{what}, {means:?}: {waited} s of {elapsed} s");
            let threads = profile.threads.len() as f64;
            assert!(all < threads * elapsed, "{what}, {means:?}: {all} s of {threads} times {elapsed} s");
        }
    }
}
