//! System calls of the program that concern the tracer. Above all its own handler of `SIGTRAP`, which it sets and asks
//! for as if it were in force.

use crate::handler::{SIGTRAP, SignalInfo};
use crate::restrict;
use crate::slot::{queue_again, raise};
use core::sync::atomic::Ordering;
use timewise_abi::thread::Registers;
use timewise_abi::tracing::{LET_THROUGH, TraceHeader, TraceSlot};
use timewise_runtime::sys::{call, memory, number};

/// Bytes of the `syscall` instruction.
const LENGTH: u64 = 2;

/// Values of a handler.
const DEFAULT: u64 = 0;
const IGNORE: u64 = 1;

/// `SA_` flags.
const NO_DEFER: u64 = 0x4000_0000;
const RESET: u64 = 0x8000_0000;

/// What the program believes to be in force: handler, flags, restorer, mask.
fn action(header: &TraceHeader) -> [u64; 4] {
    header.action.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// The program's own handler, for a signal that is none of ours, with the signals blocked that it asked for on
/// top of `mask`; 0 if there is nothing to be called. What ends the program does so once the tracer's handler
/// returns.
pub fn own_handler(header: &TraceHeader, code: i32, mask: u64) -> u64 {
    let [handler, flags, _, blocked] = action(header);
    // The kernel does not let a program ignore a trap that it ran into itself.
    let sent = code <= 0;
    if handler == DEFAULT || (handler == IGNORE && !sent) {
        set_default();
        // Blocked until the tracer's handler returns.
        raise(SIGTRAP);
        return 0;
    }
    if handler == IGNORE {
        return 0;
    }
    if flags & RESET != 0 {
        header.action[0].store(DEFAULT, Ordering::Relaxed);
    }
    let own = if flags & NO_DEFER == 0 { 1 << (SIGTRAP - 1) } else { 0 };
    timewise_runtime::sys::signal::set_mask(mask | blocked | own);
    handler
}

/// Whether a thread that has the signal blocked, as far as the program knows, gets it all the same: it has the mask still
/// that the host gave it.
pub fn is_let_through(slot: &TraceSlot, mask: u64) -> bool {
    slot.let_through.load(Ordering::Relaxed) == mask | LET_THROUGH
}

/// Does what the kernel would have done about a signal that none of our events sent, had the thread blocked it: it waits
/// to be asked for, as by `sigwait`, and from here on the thread blocks it. What it ran into itself ends the program.
pub fn as_blocked(slot: &TraceSlot, info: &SignalInfo, mask: &mut u64) {
    if info.code > 0 {
        set_default();
        return raise(SIGTRAP);
    }
    slot.let_through.store(0, Ordering::Relaxed);
    *mask |= 1 << (SIGTRAP - 1);
    queue_again(info);
}

fn set_default() {
    set(&[DEFAULT, 0, 0, 0]);
}

/// Has the kernel know what the program asked for, instead of the tracer's handler; signals of ours that wait are
/// dropped.
pub fn put_back(header: &TraceHeader) {
    // What is ignored does not wait either.
    set(&[IGNORE, 0, 0, 0]);
    set(&action(header));
}

fn set(action: &[u64; 4]) {
    // SAFETY: the program asked for nothing else, and runs on without the tracer's handler.
    let _ = unsafe { call(number::RT_SIGACTION, [SIGTRAP.into(), action.as_ptr() as u64, 0, 8, 0, 0]) };
}

/// The thread stands before a system call that is watched.
pub fn before_call(header: &TraceHeader, registers: &mut Registers) {
    const SECCOMP: u64 = 317;
    match registers.rax {
        number::RT_SIGACTION => keep_handler(header, registers),
        number::PRCTL if restrict::by_prctl(registers.rdi, registers.rsi) => restrict::announce(header),
        SECCOMP if restrict::by_seccomp(registers.rdi) => restrict::announce(header),
        _ => {}
    }
}

/// The thread stands before `rt_sigaction`. If it is about our signal, it is done here instead, and passed over.
fn keep_handler(header: &TraceHeader, registers: &mut Registers) {
    let (signal, new, old) = (registers.rdi, registers.rsi, registers.rdx);
    if signal != u64::from(SIGTRAP) {
        return;
    }
    const BAD_ADDRESS: u64 = -14_i64 as u64;
    let before = action(header);
    let mut wanted = before;
    let read = new == 0 || read_action(new, &mut wanted);
    if read {
        for (place, word) in header.action.iter().zip(wanted) {
            place.store(word, Ordering::Relaxed);
        }
    }
    let written = old == 0 || memory::write(old, &bytes_of(before));
    registers.rax = if read && written { 0 } else { BAD_ADDRESS };
    registers.rip += LENGTH;
}

/// Reads an action that the program hands over: false if it is not there.
fn read_action(address: u64, action: &mut [u64; 4]) -> bool {
    let mut bytes = [0; size_of::<[u64; 4]>()];
    let read = memory::read(address, &mut bytes) == bytes.len();
    for (word, bytes) in action.iter_mut().zip(bytes.chunks_exact(8)).filter(|_| read) {
        *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    read
}

fn bytes_of(action: [u64; 4]) -> [u8; size_of::<[u64; 4]>()] {
    let mut bytes = [0; size_of::<[u64; 4]>()];
    for (to, word) in bytes.chunks_exact_mut(8).zip(action) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
