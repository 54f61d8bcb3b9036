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

/// Bytes kept in store for a process that may ask the kernel for no more; less if that is refused.
const STORE: usize = 1 << 30;
const LEAST_STORE: usize = 16 << 20;

/// Where it begins: away from where the kernel puts the program's mappings, so that those lie as they would
/// natively.
const PLACE: u64 = timewise_abi::IMAGE + (1 << 40);

struct State {
    /// Nothing more is asked of the kernel, and nothing given back.
    closed: bool,
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
            free: [none; CLASSES],
            next: none,
            end: none,
            place: PLACE,
        }))
    }

    /// Takes what will ever be needed from the kernel, which is then asked no more. Under the process lock.
    pub fn keep_in_store(&self) {
        let mut size = STORE;
        while size >= LEAST_STORE && !self.take(size) {
            size /= 4;
        }
    }

    /// Takes this much from the kernel: false if that is refused, or was done before.
    fn take(&self, size: usize) -> bool {
        // SAFETY: nobody else uses the heap meanwhile; see `Sync`.
        let state = unsafe { &mut *self.0.get() };
        let store = if state.closed { core::ptr::null_mut() } else { state.map(size) };
        if store.is_null() {
            return false;
        }
        state.make_do_with(store, size);
        true
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

impl State {
    /// From now on nothing but this is handed out.
    fn make_do_with(&mut self, store: *mut u8, size: usize) {
        self.next = store;
        self.end = store.wrapping_add(size);
        self.closed = true;
    }

    /// Fresh memory, or null.
    fn map(&mut self, size: usize) -> *mut u8 {
        const READ_WRITE: u64 = 3;
        const PRIVATE_ANONYMOUS_NORESERVE: u64 = 0x4022;
        let arguments = [self.place, size as u64, READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE, u64::MAX, 0];
        // Each further up: the kernel goes elsewhere if something is there.
        self.place += (size as u64).next_multiple_of(CHUNK as u64);
        // SAFETY: maps fresh memory where nothing is.
        unsafe { call(number::MMAP, arguments) }.map_or(core::ptr::null_mut(), |address| address as *mut u8)
    }

    /// Moves a mapping to where there is room for `size` bytes, or null if the kernel does not.
    fn move_mapping(&mut self, block: *mut u8, old: usize, size: usize) -> *mut u8 {
        const MAY_MOVE_TO_FIXED: u64 = 3;
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
        if size >= LARGE && !state.closed {
            return state.map(size);
        }
        let head = state.free[class];
        if !head.is_null() {
            // SAFETY: a free block starts with the address of the next.
            state.free[class] = unsafe { *head.cast::<*mut u8>() };
            return head;
        }
        let aligned = (state.next as usize).next_multiple_of(size.min(4096)) as *mut u8;
        if aligned.is_null() || (state.end as usize).saturating_sub(aligned as usize) < size {
            let chunk = if state.closed { core::ptr::null_mut() } else { state.map(CHUNK) };
            if chunk.is_null() {
                return chunk;
            }
            state.next = chunk.wrapping_add(size);
            state.end = chunk.wrapping_add(CHUNK);
            return chunk;
        }
        state.next = aligned.wrapping_add(size);
        aligned
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, _) = block_for(layout);
        // SAFETY: as in `alloc`.
        let is_fresh = size >= LARGE && unsafe { !(*self.0.get()).closed };
        // SAFETY: as promised by the caller, who owns the block.
        unsafe {
            let block = self.alloc(layout);
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
            let _ = unsafe { call(number::MUNMAP, [block as u64, size as u64, 0, 0, 0, 0]) };
            return;
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
