//! The environment that a launched program finds: ours, but what says that something is meant for our process says so
//! of the program's.

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

unsafe extern "C" {
    /// The C library's, from which `execvp` takes the variables of a program, by which the standard library executes one
    /// for which none were set: our own process's id is known after the fork only. `libc` has it for one C library alone.
    static mut environ: *const *const c_char;
}

/// What a service manager names the process by that it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Identity {
    /// Its process id.
    Number,
    /// The file number of its descriptor, which no other process ever gets.
    Inode,
}

impl Identity {
    /// That of this process; `None` in a kernel that has none of this kind. Before Linux 6.9 all descriptors share a file
    /// number, and no service manager tells one.
    fn own(self) -> Option<u64> {
        match self {
            Identity::Number => Some(u64::from(std::process::id())),
            Identity::Inode => inode(),
        }
    }
}

/// Variables by which a service manager says which process it passes sockets to (`sd_listen_fds(3)`), which one it
/// waits for (`sd_watchdog_enabled(3)`), and which one it started (`systemd.exec(5)`).
const IDENTITIES: [(&[u8], Identity); 4] = [
    (b"LISTEN_PID", Identity::Number),
    (b"LISTEN_PIDFDID", Identity::Inode),
    (b"WATCHDOG_PID", Identity::Number),
    (b"SYSTEMD_EXEC_PID", Identity::Number),
];

/// Digits of the largest number.
const DIGITS: usize = 20;

/// Variables for a program.
pub struct Environment {
    entries: Vec<CString>,
    /// Variables that are to name the program's process: what stands before the number, and how it is named.
    own: Vec<(Vec<u8>, Identity)>,
    /// Where all of them begin, and 0.
    addresses: Vec<usize>,
}

impl Environment {
    /// Ours, with these set.
    pub fn with(set: Vec<(OsString, OsString)>) -> Environment {
        let set: Vec<[Vec<u8>; 2]> =
            set.into_iter().map(|(name, value)| [name, value].map(OsString::into_vec)).collect();
        let is_set = |entry: &CString| set.iter().any(|[name, _]| value_of(entry.to_bytes(), name).is_some());
        let (own, mut entries): (Vec<CString>, Vec<CString>) = inherited()
            .into_iter()
            .filter(|entry| !is_set(entry))
            .partition(|entry| is_ours(entry.to_bytes()));
        // What cannot be passed on has no place in it.
        entries.extend(set.iter().filter_map(|variable| CString::new(variable.join(&b'=')).ok()));
        let with_room = |entry: CString| {
            let (name, identity) =
                IDENTITIES.into_iter().find(|(name, _)| value_of(entry.to_bytes(), name).is_some())?;
            Some(([name, b"=", &[0; DIGITS + 1]].concat(), identity))
        };
        let addresses = Vec::with_capacity(entries.len() + own.len() + 1);
        Environment { entries, own: own.into_iter().filter_map(with_room).collect(), addresses }
    }

    /// Has the program that this process executes next find it. Makes system calls only, and takes no memory, so that it
    /// may be called between fork and exec.
    pub fn install(&mut self) {
        self.addresses.clear();
        self.addresses.extend(self.entries.iter().map(|entry| entry.as_ptr() as usize));
        for (entry, identity) in &mut self.own {
            // Whoever cannot be named so need not be.
            let Some(number) = identity.own() else { continue };
            let room = entry.len() - DIGITS - 1;
            write_number(number, &mut entry[room..]);
            self.addresses.push(entry.as_ptr() as usize);
        }
        self.addresses.push(0);
        // SAFETY: the process has one thread, and the entries, each with its end, stay until it executes the program.
        unsafe { environ = self.addresses.as_ptr().cast() };
    }
}

/// What is meant for whoever finds it where no process is named beside it: a watchdog.
const MEANT_FOR_ANY: &[u8] = b"WATCHDOG_USEC";

/// The variables that a process was given but for those that say that something is meant for it alone.
pub fn without_identities(variables: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let is_identity =
        |name: &[u8]| name == MEANT_FOR_ANY || IDENTITIES.iter().any(|(identity, _)| *identity == name);
    variables.into_iter().filter(|(name, _)| !is_identity(name)).collect()
}

/// The entries of our environment, whatever they hold.
fn inherited() -> Vec<CString> {
    let mut entries = Vec::new();
    // SAFETY: nobody sets variables in this process: an array of strings with their ends, and 0 behind it.
    unsafe {
        let mut place = environ;
        while !place.is_null() && !(*place).is_null() {
            entries.push(CStr::from_ptr(*place).to_owned());
            place = place.add(1);
        }
    }
    entries
}

/// The value of a variable if the entry is its.
fn value_of<'a>(entry: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    entry.strip_prefix(name)?.strip_prefix(b"=")
}

/// Whether an entry says that something is meant for this process.
fn is_ours(entry: &[u8]) -> bool {
    IDENTITIES.into_iter().any(|(name, identity)| {
        let named = value_of(entry, name).and_then(|value| str::from_utf8(value).ok()?.parse().ok());
        named.is_some() && named == identity.own()
    })
}

/// The file number of this process's descriptor.
fn inode() -> Option<u64> {
    // SAFETY: takes no memory.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the kernel just returned this descriptor; nobody else owns it. All zeroes are a valid result, which the
    // call replaces.
    unsafe {
        let descriptor = OwnedFd::from_raw_fd(descriptor as i32);
        let mut about: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor.as_raw_fd(), &mut about) == 0).then_some(about.st_ino)
    }
}

/// Writes a number in decimal at the start of `room`, which has some for each.
fn write_number(number: u64, room: &mut [u8]) {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = number;
    for place in room[..digits].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}
