//! Two recordings of what the operating system did, compared: what is planted is named, down to the call, and gates see it.

use crate::command::Place;
use serde_json::Value;

/// Reads a file in pieces; with an argument it computes for some milliseconds behind the third, and looks for a file more.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <unistd.h>
#define FUNCTION __attribute__((noinline))
static volatile unsigned sink;
FUNCTION int piece(int file, int number, int more) {
    char bytes[16];
    if (read(file, bytes, sizeof bytes) < 0) return 1;
    if (number == 2 && more) for (unsigned i = 0; i < 20000000; i++) sink += i;
    lseek(file, number, SEEK_SET);
    return 0;
}
FUNCTION int look(const char *path) {
    return access(path, R_OK) - sink;
}
int main(int count, char **arguments) {
    int file = open("/etc/passwd", O_RDONLY);
    for (int number = 0; number < 6; number++) if (piece(file, number, count > 1)) return 1;
    if (count > 1) look("/etc/nothing-of-that-name");
    return count > 2 ? 3 : 0;
}
"#;

/// Recordings of five rounds each: `base.tw`, `test.tw` with what is planted, and `ended.tw`, which ends otherwise, and has
/// no call stacks.
fn recorded() -> Place {
    let place = Place::new();
    place.write("reads.c", PROGRAM);
    let record = "timewise ostrace record -q --rounds 5";
    let made = place.shell(&format!(
        "cc -O1 reads.c -o reads && {record} -k -o base.tw -- ./reads && {record} -k -o test.tw -- ./reads more
         {record} -o ended.tw -- ./reads more still; [ $? = 3 ]"
    ));
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    place
}

#[test]
fn what_is_planted_is_named() {
    let place = recorded();
    let told = place.shell("timewise ostrace compare base.tw test.tw --format json");
    let found: Value = serde_json::from_str(&told.stdout).unwrap();
    let nodes = found["threads"][0]["nodes"].as_array().unwrap();
    // Of the leaves that differ beyond chance, the one that computes most more.
    let is_leaf = |node: &&Value| node["events"]["base"] == 1.0 && node["beyond_chance"] == true;
    let more_ns = |node: &Value| node["cpu_ns"]["difference"].as_f64().unwrap();
    let leaf = nodes.iter().filter(is_leaf).max_by(|a, b| more_ns(a).total_cmp(&more_ns(b))).unwrap();
    assert_eq!((&leaf["from"]["name"], &leaf["to"]["name"]), (&"read".into(), &"lseek".into()));
    assert_eq!(leaf["from"]["object"], "/etc/passwd");
    assert!(more_ns(leaf) > 1e6, "{leaf}");
    assert_eq!(leaf["mostly_in"], "piece");
    let differing = found["threads"][0]["differing"].as_array().unwrap();
    let names: Vec<(&str, f64)> = differing
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["events"]["difference"].as_f64().unwrap()))
        .collect();
    assert_eq!(names, [("access", 1.0)]);
    assert_eq!(differing[0]["made_by"], serde_json::json!(["look"]));
    let text = place.shell("timewise ostrace compare base.tw test.tw").stdout;
    let line = |words: &str| text.lines().find(|line| line.contains(words)).unwrap_or_default().to_string();
    assert!(line(" read /etc/passwd ").ends_with(" piece"), "{text}");
    assert!(line("/etc/nothing-of-that-name").ends_with(" look"), "{text}");
}

#[test]
fn gates_tell_what_grew() {
    let place = recorded();
    let judged = |test: &str, gates: &str| {
        let outcome = place.shell(&format!("timewise ostrace compare base.tw {test} {gates} --format csv"));
        (outcome.status, outcome.stderr)
    };
    let (status, told) = judged("test.tw", "--fail-if 'calls:access>0%' --fail-if 'calls:read>0%'");
    assert_eq!(status, Some(3));
    assert!(
        told.contains("gate failed: calls:access>0%") && told.contains("gate passed: calls:read>0%"),
        "{told}"
    );
    let (status, told) = judged("base.tw", "--fail-if 'events>0%'");
    assert!(status == Some(0) && told.contains("both sides hold the same run"), "{told}");
    let (status, told) = judged("ended.tw", "--fail-if 'events>0%'");
    assert_eq!(status, Some(2));
    assert!(told.contains("test ended with status 3, base ended with status 0"), "{told}");
    let (status, told) = judged("test.tw", "--fail-if 'calls:acess>0%'");
    assert!(status == Some(2) && told.contains("there is no system call 'acess'"), "{told}");
    let (status, told) = judged("test.tw", "--fail-if 'time>0%'");
    assert!(status == Some(2) && told.contains("'time>0%' is no condition"), "{told}");
}

#[test]
fn one_side_alone_is_shown_as_calls_and_as_a_tree() {
    let place = recorded();
    let calls = place.shell("timewise ostrace report base.tw --format csv").stdout;
    assert!(calls.lines().any(|row| row.starts_with("lseek,30,0,")), "{calls}");
    let tree = place.shell("timewise ostrace report base.tw --by tree").stdout;
    assert!(
        tree.contains(" in the same order in all 5 runs divide them") && tree.contains("reads"),
        "{tree}"
    );
    let verified = place.shell("timewise verify base.tw");
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);
}

#[test]
fn functions_are_told_of_what_was_recorded_with_stacks() {
    let place = recorded();
    let told = place.shell("timewise ostrace report test.tw --by function --format csv").stdout;
    let row = |name: &str| {
        let row = told.lines().find(|line| line.starts_with(&format!("{name},")));
        let numbers = row.unwrap_or_default().split(',').skip(1).map(|number| number.parse().unwrap());
        numbers.collect::<Vec<u64>>()
    };
    let ([piece, look], main) = (["piece", "look"].map(row), row("main"));
    // Of five rounds: calls, what they took, what passed below it, and of that in calls.
    assert_eq!((piece[0], look[0], main[0]), (60, 5, 5), "{told}");
    assert!(piece[2] > piece[1] + 5_000_000 && piece[1] == piece[3], "{told}");
    assert!(main[2] >= piece[2] + look[2] && main[3] >= main[1] + piece[3] + look[3], "{told}");
    let refused = place.shell("timewise ostrace report ended.tw --by function");
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("timewise ostrace record --stacks -- PROGRAM"), "{}", refused.stderr);
}
