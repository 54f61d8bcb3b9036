//! `timewise branches`: programs that run already, threads that block all signals, and what is not traced.

use crate::command::{MEANWHILE, Outcome, Place, locked, locks};

/// Whatever a process that is traced has mapped, or opened.
const TRACES: &str = "^4[0-9a-f]{11}-|memfd:timewise";

fn build(place: &Place, source: &str, program: &str) {
    let folder = env!("CARGO_MANIFEST_DIR");
    let built = place.shell(&format!("cc -O1 -g -pthread '{folder}/{source}' -o {program}"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
}

/// Whether events are refused here, which is no fault.
fn refused(outcome: &Outcome) -> bool {
    outcome.stderr.contains("cannot open performance events")
}

/// How often branches of a program were seen.
fn seen_in(place: &Place, program: &str) -> u64 {
    let profile = place.profile();
    let is_its = |at: timewise_profile::Place| {
        profile.modules[at.module.index()].path.ends_with(format!("/{program}").as_bytes())
    };
    profile.taken_branches.iter().filter(|branch| is_its(branch.from)).map(|branch| branch.count).sum()
}

#[test]
fn a_program_that_runs_is_traced_for_a_while_and_left_as_it_was() {
    let place = Place::new();
    build(&place, "../../suite/torture/crowd.c", "crowd");
    let outcome = place.shell(&format!(
        "{MEANWHILE} crowd quiet; failed=0
         for i in 1 2; do
           observe branches -F 1000; worked 100
           # None of it is in a dump, which would have all of it made that is only reserved.
           awk '/^[0-9a-f]+-[0-9a-f]+ / {{ own = $1 ~ /^4/ && length($1) == 25 }}
             own && /^VmFlags/ && !/ dd/' \
             /proc/$pid/smaps | grep . && failed=4
           leave || failed=1
           grep -E '{TRACES}' /proc/$pid/maps && failed=2
           ls -l /proc/$pid/fd | grep perf_event && failed=3
         done
         disperse && exit $failed"
    ));
    if refused(&outcome) {
        return;
    }
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    assert!(!outcome.stderr.contains("stays in the program's memory"), "{}", outcome.stderr);
    assert!(seen_in(&place, "crowd") > 100, "{}", outcome.stderr);
}

/// A worker that runs already, and one that its server makes meanwhile.
#[test]
fn workers_of_a_process_that_runs_are_traced_if_that_is_asked_for() {
    let place = Place::new();
    build(&place, "tests/programs/workers.c", "workers");
    let outcome = place.shell(
        "mkfifo lines; ./workers > lines & pid=$!; exec 3< lines; read -u 3 line
         timewise branches -F 1000 --pid $pid --children --for 1h; status=$?
         [ $status = 0 ] || pkill -P $pid
         cat <&3; wait $pid && exit $status",
    );
    if refused(&outcome) {
        return;
    }
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.ends_with("done\n"), "{}", outcome.stderr);
    let profile = place.profile();
    let seen = |number: usize| {
        let of_it = profile.taken_branches.iter().filter(|branch| branch.process.0 as usize == number);
        of_it.map(|branch| branch.count).sum::<u64>()
    };
    // The server waits.
    let workers = (0..profile.processes.len()).filter(|&number| seen(number) > 100).count();
    assert_eq!((profile.processes.len(), workers), (3, 2), "{}", outcome.stderr);
    assert!(profile.processes.iter().all(|process| process.executable.ends_with(b"/workers")));
}

/// As `count` and `sample` do; also of those that are too young to be followed, and of those that ended none.
#[test]
fn processes_that_outlive_the_program_are_told_of() {
    let place = Place::new();
    let fork = "for (int i = 0; i < 3; i++) if (!fork()) { while (i) pause(); return 0; }";
    place.write("leave.c", format!("#include <unistd.h>\nint main(void) {{ {fork} return 0; }}"));
    assert_eq!(place.shell("cc leave.c -o leave").status, Some(0));
    let outlived = [
        ("sh -c 'sleep 60 & exit'", "1 of"),
        ("sh -c '(sleep 60; :) & sleep 1'", "2 of"),
        ("sh -c '(sleep 60; :) & sleep 60 & sleep 1'", "3 of"),
        ("./leave", "2 of"),
    ];
    for (program, told) in outlived {
        // In a group of its own, which ends with what it leaves behind.
        let outcome = place.shell(&format!(
            "setsid '{}' branches -- {program} > out & wait $!; status=$?; pkill -KILL -s $!; exit $status",
            env!("CARGO_BIN_EXE_timewise")
        ));
        if refused(&outcome) {
            return;
        }
        let told = format!("{told} the program's processes still ran when it ended");
        assert_eq!(
            (outcome.status, outcome.stderr.contains(&told)),
            (Some(0), true),
            "{program}: {}",
            outcome.stderr
        );
    }
    let outcome = place.shell("timewise branches -- sh -c 'sleep 0.1 & wait'");
    assert!(!outcome.stderr.contains("still ran"), "{}", outcome.stderr);
}

/// Killed while it traces what it attached to, or launched (which nobody waits for then): the program runs on, is not
/// counted with a tracer in it, and is attached to again as if nothing had been.
#[test]
fn what_a_killed_timewise_traced_runs_on_and_can_be_traced_again() {
    let place = Place::new();
    build(&place, "../../suite/torture/crowd.c", "crowd");
    let launched = format!(
        "'{}' branches -F 2000 -- ./crowd 3600 quiet & own=$!
         until pid=$(pgrep -P $own -x crowd) || ! kill -0 $own; do sleep 0.01; done; trap 'kill -KILL $pid' EXIT
         until [ \"$(ours)\" ] || ! kill -0 $own; do sleep 0.01; done",
        env!("CARGO_BIN_EXE_timewise")
    );
    let begun = ["crowd quiet; observe branches -F 2000", &launched];
    for begun in begun {
        // What is launched is no child of the shell.
        let outcome = place.shell(&format!(
            "{MEANWHILE} {begun}
             worked 50; timewise branches --pid $pid --for 1s 2> meanwhile; echo $? >> meanwhile
             keeper=$(pgrep -x -P $own tw-keeper); kill -KILL $keeper $own; wait $own
             while grep -sq '^State:.[^ZX]' /proc/$keeper/status; do sleep 0.01; done
             timewise count --pid $pid --for 1s 2> counting; echo $? >> counting
             failed=0; rm -f profile.tw
             observe branches -F 1000; worked 50; leave || failed=1
             grep -E '{TRACES}' /proc/$pid/maps && failed=2
             ls -l /proc/$pid/fd | grep perf_event && failed=3
             observe count -o counts.tw; worked 50; leave || failed=4
             observe branches -F 1000 -o again.tw; worked 50; leave || failed=5
             disperse; ended=$?; while kill -0 $pid; do sleep 0.1; done
             [ $ended = 0 ] || [ $ended = 127 ] || failed=6; exit $failed"
        ));
        if refused(&outcome) {
            return;
        }
        assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
        assert!(seen_in(&place, "crowd") > 100, "{}", outcome.stderr);
        for (name, says) in [("meanwhile", "traces it already"), ("counting", "timewise branches --pid")] {
            let said = place.read(name);
            assert!(said.contains(says) && said.ends_with("\n126\n") && said.lines().count() == 2, "{said}");
        }
    }
}

#[test]
fn threads_that_block_all_signals_are_traced() {
    let place = Place::new();
    build(&place, "tests/programs/masked.c", "masked");
    let outcome = place.shell("timewise branches -F 1000 -- ./masked");
    if refused(&outcome) {
        return;
    }
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(seen_in(&place, "masked") > 100, "{}", outcome.stderr);
}

/// What a thread blocks and is sent waits until it is asked for, also while the tracer's own come through.
#[test]
fn a_program_that_blocks_the_tracers_signal_can_wait_for_its_own() {
    let place = Place::new();
    build(&place, "tests/programs/asks_for_trap.c", "asks");
    let outcome = place.shell("timewise branches -F 1000 -- ./asks");
    if refused(&outcome) {
        return;
    }
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stdout, "ready\ndone\n", "{}", outcome.stderr);
    assert!(seen_in(&place, "asks") > 100, "{}", outcome.stderr);
    let outcome = place.shell(&format!(
        "{MEANWHILE} ./asks never & pid=$!; trap 'kill -KILL $pid' EXIT; worked 10
         for i in 1 2; do observe branches -F 1000; worked 50; leave || exit 1; done
         mask=0x$(sed -n 's/^SigBlk:.//p' /proc/$pid/status); [ $((mask >> 4 & 1)) = 1 ] || exit 2
         worked 200 || exit 3"
    ));
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
}

/// Nobody owns high addresses: programs with large heaps map them, too.
#[test]
fn what_a_program_has_mapped_between_the_tracers_parts_stays() {
    let place = Place::new();
    build(&place, "tests/programs/maps_at.c", "maps");
    let launched = place.shell("timewise branches -F 1000 -- ./maps forks 450000000000 4f0000000000");
    if refused(&launched) {
        return;
    }
    assert_eq!(launched.status, Some(0), "{}{}", launched.stdout, launched.stderr);
    let attached = |addresses: &str, observed: &str| {
        let outcome = place.shell(&format!(
            "{MEANWHILE} rm -f out; ./maps {addresses} > out & pid=$!; trap 'kill -KILL $pid' EXIT; until [ -s out ]; do sleep 0.01; done
             {observed}; told=$?; grep -s memfd:timewise /proc/$pid/maps && exit 90
             worked 5; disperse || exit 91; exit $told"
        ));
        (outcome.status, outcome.stderr)
    };
    for addresses in ["450000000000", "3fffffff0000 4f0000000000"] {
        let (status, stderr) = attached(addresses, "observe branches -F 1000; worked 20; leave");
        assert_eq!(status, Some(0), "{addresses}: {stderr}");
    }
    // The tracer's shared memory, its benches, and its large pages.
    for addresses in ["400000000000", "400000001000", "46fffbe00000", "46ffffff0000", "470000100000"] {
        let (status, stderr) = attached(addresses, "timewise branches --pid $pid --for 1s");
        assert_eq!(status, Some(126), "{addresses}: {stderr}");
        assert!(stderr.contains("it has mapped addresses that tracing needs"), "{addresses}: {stderr}");
    }
}

/// Descriptors that a program takes over from the tracer, by number or by closing all that it does not know, are its own
/// from then on.
#[test]
fn descriptors_of_the_program_stay_its_own() {
    let place = Place::new();
    place.write(
        "daemon.c",
        "#include <fcntl.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        static void work(double seconds) {
            clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
            while (clock() < end) for (volatile int i = 0; i < 100000; i++);
        }
        int main(int count, char **arguments) {
            work(0.1);
            if (count > 1) {
                int log = dup2(open(arguments[1], O_WRONLY | O_CREAT, 0600), atoi(arguments[2]));
                work(0.7);
                return write(log, \"whole\", 5) != 5;
            }
            for (int fd = 3; fd < 4096; fd++) close(fd);
            int opened[700];
            for (int i = 0; i < 700; i++) opened[i] = open(\"/dev/null\", O_RDONLY);
            work(0.7);
            for (int i = 0; i < 700; i++) if (fcntl(opened[i], F_GETFD) < 0) return 9;
            return opened[699] != 702;
        }",
    );
    assert_eq!(place.shell("cc -O1 daemon.c -o daemon").status, Some(0));
    // Of a program with fewer descriptors than ours.
    let attached =
        "(ulimit -n 300; exec ./daemon log 299) & sleep 0.2; timewise branches --pid $! --for 100ms -F 1000";
    let launched = ["timewise branches -F 1000 -- ./daemon", "timewise branches -F 1000 -- ./daemon log 512"];
    for script in launched.into_iter().chain([attached]) {
        let outcome = place.shell(script);
        if refused(&outcome) && script != attached {
            return;
        }
        assert_eq!(outcome.status, Some(0), "{script}: {}{}", outcome.stdout, outcome.stderr);
    }
    assert_eq!(place.read("log"), "whole");
}

/// Its runtime would end the program, as it finds our memory where its own should be.
#[test]
fn a_program_with_a_sanitiser_of_all_addresses_is_refused() {
    let place = Place::new();
    place.write("none.c", "void __tsan_init(void) {}\nint main(void) { return 0; }");
    assert_eq!(place.shell("cc none.c -rdynamic -o none").status, Some(0));
    for command in ["branches", "count"] {
        let outcome = place.shell(&format!("timewise {command} -- ./none"));
        let says = "ThreadSanitizer, which it is compiled for, leaves no addresses";
        let is_one_line = outcome.stderr.contains(says) && outcome.stderr.lines().count() == 1;
        assert_eq!((outcome.status, is_one_line), (Some(126), true), "{command}: {}", outcome.stderr);
    }
    let outcome = place.shell("timewise count -- sh -c './none; :'");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ThreadSanitizer leaves no addresses"), "{}", outcome.stderr);
}

#[test]
fn why_there_is_nothing_is_told() {
    let place = Place::new();
    let outcome = place.shell("timewise branches -F 1 -- true");
    // One trace is possible, though hardly likely.
    if !refused(&outcome) && !place.has("profile.tw") {
        assert!(
            outcome.stderr.starts_with("timewise: nothing to save: no branches were seen"),
            "{}",
            outcome.stderr
        );
    }
}

/// Kernels tick a thousand times a second at most.
#[test]
fn that_traces_started_at_ticks_is_told_and_so_are_ticks_that_are_too_few() {
    let place = Place::new();
    let [too_often, outcome] = ["-F 1001", "-F 100"].map(|rate| {
        place.shell(&format!(
            "timewise branches --at-ticks {rate} -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'"
        ))
    });
    if refused(&outcome) || outcome.stderr.contains("needs Linux 6.4") {
        return;
    }
    assert_eq!(too_often.status, Some(125));
    assert!(too_often.stderr.starts_with("timewise: --at-ticks gives at most "), "{}", too_often.stderr);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    // If others want the processor, too, none may start at one.
    const TOLD: &str = " traces started at ticks of the kernel's timer";
    let profile = place.profile();
    let is_told = profile.runs[0].warnings.iter().any(|warning| warning.contains(TOLD));
    assert_eq!(is_told, outcome.stderr.contains(TOLD), "{}", outcome.stderr);
    assert!(profile.taken_branches.iter().any(|branch| branch.count > 0));
}

#[test]
fn programs_that_it_executes_are_traced_too() {
    let place = Place::new();
    build(&place, "tests/programs/masked.c", "masked");
    for script in ["./masked; :", "exec ./masked"] {
        let outcome = place.shell(&format!("timewise branches -F 1000 -- sh -c '{script}'"));
        if refused(&outcome) {
            return;
        }
        assert_eq!(outcome.status, Some(0), "{script}: {}", outcome.stderr);
        assert!(seen_in(&place, "masked") > 100, "{script}: {}", outcome.stderr);
        let profile = place.profile();
        assert_eq!(profile.runs.len(), 1, "{script}");
        assert!(profile.processes.iter().any(|process| process.executable.ends_with(b"/masked")), "{script}");
        // It is what optimisers are told of, not the shell.
        let exported = place.shell(
            "timewise export --to llvm-profgen > most; timewise export --to llvm-profgen --binary masked",
        );
        assert!(exported.stdout.contains("->"), "{script}: {}", exported.stderr);
        assert_eq!(place.shell("cat most").stdout, exported.stdout, "{script}");
    }
}

#[test]
fn what_is_not_traced_is_told() {
    let place = Place::new();
    // A process in the memory of the one that made it cannot be told from that.
    place.write(
        "shares.c",
        "#include <unistd.h>
        static volatile long n;
        int main(void) {
            while (n < 200000000) n++;
            if (vfork()) return 0;
            while (n < 600000000) n++;
            _exit(0);
        }",
    );
    let outcome = place.shell("cc -O1 shares.c -o shares && timewise branches -- ./shares");
    if !refused(&outcome) {
        let is_told = ["shares its memory with process", "processes that it made took"];
        assert!(is_told.iter().any(|told| outcome.stderr.contains(told)), "{}", outcome.stderr);
    }
}

/// Of threads that end soon nothing is traced, or next to nothing: how much that is, is told.
#[test]
fn time_of_short_threads_is_told() {
    let place = Place::new();
    place.write(
        "short.c",
        "#include <pthread.h>
         #include <stdlib.h>
         #include <time.h>
         static void *busy(void *ms) {
             struct timespec now;
             volatile long n = 0;
             do {
                 for (int i = 0; i < 1000; i++) n += i;
                 clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
             } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < (long)ms);
             return 0;
         }
         int main(int count, char **arguments) {
             busy((void *)atol(arguments[3]));
             for (int i = atoi(arguments[1]); i > 0; i--) {
                 pthread_t thread;
                 if (pthread_create(&thread, 0, busy, (void *)atol(arguments[2]))) return 1;
                 pthread_join(thread, 0);
             }
             return 0;
         }",
    );
    assert_eq!(place.shell("cc -O1 -pthread short.c -o short").status, Some(0));
    let traced = |arguments: &str| place.shell(&format!("timewise branches -F 1000 -- ./short {arguments}"));
    let many = traced("50 4 200");
    if refused(&many) {
        return;
    }
    assert!(many.stderr.contains("traces") && many.status == Some(0), "{}", many.stderr);
    if !many.stderr.contains(" are in no trace") {
        // Some kernels do not tell what a thread used.
        eprintln!("not checked: {}", many.stderr);
        return;
    }
    let told = many.stderr.split_once("s of CPU time ").unwrap().1.split(' ').next().unwrap();
    let seconds: f64 = told.parse().unwrap();
    assert!((0.2..0.4).contains(&seconds), "{}", many.stderr);
    assert!(many.stderr.contains(" and 50 of 50 threads ended sooner"), "{}", many.stderr);
    let few = traced("2 2 300");
    assert!(!few.stderr.contains("in no trace"), "{}", few.stderr);
}

/// Functions and branches by how often traces saw them, with shares that add up.
#[test]
fn what_was_traced_is_reported() {
    let place = Place::new();
    place.write(
        "busy.c",
        "__attribute__((noinline)) static long often(long n) { return n & 1 ? n + 1 : n - 1; }
         __attribute__((noinline)) static long seldom(long n) { return n * 3; }
         int main(void) {
             volatile long n = 0;
             for (long i = 0; i < 100000000; i++) n = i % 100 ? often(n) : seldom(n);
             return 0;
         }",
    );
    assert_eq!(place.shell("cc -O1 -g busy.c -o busy").status, Some(0));
    let traced = place.shell("timewise branches -F 1000 -- ./busy");
    if refused(&traced) {
        return;
    }
    let text = place.shell("timewise report");
    assert_eq!(text.status, Some(0), "{}", text.stderr);
    for part in ["branches traced: ", "(95 %)", " often ", "busy.c:", "docs/branches.md"] {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }
    assert!(text.stdout.starts_with("busy: traced on "), "{}", text.stdout);
    let verified = place.shell("timewise verify");
    let is_told = verified.stdout.contains(" traced branches that the code has")
        && verified.stdout.contains("\nconsistent: ");
    assert!(verified.status == Some(0) && is_told, "{}{}", verified.stdout, verified.stderr);
    for by in ["function", "branch"] {
        let report = place.shell(&format!("timewise report --by {by} --format json")).stdout;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let rows = report["rows"].as_array().unwrap();
        let sum: f64 = rows.iter().map(|row| row["share"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{by}: {sum}");
        for row in rows {
            let [low, share, high] = ["share_low", "share", "share_high"].map(|of| row[of].as_f64().unwrap());
            assert!(0.0 <= low && low <= share && share <= high && high <= 1.0, "{row}");
        }
        let share = |function: &str| {
            let of = rows.iter().filter(|row| row["function"] == function);
            of.map(|row| row["share"].as_f64().unwrap()).sum::<f64>()
        };
        assert!(share("often") > 10.0 * share("seldom") && share("main") > 0.3, "{by}: {report}");
        let table = place.shell(&format!("timewise report --by {by} --format csv")).stdout;
        assert_eq!(table.lines().count(), rows.len() + 1, "{table}");
    }
    let untraced = place.shell("timewise count -- true && timewise report --by branch");
    assert!(untraced.stdout.contains("timewise branches -- PROGRAM"), "{}", untraced.stdout);
}

/// What the tracer maps is 2.6 GiB, of which a thread uses a few MiB.
#[test]
fn what_a_program_locks_is_not_filled_with_what_tracing_reserves() {
    let place = Place::new();
    let begin = locks(&place);
    let launched =
        format!("begin '{}' branches -F 1000; pid=$(pgrep -P $pid)", env!("CARGO_BIN_EXE_timewise"));
    // All that is mapped counts as locked where the program locks it itself.
    for (begun, most_locked) in [("begin; observe branches -F 1000", 30), (launched.as_str(), 3000)] {
        let outcome = place.shell(&format!("{begin} {begun}; worked 20; said"));
        // Who may lock a few MiB only keeps the tracer out, or may not lock what is mapped with it.
        let is_refused = |why: &&str| outcome.stderr.contains(why);
        if refused(&outcome) || ["may lock no more", "mlockall: "].iter().any(is_refused) {
            continue;
        }
        let is_right = |[most, locked, filled]: [u32; 3]| most < 30 && locked < most_locked && filled == 1;
        assert!(locked(&outcome).is_some_and(is_right), "{}\n{}", outcome.stdout, outcome.stderr);
    }
}

/// Processes that it forks while the tracer is in it have its copy, but are not traced: a trap of their own is theirs, also
/// where they have the place of a thread that is traced since.
#[test]
fn forked_processes_that_are_not_traced_get_their_own_traps() {
    let place = Place::new();
    build(&place, "tests/programs/kids.c", "kids");
    let outcome = place.shell(&format!(
        "{MEANWHILE} mkfifo in; ./kids < in & pid=$!; exec 3> in
         observe branches -F 1000; echo >&3; wait $pid; ended=$?; wait $own && exit $ended"
    ));
    if refused(&outcome) {
        return;
    }
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
    assert!(!outcome.stderr.contains("threads were left out"), "{}", outcome.stderr);
}

/// It was launched under `timewise` already.
#[test]
fn a_process_that_restricts_its_system_calls_is_said_to_be_left_out() {
    let place = Place::new();
    build(&place, "tests/programs/unfit.c", "unfit");
    let busy = "for i in {1..500000}; do :; done";
    let outcome = place.shell(&format!(
        "timewise branches -F 1000 -- bash -c '{busy}; ./unfit seccomp bash -c \"{busy}\"; exit'"
    ));
    if refused(&outcome) {
        return;
    }
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let is_told = outcome.stderr.contains(" was not traced: it has restricted its system calls");
    assert!(is_told && !outcome.stderr.contains("launch it"), "{}", outcome.stderr);
    let itself =
        place.shell(&format!("timewise branches -F 1000 -- ./unfit seccomp bash -c '{busy}'")).stderr;
    assert!(itself.contains("tracing ended where the program restricted its system calls"), "{itself}");
    for other in ["in no trace", "took most of the time", "raise --frequency"] {
        assert!(!itself.contains(other), "{itself}");
    }
}

/// Also one that no signal of the tracer's ever came to.
#[test]
fn threads_that_blocked_the_signal_block_it_again() {
    let place = Place::new();
    build(&place, "tests/programs/idle.c", "idle");
    let outcome = place.shell(&format!(
        "{MEANWHILE} masks() {{ cat /proc/$pid/task/*/status | grep SigBlk; }}
         ./idle > out & pid=$!; until grep -qs ready out; do sleep 0.01; done
         before=$(masks); observe branches -F 1000
         until [ \"$(masks)\" != \"$before\" ] || ! kill -0 $own; do sleep 0.01; done; worked 20; masks
         leave; ended=$?; echo; masks; [ \"$(masks)\" = \"$before\" ] || ended=1; kill $pid; exit $ended"
    ));
    if refused(&outcome) {
        return;
    }
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
}
