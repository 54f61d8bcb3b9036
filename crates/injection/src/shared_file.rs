//! A file without a name whose memory the host shares with programs.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// What the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {cause}")]
pub struct SharedFileError {
    /// The operation.
    pub what: &'static str,
    /// The system's reason.
    pub cause: io::Error,
    /// Whether it is addresses that are wanting.
    pub no_addresses: bool,
}

/// The file, mapped whole into the host.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
    mapping: *mut u8,
    size: u64,
}

// SAFETY: the mapping stays until this is dropped; who reaches into it answers for how.
unsafe impl Send for SharedFile {}
// SAFETY: as above.
unsafe impl Sync for SharedFile {}

impl SharedFile {
    /// A sparse file of zeros, whose size nobody can change.
    ///
    /// # Errors
    /// The system's.
    pub fn new(size: u64) -> Result<SharedFile, SharedFileError> {
        let refused = |what| move |cause| SharedFileError { what, cause, no_addresses: false };
        // SAFETY: the name is a C string; the descriptor that results is ours.
        let file = unsafe {
            let fd = libc::memfd_create(c"timewise".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
            if fd < 0 {
                return Err(refused("make shared memory")(io::Error::last_os_error()));
            }
            File::from_raw_fd(fd)
        };
        file.set_len(size).map_err(refused("reserve shared memory"))?;
        // A program that made it shorter would take our memory from under us.
        seal(&file).map_err(refused("seal shared memory"))?;
        // SAFETY: a fresh mapping, where the kernel finds room.
        let mapping = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
            libc::mmap(std::ptr::null_mut(), size as usize, protection, flags, file.as_raw_fd(), 0)
        };
        if mapping == libc::MAP_FAILED {
            let cause = io::Error::last_os_error();
            return Err(SharedFileError { what: "map shared memory", cause, no_addresses: true });
        }
        Ok(SharedFile { file, mapping: mapping.cast(), size })
    }

    /// Its first byte in the host.
    pub fn mapping(&self) -> *mut u8 {
        self.mapping
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A path by which other processes of this system can open it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // SAFETY: unmaps its own mapping.
        unsafe { libc::munmap(self.mapping.cast(), self.size as usize) };
    }
}

/// Fixes the file's size.
fn seal(file: &File) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: passes no memory.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
