//! The registration of a thread's restartable sequences, which the kernel must not act on while the thread's code
//! is elsewhere than the kernel was told.

use crate::trace::Tracee;
use std::io;
use std::mem::MaybeUninit;

/// What a thread told the kernel: `struct ptrace_rseq_configuration`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// Address of what it shares with the kernel.
    pub address: u64,
    /// Bytes of it.
    pub size: u32,
    /// What stands before each place where a sequence that is interrupted goes on.
    pub signature: u32,
    flags: u32,
    padding: u32,
}

const PTRACE_GET_RSEQ_CONFIGURATION: libc::c_uint = 0x420f;
const UNREGISTER: u64 = 1;

/// Where the address of the sequence that the thread is in lies in the structure that it shares with the kernel.
const SEQUENCE: u64 = 8;

/// What a stopped thread registered, if it did and the kernel tells.
///
/// # Errors
/// The system's. A kernel before 5.13 does not know the question.
pub fn registration(tracee: Tracee) -> io::Result<Option<Registration>> {
    let mut found = MaybeUninit::<Registration>::zeroed();
    // SAFETY: the kernel writes one structure at most, whose size is given; all zeros are valid.
    let (written, found) = unsafe {
        let size = size_of::<Registration>();
        let written = libc::ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tracee.tid(), size, found.as_mut_ptr());
        (written, found.assume_init())
    };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((found.address != 0).then_some(found))
}

impl Registration {
    /// What a thread is to register.
    pub fn new(address: u64, size: u32, signature: u32) -> Registration {
        Registration { address, size, signature, flags: 0, padding: 0 }
    }

    /// Whether the thread is in a sequence, or was when it last gave its processor up.
    pub fn is_in_sequence(&self, tracee: Tracee) -> bool {
        tracee.peek(self.address + SEQUENCE).is_ok_and(|sequence| sequence != 0)
    }

    /// Has the thread withdraw it.
    ///
    /// # Errors
    /// The system's.
    pub fn withdraw(&self, tracee: Tracee) -> io::Result<()> {
        self.call(tracee, UNREGISTER)
    }

    /// Has the thread make it again.
    ///
    /// # Errors
    /// The system's.
    pub fn renew(&self, tracee: Tracee) -> io::Result<()> {
        self.call(tracee, 0)
    }

    fn call(&self, tracee: Tracee, flags: u64) -> io::Result<()> {
        let arguments = [self.address, self.size.into(), flags, self.signature.into(), 0, 0];
        tracee.system_call(libc::SYS_rseq, arguments).map(drop)
    }
}
