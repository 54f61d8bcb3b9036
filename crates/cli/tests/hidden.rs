//! `--pid` of programs that hide while they are observed, or have processes that do: they are given back all the same, or
//! it is told that they are not.

use crate::command::{MEANWHILE, Place, TRACES, assert_unharmed, build};

const TIMEWISE: &str = env!("CARGO_BIN_EXE_timewise");

/// A function of the shell that waits until the program says something.
const SAYS: &str = "says() { until grep -qs $1 out || ! kill -0 $pid; do sleep 0.01; done; }\n";

/// All of them are number 1 where they are, and that is somebody else's here.
#[test]
fn processes_in_pid_namespaces_of_their_own_are_given_back_with_their_parent() {
    let place = Place::new();
    build(&place, "slips_away.c");
    let outcome = place.shell(&format!(
        "{MEANWHILE} {SAYS} ./slips_away namespaces > out & pid=$!; failed=0; says ready
         observe count; kill -USR1 $pid; says '[0-9]' || exit 77
         children=$(tail -n1 out); for one in $children; do (pid=$one; worked 10); done
         leave && timewise verify || failed=1
         for one in $pid $children; do grep -E '{TRACES}' /proc/$one/maps && failed=2; done
         disperse; ended=$?; echo $children; [ $ended = 0 ] || exit $ended; exit $failed"
    ));
    // Only root may make namespaces.
    if outcome.status == Some(77) {
        return;
    }
    assert_unharmed(&outcome);
    assert_eq!(outcome.stdout.lines().last().unwrap().split(' ').count(), 2, "{}", outcome.stdout);
    assert!(!outcome.stderr.contains("warning:"), "{}", outcome.stderr);
    let numbers: Vec<u32> = place.profile().processes.iter().map(|process| process.pid).collect();
    assert_eq!(numbers.iter().filter(|&&number| number == 1).count(), 2, "{numbers:?}");
}

#[test]
fn a_process_in_a_pid_namespace_of_its_own_that_outlives_the_program_is_told_of() {
    let place = Place::new();
    build(&place, "slips_away.c");
    let outcome = place.shell(
        "mkfifo in; timewise count -- ./slips_away outlived < in & exec 3> in; wait $!; status=$?
         exec 3>&-; exit $status",
    );
    if outcome.status == Some(77) {
        return;
    }
    assert_unharmed(&outcome);
    let said = "1 of the program's processes still ran when it ended";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}

/// Only root may trace what has made itself private since.
#[test]
fn a_program_that_makes_itself_private_meanwhile_is_told_to_run_on_under_count() {
    let place = Place::new();
    build(&place, "slips_away.c");
    for (command, is_told_of_turns) in [("count --for 1h", false), ("run --for 6s", true)] {
        let outcome = place.shell(&format!(
            "{MEANWHILE} {SAYS} [ $(id -u) = 0 ] || exit 77
             user='setpriv --reuid=65534 --regid=65534 --clear-groups'; $user true || exit 77
             chmod 777 .; cp '{TIMEWISE}' observer; rm -f out
             $user ./slips_away private > out & pid=$!; trap 'kill -KILL $pid' EXIT; says ready
             $user ./observer {command} -o of.tw --pid $pid & own=$!
             until [ \"$(ours)\" ] || ! kill -0 $own; do sleep 0.01; done
             kill -USR1 $pid; says private
             case '{command}' in count*) kill $own; esac; wait $own; status=$?
             [ \"$(ours)\" ] || echo 'given back'
             disperse; ended=$?; echo $pid; [ $ended = 0 ] && exit $status"
        ));
        if outcome.status == Some(77) || outcome.stderr.contains("ptrace_scope") {
            return;
        }
        assert_unharmed(&outcome);
        assert!(!outcome.stdout.contains("given back"), "{command}: {}", outcome.stdout);
        // The one that is shown as a table is broken into lines.
        let said = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let who = format!("process {} runs on under count", outcome.stdout.lines().last().unwrap());
        assert_eq!(said.matches(&who).count(), 1, "{command}: {said}");
        assert_eq!(said.contains("some turns are missing"), is_told_of_turns, "{command}: {said}");
    }
}

/// It hides what it has mapped as well, but executes nothing of ours by then.
#[test]
fn a_setuid_program_that_is_executed_meanwhile_is_not_told_to_run_on_under_count() {
    let place = Place::new();
    let outcome = place.shell(&format!(
        "{MEANWHILE} [ $(id -u) = 0 ] || exit 77
         user='setpriv --reuid=65534 --regid=65534 --clear-groups'; $user true || exit 77
         chmod 777 .; cp '{TIMEWISE}' observer; cp /bin/sleep as_root; chmod 4755 as_root
         $user bash -c 'until [ -s go ]; do :; done; ./as_root 60 & echo $! > made; while :; do :; done' & pid=$!
         trap 'kill -KILL $pid $(cat made)' EXIT; worked 1
         $user ./observer count --pid $pid --for 1h & own=$!
         until [ \"$(ours)\" ] || ! kill -0 $own; do sleep 0.01; done; echo go > go
         until [ -s made ] && grep -qs as_root /proc/$(cat made)/comm || ! kill -0 $own; do sleep 0.01; done
         leave; status=$?; [ \"$(ps -o euid= $(cat made) | xargs)\" = 0 ] || exit 77; exit $status"
    ));
    // Where setuid is not heeded, nothing is hidden.
    if outcome.status == Some(77) || outcome.stderr.contains("ptrace_scope") {
        return;
    }
    assert_unharmed(&outcome);
    assert!(outcome.stderr.contains("it is setuid or setgid"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("under count"), "{}", outcome.stderr);
}
