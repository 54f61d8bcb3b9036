//! System calls that come to the program itself (`PR_SET_SYSCALL_USER_DISPATCH`): what a thread asked the kernel for, which
//! must not act on it while calls are made for the thread elsewhere than the kernel was told.

use crate::trace::Tracee;
use std::io;

/// What a thread asked for: `struct ptrace_sud_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    mode: u64,
    /// Address of the byte that says whether calls come to the program, 0 for none.
    pub selector: u64,
    /// First of the addresses, behind the instruction, calls from which do not.
    pub offset: u64,
    /// How many there are; they may lie around the end of all addresses.
    pub length: u64,
}

const PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG: libc::c_uint = 0x4210;
const PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG: libc::c_uint = 0x4211;

const PR_SET_SYSCALL_USER_DISPATCH: u64 = 59;

const OFF: u64 = 0;
const FROM_OUTSIDE: u64 = 1;
const FROM_INSIDE: u64 = 2;

/// What a stopped thread asked for, if it did and the kernel tells: one before 6.4 does not.
pub fn asked_for(tracee: Tracee) -> Option<Dispatch> {
    let mut found = Dispatch::default();
    request(tracee, PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, &mut found).ok()?;
    (found.mode != OFF).then_some(found)
}

/// Has the kernel bring no call of the thread's to the program.
///
/// # Errors
/// The system's.
pub fn withdraw(tracee: Tracee) -> io::Result<()> {
    request(tracee, PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG, &mut Dispatch::default())
}

fn request(tracee: Tracee, what: libc::c_uint, settings: &mut Dispatch) -> io::Result<()> {
    // SAFETY: the kernel reads or writes one structure, whose size is given; any bits are valid.
    let done =
        unsafe { libc::ptrace(what, tracee.tid(), size_of::<Dispatch>(), std::ptr::from_mut(settings)) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Dispatch {
    /// What a thread is to ask for.
    pub fn new(offset: u64, length: u64, selector: u64) -> Dispatch {
        Dispatch { mode: FROM_OUTSIDE, selector, offset, length }
    }

    /// Has the thread ask for it again. No further call can be made for it then.
    ///
    /// # Errors
    /// The system's.
    pub fn renew(&self, tracee: Tracee) -> io::Result<()> {
        let [mode, offset, length] = self.words();
        let arguments = [PR_SET_SYSCALL_USER_DISPATCH, mode, offset, length, self.selector, 0];
        tracee.system_call(libc::SYS_prctl, arguments).map(drop)
    }

    /// Mode, offset and length as the kernel takes them: addresses around the end are told by those between.
    fn words(&self) -> [u64; 3] {
        let Dispatch { offset, length, .. } = *self;
        match offset.checked_add(length) {
            None if offset != 0 => [FROM_INSIDE, offset.wrapping_add(length), length.wrapping_neg()],
            _ => [FROM_OUTSIDE, offset, length],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_around_the_end_are_those_between_for_the_kernel() {
        let words = |offset, length| Dispatch::new(offset, length, 0).words();
        assert_eq!(words(0x1000, 0x2000), [FROM_OUTSIDE, 0x1000, 0x2000]);
        assert_eq!(words(0, 0), [FROM_OUTSIDE, 0, 0]);
        assert_eq!(words(0, u64::MAX), [FROM_OUTSIDE, 0, u64::MAX]);
        assert_eq!(words(0x3000, 0x2000_u64.wrapping_neg()), [FROM_INSIDE, 0x1000, 0x2000]);
    }
}
