//! The runtime as a freestanding program: its entry, its allocator, and what happens when it fails.
#![no_std]
#![no_main]

extern crate alloc;

mod memory;

use core::alloc::{GlobalAlloc, Layout};
use core::arch::naked_asm;
use timewise_runtime::heap::HEAP;
use timewise_runtime::sys::{call, number};

struct Allocator;

// SAFETY: the runtime's heap keeps the contract.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        unsafe { HEAP.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { HEAP.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        unsafe { HEAP.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as promised by the caller.
        unsafe { HEAP.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// The ways in, in the order and at the distances that `timewise_abi::tracing` states: counting begins where
/// the host sets the program counter, with registers and `%gs` as it prepared them.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn timewise_start() {
    naked_asm!(
        "jmp {count}",
        ".balign {step}",
        "jmp {prepare}",
        ".balign {step}",
        "jmp {handle}",
        ".balign {step}",
        "jmp {restore}",
        ".balign {step}",
        "jmp {visit}",
        ".balign {step}",
        "jmp {join}",
        count = sym timewise_runtime::entry::enter_start,
        prepare = sym timewise_tracer::entry::enter_prepare,
        handle = sym timewise_tracer::entry::enter_handler,
        restore = sym timewise_tracer::entry::restore,
        visit = sym timewise_runtime::entry::enter_visit,
        join = sym timewise_runtime::entry::enter_join,
        step = const timewise_abi::tracing::ENTRY_BYTES,
    )
}

/// A panic is a fault of ours that cannot be undone here: say so and end, rather than go on wrongly.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let mut text = Text { bytes: [0; 512], used: 0 };
    let _ = core::fmt::write(&mut text, format_args!("timewise: internal error in the runtime: {info}\n"));
    // SAFETY: writes to standard error and ends the process.
    unsafe {
        let _ = call(number::WRITE, [2, text.bytes.as_ptr() as u64, text.used as u64, 0, 0, 0]);
        let _ = call(number::EXIT_GROUP, [125, 0, 0, 0, 0, 0]);
    }
    loop {
        core::hint::spin_loop();
    }
}

struct Text {
    bytes: [u8; 512],
    used: usize,
}

impl core::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = self.bytes.len() - self.used;
        let text = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.used..self.used + text.len()].copy_from_slice(text);
        self.used += text.len();
        Ok(())
    }
}
