//! Handing a descriptor to a stopped program that cannot open ours by a path: one of another user, or with another
//! view of the file system.
//!
//! The program makes a pair of sockets, of which we take a copy of one end, as its tracer may; what we send there it
//! receives at the other.

use crate::shared_file::SharedFile;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use timewise_target::trace::Tracee;

/// Where in the scratch room the message's parts lie.
const MESSAGE: u64 = 64;
const PART: u64 = 128;
const CONTROL: u64 = 192;
const BYTE: u64 = 256;

/// Bytes of a control message with one descriptor, and where in it that stands.
const CONTROL_BYTES: usize = 24;
const DESCRIPTOR: u64 = 16;

/// Hands the file to the program, with `scratch` for room in it: its descriptor there.
///
/// # Errors
/// The system's.
pub fn hand_over(tracee: Tracee, scratch: u64, file: &SharedFile) -> io::Result<u64> {
    let kind = (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC) as u64;
    tracee.system_call(libc::SYS_socketpair, [libc::AF_UNIX as u64, kind, 0, scratch, 0, 0])?;
    let pair = tracee.peek(scratch)?;
    let (ours, theirs) = (pair & 0xffff_ffff, pair >> 32);
    let received = copy_of(tracee, ours)
        .and_then(|socket| send(&socket, file))
        .and_then(|()| receive(tracee, scratch, theirs));
    for fd in [ours, theirs] {
        tracee.system_call(libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    }
    received
}

/// A copy of a descriptor of the program's.
fn copy_of(tracee: Tracee, fd: u64) -> io::Result<OwnedFd> {
    let own = |fd: libc::c_long| {
        let fd = i32::try_from(fd).ok().filter(|&fd| fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel just returned it; nobody else owns it.
        Ok::<_, io::Error>(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // SAFETY: both pass no memory.
    let process = own(unsafe { libc::syscall(libc::SYS_pidfd_open, tracee.tid(), 0) })?;
    // SAFETY: as above.
    own(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

fn send(socket: &OwnedFd, file: &SharedFile) -> io::Result<()> {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0_u64; CONTROL_BYTES / 8];
    // SAFETY: all zeros are a valid message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), CONTROL_BYTES);
    // SAFETY: the message names live structures of the sizes that it says, with room for one descriptor.
    let sent = unsafe {
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as usize;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(file.file().as_raw_fd());
        libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn receive(tracee: Tracee, scratch: u64, socket: u64) -> io::Result<u64> {
    // As the kernel lays them out: `msghdr` and `iovec`.
    let message = [0, 0, scratch + PART, 1, scratch + CONTROL, CONTROL_BYTES as u64, 0];
    for (at, words) in [(MESSAGE, &message[..]), (PART, &[scratch + BYTE, 1][..])] {
        for (number, &word) in words.iter().enumerate() {
            tracee.poke(scratch + at + 8 * number as u64, word)?;
        }
    }
    let flags = (libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT) as u64;
    tracee.system_call(libc::SYS_recvmsg, [socket, scratch + MESSAGE, flags, 0, 0, 0])?;
    Ok(tracee.peek(scratch + CONTROL + DESCRIPTOR)? & 0xffff_ffff)
}
