//! The end of a thread area, inaccessible so that what grows there too far is noticed: open calls, and the paths of the
//! functions that made them.

use crate::state::Process;
use crate::sys::filter::is_confined;
use crate::sys::{call, number};
use timewise_abi::thread::ThreadArea;

/// Bytes of it.
const SIZE: u64 = 0x1000;

/// Where it begins, inaccessible or not.
pub fn begins(process: &Process, area: &ThreadArea) -> u64 {
    area.this + process.shared.header().thread_area_size - SIZE
}

/// Whether an address lies in it.
pub fn holds(process: &Process, area: &ThreadArea, address: u64) -> bool {
    let begin = begins(process, area);
    (begin..begin + SIZE).contains(&address)
}

/// Makes it inaccessible, unless the program's filter of system calls may mind.
pub fn raise(process: &Process, area: &ThreadArea) {
    if !is_confined() {
        // SAFETY: nothing but what grows there lies there, and the handler knows what a fault there means.
        let _ = unsafe { call(number::MPROTECT, [begins(process, area), SIZE, 0, 0, 0, 0]) };
    }
}
