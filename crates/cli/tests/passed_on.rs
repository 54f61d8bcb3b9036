//! A signal reaches the program that runs under `timewise` once, whomever it was sent to.

use crate::command::{Outcome, Place};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::time::Duration;

/// What the program says while its group and `timewise` alone are sent signals in turns, begun by a shell behind something
/// else; `None` where the command can do nothing, as the machine allows no events.
fn told(before: &str, command: &str) -> Option<Vec<String>> {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/told.c");
    let built = place.shell(&format!("cc -O1 '{source}' -o told"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let mut child =
        place.command(&format!("{before} exec '{timewise}' {command}")).process_group(0).spawn().unwrap();
    let id = child.id();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let Some(first) = lines.next() else {
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        assert!(outcome.stderr.contains("cannot open performance events"), "{}", outcome.stderr);
        return None;
    };
    let mut said = vec![first];
    let alone = id.to_string();
    let all = format!("-{id}");
    // Each is sent when the one before has arrived, also where it is to be passed on, so none is lost behind another of its
    // kind. The last one, which is passed on as
    // well, comes behind all that was passed on before.
    let sent: [&[&str]; 8] = [
        &["TERM", &all],
        &["TERM", &alone],
        &["USR1", &all],
        &["USR1", &alone],
        &["HUP", &alone, "-q", "5"],
        &["HUP", &all],
        &["TERM", &all],
        &["INT", &alone],
    ];
    for arguments in sent {
        let (signal, rest) = arguments.split_first().unwrap();
        let (to, value) = rest.split_first().unwrap();
        let script = format!("/bin/kill -s {signal} {} -- {to}", value.join(" "));
        assert!(std::process::Command::new("bash").args(["-c", &script]).status().unwrap().success());
        said.extend(lines.next());
        while is_waited_for(id) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    said.extend(lines);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    Some(said)
}

/// Whether a signal has come to a process that has yet to take it.
fn is_waited_for(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status
        .lines()
        .any(|line| line.strip_prefix("ShdPnd:").is_some_and(|set| set.trim().contains(|bit| bit != '0')))
}

const ONCE_EACH: [&str; 9] = [
    "ready",
    "TERM 1 HUP 0 USR1 0 INT 0 value 0",
    "TERM 2 HUP 0 USR1 0 INT 0 value 0",
    "TERM 2 HUP 0 USR1 1 INT 0 value 0",
    "TERM 2 HUP 0 USR1 2 INT 0 value 0",
    "TERM 2 HUP 1 USR1 2 INT 0 value 5",
    "TERM 2 HUP 2 USR1 2 INT 0 value 5",
    "TERM 3 HUP 2 USR1 2 INT 0 value 5",
    "TERM 3 HUP 2 USR1 2 INT 1 value 5",
];

#[test]
fn a_signal_reaches_the_program_once() {
    for command in ["sample", "count", "branches", "run --once", "simulate", "paths", "ostrace record"] {
        let said = told("", &format!("{command} -q -- ./told"));
        assert!(said.as_ref().is_none_or(|said| said == &ONCE_EACH), "{command}: {said:?}");
    }
}

#[test]
fn so_it_does_where_the_program_has_left_the_group() {
    assert_eq!(told("", "count -q -- ./told apart").unwrap(), ONCE_EACH);
}

/// As those are that a shell begins in the background, or `nohup`.
#[test]
fn so_it_does_where_signals_were_ignored_before_and_the_program_handles_them() {
    assert_eq!(told("trap '' INT QUIT HUP TERM USR1;", "count -q -- ./told").unwrap(), ONCE_EACH);
}

#[test]
fn what_was_ignored_before_is_ignored_by_the_program() {
    let place = Place::new();
    let script = "sh -c 'for signal in INT QUIT HUP TERM USR1 USR2; do kill -$signal $$; done; echo here'";
    let timewise = env!("CARGO_BIN_EXE_timewise");
    for prepare in ["", "--once", "--prepare \"kill -HUP \\$\\$\""] {
        let verb = if prepare.is_empty() { "count" } else { "run" };
        let outcome = place.shell(&format!(
            "trap '' INT QUIT HUP TERM USR1 USR2; exec '{timewise}' {verb} -q {prepare} -- {script}"
        ));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "here\n"), "{}", outcome.stderr);
    }
}

#[test]
fn nothing_of_the_group_is_left_behind() {
    let place = Place::new();
    let script = format!("exec '{}' sample -q -- sleep 0.1", env!("CARGO_BIN_EXE_timewise"));
    let mut child = place.command(&script).process_group(0).spawn().unwrap();
    let group = child.id();
    assert!(child.wait().unwrap().success());
    let left = place.shell(&format!("ps -eo pgid=,args= | grep '^ *{group} '"));
    assert_eq!(left.stdout, "");
}
