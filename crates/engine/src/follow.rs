//! Following a program until it ends: when one of its processes is about to call `execve`, the new
//! program is brought under count as well.

use crate::arena::Arena;
use crate::count::CountError;
use crate::executable::{Refusal, check, name_of, path_of};
use crate::harvest::Harvest;
use crate::inject::inject;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use timewise_abi::mailbox_state::{ASKED, FREE, GRANTED, REFUSED, WITHDRAWN};
use timewise_abi::thread::ThreadArea;
use timewise_abi::{Mailbox, SharedHeader, process::state};
use timewise_injection::Payload;
use timewise_target::attachable;
use timewise_target::cpu_time::ThreadAccount;
use timewise_target::seize::{Outcome, Seized};
use timewise_target::trace::Tracee;

/// How often traced threads are looked at.
const GLANCE: Duration = Duration::from_micros(100);

/// How often processes that have ended are collected.
const COLLECTION: Duration = Duration::from_millis(200);

/// A program that a process of the tree became, and that ran without being counted.
#[derive(Clone, Debug)]
pub struct Uncounted {
    /// The id of the first process that became it.
    pub pid: i32,
    /// Its path.
    pub path: PathBuf,
    /// Why it was not counted.
    pub why: String,
    /// How many times it was executed.
    pub times: u64,
}

/// Follows a program and its descendants from when `begin` let it run until `wait` returns, which runs in a thread of its
/// own, and harvests those that end before, if asked to. `own_child` is the program's process if it is a child of ours.
/// Programs that could not be followed ran natively.
///
/// # Errors
/// Those of `begin`, and the system's if there can be no further thread: then it did not begin.
pub fn follow(
    arena: &Arena,
    payload: &Payload,
    own_child: i32,
    mut harvest: Option<&mut Harvest>,
    begin: impl FnOnce() -> Result<(), CountError>,
    wait: impl FnOnce() + Send,
) -> Result<Vec<Uncounted>, CountError> {
    let header = arena.shared().header();
    let (following, killed, uncounted) = (Vec::new(), Vec::new(), Vec::new());
    let mut follower = Follower { arena, payload, own_child, following, killed, uncounted };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let collector = spawn(scope, || {
            while !ended.load(Ordering::Acquire) {
                if let Some(harvest) = &mut harvest {
                    harvest.collect();
                }
                std::thread::park_timeout(COLLECTION);
            }
        })?;
        let end = {
            let (ended, collector) = (&ended, collector.thread().clone());
            move || {
                ended.store(true, Ordering::Release);
                header.requests.fetch_add(1, Ordering::Release);
                wake(&header.requests);
                collector.unpark();
            }
        };
        let (begun, beginning) = channel();
        let waiter = {
            let end = end.clone();
            spawn(scope, move || {
                if beginning.recv().is_ok() {
                    wait();
                }
                end();
            })
        };
        if let Err(error) = waiter.and_then(|_| begin()) {
            end();
            return Err(error);
        }
        // It waits for that.
        let _ = begun.send(());
        loop {
            let seen = header.requests.load(Ordering::Acquire);
            follower.look();
            if ended.load(Ordering::Acquire) {
                break;
            }
            let patience = if follower.is_idle() { Duration::from_secs(1) } else { GLANCE };
            sleep(&header.requests, seen, patience);
        }
        follower.close(header);
        Ok(())
    })?;
    Ok(follower.uncounted)
}

/// Starts a thread.
///
/// # Errors
/// The system's, if there can be none.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, CountError> {
    let refused = |cause| CountError::System { what: "start a thread", cause };
    Builder::new().spawn_scoped(scope, work).map_err(refused)
}

struct Follower<'a> {
    arena: &'a Arena,
    payload: &'a Payload,
    own_child: i32,
    following: Vec<Following>,
    /// Threads that were killed as they began a new program: their parents learn of that once we have.
    killed: Vec<Seized>,
    uncounted: Vec<Uncounted>,
}

/// A thread that was granted to be followed through its `execve`.
struct Following {
    mailbox: usize,
    /// The record of its process.
    process: u64,
    /// It is a process of its own that shares its parent's memory, as after `vfork`.
    shares: bool,
    seized: Seized,
    path: PathBuf,
}

impl Follower<'_> {
    /// Whether no thread is traced.
    fn is_idle(&self) -> bool {
        self.following.is_empty() && self.killed.is_empty()
    }

    fn look(&mut self) {
        self.killed.retain_mut(|seized| matches!(seized.poll(), Ok(None)));
        let mut at = 0;
        while at < self.following.len() {
            match self.following[at].seized.poll() {
                Ok(None) => at += 1,
                Ok(Some(outcome)) => {
                    let following = self.following.swap_remove(at);
                    self.came_to(following, outcome);
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
        self.came_to(following, Outcome::Ended);
    }

    fn answer(&mut self, number: usize, mailbox: &Mailbox) {
        let tid = mailbox.tid.load(Ordering::Relaxed) as i32;
        // After a call that failed it may ask again before it was let go of: it waits until then.
        if self.following.iter().any(|following| following.seized.tid() == tid) {
            return;
        }
        if !waits_at(tid, self.arena.address_of(&mailbox.state)) {
            // It has another number where it is, and this one is somebody else's.
            self.note_uncounted(
                tid,
                Path::new("a program"),
                "its PID namespace is not ours; run timewise inside it".to_string(),
            );
            mailbox.state.store(REFUSED, Ordering::Release);
            wake(&mailbox.state);
            return;
        }
        let path = path_of(tid, mailbox);
        let granted = check(&path).and_then(|()| {
            Seized::new(tid, self.own_child).map_err(|error| {
                // It was killed meanwhile.
                if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) {
                    return Refusal::WillFail;
                }
                let why = match attachable::tracer(tid) {
                    Some(tracer) => format!("process {tracer} traces it"),
                    None => format!("it cannot be traced: {error}"),
                };
                Refusal::Native(why)
            })
        });
        let state = match granted {
            Ok(seized) => {
                // Now, while it waits: once its call succeeds another thread may have the area.
                // SAFETY: within the file; both fields were written before the thread asked.
                let said = |area: *mut ThreadArea| unsafe { ((*area).process, (*area).sharing != 0) };
                let asked = self.arena.thread(mailbox.thread.load(Ordering::Relaxed)).map(said);
                let (process, shares) = asked.unwrap_or((0, false));
                self.following.push(Following { mailbox: number, process, shares, seized, path });
                GRANTED
            }
            Err(Refusal::WillFail) => REFUSED,
            Err(Refusal::Native(why)) => {
                self.note_uncounted(tid, &path, why);
                REFUSED
            }
        };
        mailbox.state.store(state, Ordering::Release);
        wake(&mailbox.state);
    }

    fn came_to(&mut self, following: Following, outcome: Outcome) {
        let mailbox = &self.arena.shared().header().mailboxes[following.mailbox];
        match outcome {
            Outcome::Executed { process, pid } => self.executed(following, process, pid),
            Outcome::LetGo | Outcome::Ended => {}
        }
        mailbox.state.store(FREE, Ordering::Release);
    }

    fn executed(&mut self, following: Following, tracee: Tracee, pid: i32) {
        let parent = following.process;
        let image = PathBuf::from(format!("/proc/{pid}/exe"));
        let injected = match check(&image) {
            Ok(()) => inject(self.arena, self.payload, pid, parent).map_err(|e| e.to_string()),
            Err(Refusal::WillFail) => Err("its file cannot be read".to_string()),
            Err(Refusal::Native(why)) => Err(why),
        };
        // Last: its memory is given back from now on.
        if let Some(process) = self.arena.process(parent).filter(|_| !following.shares) {
            process.state.store(state::REPLACED, Ordering::Release);
        }
        match (tracee.release(), injected) {
            (Err(_), _) => self.killed.push(following.seized),
            (Ok(()), Err(why)) => self.note_uncounted(pid, &following.path, why),
            (Ok(()), Ok(())) => {}
        }
    }

    fn note_uncounted(&mut self, pid: i32, path: &Path, why: String) {
        let path = name_of(path);
        match self.uncounted.iter_mut().find(|known| known.path == path && known.why == why) {
            Some(known) => known.times += 1,
            None => self.uncounted.push(Uncounted { pid, path, why, times: 1 }),
        }
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
        while !self.is_idle() {
            self.look();
            std::thread::sleep(GLANCE);
        }
    }
}

/// Waits until a child of ours has ended, and leaves it to be waited for.
pub fn wait_for(child: i32) {
    while !has_ended(child) {
        std::thread::sleep(GLANCE);
    }
}

/// Waits for the child's end, or until it is stopped: the system tells of the stops of a process that we
/// trace, as it calls `execve`, whether asked for or not.
fn has_ended(child: i32) -> bool {
    let options = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: all zero is a valid value.
    let mut change: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the result points to a live local.
    let result = unsafe { libc::waitid(libc::P_PID, child as libc::id_t, &raw mut change, options) };
    match result {
        0 => matches!(change.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED),
        // A call that was interrupted is made again; any other error means that there is no such child.
        _ => io::Error::last_os_error().kind() != io::ErrorKind::Interrupted,
    }
}

/// Whether a thread waits for the word at this address of its memory to change, as one that asks us does at
/// once, when it has a processor.
fn waits_at(tid: i32, word: u64) -> bool {
    const PATIENCE: u32 = 1000;
    const ENOUGH: Duration = Duration::from_millis(100);
    const CROWDED: Duration = Duration::from_secs(60);
    let futex = format!("{} {word:#x} ", libc::SYS_futex);
    let account = ThreadAccount::open(tid, tid);
    let ran = || Some(Duration::from_nanos(account.as_ref().ok()?.read()?.ran_ns));
    let (before, begun) = (ran(), Instant::now());
    let has_hardly_run = || {
        let ran = ran().zip(before).map(|(now, before)| now.saturating_sub(before));
        ran.is_some_and(|ran| ran < ENOUGH) && begun.elapsed() < CROWDED
    };
    let mut looks = 0;
    while looks < PATIENCE {
        match std::fs::read_to_string(format!("/proc/{tid}/syscall")) {
            Ok(call) if call.starts_with(&futex) => return true,
            Ok(call) => {
                looks += u32::from(!(call.starts_with("running") && has_hardly_run()));
                std::thread::sleep(GLANCE);
            }
            // It is gone, or not for us to look at: whoever traces it will be told so.
            Err(_) => return true,
        }
    }
    false
}

/// Wakes all that sleep on a word.
pub fn wake(word: &AtomicU32) {
    // SAFETY: wakes waiters; the word stays.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Sleeps until the word is no longer `seen` or time is up.
pub fn sleep(word: &AtomicU32, seen: u32, time: Duration) {
    let time = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(time.subsec_nanos()),
    };
    // SAFETY: waits on a word that stays; the time is a valid structure.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const time) };
}
