//! `seccomp`: the program restricts the system calls of its process. The runtime's own may then be
//! forbidden too, so what it needs of the kernel it gets beforehand, and those that it makes later it
//! first holds against the filter: see [`crate::sys::filter`].
//!
//! What is lost: the names of files that are mapped later (their code is counted, as code without a file),
//! the last position of a process that a signal ends and those of threads that others stop, and programs
//! executed from then on, which run uncounted.

use super::{arguments, native};
use crate::entry;
use crate::heap::HEAP;
use crate::signal;
use crate::state::PROCESS;
use crate::sys::filter::{self, Filter, Instruction};
use crate::sys::{memory, number};
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use timewise_abi::thread::{ThreadArea, returned, state};

/// A call that may restrict system calls.
pub fn confine(area: &mut ThreadArea) {
    let restricts = PROCESS.with(|process| {
        let Some(program) = wanted(area) else { return false };
        let process = process.as_mut().expect("set up before translated code ran");
        // Out of room for a record is noted where it happens.
        let _ = process.space.learn(area.registers.rip, process.shared, &process.record.mappings);
        HEAP.keep_in_store();
        process.sites.keep_in_store();
        area.filter = (&raw const *filter::add(program)) as u64;
        signal::renew(area);
        true
    });
    if !restricts {
        return native(area);
    }
    PROCESS.wake_all();
    area.returned = returned::FILTER;
    area.state.store(state::IN_SYSTEM_CALL, Ordering::Relaxed);
    area.resume = entry::system_call_and_return as *const () as u64;
}

/// The call returned.
pub fn confined(area: &ThreadArea) {
    if (area.registers.rax as i64) < 0 {
        withdraw(area);
    }
}

/// The kernel did not take the filter, or the call is not made now.
pub fn withdraw(area: &ThreadArea) {
    // SAFETY: `confine` put it there, and filters stay.
    unsafe { &*(area.filter as *const Filter) }.withdraw();
    PROCESS.with(|_| signal::renew(area));
}

/// The filter that the call is to install, empty for the strict mode. Under the process lock.
fn wanted(area: &ThreadArea) -> Option<Vec<Instruction>> {
    const PR_SET_SECCOMP: u32 = 22;
    const STRICT: u32 = 1;
    const FILTER: u32 = 2;
    let [first, second, third, ..] = arguments(area);
    // The operations of `seccomp` count from 0, the modes of `prctl` from 1.
    let (mode, program) = match area.registers.rax {
        number::SECCOMP => (first as u32 + 1, third),
        _ if first as u32 == PR_SET_SECCOMP => (second as u32, third),
        _ => return None,
    };
    match mode {
        STRICT => Some(Vec::new()),
        FILTER => read(program),
        _ => None,
    }
}

/// Copies a filter. None if there is none, which the kernel will say.
fn read(address: u64) -> Option<Vec<Instruction>> {
    let mut head = [0; 16];
    if memory::read(address, &mut head) != head.len() {
        return None;
    }
    let length = usize::from(u16::from_le_bytes([head[0], head[1]]));
    let [_, _, _, _, _, _, _, _, first @ ..] = head;
    if !(1..=filter::LONGEST).contains(&length) {
        return None;
    }
    let mut bytes = vec![0; length * size_of::<Instruction>()];
    if memory::read(u64::from_le_bytes(first), &mut bytes) != bytes.len() {
        return None;
    }
    Some(bytes.chunks_exact(size_of::<Instruction>()).map(Instruction::read).collect())
}
