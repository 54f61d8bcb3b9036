//! The kernel's limit on a process's address space (`ulimit -v`), which counting would exceed by what it
//! reserves.

use crate::arena::Arena;
use crate::count::CountError;
use std::io;
use std::sync::atomic::Ordering;
use timewise_abi::process::HARD_LIMIT_ROOM;
pub use timewise_abi::process::UNLIMITED;
use timewise_target::limits;

/// Addresses that the runtime takes at once beside the shared file: its image, its tables, its heap and its
/// first regions of translated code. The runtime then makes the limit exact.
const TAKEN_AT_ONCE: u64 = 2 << 30;

/// How the system lists the limit.
const LISTED: &str = "Max address space";

/// The least limit that the program and the runtime can share.
const LEAST_UNDER_LIMIT: u64 = 1 << 30;

/// Raises our own soft limit by `size`, as far as we may. Returns the limit, if `size` may not be had, else
/// [`UNLIMITED`].
///
/// # Errors
/// The system's, if the limit cannot be read.
pub fn raise_own(size: u64) -> io::Result<u64> {
    let [soft, hard] = exchange(0, None)?;
    if soft == UNLIMITED || exchange(0, Some([plus(soft, size), plus(hard, size)])).is_ok() {
        return Ok(UNLIMITED);
    }
    if hard >= plus(soft, size) && exchange(0, Some([plus(soft, size), hard])).is_ok() {
        return Ok(UNLIMITED);
    }
    Ok(soft)
}

/// Notes in the record of a program that is about to start the limits that it is to see, and tells them. `parent` is the
/// record of the image that called `execve`, or 0.
///
/// # Errors
/// The system's.
pub fn note(arena: &Arena, process: u64, parent: u64, pid: i32) -> Result<[u64; 2], CountError> {
    let own = match arena.process(parent) {
        None => exchange(pid, None)
            .or_else(|refused| limits::listed(pid, LISTED).ok_or(refused))
            .map_err(|cause| CountError::System { what: "read its limit on the address space", cause })?,
        Some(parent) => parent.address_limits.each_ref().map(|limit| limit.load(Ordering::Relaxed)),
    };
    for (place, value) in arena.shared().process(process).address_limits.iter().zip(own) {
        place.store(value, Ordering::Relaxed);
    }
    Ok(own)
}

/// Raises the kernel's limits for it, which are `own`, by what the runtime takes.
///
/// # Errors
/// [`CountError::AddressLimit`] if that is not allowed, and the limit is too low to share.
pub fn raise(arena: &Arena, pid: i32, own: [u64; 2]) -> Result<(), CountError> {
    let [soft, hard] = own;
    if soft != UNLIMITED {
        let new = [plus(soft, arena.file().size() + TAKEN_AT_ONCE), plus(hard, HARD_LIMIT_ROOM)];
        let raised = exchange(pid, Some(new)).is_ok();
        if !raised && soft < LEAST_UNDER_LIMIT {
            return Err(CountError::AddressLimit(soft));
        }
    }
    Ok(())
}

/// Sets the limits of a program that is no longer counted to those that it knows.
pub fn put_back(pid: i32, limits: [u64; 2]) {
    // It had these before; where that is refused, it has more room than it needs.
    let _ = exchange(pid, Some(limits));
}

fn plus(limit: u64, size: u64) -> u64 {
    // No limit is the greatest number, and stays.
    limit.saturating_add(size)
}

/// Sets the limits if `new` says so: those before.
fn exchange(pid: i32, new: Option<[u64; 2]>) -> io::Result<[u64; 2]> {
    let new = new.map(|[rlim_cur, rlim_max]| libc::rlimit { rlim_cur, rlim_max });
    let new = new.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads one structure if there is one, and writes one.
    if unsafe { libc::prlimit(pid, libc::RLIMIT_AS, new, &raw mut before) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok([before.rlim_cur, before.rlim_max])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_tell_the_same() {
        let pid = std::process::id() as i32;
        assert_eq!(limits::listed(pid, LISTED), Some(exchange(pid, None).unwrap()));
    }
}
