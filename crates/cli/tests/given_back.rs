//! `--pid` of a program that the keeper of a killed `timewise` has yet to give back: that is waited for.

use crate::command::{MEANWHILE, Place, TRACES};

const TIMEWISE: &str = env!("CARGO_BIN_EXE_timewise");

/// Functions of the shell for a keeper that is slow.
const SLOWLY: &str = "
    # Kills what observes the program, whose keeper then stands in the middle of its work.
    kill_slowly() {
        keeper=$(pgrep -x -P $own tw-keeper); kill -STOP $keeper
        until grep -sq '^State:.T' /proc/$keeper/status; do sleep 0.01; done
        kill -KILL $own; wait $own
    }
    # Waits until a command has looked at something again and again, or ended.
    looked() {
        local switches
        until ! kill -0 $1 2> /dev/null; do
            switches=$(sed -sn 's/^voluntary_ctxt_switches:.//p' \\
                $(printf '/proc/%s/task/*/status ' $1 $(pgrep -P $1)) 2> /dev/null | sort -n | tail -n1)
            [ 0$switches -lt 100 ] || return 0; sleep 0.01
        done
        return 1
    }
    # It ends when it has given the program back.
    gone() { while grep -sq '^State:.[^ZX]' /proc/$1/status; do sleep 0.01; done; }
";

fn crowd() -> Place {
    let place = Place::new();
    let source = format!("{}/../../suite/torture/crowd.c", env!("CARGO_MANIFEST_DIR"));
    let built = place.shell(&format!("cc -O1 -g -pthread '{source}' -o crowd"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    place
}

#[test]
fn whoever_comes_while_a_program_is_given_back_waits() {
    let place = crowd();
    for (before, next) in [
        ("count", "count"),
        ("count", "sample"),
        ("branches -F 1000", "count"),
        ("count", "branches -F 1000"),
        ("paths", "run"),
    ] {
        let outcome = place.shell(&format!(
            "{MEANWHILE} {SLOWLY} crowd quiet; failed=0
             observe {before} -o before.tw; worked 10; kill_slowly
             '{TIMEWISE}' {next} -o next.tw --pid $pid --for 1s & next=$!
             looked $next || failed=1
             kill -CONT $keeper; wait $next || failed=$((failed + 2)); gone $keeper
             grep -E '{TRACES}' /proc/$pid/maps && failed=$((failed + 4))
             disperse && exit $failed"
        ));
        if ["cannot open performance events", "lets us sample with no clock"]
            .iter()
            .any(|refused| outcome.stderr.contains(refused))
        {
            continue;
        }
        assert_eq!(outcome.status, Some(0), "{before}, {next}: {}\n{}", outcome.stdout, outcome.stderr);
        assert!(place.has("before.tw") && place.has("next.tw"), "{before}, {next}");
    }
}

#[test]
fn what_is_not_given_back_in_time_is_told_in_a_line() {
    let place = crowd();
    let outcome = place.shell(&format!(
        "{MEANWHILE} {SLOWLY} crowd quiet > /dev/null; observe count; worked 10; kill_slowly
         others=
         for command in run count sample branches paths; do
           '{TIMEWISE}' $command -o $command.tw --pid $pid --for 1s 2> $command & others+=\" $!\"
         done
         for other in $others; do wait $other; echo $?; done
         kill -CONT $keeper; gone $keeper; disperse || echo harmed"
    ));
    assert_eq!(outcome.stdout, "126\n".repeat(5), "{}", outcome.stderr);
    for command in ["run", "count", "sample", "branches", "paths"] {
        let said = place.read(command);
        assert!(said.contains("still gives it back") && said.lines().count() == 1, "{command}: {said}");
    }
}

/// At whichever moment it is killed, and however soon somebody else comes.
#[test]
fn a_program_is_attached_to_right_behind_a_timewise_that_was_killed() {
    let place = crowd();
    let outcome = place.shell(&format!(
        "{MEANWHILE} crowd quiet; failed=0; times=0
         for moment in 0 0.03 0.1 0.3; do
           for command in count branches; do
             setsid '{TIMEWISE}' $command -o before.tw --pid $pid --for 1h 2> /dev/null & own=$!
             sleep $moment; kill -KILL $own; wait $own
             '{TIMEWISE}' count -o next.tw --pid $pid --for 50ms || failed=1
             timewise verify next.tw || failed=2; times=$((times + 1))
           done
         done
         disperse; ended=$?; echo $times; [ $ended = 0 ] && exit $failed"
    ));
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stdout.lines().last(), Some("8"));
    assert!(!outcome.stderr.contains("runs on under count"), "{}", outcome.stderr);
}
