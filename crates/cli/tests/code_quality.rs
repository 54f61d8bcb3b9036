//! `timewise mix` and `timewise waste` of a program whose instructions are known, and what they refuse.

use crate::command::Place;
use serde_json::Value;

/// A place with the program and profiles of its paths and of its counts alone.
fn wasteful() -> Place {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/wasteful.S");
    let done = place.shell(&format!(
        "cc -nostdlib -static -g '{source}' -o wasteful && timewise count -q -o counts.tw -- ./wasteful && \
         timewise paths --all -q -- ./wasteful"
    ));
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    place
}

fn json(place: &Place, words: &str) -> Value {
    let said = place.shell(&format!("timewise {words} --format json"));
    assert_eq!((said.status, said.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&said.stdout).unwrap()
}

/// Kind, text, executions for nothing, without which the program does the same, and in all.
fn found(waste: &Value) -> Vec<(&str, &str, [u64; 3])> {
    let rows = waste["instructions"].as_array().unwrap().iter();
    let of = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let mut found: Vec<_> = rows
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap();
            (text("kind"), text("text"), ["executions", "removable", "of"].map(|name| of(row, name)))
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn waste_is_what_is_known_to_be() {
    let place = wasteful();
    let always = [
        ("dead", "mov rax,rbx", [1000, 1000, 1000]),
        ("reload", "mov eax,[rsp+8]", [1000, 1000, 1000]),
        ("same-store", "mov [rsp+8],eax", [1000, 1000, 1000]),
    ];
    let of_counts = json(&place, "waste counts.tw");
    assert_eq!(found(&of_counts), always);
    assert_eq!((&of_counts["executed_on_paths"], &of_counts["wasted"]), (&0.into(), &3000.into()));
    let of_paths = json(&place, "waste");
    let mut on_paths = always.to_vec();
    on_paths.insert(1, ("dead", "mov rdx,rsi", [500, 500, 1000]));
    assert_eq!(found(&of_paths), on_paths);
    assert_eq!((&of_paths["executed"], &of_paths["executed_on_paths"]), (&11_506.into(), &11_506.into()));
    let dead = of_paths["instructions"].as_array().unwrap().iter().find(|row| row["text"] == "mov rax,rbx");
    assert_eq!(dead.unwrap()["why"], "rax is overwritten at wasteful.S:6 unread");
    assert_eq!(dead.unwrap()["line"], 5);
    let text = place.shell("timewise waste").stdout;
    assert!(
        text.contains("30.4 % of 11,506 executed instructions did nothing for what came after: 3,500"),
        "{text}"
    );
    let table = place.shell("timewise waste --format csv").stdout;
    assert_eq!(table.lines().count(), 5);
    assert!(
        table.starts_with(
            "module,offset,length,function,file,line,text,kind,executions,removable,of,share,why,"
        )
    );
}

#[test]
fn the_mix_is_what_is_known_to_be() {
    let place = wasteful();
    let mix = json(&place, "mix counts.tw");
    let categories = [
        ("arithmetic", 1501),
        ("branch", 2000),
        ("compare", 1000),
        ("jump", 501),
        ("logic", 1),
        ("move", 6502),
        ("system-call", 1),
    ];
    let found = mix["categories"].as_object().unwrap().iter();
    let found: Vec<(&str, u64)> =
        found.map(|(name, count)| (name.as_str(), count.as_u64().unwrap())).collect();
    assert_eq!(found, categories);
    for (figure, expected) in [
        ("instructions", 11_506),
        ("loads", 1000),
        ("stores", 2000),
        ("branches_taken", 1499),
        ("branches_not_taken", 501),
        ("distinct_instructions", 19),
        ("transfers", 2000),
        ("transfers_misaligned_16", 1000),
        ("transfers_misaligned_64", 1000),
        ("instructions_in_two_lines", 0),
    ] {
        assert_eq!(mix[figure], expected, "{figure}");
    }
    assert_eq!(mix["all_code"]["instructions"], 19);
    // The eight of every round, the two at its end, and the first of those of every other one.
    assert_eq!(mix["footprint"]["instructions"], 12);
    assert_eq!((&mix["footprint"]["lines"], &mix["footprint"]["functions"]), (&1.into(), &1.into()));
    let text = place.shell("timewise mix counts.tw").stdout;
    assert!(text.contains("11,506 instructions executed"), "{text}");
    let table = place.shell("timewise mix counts.tw --format csv").stdout;
    assert!(table.contains("\n,,move,6502,"), "{table}");
}

#[test]
fn what_cannot_be_told_is_said_in_a_line() {
    let place = Place::new();
    place.shell(
        "timewise sample -q -o sampled.tw -- sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done'",
    );
    for (command, says) in [
        (
            "mix sampled.tw",
            "'sampled.tw' holds no counts of instructions; make some: timewise count -- PROGRAM",
        ),
        (
            "waste sampled.tw",
            "'sampled.tw' holds no counts of instructions; make some: timewise paths --all -- PROGRAM",
        ),
        ("waste none.tw", "none.tw"),
        ("mix --limit x", "'x' for '--limit <ROWS>'"),
    ] {
        place.assert_refused(&format!("timewise {command}"), says);
    }
}
