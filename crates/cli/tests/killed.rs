//! `timewise` killed while it takes a program over that was just executed: the program does what it would natively.

use crate::command::Place;

/// What is counted: a shell that has a program executed, and writes how that ended.
const SHELL: &str = "./as_it_began > out; echo $? >> out; : > done";

/// Killed before each request by which a thread is traced, from the first on. The shell runs on under count, and the
/// program natively or under count.
#[test]
fn at_whichever_request_it_is_killed_the_program_goes_on() {
    let place = Place::new();
    place.write("as_it_began.c", include_str!("programs/as_it_began.c"));
    place.write("killed_midway.c", include_str!("programs/killed_midway.c"));
    let built = place.shell("cc as_it_began.c -o as_it_began && cc killed_midway.c -o killed_midway");
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let native = place.shell(&format!("{SHELL}; cat out; rm out done"));
    assert!(native.stdout.ends_with("began\n7\n"), "{}", native.stdout);
    for request in 1.. {
        // The shell is nobody's child any more: that it is done is told by its file.
        let killed = place.shell(&format!(
            "./killed_midway {request} '{}' count -- sh -c '{SHELL}' < /dev/null > /dev/null 2> said; status=$?
             for i in {{1..3000}}; do [ -e done ] && break; sleep 0.02; done
             cat out; cat said >&2; rm -f out done; exit $status",
            env!("CARGO_BIN_EXE_timewise"),
        ));
        assert_eq!(killed.stdout, native.stdout, "killed at request {request}: {}", killed.stderr);
        if killed.status == Some(3) {
            assert!(request > 20, "it was seldom killed: {request}");
            return;
        }
        assert_eq!(killed.status, Some(0), "{}", killed.stderr);
    }
}
