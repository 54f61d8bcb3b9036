//! What is kept for each thread under count: `%gs` points at its [`ThreadArea`] while it runs.

use crate::signal::{Actions, Stack};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Where counters begin in a thread area. Counter `n` is the 8 bytes at `COUNTERS + 8 * n`. Right before
/// them lies the stack that the runtime uses on this thread.
pub const COUNTERS: u32 = 0x2_0000;

/// Where in a thread area the frame lies of a signal that waits, up to [`RETURN_FRAME`].
pub const HELD_FRAME: u32 = 0x2000;

/// Where in a thread area the frame lies by which the program returns from a signal, up to
/// [`SIGNAL_STACK`].
pub const RETURN_FRAME: u32 = 0x5000;

/// Bytes of the room for each of these frames.
pub const FRAME_ROOM: u32 = SIGNAL_STACK - RETURN_FRAME;

/// Where in a thread area the stack lies that signals arrive on, up to [`STACK`].
pub const SIGNAL_STACK: u32 = 0x8000;

/// Where in a thread area the runtime's stack ends, which begins at [`COUNTERS`].
pub const STACK: u32 = 0x1_2000;

/// The program's registers, as the kernel's signal frame orders them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Registers {
    /// `r8` to `r15`.
    pub r8_to_r15: [u64; 8],
    /// `rdi`.
    pub rdi: u64,
    /// `rsi`.
    pub rsi: u64,
    /// `rbp`.
    pub rbp: u64,
    /// `rbx`.
    pub rbx: u64,
    /// `rdx`.
    pub rdx: u64,
    /// `rax`.
    pub rax: u64,
    /// `rcx`.
    pub rcx: u64,
    /// `rsp`.
    pub rsp: u64,
    /// `rip`.
    pub rip: u64,
    /// Flags.
    pub rflags: u64,
}

/// Head of a thread's area; its counters follow at [`COUNTERS`].
#[repr(C, align(64))]
pub struct ThreadArea {
    /// Its own address; runtime. At offset 0, so that `mov rax, gs:[0]` finds it.
    pub this: u64,
    /// Top of the stack that the runtime uses on this thread.
    pub stack_top: u64,
    /// Where translated code puts registers that it borrows.
    pub spill: [u64; 8],
    /// Number of the exit that translated code leaves by.
    pub exit: u64,
    /// Index into the table of indirect branches, and target, of one that was not found.
    pub missed: [u64; 2],
    /// Where to go on once the program's registers are restored.
    pub resume: u64,
    /// Where in the code cache to go on after a system call.
    pub after: u64,
    /// Address of the area of the thread or process that the system call makes.
    pub child: u64,
    /// How many instructions the thread has executed, less the lead of the point where it is; if asked for.
    pub clock: u64,
    /// Address of the [`Frame`] of the call that the thread is in; if asked for.
    pub frame_top: u64,
    /// The clock when the costs of open calls were last charged, because the thread might not come back.
    pub settled: u64,
    /// Calls whose frames were dropped: there were too many at once.
    pub lost_calls: u64,
    /// Instructions that the thread may execute until it asks the runtime again; at most 2³¹, and below 0 for
    /// moments. Translated code that has to ask moves it.
    pub budget: i64,
    /// Instructions beyond those until the next change of what is recorded.
    pub due: u64,
    /// Instructions that were granted so far: less the budget, those that the thread has executed.
    pub granted: u64,
    /// Address in the ring where the next word goes.
    pub ring_at: u64,
    /// Address of the [`crate::stream::Ring`], 0 for none.
    pub ring: u64,
    /// Of the path that the thread is on: the register, as [`crate::paths`] says.
    pub path: i64,
    /// Address of the latest [`crate::paths::Waiting`].
    pub path_top: u64,
    /// Calls whose functions' registers were dropped: there were too many at once.
    pub lost_paths: u64,
    /// A [`mode`].
    pub mode: u32,
    /// Windows that have ended; `u32::MAX` for a thread that goes on without, as the host is gone.
    pub windows: u32,
    /// What is to be done when the system call returns: one of [`returned`].
    pub returned: u32,
    /// Number of the mailbox by which the host was asked to follow an `execve`.
    pub mailbox: u32,
    /// The program's signal mask while the runtime blocks all signals.
    pub mask: u64,
    /// The program's registers while the runtime runs.
    pub registers: Registers,
    /// The program's `xmm0` to `xmm15` while the runtime runs.
    pub vectors: [[u64; 2]; 16],
    /// Address of the shared file.
    pub shared: u64,
    /// Offset of the [`crate::process::ProcessRecord`] in the shared file.
    pub process: u64,
    /// Area registered before this one in the process, 0 for none.
    pub previous: AtomicU64,
    /// Thread id, of the last thread if several used the area in turn.
    pub tid: AtomicU32,
    /// A [`state`].
    pub state: AtomicU32,
    /// Block of the system call that the thread is in, while `state` says so.
    pub position: AtomicU32,
    /// 1 if a signal arrived while the runtime ran: it waits at [`HELD_FRAME`], and all others are blocked,
    /// until the thread leaves the runtime.
    pub held: AtomicU32,
    /// How often the thread is to stand for a moment on its way back to the program, where the host wants to find it;
    /// host, while the thread stands at work in the runtime.
    pub wanted: AtomicU32,
    /// Address of the frame by which the thread goes on where `resume` says so.
    pub frame: u64,
    /// 1 if the thread is a process of its own that shares this memory, as after `vfork`; whoever
    /// registers it.
    pub sharing: u32,
    /// What came of a [`crate::visit::task`]: one of [`crate::visit::answer`]; host to ask, then runtime.
    pub answer: u32,
    /// Address of the filter that the system call is to install.
    pub filter: u64,
    /// The program's base of the `gs` segment.
    pub gs_base: u64,
    /// Address of an instruction that the thread is about to execute where it stands, 0 for none.
    pub alone: u64,
    /// The program's stack for handlers; the kernel knows the runtime's instead.
    pub handler_stack: Stack,
    /// Address of the [`Actions`] in force for this thread.
    pub actions: u64,
    /// Room for them if no other process or thread shares them.
    pub own_actions: Actions,
    /// The registration of restartable sequences that the kernel does not know of while the thread is counted; host
    /// when it takes the thread over, then runtime.
    pub sequences: Sequences,
    /// Which of its system calls come to the program itself; host when it takes the thread over, then runtime.
    pub dispatch: Dispatch,
    /// The registers with which the host found the thread, which it stopped to give the program back.
    pub stopped: Registers,
    /// The stack pointer of a thread that was taken over, behind the latest return from a call that was open then; 0 for
    /// others. Host when it takes the thread over, then runtime.
    pub joined: u64,
}

/// What a thread registers by `rseq`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequences {
    /// Address of what it shares with the kernel; 0 for no registration.
    pub address: u64,
    /// Bytes of it.
    pub size: u32,
    /// What stands before each place where a sequence that is interrupted goes on.
    pub signature: u32,
}

/// What a thread asks for by `prctl(PR_SET_SYSCALL_USER_DISPATCH)`, in the kernel's own terms: a call that is made at none
/// of the addresses comes to the program, by `SIGSYS`, unless the byte there says otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// 1 if it is on.
    pub on: u32,
    /// What the kernel reads in place of that byte, where such a call is made for the program.
    pub selected: u32,
    /// First of the addresses, of what stands behind the instruction.
    pub offset: u64,
    /// How many there are; they may lie around the end of all addresses.
    pub length: u64,
    /// Address of the byte, 0 for none.
    pub selector: u64,
}

/// A call that has not returned, as translated code keeps it. Counters are named by their distance in
/// bytes from counter 0, which is nobody's.
///
/// A direct call of a function that calls nothing and can only return to its caller has none: the clock is
/// taken from the counter for its cost when it begins, and added when it returns ([`crate::log::BRIEF`]). That of a
/// direct call which cannot be made again before it returns may be held elsewhere ([`crate::log::HELD`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Address of the return address on the program's stack.
    pub slot: u64,
    /// Instructions that the thread had executed at the call.
    pub clock: u64,
    /// Of the call: the counter that holds its cost; 0 for a signal's handler.
    pub cost: u32,
    /// Of the function that was called: the counter that names the call site at which its latest activation
    /// but the present one waits; 0 if none can wait.
    pub function: u32,
    /// What `function` named when the call was made, if there is one.
    pub older: u32,
    /// Of a handler: the counter for the cost of the call without a frame that it interrupted, or 0.
    pub interrupted: u32,
}

impl Frame {
    /// `slot` of the frame that stands for none: above any stack, and not negative as a difference of addresses either.
    pub const ABOVE: u64 = 1 << 55;
}

/// Values of [`ThreadArea::mode`]: what a thread's code does beside counting edges.
pub mod mode {
    /// Nothing.
    pub const COUNT: u32 = 0;
    /// It asks the runtime when its budget is used up, and counts blocks if intervals are asked for.
    pub const PACE: u32 = 1;
    /// It asks likewise, and records what it executes.
    pub const STREAM: u32 = 2;
}

/// Values of [`ThreadArea::returned`].
pub mod returned {
    /// A thread was made.
    pub const THREAD: u32 = 0;
    /// A process that shares this memory was made, and has let go of it.
    pub const SHARING: u32 = 1;
    /// A process with a copy of this memory was made.
    pub const FORK: u32 = 2;
    /// An `execve` failed.
    pub const EXEC: u32 = 3;
    /// System calls may have been restricted.
    pub const FILTER: u32 = 4;
}

/// Values of [`ThreadArea::state`].
pub mod state {
    /// No thread uses the area.
    pub const FREE: u32 = 0;
    /// A thread runs on it.
    pub const RUNNING: u32 = 1;
    /// Its thread is in a system call.
    pub const IN_SYSTEM_CALL: u32 = 2;
    /// Its thread has stopped for good, and its last position is recorded.
    pub const STOPPED: u32 = 3;
}

const _: () =
    assert!(size_of::<ThreadArea>() <= HELD_FRAME as usize && FRAME_ROOM == RETURN_FRAME - HELD_FRAME);
