//! What the operating system did for a program, in order.

use super::{NameId, Profile, StackId, ThreadId};

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

impl OsEvent {
    /// Whether it is a system call, of whatever purpose.
    pub fn is_call(&self) -> bool {
        matches!(self.kind, OsEventKind::Call | OsEventKind::Exec | OsEventKind::Image)
    }

    /// Whether it is a call that failed: its result is the negative number of an error.
    pub fn has_failed(&self) -> bool {
        const ERRORS: std::ops::Range<i64> = -4095..0;
        self.is_call() && self.result.is_some_and(|result| ERRORS.contains(&result))
    }

    /// From its beginning to its end, nanoseconds; 0 if no end was seen.
    pub fn took_ns(&self) -> u64 {
        self.end_ns.map_or(0, |end| end.saturating_sub(self.begin_ns))
    }
}

impl Profile {
    /// A name of system events, as bytes of the operating system.
    pub fn os_name(&self, id: NameId) -> &[u8] {
        &self.os_names[id.index()]
    }
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

impl OsEventKind {
    /// All of them.
    pub const ALL: [OsEventKind; 6] = [
        OsEventKind::Begin,
        OsEventKind::Exec,
        OsEventKind::Image,
        OsEventKind::Call,
        OsEventKind::Signal,
        OsEventKind::End,
    ];

    /// What it is called in files and for programs.
    pub const fn name(self) -> &'static str {
        match self {
            OsEventKind::Begin => "begin",
            OsEventKind::Exec => "exec",
            OsEventKind::Image => "image",
            OsEventKind::Call => "call",
            OsEventKind::Signal => "signal",
            OsEventKind::End => "end",
        }
    }
}
