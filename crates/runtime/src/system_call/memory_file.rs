//! `/proc/PID/mem`: through it a program writes to its own code, also where that is not writable, as JIT compilers do that
//! never have code writable (Julia's).

use super::memory::overwritten;
use super::{answer, arguments, native};
use crate::state::PROCESS;
use crate::sys::memory::read;
use crate::sys::{call, call_for_program, number};
use timewise_abi::thread::ThreadArea;

/// Longer than any name of the file.
const LONGEST: usize = 64;

/// More than the kernel lets a call write.
const MOST: u64 = 1 << 31;

/// A file is opened: from then on writes to files may be ones to memory, if that is what it is.
pub fn open(area: &mut ThreadArea) {
    const WRITABLE: u64 = 3; // O_WRONLY | O_RDWR
    let [a, b, c, ..] = arguments(area);
    let (path, flags) = match area.registers.rax {
        number::OPEN => (a, b),
        number::OPENAT => (b, c),
        // The flags come first in what it is told.
        _ => (b, word(c).unwrap_or(WRITABLE)),
    };
    if flags & WRITABLE != 0 && may_be_memory(path) {
        PROCESS.with(|process| {
            process.as_mut().expect("set up before translated code ran").writes_memory = true;
        });
    }
    native(area);
}

fn may_be_memory(path: u64) -> bool {
    let mut name = [0; LONGEST];
    let known = read(path, &mut name);
    let end = name[..known].iter().position(|&byte| byte == 0);
    end.is_some_and(|end| name[..end].ends_with(b"mem"))
}

fn word(at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (read(at, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
}

/// Something is written to a file: if it may be memory that code was translated from, that is not to run again.
pub fn write(area: &mut ThreadArea) {
    let (number, arguments) = (area.registers.rax, arguments(area));
    let result = PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        let start = process.writes_memory.then(|| position(number, arguments))??;
        let length = if matches!(number, number::WRITE | number::PWRITE64) { arguments[2] } else { MOST };
        let range = start..start.saturating_add(length.min(MOST));
        // Files that have a position let nobody wait for long.
        process.space.concerns(range).then(|| {
            // SAFETY: the program's own call; what it means for the runtime follows.
            let result = unsafe { call_for_program(number, arguments) };
            result.inspect(|&written| overwritten(process, start..start.saturating_add(written)))
        })
    });
    match result {
        Some(result) => answer(area, result),
        None => native(area),
    }
}

/// Where a call writes, if its file has a position.
fn position(number: u64, [file, _, _, at, ..]: [u64; 6]) -> Option<u64> {
    const CURRENT: u64 = 1;
    const OF_FILE: u64 = u64::MAX; // of `pwritev2`
    match number {
        number::PWRITE64 | number::PWRITEV => Some(at),
        number::PWRITEV2 if at != OF_FILE => Some(at),
        // SAFETY: asks where the file stands.
        _ => unsafe { call(number::LSEEK, [file, 0, CURRENT, 0, 0, 0]) }.ok(),
    }
}
