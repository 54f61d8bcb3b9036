//! A socket of another process: what it is, and whose addresses it has.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What the system says of a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Socket {
    /// Its address family (`AF_INET` and so on).
    pub family: i32,
    /// Its own address, as `getsockname` gives it; empty if it has none.
    pub own: Vec<u8>,
    /// That of whom it speaks to, likewise.
    pub peer: Vec<u8>,
    /// Whether it speaks to nobody until it is connected, and neither is nor awaits connections: that may yet happen, also
    /// by itself where a connection is in progress.
    pub is_to_be_connected: bool,
}

impl Socket {
    /// Looks at a descriptor of process `pid`, which is not to run meanwhile: it has the socket open once more for a moment.
    ///
    /// # Errors
    /// The system's: `ENOSYS` in a kernel older than 5.6, `EPERM` where processes are not to be traced.
    pub fn of(pid: i32, descriptor: i32) -> io::Result<Socket> {
        let process = owned(|| {
            // SAFETY: takes no memory.
            unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }
        })?;
        let copy = owned(|| {
            // SAFETY: takes no memory.
            unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0) }
        })?;
        let peer = address(&copy, libc::getpeername).unwrap_or_default();
        let connects = matches!(option(&copy, libc::SO_TYPE)?, libc::SOCK_STREAM | libc::SOCK_SEQPACKET);
        Ok(Socket {
            family: option(&copy, libc::SO_DOMAIN)?,
            own: address(&copy, libc::getsockname).unwrap_or_default(),
            is_to_be_connected: connects && peer.is_empty() && option(&copy, libc::SO_ACCEPTCONN)? == 0,
            peer,
        })
    }
}

fn owned(make: impl Fn() -> libc::c_long) -> io::Result<OwnedFd> {
    match make() {
        made @ 0.. => {
            // SAFETY: the kernel just returned this descriptor; nobody else owns it.
            Ok(unsafe { OwnedFd::from_raw_fd(made as i32) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

fn option(socket: &OwnedFd, which: i32) -> io::Result<i32> {
    let (mut value, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
    let place = (&raw mut value).cast();
    // SAFETY: the kernel fills at most as many bytes as the length says.
    let got = unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, which, place, &mut length) };
    if got < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

type Ask = unsafe extern "C" fn(i32, *mut libc::sockaddr, *mut libc::socklen_t) -> i32;

fn address(socket: &OwnedFd, ask: Ask) -> Option<Vec<u8>> {
    let mut address = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the kernel fills at most as many bytes as the length says, and all of them are set before.
    let bytes = unsafe {
        if ask(socket.as_raw_fd(), address.as_mut_ptr().cast(), &mut length) < 0 {
            return None;
        }
        std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), size_of::<libc::sockaddr_storage>())
    };
    Some(bytes[..(length as usize).min(bytes.len())].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_sides_of_a_connection_are_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let of = |descriptor: i32| Socket::of(std::process::id() as i32, descriptor).unwrap();
        let (listening, speaking) = (of(listener.as_raw_fd()), of(stream.as_raw_fd()));
        assert_eq!((listening.family, speaking.family), (libc::AF_INET, libc::AF_INET));
        assert_eq!(speaking.peer, listening.own);
        assert!(!listening.is_to_be_connected && !speaking.is_to_be_connected);
        assert!(listening.peer.is_empty() && speaking.own.len() == size_of::<libc::sockaddr_in>());
        let port = u16::from_be_bytes([listening.own[2], listening.own[3]]);
        assert_eq!(port, listener.local_addr().unwrap().port());
    }

    #[test]
    fn what_is_no_socket_has_none() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let refused = Socket::of(std::process::id() as i32, file.as_raw_fd()).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENOTSOCK));
    }
}
