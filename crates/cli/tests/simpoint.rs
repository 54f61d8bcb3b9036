//! `timewise simpoint` of a program whose phases have known shares, its files, and what it refuses.

use crate::command::Place;
use serde_json::Value;

/// A place with the profile of two phases, each of which comes twice, in intervals of 10,000 instructions.
fn phases() -> Place {
    let place = Place::with_few_variables();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/alternating.c");
    let done = place.shell(&format!(
        "cc -O1 -static '{source}' -o phases && timewise count -q --intervals 10k -- ./phases 2"
    ));
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    place
}

fn json(place: &Place, options: &str) -> Value {
    let said = place.shell(&format!("timewise simpoint --format json {options}"));
    assert_eq!((said.status, said.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn phases_have_points_with_their_shares() {
    let place = phases();
    let found = json(&place, "");
    assert_eq!(found["schema"], "timewise-simpoint/1");
    assert_eq!(found["instructions"], found["program_instructions"]);
    assert_eq!((&found["interval_instructions"], &found["threads_in_turn"]), (&10_000.into(), &1.into()));
    let mut points = found["points"].as_array().unwrap().clone();
    let weight = |point: &Value| point["weight"].as_f64().unwrap();
    assert!((points.iter().map(weight).sum::<f64>() - 1.0).abs() < 1e-9);
    points.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    // The program's beginning and intervals that hold an end of both phases are their own.
    assert!((weight(&points[0]) - 0.7).abs() < 0.01 && (weight(&points[1]) - 0.3).abs() < 0.01, "{points:?}");
    assert!(found["error_share"].as_f64().unwrap() < 0.01, "{found}");
    // The same phase is recognised when it comes again, and each point is of its cluster.
    let clusters = found["clusters"].as_array().unwrap();
    let at = |instruction: usize| &clusters[instruction / 10_000];
    assert_eq!((at(2_000_000), at(4_000_000)), (at(7_000_000), at(9_000_000)));
    assert_ne!(at(2_000_000), at(4_000_000));
    for (cluster, point) in found["points"].as_array().unwrap().iter().enumerate() {
        let interval = point["interval"].as_u64().unwrap();
        assert_eq!(clusters[interval as usize], cluster);
        assert_eq!(point["first_instruction"], 10_000 * interval);
    }
    assert_eq!(found, json(&place, ""), "the same again");
}

#[test]
fn options_are_heeded() {
    let place = phases();
    let one = json(&place, "--max-k 1 --dimensions 3 --threshold 0.5");
    assert_eq!(one["points"].as_array().unwrap().len(), 1);
    assert_eq!((&one["max_k"], &one["dimensions"], &one["threshold"]), (&1.into(), &3.into(), &0.5.into()));
    // An interval with the end of one phase and the beginning of the other is nearest to both.
    let [interval, all] =
        [&one["points"][0]["interval"], &one["instructions"]].map(|number| number.as_u64().unwrap());
    let beside = all - 10_000_000;
    let ends = [3_500_000, 5_000_000, 8_500_000].map(|phases| (phases + beside) / 10_000);
    // Some of what is executed beside the phases comes after them.
    assert!(ends.iter().any(|&end| (end - 1..=end).contains(&interval)), "{interval} of {ends:?}");
    assert!(one["error_share"].as_f64().unwrap() > 0.02, "{one}");
    let text = place.shell("timewise simpoint").stdout;
    assert!(text.starts_with(&format!("thread 0 of phases (tid {}): all 10.", one["tid"])), "{text}");
    let table = place.shell("timewise simpoint --max-k 1 --format csv").stdout;
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    assert_eq!(rows.headers().unwrap().get(3), Some("weight"));
    assert_eq!(rows.records().next().unwrap().unwrap().get(3), Some("1.0"));
}

/// As gem5 and others read them: two numbers a line, of which the second names the cluster.
#[test]
fn files_of_simulators_say_the_same() {
    let place = phases();
    place.shell("mkdir files");
    let found = json(&place, "-o files/phases");
    let numbers = |ending: &str| -> Vec<[f64; 2]> {
        let pair = |line: &str| {
            let mut words = line.split(' ').map(|word| word.parse().unwrap());
            [words.next().unwrap(), words.next().unwrap()]
        };
        place.read(&format!("files/phases.{ending}")).lines().map(pair).collect()
    };
    let points = found["points"].as_array().unwrap();
    let of = |name: &str| -> Vec<[f64; 2]> {
        let number = |(cluster, point): (usize, &Value)| [point[name].as_f64().unwrap(), cluster as f64];
        points.iter().enumerate().map(number).collect()
    };
    assert_eq!((numbers("simpoints"), numbers("weights")), (of("interval"), of("weight")));
    let labels: Vec<f64> = numbers("labels").iter().map(|line| line[0]).collect();
    let clusters = found["clusters"].as_array().unwrap();
    assert_eq!(labels, clusters.iter().map(|cluster| cluster.as_f64().unwrap()).collect::<Vec<_>>());
    let vectors = place.read("files/phases.bb");
    let of_interval = |line: &str| -> u64 {
        let parts = line.strip_prefix('T').unwrap().split_whitespace();
        parts.map(|part| part.rsplit(':').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    let whole: u64 = vectors.lines().map(of_interval).sum();
    assert_eq!(vectors.lines().count(), clusters.len());
    assert_eq!(whole, found["instructions"].as_u64().unwrap());
    assert!(vectors.lines().rev().skip(1).all(|line| of_interval(line) == 10_000));
}

#[test]
fn what_cannot_be_done_is_said_in_a_line() {
    let place = Place::new();
    place.shell("timewise count -q -- true && mv profile.tw without.tw");
    place.shell("timewise count -q --intervals 10k -- true");
    for (command, says) in [
        (
            "without.tw",
            "'without.tw' holds no intervals; make some: timewise count --intervals 10M -- PROGRAM",
        ),
        ("none.tw", "none.tw"),
        ("--thread 7", "no thread 7 has intervals; those with the most instructions are 0 (tid "),
        ("--threshold 1.5", "'1.5' for '--threshold <T>': it is no number from 0 to 1, such as 0.9"),
        ("--threshold nan", "it is no number from 0 to 1"),
        ("--max-k 0", "'0' for '--max-k <K>'"),
        ("--dimensions x", "'x' for '--dimensions <D>'"),
        ("-o missing/prefix", "cannot write 'missing/prefix.bb'"),
    ] {
        place.assert_refused(&format!("timewise simpoint {command}"), says);
    }
    let spared = place.shell("cp profile.tw it.bb; timewise simpoint it.bb -o it");
    assert_eq!(spared.status, Some(2));
    assert!(spared.stderr.contains("'it.bb' is the profile itself"), "{}", spared.stderr);
}

/// A shell becomes another program, which has a row of its own.
#[test]
fn threads_are_chosen_by_their_rows() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; exec true";
    place.shell(&format!("timewise count -q --intervals 10k -- sh -c '{script}'"));
    let [busiest, first, second] = ["", "--thread 0", "--thread 1"].map(|options| json(&place, options));
    let instructions = |of: &Value| of["instructions"].as_u64().unwrap();
    assert_eq!((&first["thread"], &second["thread"], &first["tid"]), (&0.into(), &1.into(), &second["tid"]));
    assert_eq!(instructions(&first) + instructions(&second), first["program_instructions"].as_u64().unwrap());
    assert_eq!(instructions(&busiest), instructions(&first).max(instructions(&second)));
    assert!(place.shell("timewise simpoint --thread 1").stdout.contains(" of the program's "));
}
