//! A program under count, looked at from outside: who has it, and a thread on its way out of the runtime, instruction by
//! instruction.

use super::take_over::take_over;
use super::visit::Visits;
use crate::arena::{self, Arena};
use crate::census::{Census, Found};
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use timewise_abi::process;
use timewise_abi::stream::Plan;
use timewise_abi::thread::{ThreadArea, state};
use timewise_injection::{Host, Occupant, payload};
use timewise_target::group::Group;
use timewise_target::trace::Registers;

/// Answers each byte that it reads; a signal ends it.
const PROGRAM: &str = "#include <signal.h>\n#include <unistd.h>\n\
     static void end(int number) { _exit(7); }\n\
     int main(void) { char byte; signal(SIGUSR1, end); \
     while (read(0, &byte, 1) == 1 && write(1, &byte, 1) == 1); return 2; }";

const PATIENCE: Duration = Duration::from_secs(60);

/// The flag by which a processor traps after each instruction: code that saves flags, and puts them back, does so with what
/// stepping through it set.
const TRAPS: u64 = 1 << 8;

/// A program that is counted.
struct Counted {
    arena: Arena,
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Counted {
    fn begin() -> Counted {
        let folder = tempfile::tempdir().unwrap();
        let [source, program] = ["answers.c", "answers"].map(|name| folder.path().join(name));
        std::fs::write(&source, PROGRAM).unwrap();
        assert!(Command::new("cc").arg(&source).arg("-o").arg(&program).status().unwrap().success());
        let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let payload = payload::load().unwrap();
        let arena = Arena::new(&payload, false, Plan::default(), None, 1 << 30).unwrap();
        let mut counted = Counted { arena, child, input, output };
        counted.ask();
        let visits = Visits::new(&counted.arena, &payload).unwrap();
        let group = Group::stop(counted.pid(), PATIENCE).unwrap();
        take_over(&counted.arena, &payload, &visits, group).unwrap();
        // All that it executes is translated from then on.
        (0..3).for_each(|_| counted.ask());
        counted
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    fn ask(&mut self) {
        self.input.write_all(b"?").unwrap();
        self.output.read_exact(&mut [0]).unwrap();
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // One that has ended was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn whoever_is_to_give_a_program_back_is_known_until_that_is_done() {
    let counted = Counted::begin();
    let header = counted.arena.shared().header();
    let own = std::process::id();
    let host = |host: u32, giver: u32| {
        header.host_pid.store(host, Ordering::Relaxed);
        header.giver_pid.store(giver, Ordering::Relaxed);
        match Occupant::of(counted.pid()).unwrap() {
            Some(Occupant::Counting { host }) => host,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(host(own, own), Host::Works);
    assert_eq!(host(0, own), Host::Ending(own as i32));
    assert_eq!([host(0, 0), host(0, i32::MAX as u32)], [Host::Gone; 2]);
}

/// A signal that comes in just that moment finds the runtime at work, so that it waits, with all others. The thread goes
/// on to a system call that nothing else ends.
#[test]
fn a_signal_that_comes_when_a_thread_begins_to_stand_is_let_in() {
    let mut counted = Counted::begin();
    let pid = counted.pid();
    // SAFETY: within the file; its thread stands whenever it is looked at.
    let reads = |area: *mut ThreadArea| unsafe {
        let is_called = (*area).state.load(Ordering::Relaxed) == state::IN_SYSTEM_CALL;
        is_called && (*area).registers.rax == libc::SYS_read as u64
    };
    let (mut group, tracee, area) = loop {
        let group = Group::stop(pid, PATIENCE).unwrap();
        let tracee = group.tracees()[0];
        let area = counted.arena.thread(tracee.registers().unwrap().gs_base - arena::BASE).unwrap();
        if reads(area) {
            break (group, tracee, area);
        }
    };
    counted.input.write_all(b"?").unwrap();
    let step = || {
        tracee.step().unwrap();
        // SAFETY: as above.
        unsafe { (*area).registers.rflags &= !TRAPS };
    };
    while reads(area) {
        step();
    }
    // To its answer, and on to the next byte, which never comes.
    while !reads(area) {
        step();
    }
    // SAFETY: as above.
    let wanted = unsafe { &(*area).wanted };
    wanted.store(1, Ordering::Relaxed);
    while wanted.load(Ordering::Relaxed) == 1 {
        step();
    }
    let registers = tracee.registers().unwrap();
    tracee.set_registers(&Registers { eflags: registers.eflags & !TRAPS, ..registers }).unwrap();
    // SAFETY: takes no memory; the process is our child.
    unsafe { libc::kill(pid, libc::SIGUSR1) };
    group.keep_registers(pid);
    drop(group);
    let is_deaf = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains("\nState:\tS") && !status.contains("\nSigBlk:\t0000000000000000")
    };
    let ended = loop {
        match counted.child.try_wait().unwrap() {
            None if !is_deaf() => std::thread::sleep(Duration::from_millis(1)),
            ended => break ended.and_then(|ended| ended.code()),
        }
    };
    assert_eq!(ended, Some(7));
}

#[test]
fn a_process_is_found_by_its_record_as_long_as_that_says_that_it_runs() {
    let counted = Counted::begin();
    let (arena, pid) = (&counted.arena, counted.pid());
    let other = Arena::new(&payload::load().unwrap(), false, Plan::default(), None, 1 << 30).unwrap();
    let own = std::process::id() as i32;
    assert!(arena.is_mapped_in(pid).unwrap() && !other.is_mapped_in(pid).unwrap());
    assert!(!arena.is_mapped_in(own).unwrap(), "the host has it elsewhere");
    assert!(arena.is_mapped_in(i32::MAX).is_err());
    let record = arena.records()[0];
    let census = Census::take(arena);
    assert_eq!(census.find(record), Found { counted: vec![pid], hidden: Vec::new() });
    assert_eq!(Census::take(&other).find(record), Found::default());
    record.state.store(process::state::ENDED, Ordering::Release);
    assert_eq!(census.find(record), Found::default());
}

#[test]
fn a_process_has_several_threads_from_the_second_on() {
    let arena = Arena::new(&payload::load().unwrap(), false, Plan::default(), None, 1 << 30).unwrap();
    let shared = arena.shared();
    let (process, _) = arena.register(1, 0).unwrap();
    let has_several = || shared.has_several_threads(shared.process(process));
    assert!(!has_several());
    shared.register_thread(process).unwrap();
    assert!(has_several());
    let (other, _) = arena.register(2, process).unwrap();
    assert!(!shared.has_several_threads(shared.process(other)));
}
