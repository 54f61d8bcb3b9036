//! The program's memory, read through the kernel: what cannot be read is an answer, not a fault.

use crate::ahead::Memory;
use timewise_isa::MAX_LENGTH;
use timewise_runtime::sys::{call, number};

const PROCESS_VM_READV: u64 = 310;
const PAGE: u64 = 4096;

/// Bytes of code read at once: reading costs more than decoding.
const WINDOW: usize = 256;

/// Memory of the calling process. What was read of its code is kept as long as this value lives, which is
/// one signal.
pub struct OwnMemory {
    process: u64,
    window: [u8; WINDOW],
    start: u64,
    length: usize,
}

impl OwnMemory {
    /// Of the calling process.
    pub fn new() -> OwnMemory {
        // SAFETY: asks for a number.
        let process = unsafe { call(number::GETPID, [0; 6]) }.unwrap_or_default();
        OwnMemory { process, window: [0; WINDOW], start: 0, length: 0 }
    }

    /// Fills `to` from `address` on: how many bytes there were.
    fn read(process: u64, address: u64, to: &mut [u8]) -> usize {
        let local = [to.as_mut_ptr() as u64, to.len() as u64];
        // What lies in the next page is a part of its own, so that its absence does no harm.
        let first = (PAGE - address % PAGE).min(to.len() as u64);
        let remote = [address, first, address.wrapping_add(first), to.len() as u64 - first];
        let parts = if remote[3] == 0 { 1 } else { 2 };
        let arguments = [process, local.as_ptr() as u64, 1, remote.as_ptr() as u64, parts, 0];
        // SAFETY: the kernel writes within `to`, and checks what it reads.
        unsafe { call(PROCESS_VM_READV, arguments) }.map_or(0, |read| (read as usize).min(to.len()))
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
            self.length = OwnMemory::read(self.process, address, &mut self.window);
        }
        let from = address.wrapping_sub(self.start) as usize;
        let rest = &self.window[from..self.length.max(from)];
        &rest[..rest.len().min(MAX_LENGTH)]
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let read = OwnMemory::read(self.process, address, &mut bytes);
        (read == bytes.len()).then(|| u64::from_ne_bytes(bytes))
    }
}
