//! Costs with callees of programs whose totals are known (`suite/totals/`).

mod command;

use command::Place;
use serde_json::Value;

fn path(program: &str) -> String {
    format!("{}/../../suite/totals/{program}", env!("CARGO_MANIFEST_DIR"))
}

/// Builds a program, has `timewise` do `what` with it, and gives the place with its profile.
fn profiled(program: &str, what: &str) -> Place {
    let place = Place::new();
    let outcome = place.shell(&format!(
        "cc -O1 -g -fno-omit-frame-pointer '{}' -o program && timewise {what} -- ./program",
        path(program)
    ));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place
}

fn rows(place: &Place, by: &str) -> Vec<Value> {
    let outcome = place.shell(&format!("timewise report --by {by} --format json"));
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    document["rows"].as_array().unwrap().clone()
}

/// Whether a row is of the program itself, not of a library.
fn is_own(row: &Value) -> bool {
    row["module"].as_str().unwrap().ends_with("/program")
}

/// Of each loop's and function's time, as of its instructions, that part is in `func3` which it caused.
#[test]
fn figure_4() {
    let place = profiled("figure_4.c", "run -F 4000");
    if place.profile().samples.is_empty() {
        return; // a machine that cannot sample
    }
    // Each of func3's rounds takes the same time, and all else next to none.
    let share = |name: &str| match name {
        "func0" => 300.0 / 960.0,
        "func1" => 360.0 / 960.0,
        "func2" => 600.0 / 960.0,
        "func3" => 1.0,
        "func4" => 60.0 / 960.0,
        _ => panic!("{name}"),
    };
    let functions = rows(&place, "function");
    let sum = |field: &str| functions.iter().map(|row| row[field].as_f64().unwrap()).sum::<f64>();
    let (cycles, samples) = (sum("cycles_self"), sum("samples_self"));
    let mut compared = 0;
    for row in functions.iter().chain(&rows(&place, "loop")).filter(|row| is_own(row)) {
        let name = row["function"].as_str().unwrap();
        if name.starts_with("func") {
            let (got, want) = (row["cycles_total"].as_f64().unwrap() / cycles, share(name));
            // Four standard deviations, and what starts the program.
            let room = 4.0 * (want * (1.0 - want) / samples).sqrt() + 0.01;
            assert!((got - want).abs() <= room, "{got} of the time is not {want} ± {room}: {row}");
            compared += 1;
        }
    }
    assert_eq!(compared, 5 + 4);
}
