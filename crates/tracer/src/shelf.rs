//! Decoded instructions, kept from signal to signal: decoding costs more than executing.

use core::mem::MaybeUninit;
use timewise_isa::Decoded;

/// Instructions that there is room for, as a power of 2.
const ENTRIES_BITS: u32 = 12;

#[repr(C)]
struct Entry {
    address: u64,
    bytes: [u8; 16],
    /// The instruction stands there now if this is the shelf's own.
    stamp: u32,
    decoded: MaybeUninit<Decoded>,
}

/// Decoded instructions by address; all zeros is one without any.
#[repr(C)]
pub struct Shelf {
    /// Changes whenever memory may be another.
    stamp: u32,
    entries: [Entry; 1 << ENTRIES_BITS],
}

/// A decoded instruction, and its bytes.
pub struct Kept<'a> {
    /// The instruction.
    pub decoded: &'a Decoded,
    /// Its bytes, and what follows.
    pub bytes: &'a [u8; 16],
}

impl Shelf {
    /// Memory may be another from now on: what stands in it has to be looked at again.
    pub fn doubt(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
    }

    /// The instruction at `address`. `read` fills in what stands there, and says how much of it can be read: it is
    /// asked unless nothing can have changed, and the instruction is decoded again if that is something else than
    /// before. `None` if it is none, or if `read` says so.
    #[inline]
    pub fn decoded(
        &mut self,
        address: u64,
        read: impl FnOnce(&mut [u8; 16]) -> Option<usize>,
    ) -> Option<Kept<'_>> {
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ENTRIES_BITS);
        let entry = &mut self.entries[mixed as usize];
        if entry.address != address || entry.stamp != self.stamp || address == 0 {
            let mut bytes = [0; 16];
            let length = read(&mut bytes)?;
            if entry.address != address || entry.bytes != bytes || address == 0 || length < bytes.len() {
                entry.address = 0;
                entry.decoded.write(Decoded::new(&bytes[..length], address)?);
                (entry.address, entry.bytes) = (address, bytes);
            }
            entry.stamp = self.stamp;
        }
        // SAFETY: written above, or when the address was noted.
        Some(Kept { decoded: unsafe { entry.decoded.assume_init_ref() }, bytes: &entry.bytes })
    }
}
