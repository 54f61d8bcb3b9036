//! Under tight limits: the promised status and one line that names the limit, or the work done all the same.

use crate::command::Place;

/// One of them must not take long, but long enough for samples.
const BUSY: &str = "int main(void) { volatile long n = 0; while (n < 100000000) n++; return 0; }";

fn place() -> Place {
    let place = Place::new();
    place.write("busy.c", BUSY);
    assert_eq!(place.shell("cc -O1 busy.c -o busy").status, Some(0));
    place
}

#[test]
fn a_small_stack_is_for_the_program_only() {
    let place = place();
    for verb in ["run", "sample", "count"] {
        let outcome = place.shell(&format!("ulimit -s 64; timewise {verb} -- ./busy"));
        assert_eq!((outcome.status, place.has("profile.tw")), (Some(0), true), "{}", outcome.stderr);
        // Without permission for more, what a busy machine lets so short a program wait is told to be estimated.
        let is_warning = |line: &str| line.starts_with("warning") && !line.contains("waiting is estimated");
        assert!(!outcome.stderr.lines().any(is_warning), "{}", outcome.stderr);
    }
    let outcome = place.shell("ulimit -s 64; timewise sample -- bash -c 'ulimit -s'");
    assert_eq!(outcome.stdout, "64\n");
}

#[test]
fn a_limit_on_files_keeps_the_former_profile() {
    let place = place();
    place.write("profile.tw", "former");
    let outcome = place.shell("ulimit -f 10; timewise sample -- ./busy");
    assert_eq!((outcome.status, outcome.signal), (Some(125), None), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("larger than the limit allows"), "{}", outcome.stderr);
    assert_eq!(place.read("profile.tw"), "former");
    let outcome = place.shell("ulimit -f 10; timewise count -- ./busy");
    assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
    assert!(outcome.stderr.trim_end().ends_with("ulimit -f unlimited"), "{}", outcome.stderr);
    assert!(!place.has("profile.tw.old"));
}

/// As of services that systemd starts with `MemoryDenyWriteExecute=`, and of what these execute.
#[test]
fn a_program_without_code_that_can_be_written_to_runs_on_and_why_it_is_not_counted_is_told() {
    const WHY: &str = "no memory that is both writable and executable";
    let place = place();
    place.write("unfit.c", include_str!("programs/unfit.c"));
    assert_eq!(place.shell("cc unfit.c -o unfit").status, Some(0));
    if place.shell("./unfit unwritable true").status != Some(0) {
        eprintln!("not checked: the kernel does not deny programs that");
        return;
    }
    let executed = place.shell("timewise count -- ./unfit unwritable echo done");
    assert_eq!((executed.status, &*executed.stdout), (Some(0), "done\n"), "{}", executed.stderr);
    assert!(executed.stderr.contains(WHY), "{}", executed.stderr);
    let quiet = place.shell("timewise count --quiet -- ./unfit unwritable echo done").stderr;
    assert!(quiet.lines().count() == 1 && quiet.contains(WHY), "{quiet}");
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let started = place.shell(&format!("./unfit unwritable {timewise} branches -- ./busy"));
    if !started.stderr.contains("cannot open performance events") {
        assert_eq!(started.status, Some(125), "{}", started.stderr);
        assert!(started.stderr.contains(WHY) && started.stderr.lines().count() == 1, "{}", started.stderr);
    }
}

/// A thread too few must be found before a program that would be waited for, or given back, by it is touched.
#[test]
fn without_further_threads_a_program_is_profiled_or_not_started() {
    let place = Place::new();
    place.write(
        "busy.c",
        "#include <stdio.h>\nint main(void) { for (volatile int n = 0; n < 200000000; n++); puts(\"done\"); return 3; }",
    );
    let own = "timeout -k 1 30 setpriv --reuid=65213 --clear-groups prlimit --nproc";
    let copied =
        format!("cc -O1 busy.c -o busy && cp '{}' own && chmod 777 .", env!("CARGO_BIN_EXE_timewise"));
    let built = place.shell(&format!("{copied} && {own}=100 ./busy"));
    if built.status != Some(3) {
        eprintln!("not checked: {}", built.stderr);
        return;
    }
    let mut seen = [0, 0];
    for (verb, most) in
        ["count", "sample", "run"].into_iter().flat_map(|verb| (2..12).map(move |n| (verb, n)))
    {
        let outcome = place.shell(&format!("{own}={most} ./own {verb} -o {verb}.tw -- ./busy"));
        let told = outcome.stderr.lines().filter(|line| line.starts_with("timewise: ")).count();
        let is_whole = match outcome.status {
            Some(3) => outcome.stdout.starts_with("done\n") && told == 0,
            Some(125) => outcome.stdout.is_empty() && told == 1 && outcome.stderr.lines().count() == 1,
            _ => false,
        };
        assert!(is_whole, "{verb} {most}: {:?} {}{}", outcome.status, outcome.stdout, outcome.stderr);
        seen[told] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// What aborts, or waits for ever, in the standard library where a backtrace is asked for.
#[test]
fn without_memory_for_us_a_line_says_so() {
    let place = place();
    let own = env!("CARGO_BIN_EXE_timewise");
    let mut seen = [0, 0];
    for (verb, kilobytes) in
        ["count", "sample"].into_iter().flat_map(|v| [12, 20, 40, 400].map(|n| (v, 1000 * n)))
    {
        let limit = format!("ulimit -d {kilobytes}; export RUST_BACKTRACE=1");
        let outcome = place.shell(&format!("{limit}; timeout -k 1 30 '{own}' {verb} -o {verb}.tw -- ./busy"));
        let told = outcome.stderr.lines().filter(|line| line.starts_with("timewise: ")).count();
        assert_eq!(outcome.status, Some(if told == 0 { 0 } else { 125 }), "{kilobytes} {}", outcome.stderr);
        assert!(told == 0 || outcome.stderr.lines().count() == 1, "{kilobytes} {}", outcome.stderr);
        seen[told] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// As of what `strace -f` executes.
#[test]
fn a_program_that_another_traces_runs_uncounted_and_who_traces_it_is_told() {
    let place = Place::new();
    place.write("traces.c", include_str!("programs/traces.c"));
    assert_eq!(place.shell("cc traces.c -o traces").status, Some(0));
    let outcome = place.shell("timewise count -- ./traces");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let said = format!("was not counted: process {} traces it\n", outcome.stdout.trim());
    assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
}

/// What took a run of the program is kept where there is room.
#[test]
fn a_full_disk_has_the_profile_go_elsewhere() {
    let place = place();
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let run = |verb: &str, temporary: &str| {
        place.shell(&format!(
            "mkdir -p full elsewhere; unshare --mount sh -c 'mount -t tmpfs -o size=64k none full &&
             TMPDIR=$PWD/{temporary} \"$0\" {verb} -o full/a.tw -- ./busy' '{timewise}'"
        ))
    };
    let kept = run("count", "elsewhere");
    if kept.stderr.contains("unshare") || kept.stderr.contains("mount:") {
        eprintln!("not checked: no right to mount");
        return;
    }
    for kept in [kept, run("simulate --instructions 100000", "elsewhere")] {
        assert!(kept.status == Some(125) && kept.stderr.contains("no space is left in"), "{}", kept.stderr);
        let path = kept.stderr.split_once("what was recorded is in '").unwrap().1.split('\'').next().unwrap();
        assert_eq!(place.shell(&format!("timewise report '{path}'")).status, Some(0), "{path}");
    }
    let lost = run("count", "full");
    assert!(
        lost.status == Some(125) && lost.stderr.contains("what was recorded is lost: "),
        "{}",
        lost.stderr
    );
}

#[test]
fn a_limit_on_files_keeps_what_was_exported_or_reported_before() {
    let place = Place::new();
    assert_eq!(place.shell("timewise count -- true").status, Some(0));
    for write in ["export --to csv", "report --format html"] {
        place.write("file", "former");
        let outcome = place.shell(&format!("ulimit -f 10; timewise {write} -o file"));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(2), 1), "{}", outcome.stderr);
        assert_eq!((&place.read("file")[..], place.has("new")), ("former", false), "{write}");
        place.shell(&format!("ulimit -f 10; timewise {write} -o new"));
        assert_eq!(place.shell("ls").stdout, "file\nprofile.tw\n");
    }
}

/// That a file that is too large ends a program, or does not, is the program's affair.
#[test]
fn programs_meet_with_the_limit_on_files_as_without_us() {
    let place = Place::new();
    let write = "bash -c 'head -c 100000 /dev/zero > big; echo $?'";
    for before in ["", "trap '' XFSZ;"] {
        let natively = place.shell(&format!("ulimit -f 10; {before} {write}"));
        let sampled = place.shell(&format!("ulimit -f 10; {before} timewise sample -- {write}"));
        assert_eq!(sampled.stdout, natively.stdout, "{}", sampled.stderr);
        let status = if before.is_empty() { "153\n" } else { "1\n" };
        assert_eq!(sampled.stdout, status, "{}", sampled.stderr);
    }
}

/// Closed descriptors stay closed, ignored signals ignored and blocked ones blocked, which a run-time system changes.
#[test]
fn programs_begin_as_without_us() {
    let place = Place::new();
    place.write(
        "begun.c",
        r#"#include <fcntl.h>
        #include <signal.h>
        #include <stdio.h>
        int main(int count, char **arguments) {
            int closed = 0;
            for (int i = 0; i < 3; i++) closed = 2 * closed + (fcntl(i, F_GETFD) < 0);
            struct sigaction pipe, child;
            sigset_t blocked;
            sigaction(SIGPIPE, 0, &pipe);
            sigaction(SIGCHLD, 0, &child);
            sigprocmask(SIG_BLOCK, 0, &blocked);
            FILE *file = fopen(arguments[1], "w");
            fprintf(file, "%d %d %d %d\n", closed, pipe.sa_handler == SIG_IGN, child.sa_handler == SIG_IGN,
                    sigismember(&blocked, SIGUSR1));
            return fclose(file);
        }"#,
    );
    place.write(
        "blocked.c",
        r#"#include <signal.h>
        #include <unistd.h>
        int main(int count, char **arguments) {
            sigset_t blocked;
            sigemptyset(&blocked);
            sigaddset(&blocked, SIGUSR1);
            sigprocmask(SIG_BLOCK, &blocked, 0);
            return execvp(arguments[1], arguments + 1);
        }"#,
    );
    assert_eq!(place.shell("cc begun.c -o begun && cc blocked.c -o blocked").status, Some(0));
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let mut seen = Vec::new();
    let settings = [
        ("", "<&-"),
        ("trap '' PIPE;", ">&-"),
        ("", "<&- >&- 2>&-"),
        ("env --ignore-signal=CHLD", ""),
        ("./blocked", ""),
    ];
    for (before, after) in settings {
        place.shell(&format!("{before} ./begun natively {after}"));
        for verb in ["run", "count", "sample", "ostrace record"] {
            let outcome = place.shell(&format!("{before} '{timewise}' {verb} -q -- ./begun found {after}"));
            assert_eq!(place.read("found"), place.read("natively"), "{verb} {before} {after}");
            assert_eq!(outcome.status, Some(0), "{verb} {before} {after}: {}", outcome.stderr);
        }
        seen.push(place.read("natively"));
    }
    assert_eq!(seen, ["4 0 0 0\n", "2 1 0 0\n", "7 0 0 0\n", "0 0 1 0\n", "0 0 0 1\n"]);
}

/// Natively it does well without further ones. Neither counting nor what attaches needs any that it may not have.
#[test]
fn a_program_with_as_many_mappings_as_it_may_have_is_counted_and_cannot_be_attached_to() {
    let place = Place::new();
    place.write("mappings.c", include_str!("programs/mappings.c"));
    assert_eq!(place.shell("cc -O1 mappings.c -o mappings").status, Some(0));
    let natively = place.shell("./mappings");
    if natively.status == Some(77) {
        return eprintln!("not checked: it may have very many");
    }
    assert_eq!(natively.stdout, "done 3 5 1.500\n");
    for calls in ["", "--no-calls"] {
        let counted =
            place.shell(&format!("timewise count {calls} -- ./mappings && timewise verify > verified"));
        assert_eq!((counted.status, &counted.stdout), (Some(0), &natively.stdout), "{}", counted.stderr);
        assert!(!counted.stderr.contains("warning"), "{}", counted.stderr);
    }
    let attached = place.shell(
        "mkfifo go; ./mappings wait < go > out & pid=$!; exec 3> go
         until grep -qs ready out || ! kill -0 $pid; do sleep 0.01; done
         timewise count --pid $pid --for 1s; echo $?; echo >&3; wait $pid && tail -n1 out",
    );
    assert_eq!(attached.stdout, format!("126\n{}", natively.stdout), "{}", attached.stderr);
    assert!(attached.stderr.contains("sysctl vm.max_map_count="), "{}", attached.stderr);
}

/// Until then it is counted, and that it is not any more is told.
#[test]
fn a_program_that_has_all_the_memory_that_it_may_have_runs_on() {
    let place = Place::new();
    place.write("data.c", include_str!("programs/data.c"));
    assert_eq!(place.shell("cc -O1 data.c -o data").status, Some(0));
    let script = |before: &str| place.shell(&format!("(ulimit -d 400000; {before} ./data)"));
    let (natively, counted) = (script(""), script("timewise count -- "));
    assert_eq!(natively.stdout, "done 1.500\n");
    assert_eq!((counted.status, &counted.stdout), (Some(0), &natively.stdout), "{}", counted.stderr);
    assert!(counted.stderr.contains("was given no more memory"), "{}", counted.stderr);
}

#[test]
fn too_little_address_space_for_tracing() {
    let outcome = place().shell("ulimit -v 1000000; timewise branches -- ./busy");
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(125), 1), "{}", outcome.stderr);
    assert!(outcome.stderr.trim_end().ends_with("ulimit -v unlimited"), "{}", outcome.stderr);
}

/// Where the limit cannot be raised either, as in most containers.
#[test]
fn a_limit_on_addresses_leaves_room_for_paths_or_is_named() {
    let place = place();
    // Others than the superuser have no such right to give up.
    let unprivileged =
        "$([ $(id -u) != 0 ] || echo setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource)";
    let count = |limit: u32| {
        let own = env!("CARGO_BIN_EXE_timewise");
        place.shell(&format!("ulimit -v {limit}; {unprivileged} {own} paths -- ./busy"))
    };
    let outcome = count(3_000_000);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let outcome = count(1_048_576);
    assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
    assert!(outcome.stderr.trim_end().ends_with("ulimit -v unlimited"), "{}", outcome.stderr);
}

#[test]
fn too_few_descriptors() {
    let place = place();
    for (verb, descriptors) in [6, 8, 9].into_iter().flat_map(|few| [("run", few), ("branches", few)]) {
        let outcome = place.shell(&format!("ulimit -n {descriptors}; timewise {verb} -- ./busy"));
        let limit_is_met = outcome.stderr.contains("Too many open files");
        if !limit_is_met && outcome.stderr.contains("cannot open performance events") {
            continue;
        }
        assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
        assert!(outcome.stderr.trim_end().ends_with("ulimit -n 1024"), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}

/// As workers of servers may, of a user of their own, whose limits the system tells to few.
#[test]
fn another_users_program_that_may_have_few_descriptors_is_traced() {
    let place = Place::new();
    let outcome = place.shell(&format!(
        "chmod 777 .; user='setpriv --reuid=65534 --regid=65534 --clear-groups'
         $user true && setpriv --bounding-set=-sys_resource true || exit 99
         (ulimit -n 400; exec $user sh -c 'while :; do :; done') & pid=$!; trap 'kill $pid' EXIT
         until [ \"$(ps -o uid=,comm= $pid | xargs)\" = '65534 sh' ] || ! kill -0 $pid; do sleep 0.01; done
         setpriv --bounding-set=-sys_resource '{}' branches --pid $pid --for 300ms -F 1000",
        env!("CARGO_BIN_EXE_timewise")
    ));
    // Where events are refused, that is not for their number.
    let is_refused = outcome.stderr.contains("cannot open performance events")
        && !outcome.stderr.contains("Invalid argument");
    if outcome.status == Some(99) || is_refused {
        return eprintln!("not checked: {}", outcome.stderr);
    }
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

/// As in some containers.
#[test]
fn a_machine_where_proc_is_read_only() {
    let place = Place::new();
    if place.shell("unshare --mount mount -o remount,bind,ro /proc").status != Some(0) {
        eprintln!("not checked: no right to mount");
        return;
    }
    let own = |before: &str, arguments: &str| {
        let timewise = env!("CARGO_BIN_EXE_timewise");
        place.shell(&format!(
            "unshare --mount sh -c 'mount -o remount,bind,ro /proc && {before} exec \"$0\" {arguments}' '{timewise}'"
        ))
    };
    let counted = own("", "count -- true");
    assert_eq!((counted.status, place.has("profile.tw")), (Some(0), true), "{}", counted.stderr);
    for before in ["", "mount -t tmpfs none /dev &&"] {
        assert!(own(before, "doctor").stdout.contains("exact counting        yes"), "{before}");
    }
}

/// The doctor tries what counting does, and tells what stands in its way.
#[test]
fn a_machine_that_lacks_what_counting_needs() {
    let place = Place::new();
    let found = place.shell("ulimit -f 10; timewise doctor --json").stdout;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let counting = &found["abilities"][0];
    assert_eq!((&counting["name"], &counting["available"]), (&"exact counting".into(), &false.into()));
    let cause = counting["cause"].as_str().unwrap();
    assert!(cause.ends_with("; allow larger files: ulimit -f unlimited"), "{cause}");
    assert_eq!(place.shell("ulimit -f 10; timewise count -- true").stderr, format!("timewise: {cause}\n"));
}

/// Then libraries begin at a third of the addresses.
#[test]
fn a_program_that_is_laid_out_the_legacy_way() {
    let place = Place::new();
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let outcome = place.shell(&format!(
        "setarch -L true || exit 99; setarch -L '{timewise}' count --quiet -- true; echo $?
         setarch -L sleep 1h & trap 'kill $!' EXIT; until [ \"$(ps -o comm= $!)\" = sleep ]; do sleep 0.01; done
         timewise count --quiet --pid $! --for 1s; echo $?"
    ));
    if outcome.status == Some(99) {
        return eprintln!("not checked: no right to change the layout");
    }
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("0\n0\n", ""));
}

/// As in a bare `chroot`.
#[test]
fn a_machine_without_proc() {
    let place = Place::new();
    if place.shell("unshare --mount true").status != Some(0) {
        eprintln!("not checked: no right to unmount /proc");
        return;
    }
    for verb in ["run", "sample", "count"] {
        let timewise = env!("CARGO_BIN_EXE_timewise");
        let hide = "mount -t tmpfs none /proc &&";
        let outcome =
            place.shell(&format!("unshare --mount sh -c '{hide} exec \"$0\" {verb} -- true' '{timewise}'"));
        assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
        let says = "timewise: cannot observe true: there is no /proc; mount it: mount -t proc proc /proc\n";
        assert_eq!(outcome.stderr, says);
    }
}
