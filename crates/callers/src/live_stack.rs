//! The stack of a thread that stands, read as it is asked for.

use std::cell::RefCell;
use timewise_target::memory;

/// Read at once: most stacks fit.
const WINDOW_BYTES: usize = 8192;
/// Windows begin at multiples of this, so that what lies just below an address is in the same.
const ALIGNMENT: u64 = 64;

/// What was read last, of wherever in a process.
#[derive(Debug)]
pub struct LiveStack {
    pid: i32,
    window: RefCell<Window>,
}

#[derive(Debug, Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl LiveStack {
    /// That of a thread of this process, or of this number.
    pub fn of(pid: i32) -> LiveStack {
        LiveStack { pid, window: RefCell::default() }
    }

    /// The eight bytes at an address of the program, if they can be read.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut window = self.window.borrow_mut();
        if let Some(word) = window.word(address) {
            return Some(word);
        }
        window.bytes.resize(WINDOW_BYTES, 0);
        window.start = address / ALIGNMENT * ALIGNMENT;
        let read = memory::read(self.pid, window.start, &mut window.bytes);
        window.bytes.truncate(read);
        window.word(address)
    }
}

impl Window {
    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let word = self.bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(word.try_into().ok()?))
    }
}
