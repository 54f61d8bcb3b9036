//! Mapping the image and the shared file into a program that is stopped.

use crate::hand_over::hand_over;
use crate::payload::{self, Payload};
use crate::shared_file::SharedFile;
use std::io;
use timewise_target::trace::Tracee;

/// Room in the program for what its calls take, behind the image.
const SCRATCH: u64 = payload::BASE + (1 << 39);
const SCRATCH_SIZE: u64 = 4096;

/// How many descriptors the program may have open meanwhile that it had not before.
pub const DESCRIPTORS: usize = 3;

/// How the image comes to where it belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Image {
    /// It is mapped from the file.
    Mapped,
    /// It is copied to memory that is mapped there already, with room for it.
    Copied,
}

/// Maps the shared file at `base` of the program, and puts the image, which lies in the file from `image_offset`
/// on, to [`payload::BASE`].
///
/// # Errors
/// The system's; `EEXIST` if something else lies there.
pub fn map(
    tracee: Tracee,
    file: &SharedFile,
    base: u64,
    payload: &Payload,
    image_offset: u64,
    image: Image,
) -> io::Result<()> {
    let read_write = libc::PROT_READ | libc::PROT_WRITE;
    // The program's own memory is left alone: what lies below a stack pointer may be somebody else's.
    let map = |address: u64, size: u64, protection: i32, flags: i32, [fd, offset]: [u64; 2]| {
        let flags = flags | libc::MAP_FIXED_NOREPLACE;
        let got = tracee
            .system_call(libc::SYS_mmap, [address, size, protection as u64, flags as u64, fd, offset])?;
        if got == address { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EEXIST)) }
    };
    map(SCRATCH, SCRATCH_SIZE, read_write, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, [u64::MAX, 0])?;
    let fd = open(tracee, SCRATCH, file).or_else(|_| hand_over(tracee, SCRATCH, file));
    tracee.system_call(libc::SYS_munmap, [SCRATCH, SCRATCH_SIZE, 0, 0, 0, 0])?;
    let fd = fd?;
    let size = payload.image.len() as u64;
    let map_image = || {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        map(payload::BASE, payload.writable_from, protection, libc::MAP_PRIVATE, [fd, image_offset])?;
        let [address, offset] = [payload::BASE, image_offset].map(|start| start + payload.writable_from);
        map(address, size - payload.writable_from, read_write, libc::MAP_PRIVATE, [fd, offset])
    };
    let copy_image = || {
        let got = tracee.system_call(libc::SYS_pread64, [fd, payload::BASE, size, image_offset, 0, 0])?;
        if got == size { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    };
    let mapped = map(base, file.size(), read_write, libc::MAP_SHARED | libc::MAP_NORESERVE, [fd, 0])
        .and_then(|()| match image {
            Image::Mapped => map_image(),
            Image::Copied => copy_image(),
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
