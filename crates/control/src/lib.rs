//! What a program links or preloads to switch branch tracing of itself on and off, with a C header
//! (`include/timewise_branches.h`): the command `timewise` is attached to the process meanwhile, so that nothing is in
//! it, and nothing is paid, while tracing is off.

mod attached;
mod command;
mod of_process;
mod orphan;
mod undisturbed;

use attached::Attached;
use of_process::OfProcess;
use std::ffi::{CStr, c_char, c_int, c_uint};
use timewise_abi::tracing::{LONGEST_TRACE, MOST_TRACES_A_SECOND};
use undisturbed::Undisturbed;

/// An error number of the system's.
type Errno = i32;

/// What is attached now.
static ATTACHED: OfProcess<Attached> = OfProcess::new();

/// Begins to trace the calling process; see the header.
///
/// # Safety
/// `path` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timewise_branches_start(
    path: *const c_char,
    traces_a_second: c_uint,
    branches_a_trace: c_uint,
) -> c_int {
    const USUAL: (c_uint, c_uint) = (100, 16);
    let _undisturbed = Undisturbed::begin();
    let or_usual = |number: c_uint, usual| if number == 0 { usual } else { number };
    let (rate, length) = (or_usual(traces_a_second, USUAL.0), or_usual(branches_a_trace, USUAL.1));
    ATTACHED.with(|attached| {
        if attached.is_some() {
            return libc::EALREADY;
        }
        if path.is_null() {
            return libc::EFAULT;
        }
        if rate > MOST_TRACES_A_SECOND || length > LONGEST_TRACE {
            return libc::EINVAL;
        }
        // SAFETY: as promised.
        match Attached::start(unsafe { CStr::from_ptr(path) }, rate, length) {
            Ok(started) => {
                *attached = Some(started);
                0
            }
            Err(error) => error,
        }
    })
}

/// Ends tracing; see the header.
#[unsafe(no_mangle)]
pub extern "C" fn timewise_branches_stop() -> c_int {
    let _undisturbed = Undisturbed::begin();
    ATTACHED.with(|attached| attached.take().map_or(libc::ESRCH, Attached::stop))
}
