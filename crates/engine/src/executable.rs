//! What a process is about to execute, and whether it can be counted.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use timewise_abi::Mailbox;
use timewise_image::sanitiser;
use timewise_target::program::has_capabilities;

/// What is to be done about a request.
pub enum Refusal {
    /// The call will fail by itself.
    WillFail,
    /// The new program is not to be counted.
    Native(String),
}

/// A path by which we can open what thread `tid` asks to execute.
pub fn path_of(tid: i32, mailbox: &Mailbox) -> PathBuf {
    let [directory, address, flags] = [0, 1, 2].map(|n| mailbox.what[n].load(Ordering::Relaxed));
    let path = string_at(tid, address);
    let directory = directory as i32;
    let proc = PathBuf::from(format!("/proc/{tid}"));
    if path.is_empty() && flags & libc::AT_EMPTY_PATH as u64 != 0 {
        return proc.join(format!("fd/{directory}"));
    }
    if let Some(below) = path.as_bytes().strip_prefix(b"/") {
        return proc.join("root").join(OsStr::from_bytes(below));
    }
    match directory {
        libc::AT_FDCWD => proc.join("cwd").join(path),
        _ => proc.join(format!("fd/{directory}")).join(path),
    }
}

/// The string at an address of a thread's memory, empty if there is none.
fn string_at(tid: i32, address: u64) -> OsString {
    let mut text = Vec::new();
    let Ok(memory) = File::open(format!("/proc/{tid}/mem")) else { return OsString::new() };
    while text.len() < libc::PATH_MAX as usize {
        let mut bytes = [0; 64];
        // Up to the next multiple of the buffer's size, so that no read crosses into a page that is not there.
        let Some(at) = address.checked_add(text.len() as u64) else { break };
        let room = bytes.len() - (at % bytes.len() as u64) as usize;
        let Ok(read @ 1..) = memory.read_at(&mut bytes[..room], at) else { break };
        let end = bytes[..read].iter().position(|&b| b == 0);
        text.extend_from_slice(&bytes[..end.unwrap_or(read)]);
        if end.is_some() {
            break;
        }
    }
    OsString::from_vec(text)
}

/// The path as the program itself would name it.
pub fn name_of(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Whether the program in a file can be counted.
pub fn check(path: &Path) -> Result<(), Refusal> {
    let will_fail = |_| Refusal::WillFail;
    let metadata = path.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Refusal::Native("its file cannot be examined".to_string()),
        _ => Refusal::WillFail,
    })?;
    if !metadata.is_file() || metadata.mode() & 0o111 == 0 {
        return Err(Refusal::WillFail);
    }
    let native = |why: &str| Err(Refusal::Native(why.to_string()));
    if metadata.mode() & (libc::S_ISUID | libc::S_ISGID) != 0 {
        return native("it is setuid or setgid: tracing it would take its privileges");
    }
    if has_capabilities(path) {
        return native("its file has capabilities: tracing it would take them");
    }
    let mut start = [0; 20];
    // What may be executed but not read is not ours to look into.
    let Ok(mut file) = File::open(path) else { return native("its file cannot be read") };
    let read = file.read(&mut start).map_err(will_fail)?;
    const X86_64: u8 = 62;
    match &start[..read] {
        [0x7f, b'E', b'L', b'F', 1, ..] => native("it is a 32-bit program"),
        [0x7f, b'E', b'L', b'F', ..] if read == start.len() && start[18] != X86_64 => {
            native("it is a program for another processor")
        }
        _ => match sanitiser(path) {
            Some(sanitiser) => native(&format!("{sanitiser} leaves no addresses for the runtime")),
            None => Ok(()),
        },
    }
}
