//! Programs under streaming: what is replayed is what they did.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_engine::Options;
use timewise_engine::streams::Windows;
use timewise_replay::{Event, Replay};
use timewise_target::launch::Launch;

/// What is kept of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Told {
    Executed { address: u64, accesses: Vec<String> },
    Begin(u64),
    End(u64),
}

/// Compiles a C program into `folder`.
fn build(name: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(format!("{name}.c"));
    let program = folder.join(name);
    let status = Command::new("gcc").arg("-o").args([&program, &source]).status().unwrap();
    assert!(status.success());
    program
}

/// Streams a program of one thread: what was told, what it printed, and how many instructions it executed.
fn stream(program: &Path, windows: Windows, folder: &Path) -> (Vec<Told>, String, u64) {
    let output = folder.join("output");
    let mut launch = Launch::new(program);
    launch.stdout = File::create(&output).unwrap().into();
    let (mut all, mut replay) = (Vec::new(), Replay::new(windows.memory));
    let (counted, is_whole) =
        timewise_engine::stream(launch.stopped().unwrap(), &Options::default(), windows, |chunk| {
            let made_sense = replay.chunk(chunk, |event| match event {
                Event::Executed(step) => {
                    let kind = |reads, writes| match (reads, writes) {
                        (true, true) => 'M',
                        (true, false) => 'R',
                        (false, true) => 'W',
                        (false, false) => 'P',
                    };
                    let accesses = step.accesses.iter();
                    let accesses =
                        accesses.map(|a| format!("{} {:x} {}", kind(a.reads, a.writes), a.address, a.size));
                    all.push(Told::Executed { address: step.address, accesses: accesses.collect() });
                }
                Event::Begin { executed } => all.push(Told::Begin(executed)),
                Event::End { executed } => all.push(Told::End(executed)),
                Event::Thread { .. } => {}
                other => panic!("{other:?}"),
            });
            assert!(made_sense);
        })
        .unwrap();
    assert!(is_whole && counted.failure.is_none() && counted.imbalance == 0);
    assert_eq!(counted.ended.wait_status, 0);
    let executed = counted.profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    (all, std::fs::read_to_string(&output).unwrap(), executed)
}

#[test]
fn accesses_are_those_that_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("accesses", folder.path());
    let (told, printed, executed) = stream(&program, Windows::ALL, folder.path());
    let all: Vec<(u64, &Vec<String>)> = (told.iter())
        .filter_map(|told| match told {
            Told::Executed { address, accesses } => Some((*address, accesses)),
            _ => None,
        })
        .collect();
    assert_eq!(all.len() as u64, executed);
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let mut parts = 0;
    for part in printed.split("code ").skip(1) {
        let (code, expected) = part.split_once('\n').unwrap();
        let (begin, end) = code.split_once(' ').unwrap();
        let code = number(begin)..number(end);
        let accesses = all.iter().filter(|(address, _)| code.contains(address));
        let accesses: Vec<&str> =
            accesses.flat_map(|(_, accesses)| accesses.iter().map(String::as_str)).collect();
        assert_eq!(accesses, expected.lines().collect::<Vec<_>>());
        parts += 1;
    }
    assert!(parts >= 1);
}

#[test]
fn windows_begin_and_end_where_they_are_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("accesses", folder.path());
    // Every length, so that windows begin and end everywhere in blocks.
    for (skip, length) in [(1000, 1), (0, 17), (12_345, 100), (1, 5_000), (3, 7)] {
        let windows = Windows { skip, length, windows: 20, memory: false };
        let (told, _, executed) = stream(&program, windows, folder.path());
        let mut told = told.into_iter().peekable();
        let mut at = 0;
        for _ in 0..20 {
            at += skip;
            if at > executed {
                break;
            }
            assert_eq!(told.next(), Some(Told::Begin(at)), "{skip} {length}");
            let mut streamed = 0;
            while told.next_if(|told| matches!(told, Told::Executed { .. })).is_some() {
                streamed += 1;
            }
            at += length;
            if at > executed {
                assert_eq!(streamed, executed - (at - length));
                break;
            }
            assert_eq!(streamed, length);
            assert_eq!(told.next(), Some(Told::End(at)));
        }
        assert_eq!(told.next(), None, "{skip} {length}");
    }
}

/// Results that lack what nobody read are not handed out.
#[test]
#[should_panic(expected = "this reader fails")]
fn a_reader_that_fails_is_not_taken_for_an_end() {
    let stopped = Launch::new("true").stopped().unwrap();
    let _ =
        timewise_engine::stream(stopped, &Options::default(), Windows::ALL, |_| panic!("this reader fails"));
}

/// What is kept for each stream need not be kept until the whole run is over.
#[test]
fn streams_of_processes_that_have_ended_come_to_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("before", folder.path());
    let mut ended = Vec::new();
    let launch = Launch::new(&program);
    let (counted, is_whole) =
        timewise_engine::stream(launch.stopped().unwrap(), &Options::default(), Windows::ALL, |chunk| {
            if chunk.is_last {
                ended.push(chunk.stream);
            }
        })
        .unwrap();
    assert!(is_whole && counted.failure.is_none());
    assert_eq!(ended, [1, 0], "the child's stream, then its parent's");
}
