//! `--pid`: a program that has mapped what counting needs below 2 GiB is counted all the same, from another place there.

use crate::command::{MEANWHILE, Place, assert_counted_meanwhile, assert_unharmed, build};

/// What is mapped below 4 GiB, and where the runtime is to be then: a page of what it has by default, what Java 25 may
/// reserve for its classes, and what lies at the end of it and at a fixed address in Wine.
const TAKEN: [(&str, &str); 3] =
    [("78000000-78001000", "7dff0000"), ("600d0000-a0000000", "5e0c0000"), ("7a000000-7fff0000", "77ff0000")];

/// Checks with each of them: with functions of the shell for a program that has `$taken` mapped, `$pid`.
fn with_each(check: impl Fn(&Place, &str)) {
    for (taken, lies) in TAKEN {
        let place = Place::new();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/takes.c");
        let built = place.shell(&format!("cc -O1 -shared -fPIC '{source}' -o takes.so"));
        assert_eq!(built.status, Some(0), "{}", built.stderr);
        let functions = format!(
            "{MEANWHILE} taken={taken}
             taking() {{ TAKEN=$taken LD_PRELOAD=./takes.so exec \"$@\"; }}
             # What it has mapped below 4 GiB.
             low() {{ grep -E '^[0-9a-f]{{8}}-' /proc/$pid/maps; }}
             # Whether the runtime is where it is to be, and nowhere else.
             is_there() {{ low | grep -q '^{lies}-' && [ \"$(low | grep -c rwxp)\" = 1 ]; }}
"
        );
        check(&place, &functions);
    }
}

#[test]
fn counts_are_exact_where_the_runtime_lies_elsewhere() {
    with_each(|place, functions| {
        let around = ["before=$(low)", "is_there", "[ \"$(low)\" = \"$before\" ]"];
        assert_counted_meanwhile(place, [functions, "taking"], around);
    });
}

/// Signals, threads, and processes that are forked and executed meanwhile.
#[test]
fn a_crowd_is_unharmed_where_the_runtime_lies_elsewhere() {
    with_each(|place, functions| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/torture/crowd.c");
        let outcome = place.shell(&format!(
            "{functions} cc -O1 -g -pthread '{source}' -o crowd
             export TAKEN=$taken LD_PRELOAD=./takes.so; crowd; unset LD_PRELOAD; failed=0; before=$(low)
             for options in '' --no-calls; do
               observe count $options; worked 20; is_there || failed=1; leave && timewise verify || failed=1
               [ \"$(low)\" = \"$before\" ] || failed=1
             done
             disperse && exit $failed"
        ));
        assert_unharmed(&outcome);
        assert_eq!(outcome.stderr.matches("exact").count(), 2, "{}", outcome.stderr);
    });
}

/// These are made by an instruction at an address of the runtime's below 2 GiB.
#[test]
fn system_calls_come_to_the_program_that_is_attached_to_elsewhere() {
    with_each(|place, functions| {
        build(place, "dispatches.c");
        let outcome = place.shell(&format!(
            "{functions} taking ./dispatches > out & pid=$!; failed=0
             trap 'kill -KILL $pid' EXIT; until grep -qs . out || ! kill -0 $pid; do sleep 0.01; done
             grep -q ready out || {{ trap - EXIT; cat out; exit; }}
             before=$(low); observe count; worked 20; is_there || failed=1; leave && timewise verify || failed=1
             [ \"$(low)\" = \"$before\" ] || failed=1; worked 5; disperse && exit $failed"
        ));
        if outcome.stdout != "not told\n" {
            assert_unharmed(&outcome);
        }
    });
}
