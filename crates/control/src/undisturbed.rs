//! What a call of ours leaves as it was in the thread that makes it.

use std::ffi::c_int;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE` of glibc and musl.
const CANCEL_DISABLE: c_int = 1;

/// While it lives the thread is not cancelled, which would leave our lock taken; at its end `errno` is put back.
pub struct Undisturbed {
    error_number: c_int,
    cancel_state: c_int,
}

impl Undisturbed {
    /// Notes both.
    pub fn begin() -> Undisturbed {
        // SAFETY: each thread has an `errno` of its own.
        let error_number = unsafe { *libc::__errno_location() };
        let mut cancel_state = 0;
        // SAFETY: the state before goes to a live local.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &mut cancel_state) };
        Undisturbed { error_number, cancel_state }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        let mut ours = 0;
        // SAFETY: the state is the one that it had; ours goes to a live local.
        unsafe { pthread_setcancelstate(self.cancel_state, &mut ours) };
        // SAFETY: each thread has an `errno` of its own.
        unsafe { *libc::__errno_location() = self.error_number };
    }
}
