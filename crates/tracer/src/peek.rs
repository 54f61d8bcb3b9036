//! The program's memory, read through the kernel: what cannot be read is an answer, not a fault.

use crate::ahead::Memory;
use timewise_isa::MAX_LENGTH;
use timewise_runtime::sys::memory;

/// Bytes of code read at once: reading costs more than decoding.
const WINDOW: usize = 256;

/// Memory of the calling process. What was read of its code is kept as long as this value lives, which is
/// one signal.
pub struct OwnMemory {
    window: [u8; WINDOW],
    start: u64,
    length: usize,
}

impl OwnMemory {
    /// Of the calling process.
    pub fn new() -> OwnMemory {
        OwnMemory { window: [0; WINDOW], start: 0, length: 0 }
    }
}

impl Default for OwnMemory {
    fn default() -> OwnMemory {
        OwnMemory::new()
    }
}

impl Memory for OwnMemory {
    fn code(&mut self, address: u64) -> &[u8] {
        let skipped = address.wrapping_sub(self.start);
        if skipped >= self.length as u64 || self.length - (skipped as usize) < MAX_LENGTH {
            self.start = address;
            self.length = memory::read(address, &mut self.window);
        }
        let from = address.wrapping_sub(self.start) as usize;
        let rest = &self.window[from..self.length.max(from)];
        &rest[..rest.len().min(MAX_LENGTH)]
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let read = memory::read(address, &mut bytes);
        (read == bytes.len()).then(|| u64::from_ne_bytes(bytes))
    }
}
