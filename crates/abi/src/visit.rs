//! What the host has a thread do that it stopped while the program runs: taking the program over, and giving it
//! back. The thread does it on a stack that the host provides, and stops with a trap when it is done.

/// What is to be done; `rdi` is the address of the thread's area, `rsi` one of these.
pub mod task {
    /// Makes the process ready, while all its threads stand.
    pub const BEGIN: u64 = 0;
    /// Makes the thread ready.
    pub const JOIN: u64 = 1;
    /// Says of each thread of the process that is asked ([`super::answer::ASKED`]), which stands with the registers in
    /// [`crate::thread::ThreadArea::stopped`], whether it can leave the runtime as it is: in its own area.
    pub const ASK: u64 = 2;
    /// Takes the thread out of translated code: its registers as the program knows them. Once all threads can leave.
    pub const LEAVE: u64 = 3;
    /// Gives the process what it had before, after its last thread left.
    pub const END: u64 = 4;
}

/// Values of [`crate::thread::ThreadArea::answer`].
pub mod answer {
    /// It could not be done.
    pub const FAILED: u32 = 0;
    /// It is done; the thread's own vector registers are the program's.
    pub const DONE: u32 = 1;
    /// It is done; the program's vector registers are in the area.
    pub const VECTORS_IN_AREA: u32 = 2;
    /// The thread is at work in the runtime: it has to run on for a moment.
    pub const AT_WORK: u32 = 3;
    /// The process may not have memory that is both writable and executable.
    pub const WRITABLE_CODE_DENIED: u32 = 4;
    /// None yet; host, for the threads that it wants to know of.
    pub const ASKED: u32 = 5;
}
