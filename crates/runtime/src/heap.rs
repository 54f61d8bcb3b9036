//! The runtime's heap: blocks of few sizes over chunks from the kernel. Used under the process lock only,
//! so it needs none of its own.

use crate::sys::{call, number};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ops::Range;

/// Small blocks come in steps of so many bytes, up to [`FINE`]; larger ones in powers of two, up to 2^31.
const STEP: usize = 16;
const FINE: usize = 128;

/// Sizes of blocks.
const CLASSES: usize = FINE / STEP + 32;

/// Bytes asked of the kernel at once for small allocations.
const CHUNK: usize = 1 << 20;

/// Allocations of this and more get mappings of their own.
const LARGE: usize = 256 << 10;

/// Bytes of addresses kept in reserve for when the kernel gives nothing more: it is not to be asked any more, or refuses,
/// as where the program has as many mappings as it may have (`vm.max_map_count`).
const RESERVE: usize = 1 << 30;

/// Likewise, where they are taken from those of the program.
const SMALL_RESERVE: usize = RESERVE / 16;

/// The part of them that may be used from the beginning, so that it can be when the kernel grants no more of it. The
/// others take none of what the program may have of data.
const GRANTED: usize = RESERVE / 256;

/// Where it begins: away from where the kernel puts the program's mappings, so that those lie as they would
/// natively.
const PLACE: u64 = timewise_abi::IMAGE + (1 << 40);

const NO_ACCESS: u64 = 0;
const READ_WRITE: u64 = 3;

struct State {
    /// Nothing more is asked of the kernel, and nothing given back.
    closed: bool,
    /// Addresses in reserve, none once they are in use.
    reserve: Range<u64>,
    /// Bytes of these that may be used already.
    granted: usize,
    /// Bytes of addresses that were put in reserve, or will be.
    taken: usize,
    /// Bytes of the largest block there was.
    largest: usize,
    free: [*mut u8; CLASSES],
    next: *mut u8,
    end: *mut u8,
    /// Where the next mapping is asked for.
    place: u64,
}

/// The runtime's allocator; the freestanding program that carries the runtime makes it the global one.
pub static HEAP: Heap = Heap::new();

/// The allocator.
pub struct Heap(UnsafeCell<State>);

// SAFETY: all use is under the process lock, or before a second thread exists.
unsafe impl Sync for Heap {}

impl Heap {
    /// An empty heap.
    const fn new() -> Heap {
        let none = core::ptr::null_mut();
        Heap(UnsafeCell::new(State {
            closed: false,
            reserve: 0..0,
            granted: 0,
            taken: RESERVE,
            largest: 0,
            free: [none; CLASSES],
            next: none,
            end: none,
            place: PLACE,
        }))
    }

    /// Reserves addresses, fewer where they are taken `from_program`. Under the process lock.
    pub fn reserve(&self, from_program: bool) {
        let size = if from_program { SMALL_RESERVE } else { RESERVE };
        // SAFETY: nobody else uses the heap meanwhile; see `Sync`.
        let state = unsafe { &mut *self.0.get() };
        let start = state.map(size, NO_ACCESS) as u64;
        state.taken = if start == 0 { 0 } else { size };
        if start != 0 {
            state.reserve = start..start + size as u64;
            // Where this is refused nothing is lost: it is asked for again.
            state.grant(GRANTED);
        }
    }

    /// From now on the kernel is asked for nothing: there is what is in reserve. Under the process lock.
    pub fn keep_in_store(&self) {
        // SAFETY: nobody else uses the heap meanwhile; see `Sync`.
        unsafe { &mut *self.0.get() }.open_reserve();
    }

    /// Whether there is room for what some more translated code takes. Under the process lock.
    pub fn has_room(&self) -> bool {
        // SAFETY: nobody else uses the heap meanwhile; see `Sync`.
        let state = unsafe { &mut *self.0.get() };
        // Tables grow to twice their size.
        let needed = 2 * state.largest + CHUNK;
        match state.closed {
            true => (state.end as usize).saturating_sub(state.next as usize) >= needed,
            // So that they can when the kernel gives nothing more. What is larger than the reserve it gives, or does not.
            false => needed > state.reserved() || state.grant(needed),
        }
    }

    /// Bytes of addresses that were put in reserve, or will be. Under the process lock.
    pub fn taken(&self) -> u64 {
        // SAFETY: nobody else uses the heap meanwhile; see `Sync`.
        unsafe { &*self.0.get() }.taken as u64
    }

    /// Makes do with memory that is there already: the kernel is asked for nothing. Under the process lock.
    ///
    /// # Safety
    /// Nobody else uses it from now on.
    pub unsafe fn make_do_with(&self, memory: Range<u64>) {
        // SAFETY: nobody else uses the heap meanwhile; see `Sync`.
        let state = unsafe { &mut *self.0.get() };
        state.make_do_with(memory.start as *mut u8, (memory.end - memory.start) as usize);
    }
}

/// The bytes of a block for a layout, and the class of such blocks.
fn block_for(layout: Layout) -> (usize, usize) {
    let size = layout.size().max(layout.align()).max(STEP);
    if size <= FINE && layout.align() <= STEP {
        let steps = size.div_ceil(STEP);
        return (steps * STEP, steps - 1);
    }
    let size = size.next_power_of_two();
    (size, FINE / STEP + size.trailing_zeros() as usize)
}

/// Asks the kernel to let memory be used that is the heap's own: whether it does.
fn protect(start: u64, size: usize) -> bool {
    // SAFETY: nobody refers to it yet.
    unsafe { call(number::MPROTECT, [start, size as u64, READ_WRITE, 0, 0, 0]) }.is_ok()
}

impl State {
    /// From now on nothing but this is handed out.
    fn make_do_with(&mut self, store: *mut u8, size: usize) {
        self.next = store;
        self.end = store.wrapping_add(size);
        self.closed = true;
    }

    fn reserved(&self) -> usize {
        (self.reserve.end - self.reserve.start) as usize
    }

    /// Has so much of the reserve usable: whether the kernel lets it be.
    fn grant(&mut self, needed: usize) -> bool {
        let size = needed.next_power_of_two().min(self.reserved());
        if size > self.granted && protect(self.reserve.start, size) {
            self.granted = size;
        }
        self.granted >= needed
    }

    /// Hands out what is in reserve from now on, as much of it as the kernel grants: false if that is nothing.
    fn open_reserve(&mut self) -> bool {
        let mut size = self.reserved();
        // All of it, or what lies beside memory of the same kind, adds nothing to the number of mappings.
        while size > self.granted && !self.grant(size) {
            size /= 4;
        }
        let (start, granted) = (self.reserve.start, core::mem::take(&mut self.granted));
        self.reserve = 0..0;
        if granted > 0 {
            self.make_do_with(start as *mut u8, granted);
        }
        granted > 0
    }

    /// A block of a size, of a class; null if there is no memory.
    fn hand_out(&mut self, size: usize, class: usize) -> *mut u8 {
        if size >= LARGE {
            self.largest = self.largest.max(size);
            if !self.closed {
                return self.map(size, READ_WRITE);
            }
        }
        let head = self.free[class];
        if !head.is_null() {
            // SAFETY: a free block starts with the address of the next.
            self.free[class] = unsafe { *head.cast::<*mut u8>() };
            return head;
        }
        let aligned = (self.next as usize).next_multiple_of(size.min(4096)) as *mut u8;
        if aligned.is_null() || (self.end as usize).saturating_sub(aligned as usize) < size {
            let chunk = if self.closed { core::ptr::null_mut() } else { self.map(CHUNK, READ_WRITE) };
            if chunk.is_null() {
                return chunk;
            }
            self.next = chunk.wrapping_add(size);
            self.end = chunk.wrapping_add(CHUNK);
            return chunk;
        }
        self.next = aligned.wrapping_add(size);
        aligned
    }

    /// Fresh memory, or null.
    fn map(&mut self, size: usize, protection: u64) -> *mut u8 {
        const PRIVATE_ANONYMOUS_NORESERVE: u64 = 0x4022;
        let arguments = [self.place, size as u64, protection, PRIVATE_ANONYMOUS_NORESERVE, u64::MAX, 0];
        // Each further up: the kernel goes elsewhere if something is there.
        self.place += (size as u64).next_multiple_of(CHUNK as u64);
        // SAFETY: maps fresh memory where nothing is.
        unsafe { call(number::MMAP, arguments) }.map_or(core::ptr::null_mut(), |address| address as *mut u8)
    }

    /// Moves a mapping to where there is room for `size` bytes, or null if the kernel does not.
    fn move_mapping(&mut self, block: *mut u8, old: usize, size: usize) -> *mut u8 {
        const MAY_MOVE_TO_FIXED: u64 = 3;
        self.largest = self.largest.max(size);
        let place = self.place;
        self.place += (size as u64).next_multiple_of(CHUNK as u64);
        let arguments = [block as u64, old as u64, size as u64, MAY_MOVE_TO_FIXED, place, 0];
        // SAFETY: the mapping is the block's own. These addresses are the runtime's, which lets no program map
        // anything there, and none of them was handed out before.
        unsafe { call(number::MREMAP, arguments) }.map_or(core::ptr::null_mut(), |address| address as *mut u8)
    }
}

// SAFETY: blocks are disjoint: each comes from a mapping of its own, a chunk's unused end, or the list of
// freed blocks of its class.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, class) = block_for(layout);
        // SAFETY: nobody else uses the heap meanwhile; see `Sync`.
        let state = unsafe { &mut *self.0.get() };
        let block = state.hand_out(size, class);
        if block.is_null() && state.open_reserve() {
            return state.hand_out(size, class);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, _) = block_for(layout);
        // SAFETY: as promised by the caller, who owns the block; as in `alloc`.
        unsafe {
            let block = self.alloc(layout);
            let is_fresh = size >= LARGE && !(*self.0.get()).closed;
            if !is_fresh && !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that makes a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let [(old, _), (new, _)] = [layout, wanted].map(block_for);
        if old == new {
            return block;
        }
        // SAFETY: as in `alloc`.
        let state = unsafe { &mut *self.0.get() };
        if old >= LARGE && new >= LARGE && !state.closed {
            // Pages move without being copied, and without both being there at once.
            let moved = state.move_mapping(block, old, new);
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: a fresh block, and the old one, are as large as what is copied at least.
        unsafe {
            let fresh = self.alloc(wanted);
            if !fresh.is_null() {
                core::ptr::copy_nonoverlapping(block, fresh, layout.size().min(size));
                self.dealloc(block, layout);
            }
            fresh
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (size, class) = block_for(layout);
        // SAFETY: as in `alloc`.
        let closed = unsafe { (*self.0.get()).closed };
        if size >= LARGE && !closed {
            // SAFETY: unmaps the block's own mapping.
            let unmapped = unsafe { call(number::MUNMAP, [block as u64, size as u64, 0, 0, 0, 0]) };
            // Two mappings in the place of one may be too many.
            if unmapped.is_ok() {
                return;
            }
        }
        // SAFETY: as in `alloc`; the block is the caller's to give back.
        unsafe {
            let state = &mut *self.0.get();
            *block.cast::<*mut u8>() = state.free[class];
            state.free[class] = block;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_they_are_for_and_those_of_a_class_are_alike() {
        let mut of_class = [(0, 0); CLASSES];
        for (size, align) in (0..20_000).flat_map(|size| [1, 8, 16, 32, 4096].map(|align| (size, align))) {
            let layout = Layout::from_size_align(size, align).unwrap();
            let (bytes, class) = block_for(layout);
            // Where a block is put.
            let alignment = 1 << bytes.min(4096).trailing_zeros();
            assert!(bytes >= size && alignment >= align, "{layout:?} {bytes}");
            assert!(bytes <= (2 * size).max(align).max(STEP), "{layout:?} {bytes}");
            let known = &mut of_class[class];
            assert!([(0, 0), (bytes, alignment)].contains(known), "{layout:?} {known:?}");
            *known = (bytes, alignment);
        }
    }
}
