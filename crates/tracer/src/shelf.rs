//! Decoded instructions, kept from signal to signal: decoding costs more than executing.

use core::mem::MaybeUninit;
use timewise_isa::Decoded;

/// Instructions that there is room for.
const ENTRIES: usize = 1024;

#[repr(C)]
struct Entry {
    address: u64,
    bytes: [u8; 16],
    decoded: MaybeUninit<Decoded>,
}

/// Decoded instructions by address; all zeros is one without any.
#[repr(C)]
pub struct Shelf {
    entries: [Entry; ENTRIES],
}

impl Shelf {
    /// The instruction at `address`, of which the first `length` of `bytes` can be read; it is decoded again if
    /// these are others than before. `None` if they are none.
    pub fn decoded(&mut self, address: u64, bytes: &[u8; 16], length: usize) -> Option<&Decoded> {
        let entry = &mut self.entries[(address ^ address >> 10) as usize % ENTRIES];
        if entry.address != address || entry.bytes != *bytes || address == 0 || length < bytes.len() {
            entry.address = 0;
            entry.decoded.write(Decoded::new(&bytes[..length], address)?);
            (entry.address, entry.bytes) = (address, *bytes);
        }
        // SAFETY: written above, or when the address was noted.
        Some(unsafe { entry.decoded.assume_init_ref() })
    }
}
