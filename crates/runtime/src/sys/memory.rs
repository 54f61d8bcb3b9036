//! Memory of the runtime's own, away from the program's.

use super::{Errno, call, number};

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

/// Copies readable memory of the program; stops, without a fault, where it ends.
pub fn read(address: u64, buffer: &mut [u8]) -> usize {
    let own = pid();
    let local = [buffer.as_mut_ptr() as u64, buffer.len() as u64];
    let remote = [address, buffer.len() as u64];
    let arguments = [own, local.as_ptr() as u64, 1, remote.as_ptr() as u64, 1, 0];
    // SAFETY: writes to `buffer` at most.
    unsafe { call(number::PROCESS_VM_READV, arguments) }.map_or(0, |n| n as usize)
}

fn pid() -> u64 {
    // SAFETY: changes nothing.
    unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0)
}
