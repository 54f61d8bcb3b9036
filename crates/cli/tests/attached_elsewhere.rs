//! `--pid`: a program that has mapped what counting needs below 2 GiB is counted all the same, from another place there.

use crate::command::{MEANWHILE, Place, assert_unharmed, build};
use serde_json::Value;

/// What is mapped below 4 GiB, and where the runtime is to be then: a page of what it has by default, what Java 25 may
/// reserve for its classes, and what lies at the end of it and at a fixed address in Wine.
const TAKEN: [(&str, &str); 3] =
    [("78000000-78001000", "7dff0000"), ("600d0000-a0000000", "5e0c0000"), ("7a000000-7fff0000", "77ff0000")];

/// Functions of the shell for a program that has them mapped, `$pid`.
fn taking(place: &Place, (taken, lies): (&str, &str)) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/takes.c");
    let built = place.shell(&format!("cc -O1 -shared -fPIC '{source}' -o takes.so"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    format!(
        "{MEANWHILE} taking() {{ TAKEN={taken} LD_PRELOAD=./takes.so exec \"$@\"; }}
         # What it has mapped below 4 GiB.
         low() {{ grep -E '^[0-9a-f]{{8}}-' /proc/$pid/maps; }}
         # Whether the runtime is where it is to be, and nowhere else.
         is_there() {{ low | grep -q '^{lies}-' && [ \"$(low | grep -c rwxp)\" = 1 ]; }}
"
    )
}

#[test]
fn counts_are_exact_where_the_runtime_lies_elsewhere() {
    for taken in TAKEN {
        let place = Place::new();
        build(&place, "rounds.c");
        let outcome = place.shell(&format!(
            "{} set -e; mkfifo in; taking ./rounds < in > out & pid=$!; exec 3> in
             answered() {{ until [ \"$(tail -qn1 out 2> /dev/null)\" = $1 ]; do sleep 0.01; done; }}
             echo 1000 >&3; answered 1000; before=$(low)
             observe count; echo 123456 >&3; answered 124456; failed=0; is_there || failed=1; leave
             [ $failed = 0 ]; [ \"$(low)\" = \"$before\" ]; echo 5 >&3; answered 124461
             exec 3>&-; wait $pid; timewise verify",
            taking(&place, taken)
        ));
        assert_unharmed(&outcome);
        assert!(outcome.stderr.contains("exact"), "{}", outcome.stderr);
        let report = place.shell("timewise report --by function --format json");
        let report: Value = serde_json::from_str(&report.stdout).unwrap();
        let step = report["rows"].as_array().unwrap().iter().find(|row| row["function"] == "step").unwrap();
        assert_eq!(step["calls"], 123_456, "{step}");
    }
}

/// Signals, threads, and processes that are forked and executed meanwhile.
#[test]
fn a_crowd_is_unharmed_where_the_runtime_lies_elsewhere() {
    for taken in TAKEN {
        let place = Place::new();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/torture/crowd.c");
        let outcome = place.shell(&format!(
            "{} cc -O1 -g -pthread '{source}' -o crowd
             export TAKEN={} LD_PRELOAD=./takes.so; crowd; unset LD_PRELOAD; failed=0; before=$(low)
             for options in '' --no-calls; do
               observe count $options; worked 20; is_there || failed=1; leave && timewise verify || failed=1
               [ \"$(low)\" = \"$before\" ] || failed=1
             done
             disperse && exit $failed",
            taking(&place, taken),
            taken.0
        ));
        assert_unharmed(&outcome);
        assert_eq!(outcome.stderr.matches("exact").count(), 2, "{}", outcome.stderr);
    }
}

/// These are made by an instruction at an address of the runtime's below 2 GiB.
#[test]
fn system_calls_come_to_the_program_that_is_attached_to_elsewhere() {
    for taken in TAKEN {
        let place = Place::new();
        build(&place, "dispatches.c");
        let outcome = place.shell(&format!(
            "{} taking ./dispatches > out & pid=$!; failed=0
             trap 'kill -KILL $pid' EXIT; until grep -qs . out || ! kill -0 $pid; do sleep 0.01; done
             grep -q ready out || {{ trap - EXIT; cat out; exit; }}
             before=$(low); observe count; worked 20; is_there || failed=1; leave && timewise verify || failed=1
             [ \"$(low)\" = \"$before\" ] || failed=1; worked 5; disperse && exit $failed",
            taking(&place, taken)
        ));
        if outcome.stdout != "not told\n" {
            assert_unharmed(&outcome);
        }
    }
}
