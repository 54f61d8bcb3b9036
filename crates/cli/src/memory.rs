//! What becomes of us where there is no more memory: a line and a status, as of whatever else is refused. The standard
//! library aborts, and waits for ever where a backtrace is asked for, which needs memory, too.

use crate::exit_status::MISUSED;
use rustix::stdio::stderr;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes that may be asked for by whoever can go without, as for what a file says that it holds.
const DISPENSABLE: usize = 64 << 20;

const TOLD: &[u8] =
    b"timewise: there is no more memory; allow more: ulimit -d, ulimit -v, or memory.max of the control group\n";

#[global_allocator]
static MEMORY: Memory = Memory;

static STATUS: AtomicU8 = AtomicU8::new(MISUSED);

/// Says with which status we end then.
pub fn end_with(status: u8) {
    STATUS.store(status, Ordering::Relaxed);
}

struct Memory;

/// The least limit on data (`ulimit -d`), in bytes, under which a program is begun. We need more to save a profile, and end
/// for want of it with the program whole; but at less, what counts in the program may be what finds none, and end that.
const LEAST_DATA: u64 = 32 << 20;

/// Whether there is less memory than it takes to run a program.
pub fn is_too_little() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is ours to be written to.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit) };
    status == 0 && limit.rlim_cur < LEAST_DATA
}

/// Ends the process, without whatever else would want memory.
pub fn end() -> ! {
    let _ = rustix::io::write(stderr(), TOLD);
    // SAFETY: nothing of ours is needed any more.
    unsafe { libc::_exit(STATUS.load(Ordering::Relaxed).into()) }
}

/// What was got, or the end.
fn got(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() && bytes < DISPENSABLE {
        end()
    }
    memory
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        got(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        got(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        got(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}
