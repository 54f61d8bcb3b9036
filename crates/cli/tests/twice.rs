//! `timewise run` runs a program twice as if it ran once: same input, one output, one status.

use crate::command::{Outcome, Place};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};
use timewise_profile::{Exit, RunKind};

/// Both runs must be there, and must not differ.
fn assert_alike(place: &Place, stderr: &str) {
    let profile = place.profile();
    let kinds: Vec<RunKind> = profile.runs.iter().map(|run| run.kind).collect();
    assert_eq!(kinds, [RunKind::Sampling, RunKind::Counting], "{stderr}");
    assert_eq!(profile.runs[0].exit, profile.runs[1].exit, "{stderr}");
    assert!(profile.runs[0].stdout_hash.is_some(), "{stderr}");
    assert_eq!(profile.runs[0].stdout_hash, profile.runs[1].stdout_hash, "{stderr}");
    assert!(!stderr.contains("runs differ"), "{stderr}");
}

#[test]
fn input_from_a_file() {
    let place = Place::new();
    place.write("script.sql", "create table t(x); insert into t values (20), (22); select sum(x) from t;");
    let outcome = place.shell("timewise run -- sqlite3 < script.sql");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "42\n"), "{}", outcome.stderr);
    assert_alike(&place, &outcome.stderr);
}

#[test]
fn a_file_is_left_where_the_program_stopped_reading() {
    let place = Place::new();
    place.write("lines", "one\ntwo\nthree\n");
    let outcome = place.shell("{ read; timewise run -- bash -c 'read x; echo $x'; cat; } < lines");
    assert_eq!(outcome.stdout, "two\nthree\n", "{}", outcome.stderr);
    assert_alike(&place, &outcome.stderr);
}

#[test]
fn input_from_a_pipe() {
    let place = Place::new();
    let outcome = place.shell("seq 100000 | timewise run -- sha256sum");
    let expected = place.shell("seq 100000 | sha256sum");
    assert_eq!((outcome.status, outcome.stdout), (Some(0), expected.stdout), "{}", outcome.stderr);
    assert_alike(&place, &outcome.stderr);
}

#[test]
fn input_comes_through_as_it_is_typed() {
    let place = Place::new();
    let mut child = place
        .command("timewise run -- bash -c 'for i in {1..20000}; do :; done; cat'")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    for word in ["first\n", "second\n"] {
        input.write_all(word.as_bytes()).unwrap();
        let mut answer = vec![0; word.len()];
        output.read_exact(&mut answer).unwrap();
        assert_eq!(answer, word.as_bytes());
    }
    drop(input);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_alike(&place, &outcome.stderr);
}

#[test]
fn output_reaches_a_file_once() {
    let place = Place::new();
    place.write("out", "before\n");
    let outcome = place.shell("timewise run -- bash -c 'echo out; echo err >&2' >> out 2> err");
    assert_eq!((outcome.status, place.read("out").as_str()), (Some(0), "before\nout\n"));
    let ours = place.read("err");
    assert_eq!(ours.lines().filter(|line| *line == "err").count(), 1, "{ours}");
    assert_alike(&place, &ours);
    place.shell("timewise run -- seq 3 > new");
    assert_eq!(place.read("new"), "1\n2\n3\n");
    assert!(place.has("profile.tw.old"));
}

#[test]
fn a_terminal_stays_a_terminal() {
    let place = Place::new();
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let program = "bash -c 'test -t 1 && echo out; test -t 2 && echo err >&2; stty size <&1'";
    let inside = format!("stty rows 40 cols 99; {timewise} run -- {program} < /dev/null");
    let outcome = place.shell(&format!("script --quiet --return --command \"{inside}\" /dev/null"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stdout);
    assert!(outcome.stdout.starts_with("out\r\nerr\r\n40 99\r\n"), "{}", outcome.stdout);
    assert_eq!(outcome.stdout.matches("40 99").count(), 1, "{}", outcome.stdout);
    assert_alike(&place, &outcome.stdout);
}

#[test]
fn a_reader_that_has_seen_enough() {
    let place = Place::new();
    let outcome = place.shell("timewise run -- seq 1000000 | head -n 2; echo ${PIPESTATUS[0]}");
    assert_eq!(outcome.stdout, format!("1\n2\n{}\n", 128 + libc::SIGPIPE), "{}", outcome.stderr);
    assert_alike(&place, &outcome.stderr);
    assert_eq!(place.profile().runs[0].exit, Exit::Signal(libc::SIGPIPE));
}

#[test]
fn a_program_that_changes_its_own_input() {
    let place = Place::new();
    let program = "timewise run PREPARE -- bash -c 'read n < file; echo $((n + 90)) > file; echo $n'";
    place.write("file", "9\n");
    let outcome = place.shell(&program.replace("PREPARE", ""));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "9\n"));
    assert!(outcome.stderr.contains("the runs differ: they printed different output"), "{}", outcome.stderr);
    // It concerns every figure.
    let quiet = place.shell(&program.replace("PREPARE", "-q"));
    assert!(quiet.stderr.starts_with("timewise: the runs differ: they printed"), "{}", quiet.stderr);
    assert_eq!(quiet.stderr.lines().count(), 1, "{}", quiet.stderr);
    let outcome = place.shell(&program.replace("PREPARE", "--prepare 'echo 7 > file'"));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "7\n"));
    assert_alike(&place, &outcome.stderr);
    // Its standard input, changed under our hands.
    place.write("file", "9\n");
    let outcome = place.shell("timewise run -- bash -c 'read n; echo 100000 > file; echo $n' < file");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "9\n"));
    assert!(outcome.stderr.contains("changed the file on standard input"), "{}", outcome.stderr);
}

#[test]
fn a_preparation_that_fails() {
    let place = Place::new();
    let outcome = place.shell("timewise run --prepare 'exit 4' -- touch ran");
    assert_eq!((outcome.status, place.has("ran"), place.has("profile.tw")), (Some(125), false, false));
    assert!(outcome.stderr.contains("--prepare 'exit 4' failed (exit status: 4)"), "{}", outcome.stderr);
}

#[test]
fn once_is_once() {
    let place = Place::new();
    let outcome =
        place.shell("timewise run --once -- bash -c 'echo ran >> file; for i in {1..100000}; do :; done'");
    assert_eq!((outcome.status, place.read("file").as_str()), (Some(0), "ran\n"), "{}", outcome.stderr);
    assert_eq!(place.profile().runs.len(), 1);
}

/// As natively: the next in a script has what it left.
#[test]
fn what_a_program_that_runs_once_does_not_read_is_left() {
    let outcome =
        Place::new().shell("printf '1\\n2\\n' | { timewise run --once -q -- sh -c 'read line'; cat; }");
    assert_eq!(outcome.stdout, "2\n", "{}", outcome.stderr);
}

#[test]
fn a_program_too_short_to_be_sampled_ends_as_it_would() {
    let place = Place::new();
    for verb in ["sample", "run --once"] {
        place.write("profile.tw", "former");
        let outcome = place.shell(&format!("timewise {verb} -F 1 -- bash -c 'exit 3'"));
        assert_eq!(outcome.status, Some(3));
        assert!(outcome.stderr.contains("timewise: nothing to save: "), "{}", outcome.stderr);
        // Nobody takes it for this run's.
        assert!(
            outcome.stderr.contains("'profile.tw' is '") && !place.has("profile.tw"),
            "{}",
            outcome.stderr
        );
        assert_eq!(place.read("profile.tw.old"), "former");
        assert_eq!(place.shell("timewise diff profile.tw.old profile.tw").status, Some(2));
    }
}

#[test]
fn status_and_signal_are_the_programs() {
    let place = Place::new();
    assert_eq!(place.shell("timewise run -- bash -c 'exit 77'").status, Some(77));
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let outcome = place.shell(&format!("exec {timewise} run -- bash -c 'kill -SEGV $$'"));
    assert_eq!(outcome.signal, Some(libc::SIGSEGV), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ended by signal 11\n"), "{}", outcome.stderr);
    assert_eq!(exits(&place), [Exit::Signal(libc::SIGSEGV); 2]);
}

/// How the program ended in each run.
fn exits(place: &Place) -> Vec<Exit> {
    place.profile().runs.iter().map(|run| run.exit).collect()
}

#[test]
fn a_script_runs_in_its_interpreter() {
    let place = Place::new();
    place.write_executable("script", "#!/usr/bin/perl\nprint 6 * 7, \"\\n\";\n");
    let outcome = place.shell("timewise run -- ./script");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "42\n"), "{}", outcome.stderr);
    let executable = String::from_utf8(place.profile().processes[0].executable.clone()).unwrap();
    assert!(executable.contains("perl"), "{executable}");
}

#[test]
fn what_the_program_leaves_behind_keeps_nobody_waiting() {
    let place = Place::new();
    let started = Instant::now();
    let outcome = place.shell("timewise run -- bash -c 'sleep 300 & echo $! >> left; echo done' > out");
    assert!(started.elapsed() < Duration::from_secs(200), "{}", outcome.stderr);
    place.shell("kill $(cat left)");
    assert_eq!((outcome.status, place.read("out").as_str()), (Some(0), "done\n"));
}

#[test]
fn counts_of_a_killed_program_are_kept() {
    let place = Place::new();
    let program = "bash -c 'for i in {1..5000}; do :; done; kill -KILL $$'";
    let outcome = place.shell(&format!("timewise count -- {program}; echo $?"));
    assert_eq!(outcome.stdout, format!("{}\n", 128 + libc::SIGKILL), "{}", outcome.stderr);
    let profile = place.profile();
    assert_eq!(profile.runs[0].exit, Exit::Signal(libc::SIGKILL));
    assert!(profile.block_counts.iter().any(|count| count.executions >= 5000), "{}", outcome.stderr);
    // Sampled and counted alike until then.
    place.shell(&format!("timewise run -- {program}"));
    assert_eq!(exits(&place), [Exit::Signal(libc::SIGKILL); 2]);
}

/// Runs a program that would take long, and stops it when it has worked for a while.
fn stopped_by(place: &Place, stop: impl FnOnce(i32)) -> Outcome {
    use std::os::unix::process::CommandExt;
    let busy = "i=0; while [ $((i+=1)) -lt 100000000 ]; do [ $i != 100000 ] || echo begin; done";
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let mut command = place.command(&format!("exec {timewise} run -- bash -c '{busy}'"));
    let mut child = command.process_group(0).spawn().unwrap();
    let mut begin = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut begin).unwrap();
    stop(child.id() as i32);
    child.wait_with_output().unwrap().into()
}

#[test]
fn an_interrupt_ends_the_program_and_keeps_the_profile() {
    let place = Place::new();
    // As a terminal does: to all of the foreground.
    let outcome = stopped_by(&place, |pid| kill(-pid, "INT"));
    assert_eq!(outcome.signal, Some(libc::SIGINT), "{}", outcome.stderr);
    let profile = place.profile();
    assert!(profile.runs.len() == 1 && !profile.samples.is_empty(), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("interrupted"), "{}", outcome.stderr);
}

#[test]
fn a_request_to_terminate_is_passed_on() {
    let place = Place::new();
    let outcome = stopped_by(&place, |pid| kill(pid, "TERM"));
    assert_eq!(outcome.signal, Some(libc::SIGTERM), "{}", outcome.stderr);
    assert!(!place.profile().samples.is_empty());
}

fn kill(pid: i32, signal: &str) {
    let script = format!("kill -s {signal} -- {pid}");
    assert!(std::process::Command::new("bash").args(["-c", &script]).status().unwrap().success());
}

#[test]
fn a_counting_run_that_waits_for_ever_says_so_and_can_be_interrupted() {
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    place.shell("mkfifo pipe; (echo once > pipe) > /dev/null 2>&1 &");
    let program = "for i in {1..20000}; do :; done; read word < pipe; echo $word";
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let mut command = place.command(&format!("exec {timewise} run -- bash -c '{program}'"));
    let mut child = command.process_group(0).spawn().unwrap();
    let mut said = [0; 1];
    child.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
    kill(-(child.id() as i32), "INT");
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(
        (outcome.stdout.as_str(), outcome.signal),
        ("once\n", Some(libc::SIGINT)),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.stderr.matches("the counting run has waited for").count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("counting was interrupted"), "{}", outcome.stderr);
    let profile = place.profile();
    assert!(profile.block_counts.iter().any(|count| count.executions >= 20_000), "{}", outcome.stderr);
}

/// As of the ranks of one program.
#[test]
fn recordings_side_by_side_are_all_saved() {
    let place = Place::new();
    let outcome = place.shell("for n in 1 2 3; do timewise sample -- sleep 0.5 & done; wait");
    let saved = outcome.stderr.lines().filter(|line| line.contains("saved as profile")).count();
    let files = std::fs::read_dir(place.path()).unwrap().filter_map(Result::ok);
    let profiles =
        files.filter(|file| file.path().extension().is_some_and(|extension| extension == "tw")).count();
    assert_eq!((saved, profiles, place.has("profile.tw.old")), (3, 3, false), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(", as another recording was saved as profile.tw meanwhile"));
}
