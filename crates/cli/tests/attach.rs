//! `--pid`: a program that runs already is profiled for a while, counts are exact, and it runs on unharmed.

use crate::command::{
    MEANWHILE, Place, TRACES, assert_counted_meanwhile, assert_unharmed, build, locked, locks,
};
use serde_json::Value;

const TIMEWISE: &str = env!("CARGO_BIN_EXE_timewise");

/// A crowd of threads in all kinds of states (`suite/torture/crowd.c`).
fn crowd(place: &Place) {
    let source = format!("{}/../../suite/torture/crowd.c", env!("CARGO_MANIFEST_DIR"));
    let built = place.shell(&format!("cc -O1 -g -pthread '{source}' -o crowd"));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
}

#[test]
fn counts_are_those_between_attaching_and_letting_go() {
    let gone = format!("if grep -E '{TRACES}' /proc/$pid/maps; then exit 1; fi");
    assert_counted_meanwhile(&Place::new(), [MEANWHILE, ""], [":", ":", &gone]);
}

/// The records of those that have ended are given back meanwhile: whoever was registered before must not be forgotten.
#[test]
fn a_program_that_forks_and_executes_all_the_time_is_given_back_with_its_children() {
    let place = Place::new();
    let outcome = place.shell(&format!(
        "{MEANWHILE} echo 0 > rounds
         bash -c 'while :; do /bin/true; ( : ); sleep 0.1 & echo $((round += 1)) > rounds; done' & pid=$!
         trap 'kill $pid' EXIT; failed=0
         made() {{ local round; read -r round < rounds; [ 0$round -ge $1 ]; }}
         for i in 1 2; do
           observe count --no-calls; until read -r round < rounds; do :; done
           until made $((round + 10)) || ! kill -0 $own; do sleep 0.01; done
           leave && timewise verify || failed=1
           for one in $pid $(cat /proc/$pid/task/$pid/children); do
             grep -sE '{TRACES}' /proc/$one/maps && failed=1
           done
         done
         exit $failed"
    ));
    assert_unharmed(&outcome);
    // What ran before is told, and that a fast machine runs more processes in a second than there are rows for.
    let is_known =
        |line: &str| line.contains("very many processes share") || line.contains("had started before");
    let is_warning = |line: &&str| line.starts_with("warning:") && !is_known(line);
    assert_eq!(outcome.stderr.lines().filter(is_warning).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(outcome.stderr.matches("exact").count(), 2, "{}", outcome.stderr);
    assert!(place.profile().processes.len() > 2);
}

/// Attached to in a function that is nearly all it does and that calls nothing, it returns to a call that was not made
/// under count; those that are made cost what they execute.
#[test]
fn calls_of_the_function_that_was_attached_to_cost_what_they_execute() {
    let place = Place::new();
    place.write("spin.c", include_str!("programs/spin.c"));
    let outcome = place.shell(&format!(
        "{MEANWHILE} cc -O1 -g spin.c -o spin || exit; ./spin > ready & pid=$!
         until grep -qs . ready; do sleep 0.01; done
         observe count; worked 50; leave && timewise verify; status=$?
         kill -USR1 $pid; wait $pid && exit $status"
    ));
    assert_unharmed(&outcome);
    let report = place.shell("timewise report --by call --format json");
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let spin = report["rows"].as_array().unwrap().iter().find(|row| row["callee"] == "spin").unwrap();
    let [calls, cost] = ["calls", "instructions_total"].map(|name| spin[name].as_u64().unwrap());
    // Four instructions a round at least; the last call is still under way at the end.
    assert!(calls > 2 && cost >= (calls - 1) * 200_000 * 4, "{spin}");
}

#[test]
fn threads_in_all_kinds_of_states_see_nothing_of_it() {
    let place = Place::new();
    crowd(&place);
    let outcome = place.shell(&format!(
        "{MEANWHILE} crowd; failed=0
         for i in 1 2; do
           observe count; worked 50; leave && timewise verify || failed=1
           grep -E '{TRACES}' /proc/$pid/maps && failed=1
         done
         disperse && exit $failed"
    ));
    assert_unharmed(&outcome);
}

/// Sampled and counted in turns, both tell of the same code.
#[test]
fn samples_and_counts_of_a_running_program_are_joined() {
    let place = Place::new();
    crowd(&place);
    let outcome = place.shell(&format!(
        "{MEANWHILE} crowd quiet; timewise run --pid $pid --for 3s; status=$?; disperse && exit $status"
    ));
    assert_unharmed(&outcome);
    assert_are_joined(&place);
}

/// That `timewise run` sampled and counted the crowd in turns.
fn assert_are_joined(place: &Place) {
    let profile = place.profile();
    assert_eq!(profile.runs.len(), 6);
    assert_eq!(profile.imbalances(), []);
    let work = profile.functions.iter().find(|function| function.name == "work").unwrap().place;
    let in_work = |place: timewise_profile::Place| place.module == work.module;
    assert!(profile.samples.iter().any(|sample| sample.place.is_some_and(in_work)));
    let verified = place.shell("timewise verify");
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);
}

/// Where performance events are refused, threads are stopped for moments, which they do not notice; children that were
/// there before are let alone.
#[test]
fn a_running_program_is_sampled_by_stops() {
    let place = Place::new();
    crowd(&place);
    let outcome = place.shell(&format!(
        "{MEANWHILE} crowd; used() {{ echo $(($(cat /proc/$pid/task/*/schedstat | cut -d' ' -f1 | paste -sd+))); }}
         before=$(used); timewise sample --pid $pid --for 2s --sampler ptrace; status=$?; after=$(used)
         disperse && echo $((after - before)) && exit $status"
    ));
    assert_unharmed(&outcome);
    let profile = place.profile();
    let sampled: u64 = profile.samples.iter().map(|sample| sample.weight_ns).sum();
    let used: u64 = outcome.stdout.lines().last().unwrap().parse().unwrap();
    // Before, and in the kernel, it was not sampled.
    assert!(sampled > 0 && sampled <= used, "{sampled} of {used} ns\n{}", outcome.stderr);
    assert!(outcome.stderr.contains("sampled with ptrace"), "{}", outcome.stderr);
}

/// All that runs in a container is forbidden the same; what restricts itself further is not attached to there either.
#[test]
fn what_is_in_a_container_with_us_is_attached_to() {
    let place = Place::new();
    crowd(&place);
    build(&place, "unfit.c");
    place.write(
        "script",
        format!(
            "{MEANWHILE} ./unfit seccomp > ready & pid=$!; until grep -qs . ready; do sleep 0.01; done
             '{TIMEWISE}' count --pid $pid --for 1s; [ $? = 126 ] || exit 1; kill -9 $pid
             crowd quiet; '{TIMEWISE}' run --pid $pid --for 3s; status=$?
             grep -E '{TRACES}' /proc/$pid/maps && exit 1; disperse && exit $status"
        ),
    );
    let outcome = place.shell("./unfit container bash script");
    assert_unharmed(&outcome);
    assert!(outcome.stderr.contains("restricted its system calls"), "{}", outcome.stderr);
    // Told of the three turns once.
    assert_eq!(outcome.stderr.matches("sampled with ptrace").count(), 1, "{}", outcome.stderr);
    assert_are_joined(&place);
}

/// A process of its own does the work, which gives the program back then wherever it is, and saves what was counted.
#[test]
fn killed_timewise_has_the_program_given_back() {
    let place = Place::new();
    crowd(&place);
    let outcome = place.shell(&format!(
        "{MEANWHILE} killed() {{
           # It has a group of its own from when it was executed on.
           keeper=$(pgrep -P $own); until kill -KILL -- -$own || ! kill -0 $own; do sleep 0.01; done; wait $own
           while [ \"$keeper\" ] && grep -sq '^State:.[^ZX]' /proc/$keeper/status; do sleep 0.01; done
           # One that was just made when it was looked for is at work still.
           for i in {{1..1000}}; do grep -qE '{TRACES}' /proc/$pid/maps || return; sleep 0.1; done
           failed=1
         }}
         crowd; failed=0; times=0
         observe count; worked 20; killed; timewise verify || failed=2
         for moment in 0.01 0.03 0.1 0.4; do
           for command in count branches paths run; do
             setsid '{TIMEWISE}' $command -o of.tw --pid $pid --for 1h & own=$!
             sleep $moment; killed; times=$((times + 1))
           done
         done
         disperse; ended=$?; echo $times; [ $ended = 0 ] && exit $failed"
    ));
    assert_unharmed(&outcome);
    assert_eq!(outcome.stdout.lines().last(), Some("16"));
}

/// With the process that does the work killed as well nobody gives the program back: it runs on as it is.
#[test]
fn whoever_is_killed_leaves_the_program_running() {
    let place = Place::new();
    crowd(&place);
    let outcome = place.shell(&format!(
        "{MEANWHILE} crowd quiet; observe count; worked 20
         keeper=$(pgrep -P $own); kill -KILL $keeper $own; wait $own
         while grep -sq '^State:.[^ZX]' /proc/$keeper/status; do sleep 0.01; done
         for command in count branches; do
           timewise $command --pid $pid --for 1s 2>> said; echo $? >> said
         done
         disperse"
    ));
    assert_unharmed(&outcome);
    // Nobody gives it back any more, which is told.
    let said = place.read("said");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 4 && [lines[1], lines[3]] == ["126"; 2], "{said}");
    assert!([lines[0], lines[2]].iter().all(|line| line.contains("that has ended")), "{said}");
}

#[test]
fn a_program_that_ends_meanwhile_is_counted_up_to_then() {
    let place = Place::new();
    let outcome = place.shell(&format!(
        "{MEANWHILE} mkfifo go
         bash -c 'read < go; for ((i = 0; i < 30000; i++)); do :; done; exec sleep 0.3' & pid=$!
         observe count; echo > go; wait $own && wait $pid && timewise verify"
    ));
    assert_unharmed(&outcome);
    let executables: Vec<_> = place.profile().processes.iter().map(|process| process.pid).collect();
    assert!(!executables.is_empty());
}

/// A server's workers are not attached to with it, which would leave an idle one's profile unexplained.
#[test]
fn processes_that_ran_before_are_told_not_to_be_observed() {
    let place = Place::new();
    for command in ["count", "sample", "branches"] {
        let outcome = place.shell(&format!(
            "{MEANWHILE} bash -c 'trap \"kill \\$!; exit\" TERM; sleep 1h & echo > ready; while :; do :; done' & pid=$!
             until [ -s ready ]; do sleep 0.01; done; timewise {command} --pid $pid --for 0.5s; disperse"
        ));
        let said = "1 process that it had started before is not observed";
        let refusals = ["lets us sample with no clock", "cannot open performance events"];
        let is_refused = refusals.iter().any(|refusal| outcome.stderr.contains(refusal));
        assert!(is_refused || outcome.stderr.contains(said), "{command}: {}", outcome.stderr);
    }
}

/// V8 draws addresses of 46 bits for its heaps, and a third of all is where libraries begin if the kernel lays them out
/// upwards.
#[test]
fn a_program_with_memory_all_over_is_attached_to() {
    let place = Place::new();
    build(&place, "maps_at.c");
    let outcome = place.shell(&format!(
        "{MEANWHILE} set -e; ./maps_at 10000000 10000000000 200000000000 2aaaaaaaa000 3ffffffff000 500000000000 > out & pid=$!
         until grep -qs ready out; do sleep 0.01; done; observe count; worked 5; leave; disperse; timewise verify"
    ));
    assert_unharmed(&outcome);
}

#[test]
fn what_cannot_be_attached_to_is_told_in_a_line() {
    let place = Place::new();
    build(&place, "unfit.c");
    build(&place, "maps_at.c");
    let gone = place.shell("true & wait $!; timewise count --pid $! --for 1s");
    assert_eq!(gone.status, Some(127), "{}", gone.stderr);
    assert!(
        gone.stderr.contains("there is no process") && gone.stderr.lines().count() == 1,
        "{}",
        gone.stderr
    );
    // In a container the kernel's are not seen.
    if place.shell("[ \"$(cat /proc/2/comm)\" = kthreadd ]").status == Some(0) {
        for command in ["run", "sample", "count", "branches"] {
            let outcome = place.shell(&format!("timewise {command} --pid 2 --for 1s"));
            let is_told = outcome.stderr.contains("it is a thread of the kernel's");
            assert_eq!((outcome.status, is_told), (Some(126), true), "{}", outcome.stderr);
        }
    }
    let denied = place.shell("./unfit unwritable true").status == Some(0);
    let denied = denied.then_some(("./unfit unwritable", "both writable and executable"));
    for (program, said) in [
        ("./unfit gs", "segment register gs"),
        ("./unfit seccomp", "restricted its system calls"),
        ("./unfit traced", "traces it already"),
        ("./maps_at 450000000000", "mapped addresses that counting needs"),
        ("./maps_at 10000000-80000000", "mapped addresses that counting needs"),
    ]
    .into_iter()
    .chain(denied)
    {
        let outcome = place.shell(&format!(
            "rm -f ready; {program} > ready & pid=$!; until grep -qs . ready; do sleep 0.01; done
             traces() {{ grep -E '{TRACES}' /proc/$pid/maps; }}; own=$(traces)
             timewise count --pid $pid --for 1s; status=$?
             [ \"$(traces)\" = \"$own\" ] || status=1; kill -9 $pid && exit $status"
        ));
        assert_eq!(outcome.status, Some(126), "{program}: {}", outcome.stderr);
        let lines: Vec<&str> = outcome.stderr.lines().filter(|line| line.starts_with("timewise:")).collect();
        assert!(lines.len() == 1 && lines[0].contains(said), "{program}: {}", outcome.stderr);
        assert!(!place.has("profile.tw"));
    }
}

/// System calls that are to come to the program do so meanwhile, and afterwards; those that are made in its name do not.
#[test]
fn system_calls_that_come_to_the_program_come_to_it_all_the_same() {
    let place = Place::new();
    build(&place, "dispatches.c");
    let outcome = place.shell(&format!(
        "{MEANWHILE} ./dispatches > out & pid=$!
         trap 'kill -KILL $pid' EXIT; until grep -qs . out || ! kill -0 $pid; do sleep 0.01; done; failed=0
         grep -q ready out || {{ trap - EXIT; cat out; exit; }}
         for options in '' --no-calls '' --no-calls; do
           observe count $options; worked 20; leave && timewise verify || failed=1
           grep -E '{TRACES}' /proc/$pid/maps && failed=1
           worked 5
         done
         timewise branches --pid $pid --for 1s; refused=$?; worked 5
         disperse; ended=$?; echo $refused; [ $ended = 0 ] && exit $failed"
    ));
    if outcome.stdout == "not told\n" {
        return;
    }
    assert_unharmed(&outcome);
    assert_eq!(outcome.stdout.lines().last(), Some("126"), "{}", outcome.stderr);
    let told = outcome.stderr.lines().filter(|line| line.contains("its system calls come to itself"));
    assert_eq!(told.count(), 1, "{}", outcome.stderr);
}

/// The tracer in it is the one of the process that it was forked from, and stays: to take it out, calls would have to be
/// made in the name of a process that is ended for any.
#[test]
fn a_child_that_restricts_its_system_calls_is_let_alone() {
    let place = Place::new();
    build(&place, "child_restricts.c");
    for own in ["filter", "itself"] {
        let outcome = place.shell(&format!(
            "{MEANWHILE} says() {{ until grep -qs $1 out || ! kill -0 $pid; do sleep 0.01; done; }}
             rm -f out; ./child_restricts {own} > out & pid=$!
             trap 'kill -KILL $pid' EXIT; says ready; observe branches; kill -USR1 $pid; says restricted; leave
             trap - EXIT; kill $pid; wait $pid"
        ));
        assert_eq!(outcome.status, Some(7), "{own}: {}", outcome.stderr);
    }
}

/// It executes translated code, and nothing of its own.
#[test]
fn a_program_under_count_is_not_sampled() {
    let place = Place::new();
    crowd(&place);
    let outcome = place.shell(&format!(
        "{MEANWHILE} crowd quiet; observe count
         for command in sample run; do timewise $command -o other.tw --pid $pid --for 1s; echo $?; done
         leave; timewise sample -o other.tw --pid $pid --for 100ms 2> said; grep 'cannot be attached' said
         disperse"
    ));
    assert_eq!(outcome.stdout.lines().take(2).collect::<Vec<_>>(), ["126"; 2], "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("timewise counts it already; end that first").count(), 2);
    assert!(!outcome.stdout.contains("cannot be attached"), "{}", outcome.stdout);
}

/// What was not observed has no status to hand on: a script that goes on with the profile would find a former one.
#[test]
fn a_process_that_did_nothing_leaves_nothing_to_save_which_is_told() {
    let place = Place::new();
    let outcome = place.shell(
        "sleep 1h & trap 'kill $!' EXIT; echo former > profile.tw
         until [ \"$(ps -o state=,comm= $!)\" = 'S sleep' ]; do sleep 0.01; done
         timewise branches --pid $! --for 50ms; echo $?",
    );
    if outcome.stderr.contains("cannot open performance events") {
        return;
    }
    assert_eq!(outcome.stdout, "125\n", "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("timewise: nothing to save: no branches"), "{}", outcome.stderr);
    assert_eq!((outcome.stderr.lines().count(), &place.read("profile.tw")[..]), (1, "former\n"));
}

/// Not even root may look at a process that is private without the capability for it.
#[test]
fn what_may_not_be_looked_at_cannot_be_attached_to() {
    let place = Place::new();
    place.write("unfit.c", include_str!("programs/unfit.c"));
    let outcome = place.shell(&format!(
        "cc unfit.c -o unfit || exit; ./unfit private > ready & pid=$!
         trap 'kill -9 $pid' EXIT; until grep -qs . ready; do sleep 0.01; done
         [ $(id -u) != 0 ] || without=(setpriv --inh-caps=-all --bounding-set=-all)
         for command in run sample count branches; do
           \"${{without[@]}}\" '{TIMEWISE}' $command --pid $pid --for 1s; echo $?
         done"
    ));
    assert_eq!(outcome.stdout, "126\n126\n126\n126\n", "{}", outcome.stderr);
    let said: Vec<&str> = outcome.stderr.lines().collect();
    assert!(said.len() == 4 && said.iter().all(|line| line.contains("cannot be attached to")), "{said:?}");
    assert!(!place.has("profile.tw"));
}

/// A fault may wait to be told when the program is stopped, and the kernel tells of it before all else.
#[test]
fn a_program_that_faults_all_the_time_is_left_as_it_was() {
    let place = Place::new();
    place.write("faults.c", include_str!("programs/faults.c"));
    let outcome = place.shell(
        "cc -O1 faults.c -o faults; ./faults > out & pid=$!; until [ -s out ]; do sleep 0.01; done; failed=0
         for i in 1 2 3 4 5 6 7 8; do
           timewise count --no-calls --pid $pid --for 50ms || failed=1
           timewise branches -F 4000 --pid $pid --for 50ms
           grep -q timewise /proc/$pid/maps && failed=1
         done
         kill $pid; wait $pid; status=$?
         [ $failed = 0 ] && exit $status",
    );
    assert_eq!(outcome.status, Some(3), "{}\n{}", outcome.stdout, outcome.stderr);
}

/// The kernel works for it in a thread that belongs to the program and never executes anything of it.
#[test]
fn a_program_for_which_the_kernel_works_in_threads_is_given_back() {
    let place = Place::new();
    place.write("ring.c", include_str!("programs/ring.c"));
    let outcome = place.shell(&format!(
        "{MEANWHILE} cc -O1 ring.c -o ring || exit; ./ring > out & pid=$!; trap 'kill -KILL $pid' EXIT
         until grep -qs ready out || ! kill -0 $pid; do sleep 0.01; done
         for own in count branches; do observe $own; worked 20; leave || failed=1; done
         trap - EXIT; kill $pid; wait $pid && tail -n1 out && exit $failed"
    ));
    if outcome.status == Some(77) {
        return;
    }
    if !outcome.stderr.contains("cannot open performance events") {
        assert_unharmed(&outcome);
    }
    assert_eq!(outcome.stdout.lines().last(), Some("done"), "{}", outcome.stderr);
}

/// Nearly all of what counting maps is only reserved: to fill it would take more memory than there is. What the program
/// asks to be locked meanwhile holds afterwards as well.
#[test]
fn what_a_program_locks_is_not_filled_with_what_counting_reserves() {
    let place = Place::new();
    let begin = locks(&place);
    // One after the other: of two signals that wait the one that is delivered later has its handler begin first.
    let does = "until [ $(grep -c ^$1 out) = $i ] || ! kill -0 $own; do sleep 0.01; done";
    for (meanwhile, filled) in [
        (":", 1),
        ("kill -USR1 $pid; does unlocked", 0),
        ("kill -USR1 $pid; does unlocked; kill -USR2 $pid; does locked", 1),
    ] {
        let outcome = place.shell(&format!(
            "{begin} does() {{ {does}; }}; begin
             for i in 1 2; do observe count; {meanwhile}; worked 20; leave || failed=1; done
             said && exit $failed"
        ));
        // Who may lock a few MiB only keeps the runtime out.
        if outcome.stderr.contains("may lock no more") {
            return;
        }
        assert_unharmed(&outcome);
        let is_right = |[most, locked, is_filled]: [u32; 3]| most < 100 && locked < 30 && is_filled == filled;
        assert!(locked(&outcome).is_some_and(is_right), "{}\n{}", outcome.stdout, outcome.stderr);
    }
}

#[test]
fn why_a_stopped_program_executed_nothing_is_told() {
    let place = Place::new();
    let outcome = place.shell(
        "sleep 1000 & pid=$!; trap 'kill -KILL $pid' EXIT
         until [ $(cat /proc/$pid/comm) = sleep ]; do sleep 0.01; done; kill -STOP $pid
         until grep -q ' (sleep) T' /proc/$pid/stat; do sleep 0.01; done
         timewise count --pid $pid --for 300ms; echo $?; cut -d' ' -f3 /proc/$pid/stat",
    );
    assert_eq!(outcome.stdout, "125\nT\n", "{}", outcome.stderr);
    let is_told = outcome.stderr.starts_with("timewise: nothing to save: process ");
    assert!(is_told && outcome.stderr.contains("let it go on: kill -CONT "), "{}", outcome.stderr);
}

/// What becomes of each thread takes no time of all others, nor do those that are to stand use the processors that the
/// rest needs.
#[test]
fn many_threads_that_mostly_wait_are_taken_over_and_given_back_for_little() {
    let place = Place::new();
    build(&place, "naps.c");
    let run = |attach: &str| {
        place.shell(&format!(
            "rm -f out; ./naps 1500 100 > out & pid=$!
             until grep -qs ready out || ! kill -0 $pid; do sleep 0.01; done
             {attach}; wait $pid; ended=$?; tail -n1 out; exit $ended"
        ))
    };
    let natively = run(":");
    // There may be as many threads nearly everywhere.
    if natively.status == Some(77) {
        return eprintln!("not checked: too few threads");
    }
    let counted = run("timewise count --pid $pid --for 1s");
    assert_eq!(counted.status, Some(0), "{}", counted.stderr);
    assert!(!counted.stderr.contains("runs on under count"), "{}", counted.stderr);
    let [natively, used] = [&natively, &counted].map(|run| run.stdout.trim().parse::<u32>().unwrap());
    assert!(used < 4 * natively + 100, "{used} {natively}");
}

/// It is refused, and told why.
#[test]
fn a_program_that_may_lock_no_more_runs_on() {
    let place = Place::new();
    let begin = locks(&place);
    let outcome = place.shell(&format!(
        "{begin} may_not=
         [ $(id -u) != 0 ] || may_not='setpriv --bounding-set=-ipc_lock'
         ulimit -l 8192; begin $may_not
         for own in count branches; do timewise $own --pid $pid --for 1h; echo $?; done; said"
    ));
    assert_unharmed(&outcome);
    assert!(outcome.stdout.starts_with("125\n125\n"), "{}\n{}", outcome.stdout, outcome.stderr);
    assert!(locked(&outcome).is_some_and(|[_, _, is_filled]| is_filled == 1), "{}", outcome.stdout);
    let told = outcome.stderr.matches("prlimit --memlock=unlimited").count();
    assert!(told == 2 || outcome.stderr.contains("cannot open performance events"), "{}", outcome.stderr);
}
