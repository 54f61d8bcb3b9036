//! Decoded instructions, kept from signal to signal: decoding costs more than executing.

use crate::been::beside;
use core::mem::MaybeUninit;
use timewise_isa::Decoded;

/// Instructions that there is room for: each new one takes the place of the oldest. So those of a piece of code lie
/// side by side, and what one trace needs is in few lines and pages.
const ENTRIES: usize = 1 << 13;

/// Bytes of code whose instructions are found by one line of the index.
const BLOCK: usize = 32;

/// Lines of the index, as a power of 2.
const BLOCKS_BITS: u32 = 11;

/// A line of the processor's caches.
#[repr(C, align(64))]
struct Entry {
    /// Nothing yet if the stamp is 0.
    decoded: MaybeUninit<Decoded>,
    /// The instruction stands there now if this is the shelf's own.
    stamp: u32,
}

const _: () = assert!(size_of::<Entry>() == 64);

impl Entry {
    fn get(&self) -> Option<&Decoded> {
        // SAFETY: it was written before the stamp was.
        (self.stamp != 0).then(|| unsafe { self.decoded.assume_init_ref() })
    }
}

/// Decoded instructions by address; all zeros is one without any.
#[repr(C, align(64))]
pub struct Shelf {
    /// Which entry has the instruction that begins at each byte, if it is there still.
    index: [[u16; BLOCK]; 1 << BLOCKS_BITS],
    entries: [Entry; ENTRIES],
    /// Changes whenever memory may be another.
    stamp: u32,
    /// The oldest entry.
    oldest: u32,
}

impl Shelf {
    /// Memory may be another from now on: what stands in it has to be looked at again.
    pub fn doubt(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            // Those of long ago have stamps that come again.
            self.entries.iter_mut().for_each(|entry| entry.stamp = 0);
            self.stamp = 1;
        }
    }

    /// The instruction at `address`. `read` fills in what stands there, and says how much of it can be read: it is
    /// asked unless nothing can have changed, and the instruction is decoded again if that is something else than
    /// before. `None` if it is none, or if `read` says so.
    #[inline]
    pub fn decoded(
        &mut self,
        address: u64,
        read: impl FnOnce(&mut [u8; 16]) -> Option<usize>,
    ) -> Option<&Decoded> {
        let block = beside(address / BLOCK as u64, BLOCKS_BITS);
        let number = &mut self.index[block][address as usize % BLOCK];
        let known = self.entries[usize::from(*number)].get().filter(|known| known.address() == address);
        if known.is_none() || self.entries[usize::from(*number)].stamp != self.stamp {
            let mut bytes = [0; 16];
            let length = read(&mut bytes)?;
            let stays = known.is_some_and(|known| bytes[..length].starts_with(known.bytes()));
            if known.is_none() {
                *number = self.oldest as u16;
                self.oldest = (self.oldest + 1) % ENTRIES as u32;
            }
            let entry = &mut self.entries[usize::from(*number)];
            if !stays {
                entry.stamp = 0;
                entry.decoded.write(Decoded::new(&bytes[..length], address)?);
            }
            entry.stamp = self.stamp;
        }
        self.entries[usize::from(*number)].get()
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn what_was_looked_at_long_ago_is_looked_at_again() {
        // SAFETY: all zeros is a value of it.
        let mut shelf = unsafe { Box::<Shelf>::new_zeroed().assume_init() };
        let looks = |byte: u8, shelf: &mut Shelf| {
            let mut looked = false;
            let kept = shelf.decoded(0x1000, |bytes| {
                looked = true;
                *bytes = [byte; 16];
                Some(bytes.len())
            });
            kept.unwrap();
            looked
        };
        shelf.doubt();
        assert!(looks(0x90, &mut shelf) && !looks(0x90, &mut shelf));
        // As often as there are stamps, but for one.
        shelf.stamp = u32::MAX;
        shelf.doubt();
        assert!(looks(0xc3, &mut shelf) && !looks(0xc3, &mut shelf));
    }
}
