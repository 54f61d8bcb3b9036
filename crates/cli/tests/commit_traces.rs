//! What `timewise simulate --trace` writes: bytes and tables say the same, cycle for cycle, and add up to what was
//! simulated; parts of a trace begin and end where they were asked to. The bytes are read by a reader of this test's
//! own, after `docs/cycle-stacks.md`.

use crate::command::{Place, walk};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The end of what comes before the walk, and a part of it, short enough for a table.
const SIMULATE: &str =
    "timewise simulate -q --core boom-4w-tip --skip 297000 --instructions 30000 --json out.json";

/// Traces the program and gives what was found.
fn traced(place: &Place, options: &str) -> Value {
    let outcome = place.shell(&format!("{SIMULATE} {options} -- ./walk"));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(7), ""));
    serde_json::from_str(&place.read("out.json")).unwrap()
}

const HEADER: &str = "cycle,repeat,oldest,in_flight,waiting,valid,committing,entries";

/// The records of a table.
fn table(place: &Place, name: &str) -> Vec<String> {
    let text = place.read(name);
    let mut lines = text.lines().map(str::to_owned);
    assert_eq!(lines.next().as_deref(), Some(HEADER));
    lines.collect()
}

/// The numbers before a record's entries.
fn numbers(line: &str) -> [u64; 7] {
    let numbers: Vec<u64> = line.split(',').take(7).map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// The instructions that commit in a record, each with its sequence number.
fn commits(line: &str) -> Vec<(u64, u32)> {
    let [_, _, oldest, .., committing] = numbers(line);
    let entries = line.rsplit(',').next().unwrap().split(' ');
    let committed = entries.take(committing as usize).map(|entry| {
        let (instruction, rest) = entry.split_once('@').unwrap();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (oldest + digits.parse::<u64>().unwrap(), instruction.parse().unwrap())
    });
    committed.collect()
}

/// Reads bytes as the documentation says, and gives the lines that a table of them has.
fn lines_of(bytes: &[u8]) -> Vec<String> {
    const EVENTS: [&str; 9] =
        ["DR-L1", "DR-TLB", "DR-SQ", "FL-MB", "FL-EX", "FL-MO", "ST-L1", "ST-TLB", "ST-LLC"];
    let mut rest = bytes.strip_prefix(b"twtrace2").unwrap();
    let (mut end, mut last_oldest) = (0_u64, 0_u64);
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let cycle = end + number(&mut rest);
        let repeat = number(&mut rest);
        let folded = number(&mut rest);
        let distance = if folded & 1 == 0 { (folded / 2) as i64 } else { -(folded.div_ceil(2) as i64) };
        let oldest = last_oldest.checked_add_signed(distance).unwrap();
        let (in_flight, waiting) = (number(&mut rest), number(&mut rest));
        let counts = rest[0];
        rest = &rest[1..];
        let (valid, committing) = (counts / 16, counts % 16);
        let entries: Vec<String> = (0..valid)
            .map(|_| {
                let (instruction, about) = (number(&mut rest), number(&mut rest));
                let (age, flags, events) = (about % 256, about / 256 % 256, about / 65536);
                let flags: String =
                    (0..3).filter(|bit| flags >> bit & 1 == 1).map(|bit| b"xfm"[bit] as char).collect();
                let events: Vec<&str> =
                    (0..9).filter(|bit| events >> bit & 1 == 1).map(|bit| EVENTS[bit]).collect();
                let events =
                    if events.is_empty() { String::new() } else { format!("[{}]", events.join("+")) };
                format!("{instruction}@{age}{flags}{events}")
            })
            .collect();
        lines.push(format!(
            "{cycle},{repeat},{oldest},{in_flight},{waiting},{valid},{committing},{}",
            entries.join(" ")
        ));
        (end, last_oldest) = (cycle + repeat, oldest);
    }
    lines
}

/// A number of seven bits a byte, the lowest first.
fn number(rest: &mut &[u8]) -> u64 {
    let length = 1 + rest.iter().position(|byte| *byte < 128).unwrap();
    let (bytes, after) = rest.split_at(length);
    *rest = after;
    bytes.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 127))
}

#[test]
fn bytes_and_tables_say_the_same_and_add_up() {
    let place = walk();
    let got = traced(&place, "--trace trace.csv");
    traced(&place, "--trace trace.bin");
    let lines = table(&place, "trace.csv");
    let bytes = std::fs::read(place.path().join("trace.bin")).unwrap();
    assert!(lines == lines_of(&bytes), "bytes and table differ");

    // Each cycle is there once, and each instruction commits once.
    let mut next = 0;
    let mut executions: BTreeMap<u32, u64> = BTreeMap::new();
    let mut sequence = BTreeSet::new();
    for line in &lines {
        let [cycle, repeat, ..] = numbers(line);
        assert_eq!(cycle, next, "{line}");
        next += repeat;
        for (number, instruction) in commits(line) {
            if sequence.insert(number) {
                *executions.entry(instruction).or_default() += 1;
            }
        }
    }
    assert_eq!((next, sequence.len()), (got["cycles"].as_u64().unwrap(), 30_000));
    assert_eq!(sequence.last(), Some(&29_999));

    // The table of instructions says which these are.
    let costliest = &got["by_instruction"][0];
    let of_it: u64 = instructions(&place)
        .iter()
        .filter(|row| row["function"] == "walk" && row["text"] == costliest["text"].as_str().unwrap())
        .map(|row| executions.get(&row["instruction"].parse().unwrap()).copied().unwrap_or(0))
        .sum();
    assert_eq!(&Value::from(of_it), &costliest["executions"]);
    assert!(of_it > 5_000, "{costliest}");
}

/// The rows of the table of instructions.
fn instructions(place: &Place) -> Vec<BTreeMap<String, String>> {
    let text = place.read("trace.instructions.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn parts_begin_and_end_where_they_were_asked_to() {
    let place = walk();
    traced(&place, "--trace trace.csv");
    let whole = table(&place, "trace.csv");
    let part = |options: &str| {
        traced(&place, &format!("--trace part.csv {options}"));
        table(&place, "part.csv")
    };
    let first = |holds: &dyn Fn(&str) -> bool| whole.iter().position(|line| holds(line)).unwrap();

    let [from, to] = [1_000, 2_000].map(|count| first(&|line| numbers(line)[2] >= count));
    assert!(part("--from instruction:1000 --to instruction:2000") == whole[from..to]);

    let rows = instructions(&place);
    let load = rows.iter().find(|row| row["function"] == "walk" && row["text"].starts_with("mov ")).unwrap();
    let same: BTreeSet<u32> = rows
        .iter()
        .filter(|row| row["address"] == load["address"])
        .map(|row| row["instruction"].parse().unwrap())
        .collect();
    let is_load = |line: &str| commits(line).iter().any(|(_, instruction)| same.contains(instruction));
    let from = first(&is_load);
    assert!(from > 0, "the program begins with it");
    let address = &load["address"];
    assert!(part(&format!("--from {address}")) == whole[from..]);
    assert!(part(&format!("--to {address}")) == whole[..from]);

    // A record of several cycles is cut.
    let cut = whole.iter().rposition(|line| numbers(line)[1] > 2).unwrap();
    let [cycle, repeat, ..] = numbers(&whole[cut]);
    let cycles = part(&format!("--from cycle:{} --to cycle:{}", cycle + 1, cycle + repeat + 1));
    let [begin, length, ..] = numbers(&cycles[0]);
    assert_eq!((begin, length, cycles.len()), (cycle + 1, repeat - 1, 2));
    assert_eq!(cycles[1], whole[cut + 1].replacen(&format!(",{},", numbers(&whole[cut + 1])[1]), ",1,", 1));

    let outcome = place.shell(&format!("{SIMULATE} --trace part.csv --from instruction:999999 -- ./walk"));
    assert_eq!(table(&place, "part.csv"), <[String; 0]>::default());
    let said = "part.csv' has no records: its core never came to where --from begins\n";
    assert!(outcome.status == Some(7) && outcome.stderr.ends_with(said), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn every_core_has_a_trace_of_its_own() {
    let place = walk();
    place.write("two.sh", "(exec ./walk)\nexec ./walk\n");
    let simulate = SIMULATE.replace("-q", "").replace("--skip 297000", "");
    let outcome = place.shell(&format!("{simulate} --trace trace.csv -- sh two.sh"));
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    let names = "traced: trace.csv, trace.2.csv, trace.3.csv, trace.4.csv, trace.instructions.csv";
    assert_eq!(outcome.stderr.lines().last(), Some(names));
    let got: Value = serde_json::from_str(&place.read("out.json")).unwrap();
    let cycles = ["trace.csv", "trace.2.csv", "trace.3.csv", "trace.4.csv"].map(|name| {
        let [cycle, repeat, ..] = numbers(table(&place, name).last().unwrap());
        cycle + repeat
    });
    assert_eq!(cycles.iter().sum::<u64>(), got["cycles"].as_u64().unwrap());
}

/// What else is read and written stays what it is.
#[test]
fn a_trace_takes_no_other_files_place() {
    let place = walk();
    for taken in ["trace.csv", "trace.instructions.csv"] {
        let outcome =
            place.shell(&format!("timewise simulate --trace trace.csv --json {taken} -- touch ran"));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(&format!("{taken}', which is needed for something else")),
            "{}",
            outcome.stderr
        );
        assert!(!place.has("ran") && !place.has(taken));
    }
    place.write("two.sh", "(exec ./walk)\nexec ./walk\n");
    let simulate =
        "timewise simulate -q --instructions 20000 --json trace.2.csv --trace trace.csv -- sh two.sh";
    let outcome = place.shell(simulate);
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("trace.2.csv'; choose another place: it is needed"),
        "{}",
        outcome.stderr
    );
    assert!(serde_json::from_str::<Value>(&place.read("trace.2.csv")).is_ok());
    assert!(!table(&place, "trace.4.csv").is_empty());
}

#[test]
fn a_pipe_is_written_to_as_it_is_read() {
    let place = walk();
    let outcome = place.shell(&format!(
        "mkfifo pipe; cat pipe > copy & {SIMULATE} --trace pipe -- ./walk; status=$?; wait; exit $status"
    ));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(7), ""));
    let got: Value = serde_json::from_str(&place.read("out.json")).unwrap();
    let lines = lines_of(&std::fs::read(place.path().join("copy")).unwrap());
    let cycles: u64 = lines.iter().map(|line| numbers(line)[1]).sum();
    assert_eq!(cycles, got["cycles"].as_u64().unwrap());
    assert!(!place.has("pipe.instructions.csv"));
}

/// The program does not notice; its profile is kept.
#[test]
fn a_full_disk_is_told_of_and_leaves_the_program_alone() {
    let place = walk();
    let simulate =
        "timewise simulate --instructions 20000 --trace /dev/full -- bash -c 'echo whole > ran; exit 7'";
    let outcome = place.shell(simulate);
    assert_eq!((outcome.status, place.read("ran").as_str()), (Some(125), "whole\n"), "{}", outcome.stderr);
    let said =
        "timewise: cannot write '/dev/full'; choose another place: No space left on device (os error 28)";
    assert_eq!(outcome.stderr.lines().last(), Some(said));
    assert_eq!(place.shell("timewise report").status, Some(0));
}
