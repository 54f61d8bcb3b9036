//! `timewise ostrace record --pid`: a program that runs already is recorded for a time, and notices nothing of it.

use crate::command::Place;
use timewise_profile::{Exit, OsEventKind, Profile};

/// Waits in two threads in calls that give EINTR for whatever interrupts them, and reads a file in between, until it is told
/// to end, or for as many rounds as it is told; says how often it was interrupted, and ends with 3.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
static volatile int interrupted, rounds;
__attribute__((noinline)) void once(int waits) {
    struct epoll_event event;
    interrupted += epoll_wait(waits, &event, 1, 20) < 0;
    close(open("/etc/passwd", O_RDONLY));
}
void *thread(void *ignored) {
    for (int waits = epoll_create1(0); rounds > 0;) once(waits);
    return 0;
}
int main(int count, char **arguments) {
    pthread_t other;
    rounds = atoi(arguments[1]);
    pthread_create(&other, 0, thread, 0);
    for (int waits = epoll_create1(0); rounds > 0 && access("end", R_OK); rounds--) once(waits);
    rounds = 0;
    pthread_join(other, 0);
    printf("interrupted %d times\n", interrupted);
    return 3;
}
"#;

/// What a shell script says that has the program run as `$pid`, and what was recorded.
fn recorded(rounds: u32, script: &str) -> (String, Profile) {
    let place = Place::new();
    place.write("waits.c", PROGRAM);
    let outcome = place.shell(&format!(
        "cc -O1 -pthread waits.c -o waits && {{ ./waits {rounds} > out & pid=$!; sleep 0.2; {script}; wait $pid; echo $?; cat out; }}"
    ));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let profile = place.profile();
    profile.check().unwrap();
    let verified = place.shell("timewise verify");
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);
    (outcome.stdout, profile)
}

#[test]
fn it_runs_on_as_if_nothing_had_been() {
    let script = "timewise ostrace record -q -k --pid $pid --for 400ms; echo $?; sleep 0.2; touch end";
    let (said, profile) = recorded(100_000, script);
    assert_eq!(said, "0\n3\ninterrupted 0 times\n");
    assert_eq!((profile.threads.len(), profile.runs[0].exit), (2, Exit::Unknown));
    assert!(profile.runs[0].elapsed_ns >= 400_000_000);
    for thread in 0..2 {
        let of_it = profile.os_events.iter().filter(|event| event.thread.index() == thread);
        let told: Vec<(OsEventKind, &[u8])> = of_it
            .map(|event| (event.kind, event.name.map_or(&[][..], |name| profile.os_name(name))))
            .collect();
        assert_eq!(told[0].0, OsEventKind::Begin);
        let calls = told.iter().filter(|(kind, _)| *kind == OsEventKind::Call);
        let waits = calls.clone().filter(|(_, name)| *name == b"epoll_wait").count();
        assert!(waits >= 3 && calls.count() >= 3 * (waits - 1), "{told:?}");
    }
    let named = |name: &str| profile.functions.iter().any(|function| function.name == name);
    assert!(named("once") && named("main") && named("thread"));
}

#[test]
fn its_end_is_told() {
    let (said, profile) = recorded(30, "timewise ostrace record -q --pid $pid --for 60s; echo $?");
    assert_eq!(said, "0\n3\ninterrupted 0 times\n");
    assert_eq!(profile.runs[0].exit, Exit::Code(3));
    assert!(profile.runs[0].elapsed_ns < 30_000_000_000);
    let ends = profile.os_events.iter().filter(|event| event.kind == OsEventKind::End).count();
    assert_eq!(ends, 2);
}

/// Sends signals that queue to sixteen threads, until it is told to end; says how many came less than were sent.
const SIGNALLED: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
enum { THREADS = 16 };
static volatile long got[THREADS];
static volatile int over;
static __thread int me;
static void handler(int signal) { got[me]++; }
static void *thread(void *number) {
    for (me = (long)number; !over;) usleep(300);
    usleep(200000);
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    long sent = 0;
    signal(SIGRTMIN, handler);
    for (long number = 0; number < THREADS; number++) pthread_create(threads + number, 0, thread, (void *)number);
    for (; access("end", R_OK); usleep(300))
        sent += !pthread_sigqueue(threads[sent % THREADS], SIGRTMIN, (union sigval){0});
    usleep(300000);
    over = 1;
    for (int number = 0; number < THREADS; number++) {
        pthread_join(threads[number], 0);
        sent -= got[number];
    }
    printf("%ld signals were lost\n", sent);
    return 0;
}
"#;

#[test]
fn signals_that_come_when_it_is_let_go_reach_it() {
    let place = Place::new();
    place.write("signalled.c", SIGNALLED);
    let outcome = place.shell(
        "cc -O1 -D_GNU_SOURCE -pthread signalled.c -o signalled && { ./signalled > out & }; sleep 0.3
         for i in $(seq 12); do timewise ostrace record -q --pid $! --for 50ms || echo failed; done
         touch end; wait; cat out",
    );
    assert_eq!(outcome.stdout, "0 signals were lost\n", "{}", outcome.stderr);
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::new();
    for (arguments, status, says) in [
        ("--pid 4194304 --for 1s", 127, "there is no process 4194304"),
        ("--pid 1", 125, "say how long to stay attached: --pid 1 --for 10s"),
        ("--pid 1 --for 1s --rounds 2", 125, "cannot be used with '--rounds <N>'"),
        ("--for 1s -- true", 125, "--for is for a process that runs already"),
    ] {
        let outcome = place.shell(&format!("timewise ostrace record {arguments}"));
        assert_eq!(outcome.status, Some(status), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says) && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    }
}
