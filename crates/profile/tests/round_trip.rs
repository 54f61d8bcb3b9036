//! What is saved is what is loaded, the former file stays as `.old`, and it is quick.

mod cpu_time;
mod generate;

use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use timewise_profile::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn loading_gives_what_was_saved(profile in generate::profile()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.tw");
        profile.save(&path).unwrap();
        prop_assert_eq!(Profile::load(&path).unwrap(), profile);
    }
}

fn with_module(name: &str) -> Profile {
    let module = Module { kind: ModuleKind::File, path: name.into(), build_id: vec![1, 2] };
    Profile { modules: vec![module], ..Profile::default() }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_former_file_is_kept_as_old_and_nothing_else_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profile.tw");
    for name in ["first", "second", "third"] {
        with_module(name).save(&path).unwrap();
    }
    assert_eq!(Profile::load(&path).unwrap(), with_module("third"));
    assert_eq!(Profile::load(&directory.path().join("profile.tw.old")).unwrap(), with_module("second"));
    assert_eq!(names(directory.path()), ["profile.tw", "profile.tw.old"]);
}

#[test]
fn a_link_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().join("real.tw");
    let link = directory.path().join("link.tw");
    with_module("first").save(&real).unwrap();
    std::os::unix::fs::symlink("real.tw", &link).unwrap();
    with_module("second").save(&link).unwrap();
    assert!(link.is_symlink());
    assert_eq!(Profile::load(&real).unwrap(), with_module("second"));
    assert_eq!(names(directory.path()), ["link.tw", "real.tw", "real.tw.old"]);
    // Also one to a link to nothing, and not for ever.
    let far = directory.path().join("far.tw");
    std::os::unix::fs::symlink("new.tw", directory.path().join("near.tw")).unwrap();
    std::os::unix::fs::symlink("near.tw", &far).unwrap();
    with_module("third").save(&far).unwrap();
    assert!(far.is_symlink());
    assert_eq!(Profile::load(&directory.path().join("new.tw")).unwrap(), with_module("third"));
    let round = directory.path().join("round.tw");
    std::os::unix::fs::symlink("round.tw", &round).unwrap();
    with_module("fourth").save(&round).unwrap();
    assert_eq!(Profile::load(&round).unwrap(), with_module("fourth"));
}

#[test]
fn a_core_frequency_that_is_none_is_refused() {
    let with = |core_hz: f64| {
        let clock = Clock {
            event: "cpu-clock:u".into(),
            counts_cycles: false,
            precise_level: 0,
            frequency_hz: 4000,
            scope: None,
            core_hz,
            core_hz_low: 1.0,
            core_hz_high: 2.0,
        };
        let run = Run { clock: Some(clock), ..Run::new(RunKind::Sampling) };
        Profile { runs: vec![run], ..Profile::default() }.check()
    };
    assert_eq!(with(1.5), Ok(()));
    for none in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert_eq!(with(none), Err(Inconsistency::Frequency { row: 0 }), "{none}");
    }
}

#[test]
fn times_that_no_program_takes_are_refused() {
    const MOST: u64 = 1 << 61;
    type Change = fn(&mut Profile, u64);
    let with = |change: Change, most| {
        let mut profile = with_module("long");
        profile.runs = vec![Run::new(RunKind::Sampling), Run::new(RunKind::Counting)];
        let (run, exit) = (RunId(0), Exit::Unknown);
        profile.processes =
            vec![Process { run, pid: 1, parent: None, executable: Vec::new(), exit, count_uncertainty: 0 }];
        let (process, name) = (ProcessId(0), "long".into());
        profile.threads = vec![Thread { process, tid: 1, name, instructions: None }];
        profile.samples = vec![Sample {
            thread: ThreadId(0),
            time_ns: 0,
            weight_ns: 1,
            weight_cycles: Some(1),
            place: None,
            kernel: false,
            stack: None,
        }];
        change(&mut profile, most);
        profile.check()
    };
    let changes: [(&str, Change); 5] = [
        ("times that runs took", |profile, most| profile.runs[1].elapsed_ns = most),
        ("CPU times of runs", |profile, most| profile.runs[0].user_ns = most),
        ("CPU times of runs", |profile, most| profile.runs[1].kernel_ns = most),
        ("times that samples stand for", |profile, most| profile.samples[0].weight_ns = most),
        ("cycles that samples stand for", |profile, most| profile.samples[0].weight_cycles = Some(most)),
    ];
    for (numbers, change) in changes {
        assert_eq!(with(change, MOST), Ok(()));
        for most in [MOST + 1, u64::MAX] {
            assert_eq!(with(change, most), Err(Inconsistency::TooLarge { numbers }));
        }
    }
}

/// A profile of the size that a long recording of a large program gives.
fn large() -> Profile {
    let place = |offset: u64| Place {
        module: ModuleId(0),
        version: CodeVersion(0),
        offset: Offset(0x40_0000 + offset),
    };
    let mut profile = with_module("large");
    profile.runs.push(Run::new(RunKind::Sampling));
    profile.processes.push(Process {
        run: RunId(0),
        pid: 1,
        parent: None,
        executable: b"/bin/large".to_vec(),
        exit: Exit::Code(0),
        count_uncertainty: 0,
    });
    profile.threads.push(Thread { process: ProcessId(0), tid: 1, name: "large".into(), instructions: None });
    profile.samples = (0..1_000_000)
        .map(|n| Sample {
            thread: ThreadId(0),
            time_ns: n * 250_000,
            weight_ns: 250_000 + n % 977,
            weight_cycles: None,
            place: Some(place(n * 7919 % 4_000_000)),
            kernel: false,
            stack: None,
        })
        .collect();
    profile.blocks =
        (0..300_000).map(|n| Block { place: place(n * 14), instructions: 4, code: vec![0x90; 14] }).collect();
    profile.block_counts = (0..300_000)
        .map(|n| BlockCount { block: BlockId(n), process: ProcessId(0), executions: u64::from(n) * 1000 })
        .collect();
    profile.edge_counts = (0..500_000)
        .map(|n| EdgeCount {
            from: Some(BlockId(n % 300_000)),
            to: Some(BlockId(n / 2)),
            kind: EdgeKind::Branch,
            process: ProcessId(0),
            count: u64::from(n) * 1000,
        })
        .collect();
    profile
}

#[test]
fn a_large_profile_is_saved_and_loaded_in_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.tw");
    let profile = large();
    let start = cpu_time::so_far();
    profile.save(&path).unwrap();
    let saved = cpu_time::so_far() - start;
    let start = cpu_time::so_far();
    let loaded = Profile::load(&path).unwrap();
    let read = cpu_time::so_far() - start;
    let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    println!("saved in {saved:?}, loaded in {read:?}, {megabytes:.1} MB");
    assert!(loaded == profile);
    // About a second each when optimised, several if not.
    assert!(saved.as_secs() < 20 && read.as_secs() < 20, "saved in {saved:?}, loaded in {read:?}");
}

#[test]
fn any_sqlite_tool_can_read_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profile.tw");
    with_module("/bin/true").save(&path).unwrap();
    let query = "SELECT kind, path, hex(build_id) FROM modules; PRAGMA integrity_check;";
    match Command::new("sqlite3").arg(&path).arg(query).output() {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "file|/bin/true|0102\nok\n"),
        Err(error) => eprintln!("not checked, no sqlite3: {error}"),
    }
}
