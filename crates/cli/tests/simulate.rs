//! `timewise simulate` as its users run it: the instruction that waits is named with its reason, the figures add
//! up, and the same program gives the same bytes.

mod command;

use command::Place;
use serde_json::Value;

/// Steps of `programs/walk.c`.
const STEPS: u64 = 20_000;

/// Builds the program that walks through a table.
fn walk() -> Place {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/walk.c");
    let outcome = place.shell(&format!("cc -O2 -g -static '{source}' -o walk"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place
}

fn simulated(place: &Place, options: &str) -> Value {
    let outcome = place.shell(&format!("timewise simulate {options} --format json -o out.json -- ./walk"));
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    serde_json::from_str(&place.read("out.json")).unwrap()
}

fn sum(rows: &Value) -> f64 {
    rows.as_array().unwrap().iter().map(|row| row["cycles"].as_f64().unwrap()).sum()
}

#[test]
fn the_load_that_waits_is_named_with_its_reason() {
    let place = walk();
    let got = simulated(&place, "--core boom-4w-tip --deterministic");
    let costliest = &got["by_instruction"][0];
    let text = costliest["text"].as_str().unwrap();
    assert!(text.starts_with("mov ") && text.contains('['), "{costliest}");
    assert_eq!((&costliest["function"], &costliest["executions"]), (&"walk".into(), &STEPS.into()));
    let reason = &costliest["stack"][0];
    assert_eq!(reason["state"], "stalled");
    assert!(reason["events"].as_array().unwrap().contains(&"ST-L1".into()), "{costliest}");
    let each = costliest["cycles"].as_f64().unwrap() / STEPS as f64;
    assert!(each > 10.0, "more than a first cache takes: {each}");
    // Everything adds up.
    let cycles = got["cycles"].as_f64().unwrap();
    let attributed = cycles - got["unattributed_cycles"].as_f64().unwrap();
    assert!(attributed > 0.99 * cycles && attributed <= cycles, "{attributed} of {cycles}");
    let categories: f64 =
        got["categories"].as_object().unwrap().values().map(|value| value.as_f64().unwrap()).sum();
    for same in [categories, sum(&got["functions"]), sum(&got["by_instruction"])] {
        assert!((same - attributed).abs() < 1e-6 * cycles, "{same} for {attributed}");
    }
    let before = place.read("out.json");
    simulated(&place, "--core boom-4w-tip --deterministic");
    assert!(before == place.read("out.json"), "the same program gave other figures");
}

#[test]
fn windows_are_as_long_as_asked() {
    let place = walk();
    let got = simulated(&place, "--skip 10000 --instructions 5000 --windows 3");
    assert_eq!(got["instructions"], 15_000);
    let executions: u64 =
        got["by_instruction"].as_array().unwrap().iter().map(|row| row["executions"].as_u64().unwrap()).sum();
    assert!(executions <= 15_000 && executions > 13_000, "{executions}");
}

#[test]
fn profilers_are_compared() {
    let place = walk();
    let got = simulated(&place, "--core boom-4w-tip --compare-profilers --period 10 --random");
    let errors = got["accuracy"]["errors"].as_array().unwrap();
    let error = |name: &str, unit: &str| {
        let row = errors.iter().find(|row| row["technique"] == name).unwrap();
        row[unit].as_f64().unwrap()
    };
    assert!(error("TIP", "instruction") < 0.03, "{errors:#?}");
    assert_eq!(error("TIP", "instruction_systematic"), 0.0);
    for worse in ["LCI", "Software", "RIS"] {
        assert!(error(worse, "instruction") > 0.3, "{errors:#?}");
    }
    assert!(error("LCI", "program").max(error("Software", "program")) < 0.01, "{errors:#?}");
    // While the buffer is full, what is at dispatch is one round of it behind what is oldest: in a short loop that can
    // be the same instruction.
    assert!(error("Dispatch", "instruction") > 5.0 * error("TIP", "instruction"), "{errors:#?}");
    assert!(error("TEA", "instruction") < 0.03, "{errors:#?}");
    assert!(error("IBS", "instruction") > 5.0 * error("TEA", "instruction"), "{errors:#?}");
}

#[test]
fn what_cannot_be_simulated_is_refused_in_a_line() {
    let place = walk();
    for (options, reason) in [("--core nonesuch", "nonesuch"), ("--core walk", "walk")] {
        let outcome = place.shell(&format!("timewise simulate {options} -- ./walk"));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}
