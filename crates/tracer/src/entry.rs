//! Where the kernel and the host come in, in assembly.

use crate::handler::{SIGTRAP, handle, open};
use crate::restrict;
use crate::slot::{find, header, set_header, set_process};
use core::arch::naked_asm;
use timewise_abi::tracing::{STACK_END, TraceSlot};
use timewise_isa::decode;
use timewise_runtime::heap::HEAP;

/// Called by the host before the program's first instruction: `rdi` is where the shared memory lies. Stops
/// with a trap when it is done.
///
/// # Safety
/// For the host alone, which maps the memory before.
#[unsafe(naked)]
pub unsafe extern "C" fn enter_prepare() {
    naked_asm!("call {prepare}", "int3", prepare = sym prepare)
}

/// The handler of `SIGTRAP`, on the program's stack: goes over to the stack of the thread's slot. A thread
/// without a slot stays where it is.
///
/// # Safety
/// For the kernel alone.
#[unsafe(naked)]
pub unsafe extern "C" fn enter_handler() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rsi",
        "push rdx",
        "call {find}",
        "pop rsi",
        "pop rdi",
        "mov rdx, rax",
        "test rax, rax",
        "jz 2f",
        "lea rsp, [rax + {stack}]",
        "2:",
        "and rsp, -16",
        "call {handle}",
        "mov rsi, [rbp - 8]",
        "mov rdx, [rbp - 16]",
        "mov rsp, rbp",
        "pop rbp",
        "test rax, rax",
        "jz 3f",
        // The program's own handler, as if the kernel had called it.
        "mov edi, {signal}",
        "jmp rax",
        "3:",
        "ret",
        find = sym find_slot,
        handle = sym handle,
        stack = const STACK_END,
        signal = const SIGTRAP,
    )
}

/// What the handler returns to.
///
/// # Safety
/// For the kernel alone.
#[unsafe(naked)]
pub unsafe extern "C" fn restore() {
    naked_asm!("mov eax, {number}", "syscall", number = const timewise_runtime::sys::number::RT_SIGRETURN)
}

extern "C" fn find_slot() -> *mut TraceSlot {
    if restrict::enter(header()) { find() } else { core::ptr::null_mut() }
}

extern "C" fn prepare(shared: u64) {
    // SAFETY: the host filled the header in before it let this thread run.
    unsafe { set_header(shared) };
    set_process();
    // SAFETY: the host left it to the tracer.
    unsafe { HEAP.make_do_with(header().heap[0]..header().heap[1]) };
    // The decoder makes its tables when it is first used; in a handler it may not.
    let _ = decode(&[0x90], 0);
    // SAFETY: the thread's own slot, which nobody else uses.
    if let Some(slot) = unsafe { find().as_mut() } {
        open(header(), slot);
    }
}
