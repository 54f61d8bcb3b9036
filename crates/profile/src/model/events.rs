//! What the operating system did for a program, in order.

use super::{NameId, StackId, ThreadId};

/// Something that a thread had the operating system do, or that befell it (CQ, section 0.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsEvent {
    /// The thread.
    pub thread: ThreadId,
    /// What kind of event.
    pub kind: OsEventKind,
    /// The system call's or signal's name, such as `openat` or `SIGCHLD`; `None` for other kinds.
    pub name: Option<NameId>,
    /// What it was about: a file's path, an address of the network; `None` if nothing is known.
    pub object: Option<NameId>,
    /// When it began, nanoseconds since the start of the run.
    pub begin_ns: u64,
    /// When it ended, likewise; `None` if no end was seen. Events that take no time end where they begin.
    pub end_ns: Option<u64>,
    /// CPU time that the thread had used when it began, nanoseconds.
    pub cpu_ns: u64,
    /// What a system call returned, the negative error number if it failed; an exit's status, or the negative
    /// number of the signal that ended the process.
    pub result: Option<i64>,
    /// The innermost caller, if stacks were taken.
    pub stack: Option<StackId>,
}

/// What kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OsEventKind {
    /// A thread's first.
    Begin,
    /// The process executes another program from here on: the object.
    Exec,
    /// Code of a file was mapped: a library was loaded, the object.
    Image,
    /// A system call of any other purpose.
    Call,
    /// A signal was delivered.
    Signal,
    /// A thread's last.
    End,
}
