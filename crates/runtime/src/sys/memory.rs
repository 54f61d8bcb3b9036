//! Memory of the runtime's own, away from the program's.

use super::{Errno, call, filter, limit, number};
use core::ops::Range;

const NO_ACCESS: u64 = 0;
const READ_WRITE: u64 = 3;
const READ_WRITE_EXECUTE: u64 = 7;
const SHARED: u64 = 0x01;
const PRIVATE: u64 = 0x02;
const ANONYMOUS_NORESERVE: u64 = 0x20 | 0x4000;
const FIXED_NOREPLACE: u64 = 0x10_0000;

/// Maps fresh memory exactly at `address`, if nothing is there.
///
/// # Errors
/// The kernel's: `EEXIST` if something is there.
pub fn map_at(address: u64, size: u64, executable: bool) -> Result<(), Errno> {
    map(address, size, rights(executable), PRIVATE)
}

/// Likewise, memory that stays the same in processes that are forked.
///
/// # Errors
/// Those of [`map_at`].
pub fn map_shared_at(address: u64, size: u64) -> Result<(), Errno> {
    map(address, size, READ_WRITE, SHARED)
}

fn map(address: u64, size: u64, protection: u64, sharing: u64) -> Result<(), Errno> {
    let flags = sharing | ANONYMOUS_NORESERVE | FIXED_NOREPLACE;
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

fn rights(executable: bool) -> u64 {
    if executable { READ_WRITE_EXECUTE } else { READ_WRITE }
}

/// Takes the addresses of `range`, if nothing is there, and no memory yet: to whoever asks the kernel for some it gives
/// it elsewhere.
///
/// # Errors
/// Those of [`map_at`].
pub fn reserve_at(range: Range<u64>) -> Result<(), Errno> {
    map(range.start, range.end - range.start, NO_ACCESS, PRIVATE)
}

/// Has fresh memory at addresses that were reserved.
///
/// # Errors
/// The kernel's. They stay reserved.
///
/// # Safety
/// [`reserve_at`] took the addresses.
pub unsafe fn provide(address: u64, size: u64, executable: bool) -> Result<(), Errno> {
    // SAFETY: what was reserved is the runtime's own, as the caller vouches.
    unsafe { call(number::MPROTECT, [address, size, rights(executable), 0, 0, 0]) }.map(drop)
}

/// Gives back what was reserved.
///
/// # Safety
/// [`reserve_at`] took the addresses, and nobody relies on what is there.
pub unsafe fn give_back(range: Range<u64>) {
    // SAFETY: nobody relies on it, as the caller vouches. A failure leaves addresses taken.
    let _ = unsafe { call(number::MUNMAP, [range.start, range.end - range.start, 0, 0, 0, 0]) };
}

/// Keeps what is mapped in `range` out of the program's core dumps, which would otherwise hold every page
/// that is reserved there.
pub fn leave_out_of_dumps(range: Range<u64>) {
    const DONT_DUMP: u64 = 16;
    // SAFETY: changes nothing but what a dump holds. Holes in the range are reported and do no harm.
    let _ = unsafe { call(number::MADVISE, [range.start, range.end - range.start, DONT_DUMP, 0, 0, 0]) };
}

/// Asks for large pages in `range`, where the system gives them on request: each stands for 512 others in the
/// processor's tables, and is made at once.
pub fn prefer_large_pages(range: Range<u64>) {
    const HUGE_PAGE: u64 = 14;
    // SAFETY: changes nothing but how memory is provided.
    let _ = unsafe { call(number::MADVISE, [range.start, range.end - range.start, HUGE_PAGE, 0, 0, 0]) };
}

/// Whether [`read`] finds out what is readable. Else only what the program is about to use itself may be read.
pub fn is_checked() -> bool {
    filter::allows(number::PROCESS_VM_READV, &[0, 0, 1, 0, 1, 0]) && filter::allows(number::GETTID, &[0; 6])
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
    let arguments = [thread(), local.as_ptr() as u64, 1, remote.as_ptr() as u64, 1, 0];
    if !filter::allows(number, &arguments) || !filter::allows(number::GETTID, &[0; 6]) {
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
    match unsafe { call(number, arguments) } {
        Ok(copied) => copied as usize,
        // SAFETY: as promised.
        Err(Errno(NOT_PERMITTED | NO_SUCH_CALL)) => unsafe { copy_by_pages(number, buffer, address, count) },
        Err(_) => 0,
    }
}

/// The thread rather than the process: by a first thread that has ended, the kernel finds no memory.
fn thread() -> u64 {
    // SAFETY: changes nothing.
    unsafe { call(number::GETTID, [0; 6]) }.unwrap_or(0)
}

const NOT_PERMITTED: i32 = 1;
const NO_SUCH_CALL: i32 = 38;
const FAULT: i32 = 14;

/// Copies where the call made for it is refused, as by the system call filter of a container: the kernel is asked
/// by other calls, page by page, whether the memory is there.
///
/// # Safety
/// As for [`transfer`].
unsafe fn copy_by_pages(number: u64, buffer: *mut u8, address: u64, count: usize) -> usize {
    const PAGE: u64 = 4096;
    let mut copied = 0;
    while copied < count {
        let at = address.wrapping_add(copied as u64);
        let length = ((PAGE - at % PAGE) as usize).min(count - copied);
        let reading = number == number::PROCESS_VM_READV;
        if !(if reading { is_readable(at) } else { is_writable(at) }) {
            break;
        }
        // SAFETY: the buffer holds `count` bytes, and the page was there just now; the caller vouches for the rest.
        unsafe {
            let ours = buffer.add(copied);
            let (from, to) =
                if reading { (at as *const u8, ours) } else { (ours.cast_const(), at as *mut u8) };
            core::ptr::copy(from, to, length);
        }
        copied += length;
    }
    copied
}

/// The kernel reads a signal mask before it finds that it does not know what to do with it.
fn is_readable(address: u64) -> bool {
    const NOTHING_KNOWN: u64 = u64::MAX;
    const MASK_BYTES: u64 = 8;
    let arguments = [NOTHING_KNOWN, address & !7, 0, MASK_BYTES, 0, 0];
    // SAFETY: changes nothing.
    let answer = unsafe { call(number::RT_SIGPROCMASK, arguments) };
    answer != Err(Errno(FAULT))
}

/// The kernel adds nothing to a word, and then would wake who waits for it if it were a very low number.
fn is_writable(address: u64) -> bool {
    const WAKE_AFTER_OPERATION: u64 = 5 | 128;
    const ADD_NOTHING_AND_WAKE_BELOW_2048: u64 = 1 << 28 | 2 << 24 | 0x800;
    let nobody_waits = 0_u32;
    let word = &raw const nobody_waits as u64;
    let arguments = [word, WAKE_AFTER_OPERATION, 0, 0, address & !3, ADD_NOTHING_AND_WAKE_BELOW_2048];
    // SAFETY: changes nothing.
    let answer = unsafe { call(number::FUTEX, arguments) };
    answer != Err(Errno(FAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_copied_page_by_page_up_to_where_it_ends() {
        let place = 0x1234_5000_0000_u64;
        map_at(place, 8192, false).unwrap();
        // SAFETY: takes the second page, which nobody uses, away.
        unsafe { call(number::MUNMAP, [place + 4096, 4096, 0, 0, 0, 0]) }.unwrap();
        let mut text = *b"timewise";
        // SAFETY: the mapping was made for this.
        unsafe {
            let copy =
                |number, buffer: &mut [u8], at| copy_by_pages(number, buffer.as_mut_ptr(), at, buffer.len());
            assert_eq!(copy(number::PROCESS_VM_WRITEV, &mut text, place + 4088), 8);
            let mut found = [0; 16];
            assert_eq!(copy(number::PROCESS_VM_READV, &mut found, place + 4088), 8);
            assert_eq!(&found[..8], b"timewise");
            assert_eq!(copy(number::PROCESS_VM_READV, &mut found, place + 4096), 0);
            assert_eq!(copy(number::PROCESS_VM_WRITEV, &mut text, 8), 0);
            // Code can be read and not written.
            let code = is_readable as *const () as u64;
            assert_eq!(copy(number::PROCESS_VM_READV, &mut found, code), 16);
            assert_eq!(copy(number::PROCESS_VM_WRITEV, &mut text, code), 0);
        }
    }
}
