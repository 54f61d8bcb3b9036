//! `rseq`: restartable sequences name addresses of the program's code, which never runs under count.
//!
//! The C library does without when the kernel does not have them. A program that ran before it was counted knows
//! that it has, and takes a refusal for a fatal error: it is told that they are registered, and the kernel is told
//! when the program is given back. Until then it shows no processor number in what they share, as before a first
//! registration.

use super::answer;
use crate::state::PROCESS;
use crate::sys::Errno;
use core::sync::atomic::Ordering;
use timewise_abi::thread::{Sequences, ThreadArea};

const ENOSYS: Errno = Errno(38);
const UNREGISTER: u64 = 1;

/// `rseq`.
pub fn register(area: &mut ThreadArea) {
    let attached = PROCESS.with(|process| {
        process.as_ref().is_some_and(|process| process.record.attached.load(Ordering::Relaxed) == 1)
    });
    if !attached {
        return answer(area, Err(ENOSYS));
    }
    let [address, size, flags, signature, ..] = super::arguments(area);
    area.sequences = match flags {
        UNREGISTER => Sequences::default(),
        _ => Sequences { address, size: size as u32, signature: signature as u32 },
    };
    answer(area, Ok(0));
}
