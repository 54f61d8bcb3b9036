//! `timewise ostrace record`: what the system does is told as it was, and the program does what it does without us.

use crate::command::{Outcome, Place, build};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use timewise_profile::{Exit, OsEvent, OsEventKind, Profile, RunKind, ThreadId};

/// An event in words: its kind or the name of its call or signal, what it was about, and its result.
type Told = (String, String, Option<i64>);

fn told(profile: &Profile, event: &OsEvent) -> Told {
    let name = |id: Option<timewise_profile::NameId>| {
        id.map(|id| String::from_utf8(profile.os_names[id.index()].clone()).unwrap())
    };
    let kind = || format!("{:?}", event.kind);
    (name(event.name).unwrap_or_else(kind), name(event.object).unwrap_or_default(), event.result)
}

/// What befell a thread, in order.
fn events(profile: &Profile, thread: usize) -> Vec<Told> {
    let of_it = |event: &&OsEvent| event.thread == ThreadId(thread as u32);
    profile.os_events.iter().filter(of_it).map(|event| told(profile, event)).collect()
}

/// How often each call was made.
fn numbers(all: &[Told]) -> BTreeMap<&str, usize> {
    let mut numbers = BTreeMap::new();
    all.iter().for_each(|(name, ..)| *numbers.entry(name.as_str()).or_default() += 1);
    numbers
}

/// The threads of a process.
fn threads(profile: &Profile, process: usize) -> Vec<usize> {
    let rows = profile.threads.iter().enumerate();
    rows.filter(|(_, thread)| thread.process.index() == process).map(|(row, _)| row).collect()
}

fn assert_sound(profile: &Profile) {
    profile.check().unwrap();
    for thread in 0..profile.threads.len() {
        let all: Vec<&OsEvent> =
            profile.os_events.iter().filter(|event| event.thread.index() == thread).collect();
        let rising = |of: fn(&OsEvent) -> u64| all.windows(2).all(|pair| of(pair[0]) <= of(pair[1]));
        assert!(rising(|event| event.begin_ns) && rising(|event| event.cpu_ns), "{thread}");
        assert_eq!(all.first().map(|event| event.kind), Some(OsEventKind::Begin));
        assert_eq!(all.last().map(|event| event.kind), Some(OsEventKind::End));
        // What began after a call began, began after it ended.
        let ended = |pair: &[&OsEvent]| pair[0].end_ns.is_none_or(|end_ns| end_ns <= pair[1].begin_ns);
        assert!(all.windows(2).all(ended), "{thread}");
    }
}

#[test]
fn all_that_befalls_a_program_is_told() {
    let place = Place::new();
    build(&place, "befalls.c");
    let outcome = place.shell("timewise ostrace record -- ./befalls");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "from a thread\n"), "{}", outcome.stderr);
    let profile = place.profile();
    assert_sound(&profile);
    assert_eq!(profile.runs[0].kind, RunKind::Events);
    let exits: Vec<Exit> = profile.processes.iter().map(|process| process.exit).collect();
    assert_eq!(exits, [Exit::Code(0), Exit::Code(7), Exit::Code(0), Exit::Signal(9)]);
    assert!(profile.processes[1..].iter().all(|process| process.parent.is_some_and(|id| id.0 == 0)));
    let executables = profile.processes.iter().map(|process| String::from_utf8_lossy(&process.executable));
    let names: Vec<String> = executables.map(|path| path.rsplit('/').next().unwrap().to_string()).collect();
    assert_eq!(names, ["echo", "befalls", "true", "befalls"]);

    let first = events(&profile, 0);
    let path = place.path().canonicalize().unwrap().join("befalls").display().to_string();
    assert_eq!(first[1], ("execve".into(), path, Some(0)));
    let signals: Vec<&str> =
        first.iter().map(|(name, ..)| name.as_str()).filter(|name| name.starts_with("SIG")).collect();
    assert_eq!(signals, ["SIGUSR1", "SIGCHLD", "SIGCHLD", "SIGCHLD"], "one child after the other");
    let libraries = |all: &[OsEvent]| {
        let images = all.iter().filter(|event| event.kind == OsEventKind::Image);
        images.map(|event| told(&profile, event).1).collect::<Vec<_>>()
    };
    assert!(libraries(&profile.os_events).iter().all(|name| name.ends_with("libc.so.6")));
    assert_eq!(libraries(&profile.os_events).len(), 3, "of befalls, true, and echo");

    // Four threads of the first process, and the one that becomes another program.
    let threads = threads(&profile, 0);
    assert_eq!(threads.len(), 6);
    for &thread in &threads[1..5] {
        let all = events(&profile, thread);
        let failed = ("openat".to_string(), "/nonexistent".to_string(), Some(-2));
        assert_eq!(all.iter().filter(|event| **event == failed).count(), 5, "{all:?}");
        assert_eq!(all.last(), Some(&("End".into(), String::new(), Some(0))));
    }
    let last = events(&profile, threads[5]);
    let executed = last.iter().find(|(name, ..)| name == "execve").unwrap();
    assert!(executed.1.ends_with("/bin/echo") && executed.2 == Some(0), "{executed:?}");
    assert!(last.contains(&("write".into(), "pipe".into(), Some(14))), "{last:?}");
    assert_eq!(profile.threads[threads[5]].tid, profile.processes[0].pid, "it has its process's number now");
    let killed = profile.threads.len() - 2;
    assert_eq!(events(&profile, killed).last(), Some(&("End".into(), String::new(), Some(-9))));
}

#[test]
fn descriptors_are_told_by_what_they_are_of() {
    let place = Place::new();
    place.write(
        "it.py",
        "
import os, socket
a, b = socket.socketpair(); a.send(b'x'); b.recv(1)
server = socket.socket(); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(('127.0.0.1', 0)); server.listen()
client = socket.socket(); client.connect(server.getsockname()); inside, _ = server.accept()
client.send(b'abc'); inside.recv(3)
local = socket.socket(socket.AF_UNIX); local.bind('here')
r, w = os.pipe(); os.write(w, b'12'); os.read(r, 2)
copy = os.dup(w); os.close(w); os.write(copy, b'1234')
os.mkdir('folder'); os.rename('folder', 'other'); fd = os.open('other', 0); os.mkdir('below', dir_fd=fd)
os.write(os.open('other/file', os.O_CREAT | os.O_WRONLY), b'12345')
open('/proc/self/maps').read()
full = socket.socket(); full.bind(('127.0.0.2', 0)); full.listen(0)
fills = socket.socket(); fills.connect(full.getsockname())
waits = socket.socket(); waits.setblocking(False); waits.connect_ex(full.getsockname()); waits.shutdown(2)
refused = socket.socket(); refused.setblocking(False); refused.connect_ex(('127.0.0.2', 1)); refused.getsockopt(1, 4)
over = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); over.connect(('127.0.0.2', 1)); over.send(b'1234567')
",
    );
    let outcome = place.shell("timewise ostrace record -- python3 -SE it.py");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let profile = place.profile();
    assert_sound(&profile);
    let here = place.path().canonicalize().unwrap().display().to_string();
    let all = events(&profile, 0);
    let has = |name: &str, object: &str, result: i64| {
        let object = object.replace("HERE", &here);
        assert!(all.contains(&(name.into(), object.clone(), Some(result))), "{name} {object} {all:?}");
    };
    has("sendto", "socket unix", 1);
    has("recvfrom", "socket unix", 1);
    has("bind", "socket 127.0.0.1:0", 0);
    has("connect", "socket 127.0.0.1", 0);
    has("sendto", "socket 127.0.0.1", 3);
    has("recvfrom", "socket 127.0.0.1", 3);
    has("bind", "socket unix/here", 0);
    has("write", "pipe", 2);
    has("write", "pipe", 4);
    has("mkdir", "folder", 0);
    has("rename", "folder -> other", 0);
    has("mkdirat", "HERE/other/below", 0);
    has("write", "HERE/other/file", 5);
    assert!(all.iter().any(|(name, object, _)| name == "read" && object == "/proc/self/maps"), "{all:?}");
    // A connection that is in progress, one that was refused meanwhile, and one that is none to the other side.
    let in_progress = -i64::from(libc::EINPROGRESS);
    has("connect", "socket 127.0.0.2", in_progress);
    assert!(
        all.iter().any(|(name, object, _)| name == "shutdown" && object == "socket 127.0.0.2"),
        "{all:?}"
    );
    has("connect", "socket 127.0.0.2:1", in_progress);
    has("getsockopt", "socket 127.0.0.2:1", 0);
    has("sendto", "socket 127.0.0.2:1", 7);
}

#[test]
fn rounds_are_runs_of_one_profile() {
    let place = Place::new();
    place.write("it.sh", "read line; echo $line; cat | wc -c; ls nothing 2>&1; exit 3");
    let script = "seq 10000 | timewise ostrace record --rounds 3 --prepare 'echo x >> prepared' -- sh it.sh";
    let outcome = place.shell(script);
    let native = place.shell("seq 10000 | sh it.sh");
    assert_eq!((outcome.status, &outcome.stdout), (Some(3), &native.stdout), "{}", outcome.stderr);
    assert_eq!(place.read("prepared").lines().count(), 3);
    assert!(outcome.stderr.contains("the first of 3 rounds"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("differ"), "{}", outcome.stderr);
    let profile = place.profile();
    assert_sound(&profile);
    assert_eq!(profile.runs.len(), 3);
    assert!(profile.runs.iter().all(|run| run.stdout_hash == profile.runs[0].stdout_hash));
    // The same programs, and in each of them the same calls but for how a pipe is read.
    let of_round = |round: u32| {
        let processes = profile.processes.iter().enumerate().filter(|(_, process)| process.run.0 == round);
        let mut all: Vec<Vec<Told>> = processes
            .map(|(process, _)| {
                let all = events(&profile, threads(&profile, process)[0]);
                let fixed =
                    |told: &Told| matches!(told.0.as_str(), "openat" | "execve" | "End" | "newfstatat");
                all.into_iter().filter(fixed).collect()
            })
            .collect();
        all.sort();
        all
    };
    assert!(of_round(0).len() == 4 && of_round(0) == of_round(1) && of_round(1) == of_round(2));
}

#[test]
fn a_pipeline_has_its_processes() {
    let place = Place::new();
    let outcome = place.shell("timewise ostrace record -o it.tw -- sh -c 'seq 3 | (cat; exit 2) | wc -l; :'");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "3\n"), "{}", outcome.stderr);
    let profile = Profile::load(&place.path().join("it.tw")).unwrap();
    assert_sound(&profile);
    let exits: Vec<Exit> = profile.processes.iter().map(|process| process.exit).collect();
    assert_eq!(exits.iter().filter(|exit| **exit == Exit::Code(2)).count(), 1, "{exits:?}");
    let parents: Vec<_> = profile.processes.iter().map(|process| process.parent.map(|id| id.0)).collect();
    assert_eq!(parents.iter().filter(|parent| **parent == Some(0)).count(), 3, "{parents:?}");
    let all = events(&profile, 0);
    // Of several that wait, one is left.
    assert!((1..=3).contains(&numbers(&all)["SIGCHLD"]), "{all:?}");
    let waited = all.iter().filter(|(name, _, result)| name == "wait4" && *result > Some(0));
    assert_eq!(waited.count(), 3, "{all:?}");
    assert!(outcome.stderr.contains("Next: timewise ostrace"), "{}", outcome.stderr);
}

#[test]
fn an_end_is_the_programs() {
    let place = Place::new();
    for (script, status, signal) in [("exit 3", Some(3), None), ("kill -TERM $$", None, Some(15))] {
        let outcome = place.shell(&format!("exec '{}' ostrace record -- sh -c '{script}'", TIMEWISE));
        assert_eq!((outcome.status, outcome.signal), (status, signal), "{}", outcome.stderr);
        assert_eq!(place.profile().runs[0].exit, status.map_or(Exit::Signal(15), Exit::Code));
    }
    place.write("plain", "");
    for (command, status, says) in [
        ("-- nowhere", 127, "nowhere: not found"),
        ("-- ./plain", 126, "not executable"),
        ("--rounds 0 -- true", 125, "'0' for '--rounds <N>'"),
        ("-o missing/it.tw -- true", 125, "missing"),
    ] {
        let outcome = place.shell(&format!("timewise ostrace record {command}"));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(status), ""), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
    place.shell("timewise ostrace record -q -- true");
    let verified = place.shell("timewise verify");
    assert!(
        verified.status == Some(0) && verified.stdout.contains("events of the system"),
        "{}",
        verified.stderr
    );
    for reader in ["report", "diff profile.tw profile.tw"] {
        let refused = place.shell(&format!("timewise {reader}"));
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("timewise ostrace report shows it"), "{}", refused.stderr);
    }
    let misused = place.shell("timewise ostrace");
    assert_eq!(misused.status, Some(2), "{}", misused.stderr);
}

const TIMEWISE: &str = env!("CARGO_BIN_EXE_timewise");

/// The first thread is killed wherever it stands when another one executes the program anew.
#[test]
fn programs_that_threads_execute_are_followed() {
    let place = Place::new();
    build(&place, "executes.c");
    let outcome = place.shell(&format!("timeout 120 '{TIMEWISE}' ostrace record -- ./executes 50"));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "done\n"), "{}", outcome.stderr);
    let profile = place.profile();
    profile.check().unwrap();
    let number = |kind| profile.os_events.iter().filter(|event| event.kind == kind).count();
    assert_eq!(number(OsEventKind::Exec), 51);
    // The eight other processes may have ended, or not.
    assert_eq!(profile.threads.len(), 51 + 8);
    assert!(number(OsEventKind::End) >= 51);
}

/// A program that is stopped stands until it is to go on, and has what its group is sent once.
#[test]
fn signals_of_a_group_and_stops_are_as_without_us() {
    let place = Place::new();
    place.write(
        "it.sh",
        "trap 'echo interrupted' INT; trap 'echo continued' CONT; echo $$ > pid; echo ready; \
         until [ -e end ]; do sleep 0.01; done; exit 4",
    );
    place.write(
        "control.sh",
        "told() { for i in $(seq 1000); do grep -qs $1 out && return; sleep 0.02; done; echo no $1; }
         stopped() { grep -q 'State:.[tT]' /proc/$(cat pid)/status; }
         told ready; kill -STOP $(cat pid); sleep 0.3; stopped && echo stands
         kill -CONT $(cat pid); told continued
         kill -INT -- -$1; told interrupted; touch end",
    );
    let script = format!(
        "trap : INT; bash control.sh $$ & '{TIMEWISE}' ostrace record -q -- bash it.sh > out
         echo $?; wait; cat out"
    );
    let outcome = Outcome::from(place.command(&script).process_group(0).output().unwrap());
    let said: Vec<&str> = outcome.stdout.lines().collect();
    let expected = ["stands", "4", "ready", "continued", "interrupted"];
    assert_eq!(said, expected, "{}", outcome.stderr);
    let profile = place.profile();
    assert_sound(&profile);
    let all = events(&profile, 0);
    let signals = ["SIGSTOP", "SIGCONT", "SIGINT"].map(|name| numbers(&all).get(name).copied());
    assert_eq!(signals, [Some(1); 3], "{all:?}");
}

#[test]
fn a_program_outlives_us() {
    let place = Place::new();
    let script = format!(
        "'{TIMEWISE}' ostrace record -q -- bash -c 'for i in {{1..200}}; do /bin/true; done; echo ready >> out;
            for i in {{1..200}}; do /bin/true; done; sleep 0.3; echo done >> out' & own=$!
         until grep -qs ready out; do sleep 0.01; done
         kill -KILL $own; wait $own; until grep -q done out; do sleep 0.05; done; cat out"
    );
    let outcome = place.shell(&format!("timeout 60 bash -c {}", quoted(&script)));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "ready\ndone\n"), "{}", outcome.stderr);
}

fn quoted(script: &str) -> String {
    format!("'{}'", script.replace('\'', "'\\''"))
}

#[test]
fn what_still_runs_in_the_end_is_let_go() {
    let place = Place::new();
    let outcome = place.shell(
        "timewise ostrace record -- sh -c '(sleep 0.5; echo later > late) & exit 5' < /dev/null; echo $?
         until grep -qs later late; do sleep 0.05; done",
    );
    assert_eq!(outcome.stdout, "5\n", "{}", outcome.stderr);
    assert!(outcome.stderr.contains("still ran when it ended"), "{}", outcome.stderr);
    place.profile().check().unwrap();
}

/// As under any tracer, a second one is refused.
#[test]
fn a_program_that_traces_others_is_told_that_it_may_not() {
    let place = Place::new();
    let outcome = place.shell("timewise ostrace record -q -- strace -o trace true");
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("Operation not permitted"), "{}", outcome.stderr);
}
