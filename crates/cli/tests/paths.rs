//! `timewise paths` runs a program twice as if it ran once, and what came of a run that differs or ends early is said.

mod command;

use command::Place;
use std::io::Read;
use std::os::unix::process::CommandExt;
use timewise_profile::Exit;

#[test]
fn paths_are_counted_and_reported() {
    let place = Place::new();
    let outcome =
        place.shell("echo 7 | timewise paths -- bash -c 'read n; for i in {1..500}; do :; done; exit $n'");
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    assert!(place.profile().paths.iter().any(|path| path.executions >= 500), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    let report = place.shell("timewise report --by path");
    assert!(report.status == Some(0) && report.stdout.contains("bash"), "{}{}", report.stdout, report.stderr);
}

#[test]
fn runs_that_differ_are_told() {
    let place = Place::new();
    place.write("file", "9\n");
    let outcome = place.shell("timewise paths -- bash -c 'read n < file; echo $((n + 90)) > file; echo $n'");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "9\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("of all flow"), "{}", outcome.stderr);
}

#[test]
fn edges_of_another_program_are_refused() {
    let place = Place::new();
    let outcome =
        place.shell("timewise count -q -o true.tw -- true; timewise paths --edges true.tw -- echo done");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(125), ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("another program than 'echo'"), "{}", outcome.stderr);
    place.write("script", "#!/bin/sh\necho done\n");
    let script =
        "chmod +x script; timewise count -q -o s.tw -- ./script; timewise paths --edges s.tw -- ./script";
    let outcome = place.shell(script);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "done\ndone\n"), "{}", outcome.stderr);
}

#[test]
fn edges_of_another_build_are_refused_and_those_of_other_work_told() {
    let place = Place::new();
    let source = "int main(int n, char **a) { long s = n; for (long i = 0; i < n * 100000; i++) s ^= i; return s & B; }";
    place.write("loops.c", source);
    let outcome = place.shell(
        "gcc -DB=0 -o loops loops.c && timewise count -q -o e.tw -- ./loops && timewise paths --edges e.tw -- ./loops",
    );
    assert!(outcome.status == Some(0) && !outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    let outcome = place.shell("timewise paths --edges e.tw -- ./loops more");
    assert!(outcome.status == Some(0) && outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    let outcome = place.shell("gcc -DB=1 -o loops loops.c && timewise paths --edges e.tw -- ./loops");
    assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("another build of './loops'"), "{}", outcome.stderr);
}

#[test]
fn an_interrupt_in_the_first_run_is_enough() {
    let place = Place::new();
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let busy = "echo begin; while [ $((i+=1)) -lt 100000000 ]; do :; done";
    let mut child = place
        .command(&format!("exec {timewise} paths -- bash -c '{busy}'"))
        .process_group(0)
        .spawn()
        .unwrap();
    let mut begin = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut begin).unwrap();
    // As a terminal does: to all of the foreground.
    let interrupt = format!("kill -s INT -- -{}", child.id());
    assert!(std::process::Command::new("bash").args(["-c", &interrupt]).status().unwrap().success());
    let outcome = command::Outcome::from(child.wait_with_output().unwrap());
    assert_eq!((outcome.signal, outcome.stdout.as_str()), (Some(libc::SIGINT), ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("not run again"), "{}", outcome.stderr);
    let profile = place.profile();
    assert_eq!((profile.runs[0].exit, profile.paths.len()), (Exit::Signal(libc::SIGINT), 0));
}

#[test]
fn a_program_that_ends_before_its_paths_are_counted_ends_as_it_does() {
    let place = Place::new();
    let outcome = place.shell("timewise paths --after 1h -- sh -c 'echo done; exit 3'");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), "done\n"), "{}", outcome.stderr);
    // It may be over before it can be attached to.
    let is_said =
        ["no paths were counted", "nothing to save"].iter().any(|word| outcome.stderr.contains(word));
    assert!(is_said, "{}", outcome.stderr);
}
