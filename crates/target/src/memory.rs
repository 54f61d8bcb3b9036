//! Reading another process's memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// `process_vm_readv` was refused, as by a system call filter, and need not be tried again.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Fills `bytes` from `address` on in the memory of process `pid`, or of a thread's, as far as it is mapped: how many bytes
/// were read.
pub fn read(pid: i32, address: u64, bytes: &mut [u8]) -> usize {
    if !REFUSED.load(Ordering::Relaxed) {
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
        // SAFETY: the kernel writes at most as many bytes as `local` says are there; `remote` is not ours.
        let got = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
        if let Ok(got) = usize::try_from(got) {
            return got;
        }
        let error = std::io::Error::last_os_error().raw_os_error();
        if !matches!(error, Some(libc::EPERM | libc::ENOSYS)) {
            return 0;
        }
        REFUSED.store(true, Ordering::Relaxed);
    }
    let memory = File::open(format!("/proc/{pid}/mem"));
    memory.and_then(|memory| memory.read_at(bytes, address)).unwrap_or(0)
}

/// The eight bytes at an address of process `pid`, if they can be read.
pub fn word(pid: i32, address: u64) -> Option<u64> {
    let mut bytes = [0; size_of::<u64>()];
    (read(pid, address, &mut bytes) == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_read_the_same() {
        let text = *b"timewise reads memory";
        let pid = std::process::id() as i32;
        for refused in [false, true] {
            REFUSED.store(refused, Ordering::Relaxed);
            let mut found = [0; 21];
            assert_eq!(read(pid, text.as_ptr() as u64, &mut found), text.len());
            assert_eq!(found, text);
            assert_eq!(read(pid, 8, &mut found), 0);
            let number = 0x0123_4567_89ab_cdef_u64;
            assert_eq!((word(pid, &raw const number as u64), word(pid, 8)), (Some(number), None));
        }
        REFUSED.store(false, Ordering::Relaxed);
    }
}
