//! `setrlimit` and its kin, for the limit on the address space: the program's limit is on what the program
//! takes, so the kernel's is higher by what the runtime takes.

use super::{answer, arguments, native};
use crate::heap::HEAP;
use crate::state::{PROCESS, Process};
use crate::sys::{Errno, call, limit, memory, number};
use core::sync::atomic::Ordering;
use timewise_abi::process::{HARD_LIMIT_ROOM, UNLIMITED};
use timewise_abi::thread::ThreadArea;

const EFAULT: Errno = Errno(14);
const EINVAL: Errno = Errno(22);

/// Handles a call that reads or sets a limit.
pub fn limit(area: &mut ThreadArea) {
    let [a, b, c, d, ..] = arguments(area);
    let (process, resource, new, old) = match area.registers.rax {
        number::GETRLIMIT => (0, a, 0, b),
        number::SETRLIMIT => (0, a, b, 0),
        _ => (a, b, c, d),
    };
    // SAFETY: changes nothing.
    let own = || unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0);
    // As the kernel takes them: both are 32 bits.
    if resource as u32 != limit::ADDRESS_SPACE as u32
        || (process as u32 != 0 && process as u32 != own() as u32)
    {
        return native(area);
    }
    let result = PROCESS.with(|process| {
        let process = process.as_mut().expect("set up before translated code ran");
        exchange(process, new, old)
    });
    answer(area, result.map(|()| 0));
}

/// Makes the kernel's limits those of a new program image, with the room that the runtime takes. Whether the two share
/// them, because they may not be raised.
pub fn set_up(process: &mut Process) -> bool {
    let limits = current(process);
    limits[0] != UNLIMITED && set(process, limits).is_err()
}

/// The limits as the program knows them.
fn current(process: &Process) -> [u64; 2] {
    [0, 1].map(|n: usize| process.record.address_limits[n].load(Ordering::Relaxed))
}

fn set(process: &mut Process, [soft, hard]: [u64; 2]) -> Result<(), Errno> {
    let raised = |value: u64, by: u64| if value == UNLIMITED { value } else { value.saturating_add(by) };
    let taken = process.shared.header().size + process.cache.reserved() + HEAP.taken() + limit::BESIDES;
    limit::set([raised(soft, taken), raised(hard, HARD_LIMIT_ROOM)])?;
    limit::set_limited(soft != UNLIMITED);
    for (place, value) in process.record.address_limits.iter().zip([soft, hard]) {
        place.store(value, Ordering::Relaxed);
    }
    Ok(())
}

/// Sets the limits to those at `new` and writes the former ones to `old`, where these are not null.
fn exchange(process: &mut Process, new: u64, old: u64) -> Result<(), Errno> {
    let before = current(process);
    if new != 0 {
        let mut words = [[0u8; 8]; 2];
        if memory::read(new, words.as_flattened_mut()) < size_of_val(&words) {
            return Err(EFAULT);
        }
        let [soft, hard] = words.map(u64::from_le_bytes);
        if soft > hard {
            return Err(EINVAL);
        }
        set(process, [soft, hard])?;
    }
    let before = before.map(u64::to_le_bytes);
    if old != 0 && !memory::write(old, before.as_flattened()) {
        return Err(EFAULT);
    }
    Ok(())
}
