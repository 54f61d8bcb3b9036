//! Having a stopped thread do something in the runtime, on a stack of ours.

use crate::arena::{self, Arena};
use crate::count::CountError;
use std::io;
use timewise_abi::GRANULE;
use timewise_abi::thread::ThreadArea;
use timewise_abi::tracing::{ENTRY_BYTES, entry};
use timewise_injection::Payload;
use timewise_target::trace::Tracee;

/// What visits need: one thread visits at a time.
#[derive(Debug)]
pub struct Visits {
    stack: u64,
    visit: u64,
    join: u64,
}

impl Visits {
    /// Makes room for the stack.
    ///
    /// # Errors
    /// [`CountError::Full`].
    pub fn new(arena: &Arena, payload: &Payload) -> Result<Visits, CountError> {
        let room = arena.shared().allocate(GRANULE).map_err(|_| CountError::Full)?;
        let way_in = |number: u64| payload.entry + number * ENTRY_BYTES;
        let stack = arena::BASE + room + GRANULE;
        Ok(Visits { stack, visit: way_in(entry::VISIT), join: way_in(entry::JOIN) })
    }

    /// Where a thread goes on under the translator that ran before.
    pub fn join(&self) -> u64 {
        self.join
    }

    /// Has a thread do `task` for the area at `offset`, and leaves its registers as they were, also the system call
    /// that it stands in: what came of it.
    ///
    /// # Errors
    /// Those of `ptrace`.
    pub fn make(&self, tracee: Tracee, area: *mut ThreadArea, task: u64) -> io::Result<u32> {
        let before = tracee.registers()?;
        // SAFETY: a registered area; the field stays as it is.
        let address = unsafe { (*area).this };
        tracee.run_to_trap(self.visit, [address, task], self.stack)?;
        tracee.set_registers(&before)?;
        // SAFETY: a registered area; its thread, which wrote the field, stands.
        Ok(unsafe { (&raw const (*area).answer).read_volatile() })
    }
}
