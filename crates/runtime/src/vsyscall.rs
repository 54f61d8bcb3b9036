//! The page of system calls at a fixed address that very old programs call. The kernel no longer has code
//! there: it acts when the program jumps there, and returns to the program's own code, which would go on
//! uncounted. What was the code once is translated in its place.

use crate::sys::number;

const PAGE: u64 = 0xffff_ffff_ff60_0000;

/// Distance between the calls.
const STEP: u64 = 0x400;

/// `mov rax, number; syscall; ret`.
const fn call(number: u64) -> [u8; 10] {
    [0x48, 0xc7, 0xc0, number as u8, (number >> 8) as u8, 0, 0, 0x0f, 0x05, 0xc3]
}

static CALLS: [[u8; 10]; 3] = [call(number::GETTIMEOFDAY), call(number::TIME), call(number::GETCPU)];

/// What once was the code at `address`, if it lies in one of the calls.
pub fn code(address: u64) -> Option<&'static [u8]> {
    let offset = address.checked_sub(PAGE)?;
    let call = CALLS.get((offset / STEP) as usize)?;
    call.get((offset % STEP) as usize..).filter(|rest| !rest.is_empty())
}
