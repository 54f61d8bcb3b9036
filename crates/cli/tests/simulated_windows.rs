//! Windows of `timewise simulate`: as many as there are, and what they tell of a program of two phases.

use crate::command::Place;
use serde_json::Value;

/// Rounds of each phase of `programs/phases.c`, of five or six instructions each.
const ROUNDS: u64 = 20_000;

fn phases() -> Place {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/phases.c");
    let outcome = place.shell(&format!("cc -O2 -g -static '{source}' -o phases"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place
}

/// What is found, and what is said of it.
fn simulated(place: &Place, options: &str, rounds: u64) -> (Value, String) {
    let command = format!("timewise simulate {options} --json out.json -- ./phases {rounds}");
    let outcome = place.shell(&command);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let file = options.split_once("-o ").map_or("profile.tw", |(_, file)| file);
    let verified = place.shell(&format!("timewise verify {file}"));
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);
    (serde_json::from_str(&place.read("out.json")).unwrap(), outcome.stderr.replace("\n  ", " "))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn windows_of_all_hold_the_whole_within_their_limits() {
    let place = phases();
    let (whole, said) = simulated(&place, "--instructions 0", ROUNDS);
    let executed = whole["executed_instructions"].as_u64().unwrap();
    assert_eq!((&whole["instructions"], &whole["windows"]), (&executed.into(), &1.into()));
    assert_eq!(whole["estimated"], Value::Null, "nothing is estimated of all");
    assert!(said.contains(" all ") && said.contains(" instructions that it executed"), "{said}");
    let truth = number(&whole["cycles"]) / executed as f64;

    let (told, said) = simulated(&place, "--skip 4000 --instructions 1000 --windows all", ROUNDS);
    assert_eq!(told["executed_instructions"], executed, "it executes the same");
    let windows = told["windows"].as_u64().unwrap();
    let reached = told["reached_instructions"].as_u64().unwrap();
    assert_eq!(windows, (executed + 999) / 5000, "one that the program's end cuts short counts");
    assert!(executed - reached < 5000, "{reached} of {executed}");
    let stored = place.profile();
    for (at, window) in (0..).zip(&stored.simulated_windows) {
        let length = 1000.min(executed - window.first_instruction);
        assert_eq!((window.first_instruction, window.instructions), (4000 + 5000 * at, length));
    }
    // Behind what the program does at its beginning divisions wait for each other, and at its end nothing waits.
    let cpi = |at: usize| {
        stored.simulated_windows[at].cycles as f64 / stored.simulated_windows[at].instructions as f64
    };
    assert!(cpi(10) > 2.0 && cpi(windows as usize - 3) < 1.0, "{} {}", cpi(10), cpi(windows as usize - 3));
    let estimated = &told["estimated"];
    assert_eq!((&estimated["whole"], &estimated["instructions"]), (&true.into(), &executed.into()));
    let [low, value, high] = ["cpi_low", "cpi", "cpi_high"].map(|field| number(&estimated[field]));
    assert!(low < truth && truth < high, "{low} to {high} for {truth}");
    assert!(value - low > 0.1 * value, "phases differ, so windows do: {low} to {high}");
    let cycles = number(&estimated["cycles"]);
    assert!((cycles / executed as f64 - value).abs() < 1e-9, "{cycles}");
    for part in [&format!("estimated from {windows} windows, of all "), "limits of 95 %"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // What the profile says is what was said.
    let stored = place.shell("timewise report --format json").stdout;
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), told);
}

/// The first windows say nothing of what is executed behind them.
#[test]
fn what_is_left_out_is_not_estimated() {
    let place = phases();
    let (told, said) = simulated(&place, "--skip 4000 --instructions 1000 --windows 40", ROUNDS);
    let estimated = &told["estimated"];
    assert_eq!((&told["windows"], &told["reached_instructions"]), (&40.into(), &200_000.into()));
    assert_eq!((&estimated["whole"], &estimated["instructions"]), (&false.into(), &200_000.into()));
    assert!(said.contains("of the first 200.0 k instructions alone"), "{said}");
    assert!(said.contains("lie behind the last window"), "{said}");
    let (told, said) = simulated(&place, "--skip 4000 --instructions 1000 --windows 5", ROUNDS);
    assert_eq!(told["estimated"], Value::Null);
    assert!(said.contains("5 windows are too few to tell of what lies between them"), "{said}");
    let (told, said) = simulated(&place, "--instructions 30000", ROUNDS);
    assert_eq!((&told["estimated"], &told["reached_instructions"]), (&Value::Null, &30_000.into()));
    assert!(said.contains("the first 30,000 of the "), "{said}");
}

/// As many instructions more as windows lie elsewhere: the gate is judged within limits, or not at all.
#[test]
fn gates_know_that_windows_of_other_work_are_a_sample() {
    let place = phases();
    let gate = |condition: &str| {
        let outcome = place.shell(&format!("timewise diff old.tw new.tw --fail-if '{condition}'"));
        (outcome.status, outcome.stderr.replace("\n  ", " "))
    };
    simulated(&place, "--skip 4000 --instructions 1000 --windows all -o old.tw", ROUNDS);
    simulated(&place, "--skip 4000 --instructions 1000 --windows all -o new.tw", 5 * ROUNDS);
    let (status, said) = gate("modelled-cycles>1%");
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("gate failed: modelled-cycles>1%: +") && said.contains("(95 %: +"), "{said}");
    assert!(!said.contains("exact"), "{said}");
    let (status, said) = gate("function:divide modelled-cycles>1%");
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("tell of the whole program alone"), "{said}");
    simulated(&place, "--instructions 60000 -o old.tw", ROUNDS);
    simulated(&place, "--instructions 60000 -o new.tw", 2 * ROUNDS);
    let (status, said) = gate("modelled-cycles>1%");
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("are not the same work"), "{said}");
    simulated(&place, "--instructions 60000 -o new.tw", ROUNDS);
    let (status, said) = gate("modelled-cycles>0%");
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("(exact)"), "{said}");
}

#[test]
fn numbers_of_windows_are_understood_or_refused() {
    let place = phases();
    for (options, reason) in [
        ("--windows 0", "give a number of windows, or all"),
        ("--windows some", "give a number of windows, or all"),
        ("--instructions 0 --windows all", "--windows needs"),
    ] {
        let outcome = place.shell(&format!("timewise simulate {options} -- ./phases"));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}
