//! Programs that a service manager passes sockets to find that these are meant for them, though it started `timewise`.

use crate::command::Place;

/// Writes down that what is passed is meant for it, and there, and what it finds that is meant for another: what is said in
/// a second run is not shown.
const PROGRAM: &str =
    "[ \"$LISTEN_PID\" = $$ ] && [ -e /proc/$$/fd/3 ] && echo \"$LISTEN_FDS $WATCHDOG_PID\" >> said; :";

#[test]
fn what_is_passed_to_us_is_passed_on_to_the_program() {
    let place = Place::new();
    place.write("program", PROGRAM);
    let timewise = env!("CARGO_BIN_EXE_timewise");
    for (verb, runs) in
        [("count", 1), ("sample", 1), ("run", 2), ("branches", 1), ("paths", 2), ("simulate", 1)]
    {
        let outcome = place.shell(&format!(
            "export LISTEN_FDS=1 LISTEN_PID=$$ WATCHDOG_PID=1; rm -f said; exec 3< program
             exec '{timewise}' {verb} -- sh program"
        ));
        if outcome.stderr.contains("cannot open performance events") {
            continue;
        }
        assert_eq!(outcome.status, Some(0), "{verb}: {}", outcome.stderr);
        assert_eq!(place.read("said"), "1 1\n".repeat(runs), "{verb}");
    }
}

#[test]
fn a_profile_does_not_say_what_was_meant_for_one_process() {
    let place = Place::new();
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let script =
        format!("export LISTEN_FDS=1 LISTEN_PID=$$ WATCHDOG_USEC=5; exec '{timewise}' count -- true");
    assert_eq!(place.shell(&script).status, Some(0));
    let environment = &place.profile().runs[0].environment;
    let is_there = |wanted: &str| environment.iter().any(|(name, _)| name == wanted.as_bytes());
    let found = ["LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC"].map(is_there);
    assert_eq!(found, [true, false, false]);
}

#[test]
fn what_is_meant_for_another_process_is_left_as_it_is() {
    let place = Place::new();
    let script = "export LISTEN_FDS=1 LISTEN_PID=1; timewise count -- sh -c 'echo $LISTEN_PID'";
    assert_eq!(place.shell(script).stdout, "1\n");
}
