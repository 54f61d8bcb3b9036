//! Groups of real programs: what is left of having been stopped.

use super::*;
use crate::compiled;
use crate::launch::{Launch, Running};
use member::is_asked_for;
use std::io::{PipeWriter, Write};

/// A shell that does something first, and then counts up.
fn counting(first: &str) -> Running {
    let mut launch = Launch::new("sh");
    launch.arguments = vec!["-c".into(), format!("{first}; i=0; while :; do i=$((i+1)); done").into()];
    launch.stopped().unwrap().release().unwrap()
}

/// However short the moment, or late we are to see to it: a thread that a signal waits for gets the signal and runs.
#[test]
fn a_thread_that_a_signal_waits_for_runs_on() {
    let running = counting("trap : USR1");
    let pid = running.pid();
    while !catches(pid, libc::SIGUSR1) {
        std::thread::sleep(GLANCE);
    }
    let mut group = Group::stop(pid, Duration::from_secs(60)).unwrap();
    let tracee = group.tracees()[0];
    let place = || tracee.registers().map(|now| (now.rip, now.rsp, now.rcx)).ok();
    // SAFETY: takes no memory; the process is our child.
    unsafe { libc::kill(pid, libc::SIGUSR1) };
    let before = place();
    let ran_on = group.run_on(&[pid], Duration::ZERO).is_ok() && place() != before;
    drop(group);
    // SAFETY: likewise.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    running.wait().unwrap();
    assert!(ran_on);
}

/// A thread that stands and is asked to stop once more, as happens to one that was long in stopping, stops anew
/// when it is to go on.
#[test]
fn a_thread_that_was_asked_to_stop_twice_runs_on_and_calls_the_system() {
    let running = counting(":");
    let pid = running.pid();
    let mut group = Group::stop(pid, Duration::from_secs(60)).unwrap();
    let tracee = group.tracees()[0];
    request(libc::PTRACE_INTERRUPT, pid, 0).unwrap();
    let called = tracee.system_call(libc::SYS_getpid, [0; 6]).ok();
    request(libc::PTRACE_INTERRUPT, pid, 0).unwrap();
    let place = |tracee: Tracee| tracee.registers().map(|now| (now.rip, now.rsp, now.rcx)).ok();
    let before = place(tracee);
    let ran_on = moments()
        .take(1000)
        .any(|moment| group.run_on(&[pid], moment).is_ok() && group.stands(pid) && place(tracee) != before);
    drop(group);
    // SAFETY: takes no memory; the process is our child.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    running.wait().unwrap();
    assert_eq!((called, ran_on), (Some(pid as u64), true));
}

/// A program that ends with 7 when another process, in its memory, has read a byte, and with 9 if it has `SIGUSR1`
/// blocked by then; and where to write the byte. It waits for that by `vfork`, and does not stop meanwhile.
fn waiting_for_a_child() -> (Running, PipeWriter) {
    let code = "#include <signal.h>\n#include <unistd.h>\nint main(void) { char byte; sigset_t blocked; \
                if (!vfork()) { read(0, &byte, 1); _exit(0); } sigprocmask(0, 0, &blocked); \
                return sigismember(&blocked, SIGUSR1) ? 9 : 7; }";
    let (running, end) = compiled::running(code);
    while state(running.pid()) != "D" {
        std::thread::sleep(GLANCE);
    }
    (running, end)
}

/// In which state a process is, as the kernel's letters say.
fn state(pid: i32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1[..1].to_string()
}

/// How a program ends that nobody stops any more.
fn status_at_its_end(running: Running) -> i32 {
    while state(running.pid()) != "Z" {
        assert_ne!(state(running.pid()), "t", "it is stopped still");
        std::thread::sleep(GLANCE);
    }
    libc::WEXITSTATUS(running.wait().unwrap().wait_status)
}

fn send(pid: i32, signal: i32) {
    // SAFETY: takes no memory; the process is our child.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

/// Whether a process catches a signal.
fn catches(pid: i32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << (signal - 1) != 0
}

#[test]
fn a_thread_that_never_stood_is_let_go() {
    let (running, mut end) = waiting_for_a_child();
    let pid = running.pid();
    let stopped = apart(|| Group::stop(pid, Duration::from_millis(1)).map(drop));
    assert!(matches!(stopped, Err(AttachError::Stuck(tid)) if tid == pid), "{stopped:?}");
    end.write_all(b".").unwrap();
    assert_eq!(status_at_its_end(running), 7);
}

/// However long it takes until it stands.
#[test]
fn a_thread_whose_mask_was_changed_is_not_let_go_before_it_has_its_own() {
    let (running, mut end) = waiting_for_a_child();
    let pid = running.pid();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(2 * NOTICE);
            end.write_all(b".").unwrap();
        });
        apart(|| {
            let mut group = Group { pid, own_child: true, members: Vec::new(), gate: None };
            group.take_up_new().unwrap();
            group.members[0].blocked = Some(1 << (libc::SIGUSR1 - 1));
        });
    });
    assert_eq!(status_at_its_end(running), 9);
}

/// A thread that did not come to stand in its moment, as where a processor was long in coming, runs on with a mask that
/// is the program's.
#[test]
fn a_thread_whose_signal_went_back_does_not_run_with_that_blocked() {
    let looks = "while :; do while read -r name mask; do \
                 case $name in SigBlk:) [ $mask = 0000000000000000 ] || exit 9; esac; done < /proc/self/status; done";
    let mut launch = Launch::new("sh");
    launch.arguments = vec!["-c".into(), format!("trap : USR1; trap 'exit 7' USR2; {looks}").into()];
    let running = launch.stopped().unwrap().release().unwrap();
    let pid = running.pid();
    while !catches(pid, libc::SIGUSR2) {
        std::thread::sleep(GLANCE);
    }
    let mut group = Group::stop(pid, Duration::from_secs(60)).unwrap();
    group.members[0].stands = false;
    request(libc::PTRACE_CONT, pid, 0).unwrap();
    send(pid, libc::SIGUSR1);
    while group.members[0].blocked.is_none() {
        group.look().unwrap();
    }
    while state(pid) != "t" {
        std::thread::sleep(GLANCE);
    }
    let ran_on = group.run_on(&[pid], Duration::from_millis(300));
    drop(group);
    send(pid, libc::SIGUSR2);
    assert_eq!((status_at_its_end(running), ran_on.is_ok()), (7, true));
}

/// The kernel takes back what came before one of them, also where it was put back.
#[test]
fn signals_that_stop_and_continue_a_process_keep_their_order() {
    for (signals, letter) in [([libc::SIGCONT, libc::SIGSTOP], "T"), ([libc::SIGTSTP, libc::SIGCONT], "R")] {
        let running = counting(":");
        let pid = running.pid();
        let mut group = Group::stop(pid, Duration::from_secs(60)).unwrap();
        send(pid, signals[0]);
        // The kernel has a thread stop where its process is to go on, before it delivers the signal that says so.
        let mut status = libc::PTRACE_EVENT_STOP << 8 | libc::SIGTRAP;
        while is_asked_for(status) {
            request(libc::PTRACE_CONT, pid, 0).unwrap();
            while state(pid) != "t" {
                std::thread::sleep(GLANCE);
            }
            status = stop_of(pid).unwrap().unwrap();
        }
        assert_eq!(status, signals[0]);
        send(pid, signals[1]);
        group.members[0].came_to(status);
        while !group.look().unwrap() {
            std::thread::sleep(GLANCE);
        }
        drop(group);
        let begun = Instant::now();
        while state(pid) != letter && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(GLANCE);
        }
        let found = state(pid);
        send(pid, libc::SIGKILL);
        running.wait().unwrap();
        assert_eq!(found, letter, "{signals:?}");
    }
}

/// Whoever is let go while others are still traced is woken for signals that are ignored.
#[test]
fn those_in_calls_that_any_signal_ends_go_last() {
    let code = "#include <pthread.h>\n#include <sys/epoll.h>\n#include <unistd.h>\n\
                static void *events(void *all) { struct epoll_event event; epoll_wait(*(int *)all, &event, 1, -1); return all; }\n\
                static void *nothing(void *unused) { pause(); return unused; }\n\
                int main(void) { pthread_t thread; int all = epoll_create1(0); pthread_create(&thread, 0, events, &all); \
                pthread_create(&thread, 0, nothing, 0); return *(int *)events(&all); }";
    let (running, _end) = compiled::running(code);
    let pid = running.pid();
    let wait = |tid: &i32| {
        let call = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default();
        [libc::SYS_epoll_wait, libc::SYS_pause].iter().any(|number| call.starts_with(&format!("{number} ")))
    };
    let mut threads = family::threads(pid);
    while threads.len() < 3 || !threads.iter().all(wait) {
        std::thread::sleep(GLANCE);
        threads = family::threads(pid);
    }
    let mut group = Group::stop(pid, Duration::from_secs(60)).unwrap();
    group.put_interrupted_last();
    let order: Vec<_> = group.tracees().iter().map(|tracee| tracee.tid()).collect();
    drop(group);
    send(pid, libc::SIGKILL);
    running.wait().unwrap();
    assert_eq!(order, [threads[0], threads[2], threads[1]]);
}
