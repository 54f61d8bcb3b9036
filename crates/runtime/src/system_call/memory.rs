//! System calls that change the address space.
//!
//! Most of them concern data alone and go to the kernel as they are. Those that touch memory which code
//! was translated from are made under the lock, and the code is retired. Those that touch the runtime's
//! own memory see it as a hole that cannot be filled.

use super::{answer, arguments, native};
use crate::retire;
use crate::state::{PROCESS, Process};
use crate::sys::filter::is_confined;
use crate::sys::{Errno, call, call_for_program, number};
use core::ops::Range;
use core::sync::atomic::Ordering;
use timewise_abi::Failure;
use timewise_abi::thread::ThreadArea;

const ENOMEM: Errno = Errno(12);
const EFAULT: Errno = Errno(14);
const EEXIST: Errno = Errno(17);

const PROT_WRITE: u64 = 2;
const PROT_EXEC: u64 = 4;
const MAP_SHARED: u64 = 1;
const MAP_FIXED: u64 = 0x10;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const MREMAP_FIXED: u64 = 2;
const MREMAP_DONTUNMAP: u64 = 4;
const SHM_REMAP: u64 = 0o40000;
const MCL_FUTURE: u64 = 2;
const MCL_ONFAULT: u64 = 4;
const DONTNEED: u64 = 4;
const FREE: u64 = 8;
const REMOVE: u64 = 9;
const DONTNEED_LOCKED: u64 = 24;

/// More than a segment of shared memory spans.
const SEGMENT: u64 = 64 << 30;

/// What a call does to a range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// What was mapped there is gone.
    Unmap,
    /// It may be used in other ways than before.
    Protect { writable: bool, executable: bool },
    /// It may have other contents than before.
    Overwrite,
}

/// Handles a call that changes the address space.
pub fn change(area: &mut ThreadArea) {
    let arguments = arguments(area);
    let number = area.registers.rax;
    let result = PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        if let Some(result) = around_own(process, number, arguments) {
            return Some(result);
        }
        let changes = changes(process, number, arguments);
        let concerned = |(range, _): &(Range<u64>, Effect)| process.space.concerns(range.clone());
        let concerned = changes.iter().flatten().any(concerned) || makes_code_unseen(number, arguments);
        concerned.then(|| make(process, number, arguments, changes))
    });
    match result {
        Some(result) => answer(area, result),
        None => native(area),
    }
}

/// Makes a call, and draws the conclusions.
fn perform(process: &mut Process, number: u64, arguments: [u64; 6]) -> Result<u64, Errno> {
    let changes = changes(process, number, arguments);
    make(process, number, arguments, changes)
}

/// Makes a call that may do all this. Also if it fails: part of it may have been done.
fn make(
    process: &mut Process,
    number: u64,
    arguments: [u64; 6],
    changes: [Option<(Range<u64>, Effect)>; 2],
) -> Result<u64, Errno> {
    // SAFETY: the program's own call; what it means for the runtime follows.
    let result = unsafe { call_for_program(number, arguments) };
    for (range, effect) in changes.into_iter().flatten() {
        // Out of room for a record is noted where it happens.
        let _ = apply(process, range, effect);
    }
    if makes_code_unseen(number, arguments)
        && let Ok(value) = result
    {
        let [a, b, c, d, ..] = arguments;
        let start = if number == number::MMAP { value } else { a };
        let changes = c & PROT_WRITE != 0 || (number == number::MMAP && d & MAP_SHARED != 0);
        let _ = process.space.made(pages(start, b), changes, process.shared, &process.record.mappings);
    }
    result
}

/// Whether a call makes memory executable in a process that may not ask the kernel about it later.
fn makes_code_unseen(number: u64, arguments: [u64; 6]) -> bool {
    let calls = matches!(number, number::MMAP | number::MPROTECT | number::PKEY_MPROTECT);
    calls && arguments[2] & PROT_EXEC != 0 && is_confined()
}

/// The addresses of `size` bytes, up to the end of their last page.
fn pages(start: u64, size: u64) -> Range<u64> {
    start..start.saturating_add(size).saturating_add(0xfff) & !0xfff
}

/// What a call may do, whatever its result.
fn changes(process: &Process, number: u64, arguments: [u64; 6]) -> [Option<(Range<u64>, Effect)>; 2] {
    let [a, b, c, d, e, _] = arguments;
    let one = |range, effect| [Some((range, effect)), None];
    match number {
        number::MMAP if d & MAP_FIXED != 0 => one(pages(a, b), Effect::Unmap),
        number::MUNMAP => one(pages(a, b), Effect::Unmap),
        number::MPROTECT | number::PKEY_MPROTECT => {
            let effect = Effect::Protect { writable: c & PROT_WRITE != 0, executable: c & PROT_EXEC != 0 };
            one(pages(a, b), effect)
        }
        number::MREMAP => {
            let old = match d & MREMAP_DONTUNMAP {
                0 => Effect::Unmap,
                _ => Effect::Overwrite,
            };
            let new = (d & MREMAP_FIXED != 0).then(|| (pages(e, c), Effect::Unmap));
            [Some((pages(a, b), old)), new]
        }
        number::MADVISE if matches!(c, DONTNEED | FREE | REMOVE | DONTNEED_LOCKED) => {
            one(pages(a, b), Effect::Overwrite)
        }
        number::REMAP_FILE_PAGES => one(pages(a, b), Effect::Unmap),
        number::BRK if a != 0 => {
            // SAFETY: asks for the end of the heap.
            let end = unsafe { call(number::BRK, [0; 6]) }.unwrap_or(0);
            one(a.saturating_add(0xfff) & !0xfff..end, Effect::Unmap)
        }
        // The size of a segment is not known here; code that is retired in vain is revived.
        number::SHMAT if c & SHM_REMAP != 0 => one(pages(b, SEGMENT), Effect::Overwrite),
        number::SHMDT => one(process.space.mapped_at(a), Effect::Unmap),
        _ => [None, None],
    }
}

fn apply(process: &mut Process, range: Range<u64>, effect: Effect) -> Result<(), Failure> {
    let mut retired = range.clone();
    match effect {
        // Only what may be read and executed, as before: code is what it was.
        Effect::Protect { writable: false, executable: true } => {
            process.space.forget(range.clone());
            process.forget_readable(range);
            return Ok(());
        }
        // Other code of the same file relies on what it saw there.
        Effect::Protect { writable: true, .. } => {
            let settled = process.space.settled_around(range.clone());
            retired = settled.start.min(range.start)..settled.end.max(range.end);
            process.space.forget(range.clone());
        }
        Effect::Protect { .. } | Effect::Overwrite => process.space.forget(range.clone()),
        Effect::Unmap => {
            process.space.unmap(range.clone(), process.shared, &process.record.mappings)?;
        }
    }
    process.forget_readable(range);
    retire::retire(process, retired);
    Ok(())
}

/// What was written to is not what it was.
pub fn overwritten(process: &mut Process, range: Range<u64>) {
    // Out of room for a record is noted where it happens.
    let _ = apply(process, range, Effect::Overwrite);
}

/// Handles a call that touches the runtime's own memory; `None` if it does not.
fn around_own(process: &mut Process, number: u64, arguments: [u64; 6]) -> Option<Result<u64, Errno>> {
    let [a, b, c, d, e, _] = arguments;
    let own = |process: &Process, range: Range<u64>| process.cache.owns(range);
    match number {
        number::MLOCKALL | number::MUNLOCKALL => {
            let (asked, arguments) = match number {
                // What the runtime reserved must not be filled: lock pages as they come into use.
                number::MLOCKALL => (a, [a | MCL_ONFAULT, b, c, d, e, 0]),
                _ => (0, arguments),
            };
            // SAFETY: locks pages or unlocks them, which changes nothing that is relied on.
            let result = unsafe { call_for_program(number, arguments) };
            if result.is_ok() {
                let of_future = if asked & MCL_FUTURE != 0 { asked & (MCL_FUTURE | MCL_ONFAULT) } else { 0 };
                process.record.locks.store(of_future as u32, Ordering::Relaxed);
            }
            Some(result)
        }
        number::MMAP if own(process, pages(a, b)) => Some(match d {
            _ if d & MAP_FIXED_NOREPLACE != 0 => Err(EEXIST),
            _ if d & MAP_FIXED == 0 => perform(process, number, [0, b, c, d, e, arguments[5]]),
            _ if process.cache.give_up(pages(a, b)) => perform(process, number, arguments),
            _ => Err(ENOMEM),
        }),
        number::MUNMAP if own(process, pages(a, b)) => {
            let mut result = Ok(0);
            for part in process.cache.others_in(pages(a, b)) {
                result = perform(process, number, [part.start, part.end - part.start, 0, 0, 0, 0]);
            }
            Some(result)
        }
        number::MPROTECT | number::PKEY_MPROTECT | number::MADVISE if own(process, pages(a, b)) => {
            for part in process.cache.others_in(pages(a, b)) {
                if part.start == a || number == number::MADVISE {
                    let _ = perform(process, number, [part.start, part.end - part.start, c, d, e, 0]);
                }
            }
            // As the kernel says of a range with a hole in it.
            Some(Err(ENOMEM))
        }
        number::MREMAP if own(process, pages(a, b)) => Some(Err(EFAULT)),
        number::MREMAP if d & MREMAP_FIXED != 0 && own(process, pages(e, c)) => Some(Err(ENOMEM)),
        _ => None,
    }
}
