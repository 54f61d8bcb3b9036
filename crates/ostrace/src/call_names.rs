//! What system calls are called, by their numbers.

use syscalls::{x86, x86_64};

/// A bit that numbers of the x32 interface have, which are 64-bit calls otherwise.
const X32: u64 = 1 << 30;

/// The name of a call; `syscall_NUMBER` if it has none that is known.
pub fn name(number: u64, is_32_bit: bool) -> String {
    let known = usize::try_from(number & !X32).ok().and_then(|number| match is_32_bit {
        true => x86::Sysno::new(number).map(|call| call.name()),
        false => x86_64::Sysno::new(number).map(|call| call.name()),
    });
    // The kernel writes the number as it was meant, not sign-extended.
    known.map_or_else(|| format!("syscall_{}", number as i64), str::to_string)
}

/// Whether a system call of that name is known, of the 32-bit kernel's or the others.
pub fn is_call(name: &str) -> bool {
    name.starts_with("syscall_")
        || name.parse::<x86_64::Sysno>().is_ok()
        || name.parse::<x86::Sysno>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_interfaces_have_numbers_of_their_own() {
        assert_eq!([name(1, false), name(1, true)], ["write", "exit"]);
        assert_eq!(name(X32 | 1, false), "write");
        assert_eq!([name(9999, false), name(u64::MAX, false)], ["syscall_9999", "syscall_-1"]);
    }
}
