//! Memory of the runtime's own, away from the program's.

use super::{Errno, call, filter, limit, number};
use core::ops::Range;

const READ_WRITE: u64 = 3;
const READ_WRITE_EXECUTE: u64 = 7;
const PRIVATE_ANONYMOUS_NORESERVE: u64 = 0x02 | 0x20 | 0x4000;
const FIXED_NOREPLACE: u64 = 0x10_0000;

/// Maps fresh memory exactly at `address`, if nothing is there.
///
/// # Errors
/// The kernel's: `EEXIST` if something is there.
pub fn map_at(address: u64, size: u64, executable: bool) -> Result<(), Errno> {
    let protection = if executable { READ_WRITE_EXECUTE } else { READ_WRITE };
    let flags = PRIVATE_ANONYMOUS_NORESERVE | FIXED_NOREPLACE;
    limit::make_room(size);
    // SAFETY: takes the place of no mapping.
    let got = unsafe { call(number::MMAP, [address, size, protection, flags, u64::MAX, 0]) }?;
    if got == address {
        return Ok(());
    }
    // A kernel before 4.17 takes the address as a hint.
    // SAFETY: unmaps what was just mapped and is known to nobody.
    let _ = unsafe { call(number::MUNMAP, [got, size, 0, 0, 0, 0]) };
    Err(Errno(17))
}

/// Keeps what is mapped in `range` out of the program's core dumps, which would otherwise hold every page
/// that is reserved there.
pub fn leave_out_of_dumps(range: Range<u64>) {
    const DONT_DUMP: u64 = 16;
    // SAFETY: changes nothing but what a dump holds. Holes in the range are reported and do no harm.
    let _ = unsafe { call(number::MADVISE, [range.start, range.end - range.start, DONT_DUMP, 0, 0, 0]) };
}

/// Copies readable memory of the program; stops, without a fault, where it ends.
pub fn read(address: u64, buffer: &mut [u8]) -> usize {
    // SAFETY: writes to `buffer` at most.
    unsafe { transfer(number::PROCESS_VM_READV, buffer.as_mut_ptr(), address, buffer.len()) }
}

/// Writes to memory of the program. False, without a fault, if it is not writable.
#[must_use]
pub fn write(address: u64, bytes: &[u8]) -> bool {
    // SAFETY: reads `bytes`, and writes where the program asked for it.
    let written =
        unsafe { transfer(number::PROCESS_VM_WRITEV, bytes.as_ptr().cast_mut(), address, bytes.len()) };
    written == bytes.len()
}

/// Copies between a buffer of the runtime's and memory of the program: the bytes copied.
///
/// # Safety
/// The caller vouches for what is written to.
unsafe fn transfer(number: u64, buffer: *mut u8, address: u64, count: usize) -> usize {
    let local = [buffer as u64, count as u64];
    let remote = [address, count as u64];
    let arguments = [pid(), local.as_ptr() as u64, 1, remote.as_ptr() as u64, 1, 0];
    if !filter::allows(number, &arguments) || !filter::allows(number::GETPID, &[0; 6]) {
        // The kernel cannot be asked: the program's pointers are taken as good.
        let (from, to) = match number {
            number::PROCESS_VM_READV => (address as *const u8, buffer),
            _ => (buffer.cast_const(), address as *mut u8),
        };
        // SAFETY: as promised, if the address is good.
        unsafe { core::ptr::copy(from, to, count) };
        return count;
    }
    // SAFETY: as promised.
    unsafe { call(number, arguments) }.map_or(0, |n| n as usize)
}

fn pid() -> u64 {
    // SAFETY: changes nothing.
    unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0)
}
