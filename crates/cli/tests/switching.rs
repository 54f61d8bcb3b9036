//! C programs that switch branch tracing of themselves on and off (`crates/control`): whatever they do with children, signals
//! and descriptors meanwhile goes as it would without.

use crate::command::{Outcome, Place};
use timewise_profile::Profile;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What a program ends with that must not be traced here.
const SKIPPED: i32 = 77;

/// A place where the repository and what is built of it lie as the documentation has it.
fn place() -> Place {
    let place = Place::new();
    // The library is built for this test, beside it.
    let built = std::env::current_exe().unwrap();
    let built = built.parent().unwrap().display();
    let outcome = place.shell(&format!(
        "mkdir target && ln -s '{built}' target/release && ln -s '{REPOSITORY}/crates' crates"
    ));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place
}

/// Runs a script in which programs find the command under test.
fn shell(place: &Place, script: &str) -> Outcome {
    place.shell(&format!("export TIMEWISE='{}'; {script}", env!("CARGO_BIN_EXE_timewise")))
}

/// What a program of `programs/switching.c` comes to; `None` if it must not be traced.
fn switching(place: &Place, case: &str) -> Option<Outcome> {
    let outcome = shell(
        place,
        &format!(
            "cc -O1 -g -pthread -Icrates/control/include crates/cli/tests/programs/switching.c \
             target/release/libtimewise_control.a -o switching && ./switching {case}"
        ),
    );
    if outcome.status == Some(SKIPPED) {
        eprintln!("skipped: the system does not let us attach, or refuses events");
        return None;
    }
    assert_eq!((outcome.status, outcome.signal), (Some(0), None), "{case}: {}", outcome.stderr);
    Some(outcome)
}

fn assert_has_branches(place: &Place, name: &str) {
    assert!(!Profile::load(&place.path().join(name)).unwrap().taken_branches.is_empty(), "{name}");
}

/// A test for each way.
macro_rules! undisturbed {
    ($($name:ident: $case:literal)*) => {
        $(#[test]
        fn $name() {
            switching(&place(), $case);
        })*
    };
}

undisturbed! {
    a_program_that_waits_for_any_child_has_none: "waits"
    a_program_may_ignore_that_children_end: "ignores"
    no_child_is_told_to_a_handler: "handles"
    a_program_may_reap_any_child_at_any_moment: "reaps"
    an_orphan_that_a_program_must_adopt_is_reaped: "adopts"
    a_fork_while_another_thread_switches_is_not_locked_out: "forks-meanwhile"
    a_path_may_begin_with_a_dash: "begins-with-dash"
    error_number_and_signal_mask_are_kept: "keeps-errno-and-mask"
    the_tracer_is_not_bound_as_the_thread_is: "is-bound"
    a_thread_is_cancelled_behind_the_calls: "is-cancelled"
    handlers_run_in_the_program_alone: "is-signalled"
    standard_descriptors_may_be_closed: "closes-standard-descriptors"
    a_tracer_that_is_killed_gives_the_program_back_and_is_waited_for: "kills"
    descriptors_have_the_numbers_that_they_would_have: "opens"
}

#[test]
fn a_forked_process_is_another() {
    let place = place();
    if switching(&place, "forks").is_some() {
        assert_has_branches(&place, "own.tw");
        assert_has_branches(&place, "child.tw");
    }
}

#[test]
fn what_cannot_be_executed_is_told() {
    let place = place();
    place.write("data", "");
    place.write_executable("senseless", [0; 100]);
    switching(&place, "refused");
}

#[test]
fn the_tracer_ends_with_the_program() {
    let place = place();
    if let Some(outcome) = switching(&place, "exits") {
        let tracer = outcome.stdout.trim();
        let waited = place.shell(&format!(
            "for i in {{1..300}}; do grep -qs '^State:.[^ZX]' /proc/{tracer}/status || exit 0; sleep 0.1; done; exit 1"
        ));
        assert_eq!(waited.status, Some(0), "{tracer}");
    }
}

/// The lines of the documentation that have something executed, by how they begin.
fn documented(beginning: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{REPOSITORY}/docs/branches.md")).unwrap();
    let (_, section) = text.split_once("## From within a program").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
    lines.filter(|line| line.starts_with(beginning)).map(String::from).collect()
}

#[test]
fn programs_are_linked_as_documented() {
    let lines = documented("cc ");
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        let place = place();
        place.write("server.c", include_str!("programs/server.c"));
        let outcome = shell(&place, &format!("set -e; {line}; ./server"));
        if outcome.status == Some(1) && outcome.stderr.contains("cannot") {
            return eprintln!("skipped: {}", outcome.stderr);
        }
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{line}");
        assert_has_branches(&place, "branches.tw");
    }
}

/// It is preloaded into the tracer, too, unless that is prevented, which would be traced by another then.
#[test]
fn a_library_is_preloaded_as_documented() {
    let lines = documented("LD_PRELOAD");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let place = place();
    place.write("server.c", "int main(void) { for (volatile int i = 0; i < 200000000; i++) {} return 0; }");
    place.write("begin.c", include_str!("programs/preloaded.c"));
    let outcome = shell(
        &place,
        &format!("set -e; cc -O1 server.c -o server; cc -shared -fPIC begin.c -o begin.so; {}", lines[0]),
    );
    if outcome.stderr.contains("cannot be attached") || outcome.stderr.contains("cannot open") {
        return eprintln!("skipped: {}", outcome.stderr);
    }
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert_has_branches(&place, "branches.tw");
}
