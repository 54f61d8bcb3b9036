//! The figures of the OptiWISE paper as real programs, through `timewise run` and `timewise report`: the
//! slow instruction must be found, and counts must be what the source says.

use crate::command::Place;
use serde_json::Value;

const INNER: u64 = 256;

/// Builds `source` (from the root of the workspace), runs it for so many rounds, and gives the place with its
/// profile. Whether it was sampled depends on the machine.
fn profiled(source: &str, rounds: u64) -> (Place, bool) {
    let place = Place::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    // The table fits no private cache; the second argument is its size in MiB, where there is a choice.
    let outcome = place.shell(&format!(
        "cc -O2 -g '{root}/{source}' -o program && timewise run -F 4000 -- ./program {rounds} 64"
    ));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let sampled = !place.profile().samples.is_empty();
    (place, sampled)
}

/// The rows of a report that belong to `main`.
fn rows(place: &Place, by: &str) -> Vec<Value> {
    let outcome = place.shell(&format!("timewise report --by {by} --format json"));
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["schema"], "timewise-report/1");
    let rows = document["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["function"] == "main").cloned().collect()
}

fn executed(rows: &[Value], times: u64) -> Vec<&Value> {
    rows.iter().filter(|row| row["executions"] == times).collect()
}

fn costliest(rows: &[&Value]) -> (String, f64) {
    let cost = |row: &Value| row["cpi"].as_f64().unwrap_or(0.0);
    let row = rows.iter().max_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap();
    (row["text"].as_str().unwrap().to_string(), cost(row))
}

fn assert_the_load_stands_out(source: &str) {
    const ROUNDS: u64 = 400_000;
    let (place, sampled) = profiled(source, ROUNDS);
    let instructions = rows(&place, "instruction");
    let (inner, outer) = (executed(&instructions, INNER * ROUNDS), executed(&instructions, ROUNDS));
    assert!(inner.len() >= 4 && outer.len() >= 4, "{instructions:#?}");
    let loops: Vec<[u64; 3]> = rows(&place, "loop")
        .iter()
        .map(|row| ["depth", "invocations", "iterations"].map(|field| row[field].as_u64().unwrap()))
        .collect();
    assert!(loops.contains(&[1, 1, ROUNDS]), "{loops:?}");
    assert!(loops.contains(&[2, ROUNDS, INNER * ROUNDS]), "{loops:?}");
    if sampled {
        let ((text, load), (_, cheap)) = (costliest(&outer), costliest(&inner));
        assert!(text.starts_with("mov r") && text.contains('['), "{text}");
        assert!(
            load >= 10.0 * cheap,
            "the load takes {load} cycles, the loop's costliest instruction {cheap}"
        );
    }
}

#[test]
fn figure_1() {
    assert_the_load_stands_out("suite/kernels/fig1.c");
}

#[test]
fn figure_1_with_the_load_right_before_the_header() {
    assert_the_load_stands_out("crates/cli/tests/programs/load_before_header.S");
}

#[test]
fn figure_8() {
    // Some hundred samples on the store, so that a stray one weighs little.
    const ROUNDS: u64 = 12_000_000;
    let (place, sampled) = profiled("crates/cli/tests/programs/slow_store.c", ROUNDS);
    let instructions = rows(&place, "instruction");
    let round = executed(&instructions, ROUNDS);
    let is_arithmetic = |row: &&Value| {
        let text = row["text"].as_str().unwrap();
        !text.contains('[') && (text.starts_with("add e") || text.starts_with("xor e"))
    };
    let arithmetic: Vec<&Value> = round.iter().copied().filter(is_arithmetic).collect();
    assert!(arithmetic.len() >= 12, "{round:#?}");
    if sampled {
        let (text, store) = costliest(&round);
        assert!(text.starts_with("mov [") && text.contains("*4]"), "{text}");
        // Of a dozen with few samples each, one has some by chance: they are judged by their mean.
        let cycles: f64 = arithmetic.iter().map(|row| row["cpi"].as_f64().unwrap_or(0.0)).sum();
        let cheap = cycles / arithmetic.len() as f64;
        assert!(store >= 10.0 * cheap, "the store takes {store} cycles, arithmetic {cheap} each");
    }
}

#[test]
fn reports_refuse_bad_input_in_one_line() {
    let place = Place::new();
    place.write("foreign.tw", "not a profile");
    for (command, says) in [
        ("report", "profile.tw"),
        ("report foreign.tw", "not a timewise profile"),
        ("annotate foreign.tw main", "not a timewise profile"),
    ] {
        let outcome = place.shell(&format!("timewise {command}"));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{command}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
}

#[test]
fn reports_fit_the_screen_and_keep_to_its_colours() {
    let place = Place::new();
    let outcome =
        place.shell("timewise count -- true && timewise report > all && COLUMNS=60 timewise report");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!outcome.stdout.contains('\x1b'));
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 60), "{}", outcome.stdout);
    assert!(place.shell("timewise report --color always").stdout.contains('\x1b'));
    let closed = place.shell("timewise report --limit 0 | head -1; exit ${PIPESTATUS[0]}");
    assert_eq!((closed.status, closed.stderr.as_str()), (Some(0), ""));
}
