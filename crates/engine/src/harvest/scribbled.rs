//! Tests: whatever a program writes over the shared file, the host reads it to the end.

use super::Harvest;
use crate::arena::Arena;
use crate::inject::inject;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use timewise_abi::stream::Plan;
use timewise_abi::{GRANULE, MAGIC};
use timewise_injection::payload;
use timewise_profile::{Run, RunKind};
use timewise_target::cpu_time;
use timewise_target::launch::Launch;
use timewise_target::run;
use timewise_target::subject::Subject;

const CASES: usize = 4000;
const MOST_RESIDENT: u64 = 1 << 30;
/// CPU time: how long it takes besides is the machine's affair.
const LONGEST_CASE: Duration = Duration::from_secs(2);

/// Forks, and forks again in the child; makes a thread and a system call that does not return; loops.
const PROGRAM: &str = "
    .intel_syntax noprefix
    .globl _start
    _start: mov ebx, 2
    again:  mov eax, 57             # fork
            syscall
            mov ecx, 1000
    spin:   dec ecx
            jnz spin
            test eax, eax
            jnz parent
            dec ebx
            jnz again
            jmp leave
    parent: mov edi, -1
            xor esi, esi
            xor edx, edx
            xor r10d, r10d
            mov eax, 61             # wait4
            syscall
            mov edi, 0x50f00        # a thread: CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM
            lea rsi, [rip + stack]
            xor edx, edx
            xor r8d, r8d
            mov eax, 56             # clone
            syscall
            test eax, eax
            jz thread
    wait:   cmp dword ptr [rip + done], 0
            je wait
    leave:  xor edi, edi
            mov eax, 231            # exit_group
            syscall
    thread: mov dword ptr [rip + done], 1
            mov eax, 34             # pause
            syscall
            .bss
    done:   .zero 4096
    stack:  .zero 64
";

/// The shared file of a real run, and that run's row.
fn recorded() -> (Arena, Run) {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["program.s", "program"].map(|name| folder.path().join(name));
    std::fs::write(&source, PROGRAM).unwrap();
    let built = Command::new("cc").args(["-nostdlib", "-static", "-o"]).args([&program, &source]).status();
    assert!(built.expect("cc runs").success());
    let payload = payload::load().unwrap();
    let arena = Arena::new(&payload, true, Plan::default(), None, 1 << 30).unwrap();
    let stopped = Launch::new(&program).stopped().unwrap();
    inject(&arena, &payload, stopped.pid(), 0).unwrap();
    let subject = Subject::of(stopped.pid() as u32).unwrap();
    let ended = stopped.release().unwrap().wait().unwrap();
    assert_eq!(ended.wait_status, 0);
    (arena, run::row(RunKind::Counting, subject, &ended))
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// What a wild write, or a program of ill will, may put where `now` stands.
    fn scribble(&mut self, arena: &Arena, words: &[(u64, u64)], now: u64) -> u64 {
        match self.below(10) {
            0 => 0,
            1 => u64::MAX,
            2 => self.next(),
            3 => self.next() & 0xffff_ffff,
            4 => now ^ (1 << self.below(64)),
            5 => now.wrapping_add(1),
            6 => words[self.below(words.len())].1,
            7 => words[self.below(words.len())].0 & !(GRANULE - 1),
            8 => arena.file().size() - GRANULE,
            _ => u64::from(self.next() as u8),
        }
    }
}

/// Words that the harvest may read, with their values, each kind of place as often as the others: heads of
/// records, and what else is not zero.
fn words(arena: &Arena) -> [Vec<(u64, u64)>; 2] {
    let (mut heads, mut others) = (Vec::new(), Vec::new());
    arena.each_word(0..arena.file().size(), |at, value| {
        let is_head = at % GRANULE < 256;
        if !arena.image().contains(&at) && (is_head || value != 0) {
            if is_head { &mut heads } else { &mut others }.push((at, value));
        }
    });
    [heads, others]
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn whatever_is_scribbled_over_the_counts_the_host_survives() {
    let (arena, run) = recorded();
    assert_eq!(arena.shared().header().magic, MAGIC);
    let (converter, damage) = Harvest::new(&arena, 256, false).finish();
    assert_eq!((converter.balance.images, converter.balance.imbalance, damage), (3, 0, 0));

    let places = words(&arena);
    let mut random = Random(0x7469_6d65_7769_7365);
    let (mut noticed, mut counted) = (0, 0);
    for case in 0..CASES {
        let mut before = Vec::new();
        for _ in 0..1 + random.below(6) {
            let words = &places[random.below(2)];
            let (at, _) = words[random.below(words.len())];
            let now = arena.read_word(at);
            before.push((at, now));
            arena.write_word(at, random.scribble(&arena, words, now));
        }
        let begun = cpu_time::of_this_thread();
        let mut harvest = Harvest::new(&arena, 256, false);
        harvest.discover();
        let (converter, damage) = harvest.finish();
        let wrong = damage > 0 || converter.balance.imbalance > 0 || converter.balance.images < 3;
        noticed += usize::from(wrong);
        let lost_calls = Some(converter.lost_calls());
        let (mut profile, _) = converter.into_profile(Vec::new());
        profile.runs.push(Run { lost_calls, ..run.clone() });
        counted += usize::from(!profile.block_counts.is_empty());
        let took = cpu_time::of_this_thread().saturating_sub(begun);
        assert!(took < LONGEST_CASE, "case {case} took {took:?}: {before:x?}");
        if let Err(error) = profile.check() {
            panic!("case {case}: {error}: {before:x?}");
        }
        // What was scribbled, and what the harvest gave back after reading it.
        for &(at, value) in places.iter().flatten() {
            if arena.read_word(at) != value {
                arena.write_word(at, value);
            }
        }
    }
    assert!(noticed > CASES / 4 && counted > CASES / 2, "{noticed} noticed, {counted} with counts");
    assert!(resident() < MOST_RESIDENT, "{} bytes", resident());
}

#[test]
fn a_program_cannot_make_the_file_shorter() {
    let arena = Arena::new(&payload::load().unwrap(), true, Plan::default(), None, 1 << 30).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(arena.file().path()).unwrap();
    assert_eq!(file.set_len(0).unwrap_err().raw_os_error(), Some(libc::EPERM));
}

#[test]
fn memory_of_processes_that_ended_is_given_back() {
    let (arena, _) = recorded();
    let before = arena.used();
    let mut harvest = Harvest::new(&arena, 256, false);
    let begun = Instant::now();
    while !(harvest.open.is_empty() && harvest.latest != 0) {
        harvest.collect();
        assert!(begun.elapsed() < Duration::from_secs(100), "{} left", harvest.open.len());
        std::thread::sleep(Duration::from_millis(50));
    }
    let empty = Arena::new(&payload::load().unwrap(), true, Plan::default(), None, 1 << 30).unwrap().used();
    let [before, left] = [before, arena.used()].map(|used| used.saturating_sub(empty));
    assert!(left <= before / 20, "{left} of {before} bytes");
    let handed_out = arena.shared().header().next_free.load(Ordering::Relaxed);
    let (_, thread) = arena.register(1, 0).unwrap();
    assert!(thread < handed_out, "an area of theirs is used again");
    let (converter, damage) = harvest.finish();
    assert_eq!((converter.balance.images, converter.balance.imbalance, damage), (3, 0, 0));
}
