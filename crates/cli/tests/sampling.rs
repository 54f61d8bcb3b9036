//! `timewise sample` and `timewise doctor` as a user meets them: exit statuses, files, messages.

use std::path::Path;
use std::process::{Command, Output};
use timewise_profile::{Exit, Profile};

fn timewise(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_timewise")).args(arguments).current_dir(directory).output().unwrap()
}

fn messages(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether this machine lets us sample at all; where not, the messages must say so and how to.
fn sampling_works() -> bool {
    let facts = doctor();
    let sampling = ability(&facts, "sampling");
    let works = sampling["available"] == true;
    assert!(works || !sampling["cause"].as_str().unwrap().is_empty());
    works
}

fn doctor() -> serde_json::Value {
    let output = timewise(Path::new("/"), &["doctor", "--json"]);
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ability<'a>(facts: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    facts["abilities"].as_array().unwrap().iter().find(|ability| ability["name"] == name).unwrap()
}

const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done;";

#[test]
fn the_programs_end_is_ours() {
    if !sampling_works() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (end, status, signal, exit) in [
        ("exit 3", Some(3), None, Exit::Code(3)),
        ("kill -SEGV $$", None, Some(libc::SIGSEGV), Exit::Signal(libc::SIGSEGV)),
        ("kill -TERM $$", None, Some(libc::SIGTERM), Exit::Signal(libc::SIGTERM)),
    ] {
        use std::os::unix::process::ExitStatusExt;
        let program = format!("{BUSY} echo out; {end}");
        let output = timewise(directory.path(), &["sample", "--", "sh", "-c", &program]);
        assert_eq!((output.status.code(), output.status.signal()), (status, signal), "{}", messages(&output));
        assert_eq!(output.stdout, b"out\n");
        let profile = Profile::load(&directory.path().join("profile.tw")).unwrap();
        assert_eq!(profile.runs[0].exit, exit);
        assert!(!profile.samples.is_empty());
    }
    assert!(directory.path().join("profile.tw.old").is_file());
}

#[test]
fn scripts_run_their_interpreter() {
    use std::os::unix::fs::PermissionsExt;
    if !sampling_works() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, format!("#!/bin/sh\n{BUSY}\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = timewise(directory.path(), &["sample", "--", "./script"]);
    assert!(output.status.success(), "{}", messages(&output));
    let profile = Profile::load(&directory.path().join("profile.tw")).unwrap();
    let interpreter = std::fs::canonicalize("/bin/sh").unwrap();
    assert_eq!(profile.processes[0].executable, interpreter.as_os_str().as_encoded_bytes());
}

#[test]
fn what_cannot_run_is_one_line_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    for (program, status, why) in [
        ("no-such-program", 127, "not found"),
        ("/etc", 126, "is a directory"),
        ("/etc/passwd", 126, "chmod +x /etc/passwd"),
    ] {
        let output = timewise(directory.path(), &["sample", "--", program]);
        let messages = messages(&output);
        assert_eq!(output.status.code(), Some(status), "{messages}");
        assert_eq!(messages.lines().count(), 1, "{messages}");
        assert!(messages.contains(why) && messages.contains(program), "{messages}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_program_that_only_waits_has_its_waiting_shown() {
    if !sampling_works() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let sampled = timewise(directory.path(), &["sample", "-F", "1", "--", "sleep", "0.5"]);
    assert!(sampled.status.success(), "{}", messages(&sampled));
    let report = timewise(directory.path(), &["report", "--by", "waiting", "--format", "json"]);
    assert!(report.status.success(), "{}", messages(&report));
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    // Looks from time to time may miss its beginning and its end.
    let longest_ns = report["rows"][0]["duration_ns"].as_f64().unwrap();
    assert!((0.4e9..5e9).contains(&longest_ns), "{report}");
    assert_eq!(timewise(directory.path(), &["annotate", "main"]).status.code(), Some(2));
}

/// Go goes to another stack for its runtime, which is not copied; frame pointers lead back from there.
#[test]
fn callers_are_found_on_the_stacks_that_go_came_from() {
    if !sampling_works() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/allocates.go");
    let mut build = Command::new("go");
    build.args(["build", "-o", "allocates", source]).current_dir(directory.path());
    assert!(build.status().unwrap().success());
    let sampled = timewise(directory.path(), &["sample", "--", "./allocates"]);
    assert!(sampled.status.success(), "{}", messages(&sampled));
    let report = timewise(directory.path(), &["report", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let number = |name: &str| report["measurement"]["call_stacks"][name].as_u64().unwrap();
    // A quarter of them pass such a switch.
    let ended_early = number("cut_short") + number("broken");
    assert!(10 * ended_early < number("taken"), "{}", report["measurement"]["call_stacks"]);
}

#[test]
fn the_doctor_names_a_cause_for_each_no() {
    let facts = doctor();
    assert_eq!(facts["schema"], "timewise-doctor/1");
    let core_hz = facts["core_hz"].as_f64().unwrap();
    assert!((4e8..8e9).contains(&core_hz));
    for ability in facts["abilities"].as_array().unwrap() {
        let cause = ability["cause"].as_str().unwrap();
        assert_eq!(ability["available"] == true, cause.is_empty(), "{ability}");
    }
    // The same names in the text, each with its answer.
    let output = timewise(Path::new("/"), &["doctor"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for ability in facts["abilities"].as_array().unwrap() {
        let name = ability["name"].as_str().unwrap();
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        let answer = line.trim_start()[name.len()..].split_whitespace().next().unwrap();
        assert_eq!(answer == "yes", ability["available"] == true, "{line}");
    }
}
