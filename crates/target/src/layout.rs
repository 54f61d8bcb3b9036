//! Where the system puts what a process maps.

use std::fs;

/// Why something of a process lies where it does not otherwise, and what to do.
pub const LEGACY: &str = "as its memory is laid out the legacy way; start it without setarch -L, and with sysctl \
                          vm.legacy_va_layout=0";

/// Whether process `pid` is laid out the legacy way: from a third of the addresses upwards, rather than from the stack
/// downwards. False if the system does not say.
pub fn is_legacy(pid: i32) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let personality = i32::from_str_radix(read(&format!("/proc/{pid}/personality")).trim(), 16);
    personality.is_ok_and(|personality| personality & libc::ADDR_COMPAT_LAYOUT != 0)
        || read("/proc/sys/vm/legacy_va_layout").trim() == "1"
}
