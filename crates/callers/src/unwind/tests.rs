//! Stacks that are known: of a process of our own, and made by hand.

use super::*;
use crate::present_mappings;
use std::hint::black_box;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use timewise_target::group::{Group, apart};
use timewise_target::perf::{FileIdentity, RawMapping};

/// Says that this is the process of our own, which calls itself and waits.
const BE_DEEP: &str = "TIMEWISE_TEST_BE_DEEP";
/// How deep the process of our own calls itself.
const DEPTH: u64 = 40;
/// No larger is the function that does.
const FUNCTION_BYTES: u64 = 4096;
/// What it says when it is there.
const READY: &[u8] = b"deep\n";

/// Calls itself, and waits to be killed.
#[inline(never)]
fn deep(left: u64, bytes: [u8; 300]) -> u64 {
    if left == 0 {
        std::io::stdout().write_all(READY).unwrap();
        std::io::stdout().flush().unwrap();
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    black_box(deep(left - 1, black_box(bytes))) + u64::from(black_box(bytes)[7])
}

struct Deep(Child);

impl Deep {
    fn begin() -> Deep {
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.args(["--exact", "unwind::tests::callers_of_a_thread_that_stands_are_found", "--nocapture"]);
        own.env(BE_DEEP, "");
        let mut child = own.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = Vec::new();
        while !line.ends_with(READY) {
            line.clear();
            assert!(std::io::BufRead::read_until(&mut said, b'\n', &mut line).unwrap() > 0, "it ended");
        }
        Deep(child)
    }
}

impl Drop for Deep {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn space_of(pid: u32, modules: &mut Modules) -> AddressSpace {
    let mut space = AddressSpace::default();
    present_mappings(pid).unwrap().iter().for_each(|raw| modules.map(&mut space, raw));
    space
}

#[test]
fn callers_of_a_thread_that_stands_are_found() {
    if std::env::var_os(BE_DEEP).is_some() {
        deep(DEPTH, [0; 300]);
    }
    let child = Deep::begin();
    let pid = child.0.id();
    let mut modules = Modules::default();
    let own = space_of(std::process::id(), &mut modules);
    let start = own.place(deep as *const () as u64).unwrap();
    let space = space_of(pid, &mut modules);
    let (callers, end) = apart(|| {
        let group = Group::stop(pid as i32, Duration::from_secs(10)).unwrap();
        // The test runs in a thread of its own.
        let of_threads = group.tracees().into_iter().map(|tracee| {
            let (mut callers, mut unwinder) = (Vec::new(), Unwinder::new(true));
            let registers = tracee.registers().unwrap();
            let end = unwinder.callers_of_stopped(
                (pid as i32, &registers, Innermost::Called),
                &space,
                &modules,
                &mut callers,
            );
            (callers, end)
        });
        of_threads.max_by_key(|(callers, _)| callers.len()).unwrap()
    });
    let is_deep = |place: &&Place| {
        place.module == start.module
            && (start.offset.0..start.offset.0 + FUNCTION_BYTES).contains(&place.offset.0)
    };
    assert_eq!(end, End::Whole);
    assert!(callers.iter().filter(is_deep).count() as u64 > DEPTH, "{callers:?}");
}

/// Code at 0x1000 of which no file tells anything, and a stack at 0x8000.
fn by_hand(registers: Registers, words: &[u64]) -> (Vec<u64>, End) {
    let mut modules = Modules::default();
    let mut space = AddressSpace::default();
    modules.map(
        &mut space,
        &RawMapping {
            pid: 1,
            address: 0x1000,
            length: 0x1000,
            file_offset: 0,
            identity: FileIdentity::Inode { device: 0, inode: 0 },
            path: b"//anon".to_vec(),
        },
    );
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut callers = Vec::new();
    let stack = UserStack { registers, bytes: bytes.into() };
    let end = Unwinder::new(true).callers(&stack, &space, &modules, &mut callers);
    (callers.iter().map(|place| place.offset.0).collect(), end)
}

#[test]
fn frame_pointers_lead_on_where_there_are_no_tables() {
    // The frames of two callers, the outer of which is the outermost.
    let words = [0x8010, 0x1200, 0, 0x1300, 0];
    let frames = by_hand(Registers::of_frame(0x1100, 0x8000, 0x8000), &words);
    assert_eq!(frames, (vec![0x200, 0x300], End::Whole));
    // A register that points nowhere near is none.
    let lost = by_hand(Registers::of_frame(0x1100, 0x8000, 0x100), &words);
    assert_eq!(lost, (Vec::new(), End::Broken));
    // What was copied ends too early.
    let short = by_hand(Registers::of_frame(0x1100, 0x8000, 0x8000), &words[..2]);
    assert_eq!(short, (vec![0x200], End::CutShort));
}
