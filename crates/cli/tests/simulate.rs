//! `timewise simulate` as its users run it: the instruction that waits is named with its reason, the figures add
//! up, and the same program gives the same bytes.

use crate::command::{Place, walk};
use serde_json::Value;

/// Steps of `programs/walk.c`.
const STEPS: u64 = 20_000;

fn simulated(place: &Place, options: &str) -> Value {
    let outcome = place.shell(&format!("timewise simulate {options} --json out.json -- ./walk"));
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    serde_json::from_str(&place.read("out.json")).unwrap()
}

fn sum(rows: &Value) -> f64 {
    rows.as_array().unwrap().iter().map(|row| row["cycles"].as_f64().unwrap()).sum()
}

#[test]
fn the_load_that_waits_is_named_with_its_reason() {
    let place = walk();
    let got = simulated(&place, "--core boom-4w-tip");
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
    simulated(&place, "--core boom-4w-tip");
    assert!(before == place.read("out.json"), "the same program gave other figures");
}

/// What was stored is what was told, and says the same.
#[test]
fn cycle_stacks_are_kept_in_the_profile() {
    let place = walk();
    let told = simulated(&place, "--core boom-4w-tip");
    let outcome = place.shell("timewise report --format json");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let stored: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(told == stored, "{stored:#}");
    let lines = place.shell("timewise report --by line").stdout;
    assert!(lines.contains("modelled on boom-4w-tip") && lines.contains("walk.c:25"), "{lines}");
    let code = place.shell("timewise annotate walk").stdout;
    assert!(code.contains("L1 miss") && code.contains("modelled on boom-4w-tip"), "{code}");
    let counted = place.shell("timewise report --figures measured --by call --format csv").stdout;
    assert!(counted.contains("main"), "{counted}");
}

#[test]
fn a_recorded_command_is_repeated() {
    let place = walk();
    let outcome = place.shell(
        "mkdir elsewhere; timewise count -q -o elsewhere/walk.tw -- ./walk; cd elsewhere;\
                               timewise simulate --core boom-4w-tip walk.tw",
    );
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    let rows = place
        .shell("timewise report --by instruction --figures measured --format json elsewhere/walk.tw")
        .stdout;
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows["measurement"]["counting_runs"], 1);
    let load =
        rows["rows"].as_array().unwrap().iter().find(|row| row["modelled_executions"] == STEPS).unwrap();
    assert_eq!(load["executions"], STEPS);
    assert!(load["modelled_cycles"].as_f64().unwrap() > STEPS as f64, "{load}");
    let verified = place.shell("timewise verify elsewhere/walk.tw");
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);
}

#[test]
fn another_program_than_was_profiled_is_told_of() {
    let place = walk();
    let changed =
        "timewise count -q -- ./walk; cp /bin/true walk; timewise simulate --instructions 1000 profile.tw";
    let outcome = place.shell(changed);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let is_told = |said: &str| said.contains("walk was changed since it was profiled");
    assert!(is_told(&outcome.stderr), "{}", outcome.stderr);
    assert!(is_told(&place.shell("timewise report").stdout));
}

#[test]
fn windows_are_as_long_as_asked() {
    let place = walk();
    let got = simulated(&place, "--skip 10000 --instructions 5000 --windows 3");
    assert_eq!(got["instructions"], 15_000);
    let executions: u64 =
        got["by_instruction"].as_array().unwrap().iter().map(|row| row["executions"].as_u64().unwrap()).sum();
    assert_eq!(executions, 15_000, "also of what takes no cycles");
}

/// A thread that ends in its window leaves the next one's as it is, which has a core of its own.
#[test]
fn threads_in_turn_have_windows_of_their_own() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/in_turn.c");
    let outcome = place.shell(&format!("cc -O2 -g -static -pthread '{source}' -o walk"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    // Of the first thread, some two thousand instructions are left.
    let simulated_in = |threads: u64| {
        let options = "--skip 10000 --instructions 50000 --core boom-4w-tip --json out.json";
        let outcome = place.shell(&format!("timewise simulate {options} -- ./walk {threads}"));
        assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
        let got: Value = serde_json::from_str(&place.read("out.json")).unwrap();
        let rows = got["functions"].as_array().unwrap();
        let work = rows.iter().find(|row| row["function"] == "work").unwrap();
        let each = got["by_thread"].as_array().unwrap().iter().map(|row| row["cycles"].as_f64().unwrap());
        (work["instructions"].as_u64().unwrap(), each.collect::<Vec<f64>>())
    };
    let (one, _) = simulated_in(1);
    assert!((1000..8000).contains(&one), "{one}");
    let (three, cycles) = simulated_in(3);
    assert!((3 * one).abs_diff(three) < 1500, "{three} of three threads, {one} of one");
    // The first thread, and three that do the same in turn. None finds what the one before it left in caches.
    let [_, first, second, third] = cycles[..] else { panic!("{cycles:?}") };
    assert!((first - second).abs() < 0.05 * first && (second - third).abs() < 0.05 * first, "{cycles:?}");
}

/// What else runs, or ran before, is nothing to a core.
#[test]
fn a_program_takes_as_long_beside_others_as_alone() {
    let place = walk();
    place.write("many.sh", "./walk\nsort many.sh >sorted\n./walk & ls / >listed & ./walk & wait\n./walk\n");
    for core in ["raptor-cove", "zen-4"] {
        let outcome = place.shell(&format!("timewise simulate --core {core} --json out.json -- sh many.sh"));
        assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
        let got: Value = serde_json::from_str(&place.read("out.json")).unwrap();
        let rows = got["by_thread"].as_array().unwrap().iter();
        let walks = rows.filter(|row| row["program"].as_str().unwrap().ends_with("/walk"));
        let walks: Vec<[&Value; 2]> = walks.map(|row| [&row["instructions"], &row["cycles"]]).collect();
        assert_eq!(walks.len(), 4, "{core}: {got}");
        assert!(walks.iter().all(|walk| walk == &walks[0]), "{core}: {walks:?}");
    }
}

/// Processes, the programs that they execute, and threads are told apart.
#[test]
fn threads_are_named_by_program_and_process() {
    let place = walk();
    place.write("two.sh", "(exec ./walk)\nexec ./walk\n");
    let outcome = place.shell("timewise simulate --core boom-4w-tip --json out.json -- sh two.sh");
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    let got: Value = serde_json::from_str(&place.read("out.json")).unwrap();
    // The shell, what it forks, what that executes, and what the shell executes in the end.
    assert_eq!((&got["threads"], &got["programs"], &got["processes"]), (&4.into(), &4.into(), &2.into()));
    let rows = got["by_thread"].as_array().unwrap();
    assert_eq!(sum(&got["by_thread"]), got["cycles"].as_f64().unwrap());
    let ends = |row: &Value, name: &str| row["program"].as_str().unwrap().ends_with(name);
    assert_eq!(rows.iter().filter(|row| ends(row, "/walk") && row["number"] == 1).count(), 2, "{rows:#?}");
    assert!(outcome.stderr.contains("4 threads of 4 programs in 2 processes"), "{}", outcome.stderr);
    let named = outcome.stderr.lines().filter(|line| line.trim_start().starts_with("walk (pid "));
    assert_eq!(named.count(), 2, "{}", outcome.stderr);
    let stored = place.shell("timewise report --format json").stdout;
    assert!(got == serde_json::from_str::<Value>(&stored).unwrap(), "{stored}");
    let verified = place.shell("timewise verify");
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);
}

/// The table was written before the walk: a core that saw that does not wait for memory.
#[test]
fn what_passes_warms_caches() {
    let place = walk();
    let got = simulated(&place, "--skip 350000 --instructions 3000");
    assert_eq!(got["functions"][0]["function"], "walk");
    let events = got["by_instruction"][0]["stack"][0]["events"].as_array().unwrap();
    assert!(events.contains(&"ST-L1".into()) && !events.contains(&"ST-LLC".into()), "{events:?}");
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
    for (options, reason) in [
        ("--core nonesuch", "nonesuch"),
        ("--core walk", "walk"),
        ("--instructions 0 --windows 3", "--windows needs"),
        ("--skip -5", "unexpected argument '-5': no option takes a negative number; see --help\n"),
        (
            "--skipp 5",
            "unexpected argument '--skipp' found; a similar argument exists: '--skip'; see --help\n",
        ),
    ] {
        let outcome = place.shell(&format!("timewise simulate {options} -- ./walk"));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}

/// On a machine of another design nothing is run, and it is said which cores there are.
#[test]
fn native_is_the_core_of_this_machine() {
    let place = Place::new();
    let outcome = place.shell("timewise simulate --core native --json out.json -- true");
    match timewise_target::machine::core().map(timewise_core_model::name_of) {
        Some(name) => {
            assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
            let told: Value = serde_json::from_str(&place.read("out.json")).unwrap();
            assert_eq!(told["core"], name);
        }
        None => {
            assert_eq!(
                (outcome.status, outcome.stderr.lines().count()),
                (Some(125), 1),
                "{}",
                outcome.stderr
            );
            assert!(outcome.stderr.contains("zen-5"), "{}", outcome.stderr);
        }
    }
}

#[test]
fn what_is_neither_program_nor_profile_is_told_what_to_be() {
    let place = walk();
    place.write("text", "no profile\n");
    for (arguments, reason) in [
        ("", "there is nothing to simulate: give -- PROGRAM, or the profile"),
        ("./walk", "'./walk' is no profile; what is to be simulated stands behind --"),
        ("text", "this is not a timewise profile"),
    ] {
        let outcome = place.shell(&format!("timewise simulate {arguments}"));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}

#[test]
fn a_core_that_cannot_be_is_refused_before_anything_runs() {
    let place = Place::new();
    let record = include_str!("../../core-model/processors/raptor-cove.toml");
    place.write("big.toml", record.replace("base_bits = 14", "base_bits = 50"));
    place.write("bad.toml", "[x]\n");
    place.write("nameless.toml", record.replace("name = \"raptor-cove\"", "name = \"\""));
    place.write("port.toml", record.replace("data_ports = [\"04\"", "data_ports = [\"none\""));
    for (file, fault) in [
        ("big.toml", "branches.tage.base_bits is 50: give 1 to 24\n"),
        ("nameless.toml", "name is empty: say what the core is called\n"),
        ("bad.toml", "line 1: unknown field `x`, expected "),
        ("port.toml", "stores.data_ports: there is no port none\n"),
        ("/dev/zero", "line 1: "),
    ] {
        let outcome = place.shell(&format!("timewise simulate --core {file} -- touch ran"));
        assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
        let begin = format!("timewise: '{file}' does not describe a core: {fault}");
        assert!(outcome.stderr.starts_with(&begin), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(!place.path().join("ran").exists());
    }
}

#[test]
fn where_nothing_can_be_written_nothing_is_run() {
    let place = Place::new();
    for (options, reason) in [
        ("-o missing/new.tw", "there is no directory"),
        ("--json missing/all.json", "missing/all.json"),
        ("--json .", "cannot write"),
        ("-o new.tw --json ./new.tw", "the profile itself"),
        ("--trace missing/trace.csv", "missing/trace.csv"),
        ("-o new.tw --trace ./new.tw", "the profile itself"),
        ("--trace trace --from main", "give cycle:N, instruction:N, or an address"),
        ("--trace trace --to cycle:x", "give cycle:N, instruction:N, or an address"),
        ("--from cycle:3", "--trace <FILE>"),
    ] {
        let outcome = place.shell(&format!("timewise simulate {options} -- touch began"));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
    assert_eq!(place.shell("ls").stdout, "");
}

/// What is behind the end of the program is nothing: neither figures nor a gate that holds.
#[test]
fn a_part_behind_the_end_is_no_success() {
    let place = walk();
    let got = simulated(&place, "--skip 99999999999 --compare-profilers");
    assert_eq!((&got["instructions"], &got["class"]), (&0.into(), &Value::Null));
    assert_eq!((&got["accuracy"], &got["events"]), (&Value::Null, &Value::Null));
    let outcome = place.shell("timewise simulate --skip 99999999999 -o new.tw -- ./walk; cp new.tw old.tw");
    let warning = outcome.stderr.lines().find(|line| line.starts_with("warning: the program ended after "));
    assert!(warning.is_some_and(|line| line.ends_with("before the part to simulate")), "{}", outcome.stderr);
    for told in ["CPI", "mostly", "instructions a second"] {
        assert!(!outcome.stderr.contains(told), "{}", outcome.stderr);
    }
    let outcome = place.shell(GATE);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no instruction was simulated in BASE"), "{}", outcome.stderr);
}

const GATE: &str = "timewise diff old.tw new.tw --fail-if 'modelled-cycles>1%'";

/// A table in another order than its own.
#[test]
fn a_growth_of_modelled_cycles_fails_a_gate_and_is_explained() {
    let place = walk();
    let build = "cc -O2 -g -static -DIN_ORDER walk.c -o near";
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/walk.c");
    let outcome = place.shell(&format!("cp '{source}' walk.c && {build}"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for (program, file) in [("near", "old.tw"), ("near", "same.tw"), ("walk", "new.tw")] {
        place.shell(&format!("timewise simulate -q --core boom-4w-tip -o {file} -- ./{program}"));
    }
    let outcome = place.shell(GATE);
    assert_eq!(outcome.status, Some(3), "{}", outcome.stderr);
    for part in ["gate failed", "(exact)", "in walk", "load stall", "walk.c:25", "L1 miss"] {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
    assert!(outcome.stdout.contains("Changes of modelled cycles"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("not modelled: "), "{}", outcome.stdout);
    let outcome = place.shell(&GATE.replace("new.tw", "same.tw").replace("1%", "0%"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place.shell("timewise simulate -q --core boom-4w-tea -o new.tw -- ./walk");
    let outcome = place.shell(GATE);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("not modelled alike"), "{}", outcome.stderr);
}

/// To start it once more could do harm: a server would go for its data again.
#[test]
fn the_command_of_a_program_that_ran_already_is_not_repeated() {
    let place = walk();
    place.shell("timewise count -q -- ./walk");
    let mut profile = place.profile();
    profile.runs[0].exit = timewise_profile::Exit::Unknown;
    profile.save(&place.path().join("attached.tw")).unwrap();
    let again = place.shell("timewise simulate attached.tw");
    assert_eq!((again.status, again.stdout.as_str()), (Some(125), ""), "{}", again.stderr);
    assert!(again.stderr.contains("of a program that ran already"), "{}", again.stderr);
}
