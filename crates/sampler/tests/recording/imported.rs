//! Files of `perf record` in all its forms, against what `perf script` reads in them.

use crate::program::{alone, function, lies_in, path, seconds};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use timewise_profile::Profile;
use timewise_sampler::import::perf_data;

const SAMPLES: usize = 1_000_000;

/// Records the program with some options; `None`, with a remark, where `perf` does not work.
fn recorded(name: &str, options: &[&str]) -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut record = Command::new("perf");
    record.args(["record", "-q"]).args(options);
    let streams = options.contains(&"-");
    if streams {
        record.stdout(std::fs::File::create(&data).unwrap());
    } else {
        record.arg("-o").arg(&data).stdout(Stdio::null());
    }
    let _alone = alone();
    let recorded = record.arg(path()).args(["split", "150"]).output();
    if !recorded.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: perf does not work here: {recorded:?}");
        return None;
    }
    Some(data)
}

/// The periods of all samples of an event, as `perf script` prints them; `None`, with a remark, where it
/// fails. (While another recording asks for build ids, some kernels mark records as if they had them.)
fn periods(data: &Path, event: &str) -> Option<Vec<u64>> {
    let mut script = Command::new("perf");
    let output = script.args(["script", "-F", "event,period", "-G", "-i"]).arg(data).output().unwrap();
    if !output.status.success() {
        eprintln!("skipped: perf does not work here: {output:?}");
        return None;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let (period, name) = line.trim().split_once(' ')?;
        (name.trim().trim_end_matches(':') == event).then(|| period.parse().unwrap())
    };
    Some(text.lines().filter_map(line).collect())
}

fn imported(data: &Path) -> Profile {
    let profile = perf_data(data, SAMPLES).unwrap();
    profile.check().unwrap();
    profile
}

/// Imports what was recorded with `options` and compares it with what `perf` reads itself.
fn agrees(name: &str, event: &str, options: &[&str]) -> Option<Profile> {
    let data = recorded(name, options)?;
    let periods = periods(&data, event)?;
    let profile = imported(&data);
    assert!(periods.len() > 20, "{} samples are too few", periods.len());
    let weights: Vec<u64> = profile.samples.iter().map(|sample| sample.weight_ns).collect();
    assert_eq!(weights, periods);
    assert_eq!(profile.runs[0].clock.as_ref().unwrap().event, event);
    assert_eq!(profile.runs[0].command[1..], [b"split".to_vec(), b"150".to_vec()]);
    assert!(profile.processes[0].executable.ends_with(b"/work"));
    let heavy = function("heavy");
    let share = seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, &heavy)))
        / seconds(&profile, |s| !s.kernel);
    assert!((0.6..0.9).contains(&share), "three quarters of the work are in it, {share} of the samples");
    Some(profile)
}

#[test]
fn a_plain_file() {
    let Some(profile) = agrees("plain.data", "cpu-clock:u", &["-e", "cpu-clock:u", "-F", "2000"]) else {
        return;
    };
    let module = profile.modules.iter().find(|module| module.path.ends_with(b"/work")).unwrap();
    let notes = Command::new("readelf").arg("-n").arg(path()).output().unwrap();
    let hexadecimal: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(String::from_utf8_lossy(&notes.stdout).contains(&format!("Build ID: {hexadecimal}")));
    assert!(profile.stacks.is_empty());
}

#[test]
fn call_stacks() {
    let Some(profile) = agrees("stacks.data", "cpu-clock:u", &["-e", "cpu-clock:u", "-F", "2000", "-g"])
    else {
        return;
    };
    let main = function("main");
    let below_main = |stack| {
        std::iter::successors(stack, |id: &timewise_profile::StackId| profile.stacks[id.index()].parent)
            .any(|id| lies_in(&profile, profile.stacks[id.index()].return_place, &main))
    };
    let found = profile.samples.iter().filter(|sample| below_main(sample.stack)).count();
    assert!(found * 10 > profile.samples.len() * 9, "{found} of {}", profile.samples.len());
}

#[test]
fn compressed_files() {
    agrees("packed.data", "cpu-clock:u", &["-e", "cpu-clock:u", "-F", "2000", "-g", "-z"]);
}

#[test]
fn streams() {
    agrees("stream.data", "cpu-clock:u", &["-e", "cpu-clock:u", "-F", "2000", "-g", "-o", "-"]);
}

#[test]
fn copied_stacks_are_passed_over() {
    let dwarf = ["-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf"];
    agrees("copied.data", "cpu-clock:u", &dwarf);
}

#[test]
fn a_fixed_period_and_another_event() {
    let options = ["-e", "page-faults,cpu-clock:u", "-c", "500000", "--buildid-mmap"];
    let Some(profile) = agrees("period.data", "cpu-clock:u", &options) else { return };
    assert!(profile.samples.iter().all(|sample| sample.weight_ns == 500_000));
    assert_eq!(profile.runs[0].clock.as_ref().unwrap().frequency_hz, 2000);
    assert!(profile.runs[0].warnings.iter().any(|warning| warning.contains("page-faults")));
}

#[test]
fn events_that_measure_no_time_are_refused() {
    let Some(data) = recorded("faults.data", &["-e", "page-faults"]) else { return };
    let error = perf_data(&data, SAMPLES).unwrap_err().to_string();
    assert!(error.contains("page-faults") && error.contains("cpu-clock"), "{error}");
}
