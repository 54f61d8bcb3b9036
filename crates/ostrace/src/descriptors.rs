//! What the descriptors of processes are of, by names that are the same in equal runs.
//!
//! The kernel is asked each time: what a descriptor was of when it was looked at last may have been closed since by
//! a thread, by `exec`, or by another process that shares the table.

use crate::addresses;
use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use timewise_target::socket::Socket;

/// Sockets that are remembered; of more, those that were seen before are looked at anew.
const MOST_SOCKETS: usize = 65_536;

/// What is known of sockets, by what the kernel calls them.
#[derive(Debug, Default)]
pub struct Descriptors {
    sockets: HashMap<Vec<u8>, Vec<u8>>,
}

impl Descriptors {
    /// What descriptor `number` of a thread is of; `None` if it has no such.
    pub fn name(&mut self, pid: i32, tid: i32, number: i32) -> Option<Vec<u8>> {
        let of = link(tid, number)?;
        if of.starts_with(b"socket:") {
            if let Some(known) = self.sockets.get(&of) {
                return Some(known.clone());
            }
            let socket = Socket::of(pid, number);
            let stays = socket.as_ref().map_or(true, |socket| !socket.is_to_be_connected);
            let name = socket.map_or_else(|_| b"socket".to_vec(), |socket| addresses::of_socket(&socket));
            if stays {
                self.remember(of, name.clone());
            }
            return Some(name);
        }
        Some(plain(&of, pid))
    }

    /// The path that a path from the folder of a descriptor on leads to.
    pub fn below(&mut self, (pid, tid): (i32, i32), folder: i32, path: Vec<u8>) -> Vec<u8> {
        if folder == libc::AT_FDCWD || path.starts_with(b"/") {
            return path;
        }
        let Some(mut name) = self.name(pid, tid, folder) else { return path };
        if !path.is_empty() {
            name.push(b'/');
            name.extend(path);
        }
        name
    }

    /// A socket is named so from now on, by whom it was connected to.
    pub fn name_socket(&mut self, tid: i32, number: i32, name: Vec<u8>) {
        if let Some(of) = link(tid, number) {
            self.remember(of, name);
        }
    }

    /// A socket was given an address: what it was named before is its name no longer.
    pub fn forget_socket(&mut self, tid: i32, number: i32) {
        link(tid, number).and_then(|of| self.sockets.remove(&of));
    }

    fn remember(&mut self, of: Vec<u8>, name: Vec<u8>) {
        if self.sockets.len() >= MOST_SOCKETS {
            self.sockets.clear();
        }
        self.sockets.insert(of, name);
    }
}

/// What the kernel calls what a descriptor is of.
fn link(tid: i32, number: i32) -> Option<Vec<u8>> {
    if number < 0 {
        return None;
    }
    let link = fs::read_link(format!("/proc/{tid}/fd/{number}")).ok()?;
    Some(link.into_os_string().into_vec())
}

/// A path without the process's own number.
pub fn plain_path(path: Vec<u8>, pid: i32) -> Vec<u8> {
    match path.strip_prefix(format!("/proc/{pid}").as_bytes()) {
        Some(rest) if rest.first().is_none_or(|next| *next == b'/') => [b"/proc/self", rest].concat(),
        _ => path,
    }
}

/// Without numbers that differ from run to run.
fn plain(of: &[u8], pid: i32) -> Vec<u8> {
    if of.starts_with(b"/") {
        return plain_path(of.to_vec(), pid);
    }
    // `anon_inode:[eventfd]`, `anon_inode:inotify`
    if let Some(kind) = of.strip_prefix(b"anon_inode:") {
        return kind.iter().copied().filter(|byte| !b"[]".contains(byte)).collect();
    }
    // `pipe:[1234]`, `net:[4026531840]`
    of.split(|byte| *byte == b':').next().unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;

    #[test]
    fn names_have_no_numbers_of_one_run() {
        for (of, name) in [
            (&b"/etc/passwd"[..], &b"/etc/passwd"[..]),
            (b"/proc/12/maps", b"/proc/self/maps"),
            (b"/proc/123/maps", b"/proc/123/maps"),
            (b"pipe:[4711]", b"pipe"),
            (b"anon_inode:[eventfd]", b"eventfd"),
            (b"anon_inode:inotify", b"inotify"),
            (b"net:[4026531840]", b"net"),
        ] {
            assert_eq!(plain(of, 12), name);
        }
    }

    #[test]
    fn descriptors_are_named_by_what_they_are_of() {
        let own = std::process::id() as i32;
        // SAFETY: takes no memory.
        let tid = unsafe { libc::gettid() };
        let mut descriptors = Descriptors::default();
        let mut name = |number| descriptors.name(own, tid, number);
        let (reader, _writer) = std::io::pipe().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(name(reader.as_raw_fd()).unwrap(), b"pipe");
        assert_eq!(name(listener.as_raw_fd()).unwrap(), b"socket 127.0.0.1");
        assert_eq!((name(-1), name(i32::MAX)), (None, None));
    }

    #[test]
    fn a_socket_is_renamed_when_it_is_connected() {
        let own = std::process::id() as i32;
        // SAFETY: takes no memory.
        let tid = unsafe { libc::gettid() };
        let mut descriptors = Descriptors::default();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let number = socket.as_raw_fd();
        assert_eq!(descriptors.name(own, tid, number).unwrap(), b"socket 127.0.0.1");
        socket.connect("127.0.0.1:9").unwrap();
        descriptors.forget_socket(tid, number);
        assert_eq!(descriptors.name(own, tid, number).unwrap(), b"socket 127.0.0.1:9");
    }
}
