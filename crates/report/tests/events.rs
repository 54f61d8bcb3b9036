//! What is told of the operating system's events, as golden text. `UPDATE_EXPECT=1 cargo test` rewrites it.

use expect_test::expect;
use timewise_eventtree::{Comparison, calls, runs};
use timewise_profile::{
    Exit, Function, NameId, OsEvent, OsEventKind, Process, ProcessId, Profile, Run, RunId, RunKind, Thread,
    ThreadId,
};
use timewise_report::Style;
use timewise_report::events::{calls_csv, calls_json, calls_text, csv, json, text};

/// A run of `app`: each event with its name, what it is about, when it began, and how long it took, in milliseconds.
fn run(events: &[(OsEventKind, &str, &str, u64, u64)]) -> Profile {
    let mut run = Run::new(RunKind::Events);
    run.command = vec![b"./app".to_vec(), b"-v".to_vec()];
    run.exit = Exit::Code(0);
    let process = Process {
        run: RunId(0),
        pid: 12,
        parent: None,
        executable: b"/tmp/app".to_vec(),
        exit: Exit::Code(0),
        count_uncertainty: 0,
    };
    let thread = Thread { process: ProcessId(0), tid: 12, name: "app".into(), instructions: None };
    let mut profile =
        Profile { runs: vec![run], processes: vec![process], threads: vec![thread], ..Profile::default() };
    let mut cpu_ns = 0;
    for &(kind, name, object, begin, took) in events {
        let mut id = |name: &str| {
            (!name.is_empty()).then(|| {
                profile.os_names.push(name.as_bytes().to_vec());
                NameId(profile.os_names.len() as u32 - 1)
            })
        };
        let (name, object) = (id(name), id(object));
        let begin_ns = begin * 1_000_000;
        profile.os_events.push(OsEvent {
            thread: ThreadId(0),
            kind,
            name,
            object,
            begin_ns,
            end_ns: Some(begin_ns + took * 1_000_000),
            cpu_ns,
            result: Some(if object.is_none() { -2 } else { 0 }),
            stack: None,
        });
        cpu_ns = begin_ns;
    }
    profile
}

/// It loads a library and reads a file: `late` milliseconds later than natural, and having looked for it in so many places.
fn reads(late: u64, looks: u64) -> Profile {
    use OsEventKind::{Begin, Call, End, Exec, Image};
    let mut events = vec![
        (Begin, "", "", 0, 0),
        (Exec, "execve", "/tmp/app", 0, 1),
        (Image, "mmap", "/usr/lib/libc.so.6", 2, 1),
    ];
    events.extend((0..looks).map(|_| (Call, "stat", "/etc/missing", 5, 0)));
    events.extend([
        (Call, "openat", "/srv/somebody/a/long/path/to/the/data.csv", 6, 1),
        (Call, "read", "/srv/somebody/a/long/path/to/the/data.csv", 8, 2 + late),
        (Call, "close", "/srv/somebody/a/long/path/to/the/data.csv", 10 + late, 0),
        (End, "", "", 40 + late, 0),
    ]);
    run(&events)
}

/// Two runs, one of which takes `more` milliseconds more.
fn twice(late: u64, more: u64, looks: u64) -> Profile {
    let mut profile = reads(late, looks);
    profile.append(reads(late + more, looks));
    profile
}

/// No call stacks are in these profiles.
fn no_code(_: &Profile, _: &Function) -> Option<Vec<u8>> {
    None
}

#[test]
fn the_way_to_the_difference_is_shown() {
    let (base, test) = (twice(0, 1, 0), twice(30, 1, 2));
    let comparison = Comparison::new(&base, Some(&test));
    expect![[r#"
        BASE app -v: watched for system events 2 times
        TEST app -v: watched for system events 2 times
        7 events in the same order in all 4 runs divide them, of 7 in a run of BASE and 9 in one of TEST

             base     test  difference                (95 %)  in calls       CPU  events
          40.5 ms  70.5 ms    +30.0 ms  +27.0 ms to +33.0 ms  +30.0 ms  +30.0 ms   6 → 8  app
          38.5 ms  68.5 ms    +30.0 ms  +27.0 ms to +33.0 ms  +30.0 ms  +30.0 ms   4 → 6    loads libc.so.6 … end
          4.00 ms  4.00 ms        0 ns          0 ns to 0 ns      0 ns  +3.00 ms   1 → 3      loads libc.so.6
          34.5 ms  64.5 ms    +30.0 ms  +27.0 ms to +33.0 ms  +30.0 ms  +27.0 ms       3      openat …/path/to/the/data.csv … e…
          2.00 ms  2.00 ms        0 ns          0 ns to 0 ns      0 ns  -3.00 ms       1        openat …/path/to/the/data.csv
          2.50 ms  32.5 ms    +30.0 ms  +27.0 ms to +33.0 ms  +30.0 ms      0 ns       1        read …/path/to/the/data.csv
          30.0 ms  30.0 ms        0 ns          0 ns to 0 ns      0 ns  +30.0 ms       1        close …/path/to/the/data.csv

        Events beside these, of which one side has more
          base  test  time in calls  event  of
             0     2           0 ns  stat   /etc/missing  app
    "#]].assert_eq(&text(&comparison, &no_code, Some(40), Style::default()));
}

#[test]
fn chance_stands_in_brackets() {
    let (base, test) = (twice(0, 8, 0), twice(3, 3, 0));
    let comparison = Comparison::new(&base, Some(&test));
    let told = text(&comparison, &no_code, Some(40), Style::default());
    assert!(
        told.contains("(+500 µs)")
            && !told.contains("loads")
            && told.ends_with("no node differs by more than chance\n"),
        "{told}"
    );
    let alone =
        text(&Comparison::new(&reads(0, 0), Some(&reads(9, 0))), &no_code, Some(40), Style::default());
    assert!(alone.contains("+9.00 ms ") && alone.ends_with("record several with --rounds\n"), "{alone}");
}

#[test]
fn one_side_alone_is_a_tree() {
    let profile = twice(0, 0, 1);
    expect![[r#"
        app -v: watched for system events 2 times
        8 events in the same order in both runs divide them, of 8 in each

          elapsed  in calls      CPU  events
          40.0 ms   5.00 ms  10.0 ms       7  app
          2.00 ms   1.00 ms     0 ns       1    executes app
          38.0 ms   4.00 ms  10.0 ms       5    loads libc.so.6 … end
          4.00 ms   1.00 ms  5.00 ms       2      loads libc.so.6 … openat …/path/to/the/data.csv
          3.00 ms   1.00 ms  2.00 ms       1        loads libc.so.6
          34.0 ms   3.00 ms  5.00 ms       3      openat …/path/to/the/data.csv … end
          2.00 ms   1.00 ms  1.00 ms       1        openat …/path/to/the/data.csv
          2.00 ms   2.00 ms  2.00 ms       1        read …/path/to/the/data.csv
          30.0 ms      0 ns  2.00 ms       1        close …/path/to/the/data.csv
    "#]]
    .assert_eq(&text(&Comparison::new(&profile, None), &no_code, Some(40), Style::default()));
}

#[test]
fn calls_are_told_by_what_they_take() {
    let profile = twice(0, 2, 1);
    let (rows, runs) = (calls(&profile), runs(&profile));
    expect![[r#"
        app -v: watched for system events 2 times

             time   share  calls  errors   a call  longest  system call
          3.00 ms  50.0 %      1       0  3.00 ms  4.00 ms  read
          1.00 ms  16.7 %      1       0  1.00 ms  1.00 ms  execve
          1.00 ms  16.7 %      1       0  1.00 ms  1.00 ms  mmap
          1.00 ms  16.7 %      1       0  1.00 ms  1.00 ms  openat
        … and 2 more: --limit 0 shows all
    "#]]
    .assert_eq(&calls_text(&profile, &rows, runs, Some(4), Style::default()));
    let read: serde_json::Value = serde_json::from_str(&calls_json(&rows, runs).unwrap()).unwrap();
    assert_eq!((&read["runs"], &read["calls"][0]["name"]), (&2.into(), &"read".into()));
    assert_eq!(read["calls"][0]["total_ns"], 6_000_000);
    assert!(
        calls_csv(&rows)
            .unwrap()
            .starts_with("name,calls,errors,total_ns,longest_ns\nread,2,0,6000000,4000000\n")
    );
}

#[test]
fn programs_get_every_node() {
    let (base, test) = (twice(0, 1, 0), twice(30, 1, 2));
    let comparison = Comparison::new(&base, Some(&test));
    let read: serde_json::Value = serde_json::from_str(&json(&comparison, &no_code).unwrap()).unwrap();
    let nodes = read["threads"][0]["nodes"].as_array().unwrap();
    assert_eq!((&read["base_runs"], &read["test_runs"]), (&2.into(), &2.into()));
    let leaf = nodes.iter().find(|node| node["from"]["name"] == "read" && node["depth"] == 3).unwrap();
    assert_eq!((&leaf["elapsed_ns"]["difference"], &leaf["to"]["name"]), (&30e6.into(), &"close".into()));
    let parent = &nodes[leaf["parent"].as_u64().unwrap() as usize];
    assert_eq!(parent["from"]["name"], "openat");
    let differing = &read["threads"][0]["differing"][0];
    assert_eq!((&differing["name"], &differing["events"]["test"]), (&"stat".into(), &2.0.into()));
    let table = csv(&comparison, &no_code).unwrap();
    assert_eq!(table.lines().count(), 1 + nodes.len());
}

/// Calls that all take as long are shown as far as there is room, and how many are not is said.
#[test]
fn what_is_alike_is_not_left_out_together() {
    let mut events = vec![(OsEventKind::Begin, "", "", 0, 0)];
    events.extend((1..=15).map(|at| (OsEventKind::Call, "read", "/srv/file", 10 * at, 0)));
    let profile = run(&events);
    let tree = Comparison::new(&profile, None);
    // The whole and fifteen parts of it.
    for (limit, shown, left_out) in [(Some(10), 8, "… and 6 more: --limit 0 shows all"), (None, 14, "")] {
        let told = text(&tree, &no_code, limit, Style::default());
        assert_eq!(told.matches("read /srv/file").count(), shown, "{told}");
        assert!(
            told.trim_end().ends_with(left_out) && told.contains("more") != left_out.is_empty(),
            "{told}"
        );
    }
}
