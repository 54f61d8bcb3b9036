//! A program that is attached to again and again has all that it had.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;
use timewise_engine::{Options, attach};

/// What a process has: its mappings without their sizes, how many descriptors, and how many threads that stay.
fn belongings(pid: i32) -> (BTreeSet<String>, usize, usize) {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let of_files = maps.lines().filter_map(|line| line.split_whitespace().nth(5).map(str::to_string));
    let count = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).unwrap().count();
    (of_files.collect(), count("fd"), count("task"))
}

#[test]
fn twenty_times_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("crowd");
    let source = format!("{}/../../suite/torture/crowd.c", env!("CARGO_MANIFEST_DIR"));
    let built = Command::new("cc").args(["-O1", "-pthread", &source, "-o"]).arg(&program).status().unwrap();
    assert!(built.success());
    let complaints = folder.path().join("complaints");
    let mut crowd = Command::new(&program)
        .args(["600", "quiet"])
        .stdout(Stdio::null())
        .stderr(fs::File::create(&complaints).unwrap())
        .spawn()
        .unwrap();
    let pid = crowd.id() as i32;
    std::thread::sleep(Duration::from_millis(300));
    let (mappings, descriptors, threads) = belongings(pid);
    for round in 0..20 {
        let profile = attach(pid, Duration::from_millis(5), &Options::default(), || false).unwrap();
        assert_eq!(profile.runs[0].warnings, [""; 0], "round {round}");
        assert_eq!(profile.imbalances(), [], "round {round}");
        profile.check().unwrap();
    }
    let (later, descriptors_later, threads_later) = belongings(pid);
    assert_eq!((later, descriptors_later), (mappings, descriptors));
    // One thread makes others, each of which ends at once.
    assert!(threads_later.abs_diff(threads) <= 1, "{threads_later} threads, {threads} before");
    assert_eq!(fs::read_to_string(&complaints).unwrap(), "");
    // SAFETY: takes no memory; the process is our child.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    let ended = crowd.wait().unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(ended.signal(), Some(libc::SIGTERM), "{ended:?}");
}
