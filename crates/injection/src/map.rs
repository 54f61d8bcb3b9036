//! Mapping the image and the shared file into a program that is stopped at its first instruction.

use crate::payload::{self, Payload};
use crate::shared_file::SharedFile;
use std::io;
use timewise_target::trace::Tracee;

/// Maps the shared file at `base` of the program, and the image, which lies in the file from `image_offset`
/// on, at [`payload::BASE`]. `stack` is the program's stack pointer.
///
/// # Errors
/// The system's; `EEXIST` if something else lies there.
pub fn map(
    tracee: Tracee,
    stack: u64,
    file: &SharedFile,
    base: u64,
    payload: &Payload,
    image_offset: u64,
) -> io::Result<()> {
    // Below the stack pointer, and below the red zone, nothing of the program's is stored yet.
    let path = file.path();
    let place = (stack - 1024) & !7;
    tracee.write(place, format!("{path}\0").as_bytes())?;
    let open = [libc::AT_FDCWD as u64, place, (libc::O_RDWR | libc::O_CLOEXEC) as u64, 0, 0, 0];
    let fd = tracee.system_call(libc::SYS_openat, open)?;
    let map = |address: u64, size: u64, protection: i32, flags: i32, offset: u64| {
        let flags = flags | libc::MAP_FIXED_NOREPLACE;
        let got = tracee
            .system_call(libc::SYS_mmap, [address, size, protection as u64, flags as u64, fd, offset])?;
        if got == address { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EEXIST)) }
    };
    let read_write = libc::PROT_READ | libc::PROT_WRITE;
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
    tracee.write(place, &vec![0; path.len() + 1])?;
    mapped
}
