//! Code that a program wrote and announced has names, and lines where it told them.

use crate::command::Place;
use timewise_profile::{Function, Profile};

/// The profile of a run in `mode`, unless sampling is refused here.
fn recorded(place: &Place, mode: &str) -> Option<Profile> {
    place.write("announced.c", include_str!("programs/announced.c"));
    let run = format!("cc -O1 announced.c -o announced && timewise sample -F 4000 -- ./announced {mode} 300");
    let outcome = place.shell(&run);
    if outcome.stderr.contains("lets us sample with no clock") {
        eprintln!("skipped: {}", outcome.stderr);
        return None;
    }
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("not an ELF file"), "{}", outcome.stderr);
    let profile = place.profile();
    let map = format!("/tmp/perf-{}.map", profile.processes[0].pid);
    if mode == "map" {
        std::fs::remove_file(map).unwrap();
    }
    Some(profile)
}

fn function<'a>(profile: &'a Profile, name: &str) -> &'a Function {
    profile.functions.iter().find(|function| function.name == name).expect("the function has its name")
}

/// Samples in a function.
fn samples(profile: &Profile, function: &Function) -> f64 {
    let start = function.place;
    let within = |place: timewise_profile::Place| {
        let offsets = start.offset.0..start.offset.0 + function.size;
        place.module == start.module && offsets.contains(&place.offset.0)
    };
    profile.samples.iter().filter(|sample| sample.place.is_some_and(within)).count() as f64
}

fn check_names(profile: &Profile) {
    let (first, second) = (function(profile, "first"), function(profile, "second, and last"));
    assert_eq!((first.size, second.size, second.place.offset.0 - first.place.offset.0), (11, 11, 64));
    let [of_first, of_second] = [first, second].map(|function| samples(profile, function));
    let share = of_second / (of_first + of_second);
    // Three quarters, but for how much faster or slower a shared machine ran meanwhile.
    assert!((0.55..0.9).contains(&share), "{of_first} and {of_second} samples, of work of 1 and 3");
    assert!(of_first + of_second > 0.9 * profile.samples.len() as f64);
}

#[test]
fn by_a_perf_map() {
    let place = Place::new();
    let Some(profile) = recorded(&place, "map") else { return };
    check_names(&profile);
    let report = place.shell("timewise report").stdout;
    assert!(report.contains("second, and last"), "{report}");
}

#[test]
fn by_a_jitdump_with_lines() {
    let place = Place::new();
    let Some(profile) = recorded(&place, "dump") else { return };
    check_names(&profile);
    let first = function(&profile, "first");
    let file = first.file.map(|file| &profile.files[file.index()].path[..]);
    assert_eq!((file, first.line), (Some("source.x"), 7));
    let line = profile.lines.iter().find(|line| line.place == first.place).unwrap();
    assert_eq!(line.line, 7);
}
