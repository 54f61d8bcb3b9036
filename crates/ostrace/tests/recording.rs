//! Recordings of small programs: what is kept where there is no room, and what is said of it.

use timewise_ostrace::{Options, Price, record};
use timewise_profile::{Exit, OsEventKind, Profile};
use timewise_target::launch::Launch;

/// What is recorded of a shell, of which so many events are kept.
fn recorded(script: &str, most_events: usize) -> Profile {
    let mut launch = Launch::new("sh");
    launch.arguments = vec!["-c".into(), script.into()];
    let options = Options { most_events, price: Price::default(), stacks: false };
    let profile = record(launch.stopped().unwrap(), &options).unwrap();
    profile.check().unwrap();
    profile
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let script = "/bin/true; (exit 3)";
    let whole = recorded(script, usize::MAX);
    let all = whole.os_events.len();
    assert_eq!((whole.processes.len(), whole.runs[0].warnings.len()), (3, 1), "{:?}", whole.runs[0].warnings);
    for kept in [0, 1, 20, all - 1] {
        let part = recorded(script, kept);
        assert_eq!(part.os_events.len(), kept);
        assert_eq!(part.runs[0].exit, whole.runs[0].exit);
        // When a signal comes is a matter of chance, and so is whether a call is made again for it.
        let lost = part.runs[0].warnings[1].split(' ').next().unwrap().parse::<usize>().unwrap();
        assert!((kept + lost).abs_diff(all) < 10, "{lost} of {all}");
        let same = |at: usize| part.os_events[at].kind == whole.os_events[at].kind;
        assert!((0..kept.min(20)).all(same));
    }
}

#[test]
fn a_program_begins_with_itself() {
    let profile = recorded("exec /bin/true", usize::MAX);
    let kinds: Vec<OsEventKind> = profile.os_events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds[..2], [OsEventKind::Begin, OsEventKind::Exec]);
    assert_eq!(kinds.iter().filter(|kind| **kind == OsEventKind::Exec).count(), 2);
    let last = profile.os_events.last().unwrap();
    assert_eq!((last.kind, last.result), (OsEventKind::End, Some(0)));
    assert!(last.cpu_ns > 0 && last.begin_ns <= profile.runs[0].elapsed_ns, "{last:?}");
    assert!(profile.processes[0].executable.ends_with(b"/true"));
}

/// Their ends may come before it is heard that they were made.
#[test]
fn short_lives_are_told_once_each() {
    let profile = recorded("i=0; while [ $i -lt 100 ]; do (exit 3) & i=$((i+1)); done; wait", usize::MAX);
    assert_eq!((profile.processes.len(), profile.threads.len()), (101, 101));
    for kind in [OsEventKind::Begin, OsEventKind::End] {
        let events = profile.os_events.iter().filter(|event| event.kind == kind);
        let mut threads: Vec<u32> = events.map(|event| event.thread.0).collect();
        threads.sort_unstable();
        assert_eq!(threads, Vec::from_iter(0..101), "{kind:?}");
    }
    assert!(profile.processes[1..].iter().all(|process| process.exit == Exit::Code(3)));
}
