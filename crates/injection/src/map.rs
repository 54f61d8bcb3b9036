//! Mapping the image and the shared file into a program that is stopped.

use crate::hand_over::hand_over;
use crate::payload::{self, Payload};
use crate::shared_file::SharedFile;
use std::io;
use timewise_target::trace::Tracee;

/// Bytes of room in the program for what its calls take.
const SCRATCH: u64 = 4096;

/// Maps the shared file at `base` of the program, and the image, which lies in the file from `image_offset`
/// on, at [`payload::BASE`].
///
/// # Errors
/// The system's; `EEXIST` if something else lies there.
pub fn map(
    tracee: Tracee,
    file: &SharedFile,
    base: u64,
    payload: &Payload,
    image_offset: u64,
) -> io::Result<()> {
    let read_write = libc::PROT_READ | libc::PROT_WRITE;
    // The program's own memory is left alone: what lies below a stack pointer may be somebody else's.
    let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let scratch =
        tracee.system_call(libc::SYS_mmap, [0, SCRATCH, read_write as u64, private, u64::MAX, 0])?;
    let fd = open(tracee, scratch, file).or_else(|_| hand_over(tracee, scratch, file));
    tracee.system_call(libc::SYS_munmap, [scratch, SCRATCH, 0, 0, 0, 0])?;
    let fd = fd?;
    let map = |address: u64, size: u64, protection: i32, flags: i32, offset: u64| {
        let flags = flags | libc::MAP_FIXED_NOREPLACE;
        let got = tracee
            .system_call(libc::SYS_mmap, [address, size, protection as u64, flags as u64, fd, offset])?;
        if got == address { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EEXIST)) }
    };
    let mapped = map(base, file.size(), read_write, libc::MAP_SHARED | libc::MAP_NORESERVE, 0)
        .and_then(|()| {
            let protection = libc::PROT_READ | libc::PROT_EXEC;
            map(payload::BASE, payload.writable_from, protection, libc::MAP_PRIVATE, image_offset)
        })
        .and_then(|()| {
            let size = payload.image.len() as u64 - payload.writable_from;
            let offset = image_offset + payload.writable_from;
            map(payload::BASE + payload.writable_from, size, read_write, libc::MAP_PRIVATE, offset)
        });
    tracee.system_call(libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    mapped
}

/// Has the program open the file by its path: its descriptor.
fn open(tracee: Tracee, scratch: u64, file: &SharedFile) -> io::Result<u64> {
    tracee.write(scratch, format!("{}\0", file.path()).as_bytes())?;
    let flags = (libc::O_RDWR | libc::O_CLOEXEC) as u64;
    tracee.system_call(libc::SYS_openat, [libc::AT_FDCWD as u64, scratch, flags, 0, 0, 0])
}
