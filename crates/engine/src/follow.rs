//! Following a program until it ends: when one of its processes is about to call `execve`, the new
//! program is brought under count as well.

use crate::arena::Arena;
use crate::inject::inject;
use crate::payload::Payload;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use timewise_abi::mailbox_state::{ASKED, FREE, GRANTED, REFUSED, WITHDRAWN};
use timewise_abi::{Mailbox, SharedHeader, process::state};
use timewise_target::launch::Running;
use timewise_target::seize::{Outcome, Seized};
use timewise_target::trace::Tracee;

/// How often traced threads are looked at.
const GLANCE: Duration = Duration::from_micros(100);

/// A program that a process of the tree became, and that ran without being counted.
#[derive(Clone, Debug)]
pub struct Uncounted {
    /// Its process id.
    pub pid: i32,
    /// Its path.
    pub path: PathBuf,
    /// Why it was not counted.
    pub why: String,
}

/// Follows `running` and its descendants until it ends. Programs that could not be followed ran natively.
pub fn follow(arena: &Arena, payload: &Payload, running: &Running) -> Vec<Uncounted> {
    let header = arena.shared().header();
    let own_child = running.pid();
    let mut follower = Follower { arena, payload, own_child, following: Vec::new(), uncounted: Vec::new() };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(own_child);
            ended.store(true, Ordering::Release);
            header.requests.fetch_add(1, Ordering::Release);
            wake(&header.requests);
        });
        loop {
            let seen = header.requests.load(Ordering::Acquire);
            follower.look();
            if ended.load(Ordering::Acquire) {
                break;
            }
            let patience = if follower.following.is_empty() { Duration::from_secs(1) } else { GLANCE };
            sleep(&header.requests, seen, patience);
        }
        follower.close(header);
    });
    follower.uncounted
}

struct Follower<'a> {
    arena: &'a Arena,
    payload: &'a Payload,
    own_child: i32,
    following: Vec<Following>,
    uncounted: Vec<Uncounted>,
}

/// A thread that was granted to be followed through its `execve`.
struct Following {
    mailbox: usize,
    /// Its thread area.
    thread: u64,
    seized: Seized,
    path: PathBuf,
}

/// What is to be done about a request.
enum Refusal {
    /// The call will fail by itself.
    WillFail,
    /// The new program is not to be counted.
    Native(String),
}

impl Follower<'_> {
    fn look(&mut self) {
        let mut at = 0;
        while at < self.following.len() {
            match self.following[at].seized.poll() {
                Ok(None) => at += 1,
                Ok(Some(outcome)) => {
                    let following = self.following.swap_remove(at);
                    self.came_to(&following, outcome);
                }
                // It is gone.
                Err(_) => self.came_to_nothing(at),
            }
        }
        let mailboxes = &self.arena.shared().header().mailboxes;
        for (number, mailbox) in mailboxes.iter().enumerate() {
            match mailbox.state.load(Ordering::Acquire) {
                ASKED => self.answer(number, mailbox),
                WITHDRAWN => match self.following.iter_mut().find(|f| f.mailbox == number) {
                    Some(following) => following.seized.let_go(),
                    None => mailbox.state.store(FREE, Ordering::Release),
                },
                _ => {}
            }
        }
    }

    fn came_to_nothing(&mut self, at: usize) {
        let following = self.following.swap_remove(at);
        self.came_to(&following, Outcome::Ended);
    }

    fn answer(&mut self, number: usize, mailbox: &Mailbox) {
        let tid = mailbox.tid.load(Ordering::Relaxed) as i32;
        // After a call that failed it may ask again before it was let go of: it waits until then.
        if self.following.iter().any(|following| following.seized.tid() == tid) {
            return;
        }
        let path = path_of(tid, mailbox);
        let granted = check(&path).and_then(|()| {
            let refused = |error: io::Error| Refusal::Native(format!("it cannot be traced: {error}"));
            Seized::new(tid, self.own_child).map_err(refused)
        });
        let state = match granted {
            Ok(seized) => {
                let thread = mailbox.thread.load(Ordering::Relaxed);
                self.following.push(Following { mailbox: number, thread, seized, path });
                GRANTED
            }
            Err(Refusal::WillFail) => REFUSED,
            Err(Refusal::Native(why)) => {
                self.uncounted.push(Uncounted { pid: tid, path: name_of(&path), why });
                REFUSED
            }
        };
        mailbox.state.store(state, Ordering::Release);
        wake(&mailbox.state);
    }

    fn came_to(&mut self, following: &Following, outcome: Outcome) {
        let mailbox = &self.arena.shared().header().mailboxes[following.mailbox];
        match outcome {
            Outcome::Executed { process, pid } => self.executed(following, process, pid),
            Outcome::LetGo | Outcome::Ended => {}
        }
        mailbox.state.store(FREE, Ordering::Release);
    }

    fn executed(&mut self, following: &Following, tracee: Tracee, pid: i32) {
        let shared = self.arena.shared();
        let thread = shared.thread(following.thread);
        // SAFETY: a registered area; both fields were written before the thread asked.
        let (parent, sharing) = unsafe { ((*thread).process, (*thread).sharing) };
        if sharing == 0 {
            shared.process(parent).state.store(state::REPLACED, Ordering::Release);
        }
        let image = PathBuf::from(format!("/proc/{pid}/exe"));
        let injected = match check(&image) {
            Ok(()) => inject(self.arena, self.payload, pid, parent).map_err(|e| e.to_string()),
            Err(Refusal::WillFail) => Err("its file cannot be read".to_string()),
            Err(Refusal::Native(why)) => Err(why),
        };
        if let Err(why) = injected {
            self.uncounted.push(Uncounted { pid, path: name_of(&following.path), why });
        }
        // It may have been killed meanwhile.
        let _ = tracee.release();
    }

    /// The program has ended. What still runs of its descendants goes on, and what it executes from now
    /// on runs natively.
    fn close(&mut self, header: &SharedHeader) {
        header.host_pid.store(0, Ordering::Release);
        for mailbox in &header.mailboxes {
            if mailbox.state.compare_exchange(ASKED, REFUSED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                wake(&mailbox.state);
            }
        }
        for following in &mut self.following {
            following.seized.let_go();
        }
        while !self.following.is_empty() {
            self.look();
            std::thread::sleep(GLANCE);
        }
    }
}

/// A path by which we can open what thread `tid` asks to execute.
fn path_of(tid: i32, mailbox: &Mailbox) -> PathBuf {
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
    use std::os::unix::fs::FileExt;
    let mut text = Vec::new();
    let Ok(memory) = std::fs::File::open(format!("/proc/{tid}/mem")) else { return OsString::new() };
    while text.len() < libc::PATH_MAX as usize {
        let mut bytes = [0; 64];
        // Up to the next multiple of the buffer's size, so that no read crosses into a page that is not there.
        let at = address + text.len() as u64;
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
fn name_of(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Whether the program in a file can be counted.
fn check(path: &Path) -> Result<(), Refusal> {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
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
    let Ok(mut file) = std::fs::File::open(path) else { return native("its file cannot be read") };
    let read = file.read(&mut start).map_err(will_fail)?;
    const X86_64: u8 = 62;
    match &start[..read] {
        [0x7f, b'E', b'L', b'F', 1, ..] => native("it is a 32-bit program"),
        [0x7f, b'E', b'L', b'F', ..] if read == start.len() && start[18] != X86_64 => {
            native("it is a program for another processor")
        }
        _ => Ok(()),
    }
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both names are C strings; no value is asked for, only its size.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

/// Waits until a child of ours has ended, and leaves it to be waited for.
fn wait_for(child: i32) {
    let options = libc::WEXITED | libc::WNOWAIT;
    let ended = || {
        // SAFETY: the result is not asked for. A call that was interrupted is made again.
        let result = unsafe { libc::waitid(libc::P_PID, child as libc::id_t, std::ptr::null_mut(), options) };
        result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted
    };
    while !ended() {}
}

fn wake(word: &AtomicU32) {
    // SAFETY: wakes waiters; the word stays.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Sleeps until the word is no longer `seen` or time is up.
fn sleep(word: &AtomicU32, seen: u32, time: Duration) {
    let time = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(time.subsec_nanos()),
    };
    // SAFETY: waits on a word that stays; the time is a valid structure.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const time) };
}
