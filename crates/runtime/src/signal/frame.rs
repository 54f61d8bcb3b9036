//! The frame of a signal, as the kernel lays it out on the stack of a handler.

use super::action::ONSTACK;
use core::arch::x86_64::__cpuid_count;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use timewise_abi::signal::{Action, Stack};
use timewise_abi::thread::{FRAME_ROOM, Registers, ThreadArea};

/// A stack that handlers run on only as long as they stay on it.
pub const SS_AUTODISARM: u32 = 1 << 31;
/// No stack.
pub const SS_DISABLE: u32 = 2;
/// In answers: the thread is on it.
pub const SS_ONSTACK: u32 = 1;

/// What the kernel puts on the stack; the handler's `rsp` points at it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Where the handler returns to.
    pub return_address: u64,
    flags: u64,
    link: u64,
    /// The program's stack for handlers.
    pub stack: Stack,
    /// The registers at the interruption.
    pub registers: Registers,
    segments: u64,
    error: u64,
    trap: u64,
    old_mask: u64,
    fault_address: u64,
    /// Address of the other registers, in the form of `fxsave` or `xsave`; 0 for none.
    pub vectors: u64,
    reserved: [u64; 8],
    /// The signals blocked at the interruption.
    pub mask: u64,
    /// What is known of the signal.
    pub info: Info,
}

const _: () = assert!(size_of::<Frame>() == 440);

/// What is known of a signal.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Info {
    signal: i32,
    errno: i32,
    /// Why it was sent; above 0 if by the kernel.
    pub code: i32,
    padding: i32,
    /// For a fault: the address.
    pub address: u64,
    rest: [u64; 13],
}

impl Info {
    /// Of a signal that the kernel itself sends for no further reason.
    pub fn of_kernel(signal: usize) -> Info {
        const SI_KERNEL: i32 = 0x80;
        Info::of(signal, SI_KERNEL)
    }

    /// Of a signal of which only its reason is known.
    pub fn of(signal: usize, code: i32) -> Info {
        Info { signal: signal as i32, errno: 0, code, padding: 0, address: 0, rest: [0; 13] }
    }

    /// The signal's number.
    pub fn signal(&self) -> usize {
        self.signal as usize
    }

    /// Whether it was sent in place of a system call, by a filter or because such calls come to the program.
    pub fn is_refused_call(&self) -> bool {
        const SIGSYS: i32 = 31;
        const BY_FILTER: i32 = 1;
        const BY_DISPATCH: i32 = 2;
        self.signal == SIGSYS && matches!(self.code, BY_FILTER | BY_DISPATCH)
    }

    /// Whether the instruction at the interruption raised it.
    pub fn is_fault(&self) -> bool {
        const SIGILL: i32 = 4;
        const SIGTRAP: i32 = 5;
        const SIGBUS: i32 = 7;
        const SIGFPE: i32 = 8;
        const SIGSEGV: i32 = 11;
        self.code > 0 && matches!(self.signal, SIGILL | SIGTRAP | SIGBUS | SIGFPE | SIGSEGV)
    }
}

/// Offsets in the area that `vectors` points to.
const MXCSR: usize = 24;
const XMM: usize = 160;
const MAGIC: usize = 464;
const SIZE: usize = 468;
const FEATURES: usize = 472;
const PRESENT: usize = 512;
/// The size without `xsave`.
const LEGACY: usize = 512;

/// Which part of it are the rights that go with protection keys (`PKRU`): a feature's number and its bit.
const RIGHTS: u32 = 9;
const RIGHTS_BIT: u64 = 1 << RIGHTS;

/// The rights that a handler begins with: to what no key protects, unless the kernel was told otherwise
/// (`x86/init_pkru` of debugfs).
const RIGHTS_OF_HANDLERS: u32 = 0x5555_5554;

/// Where the rights are in the area, on this processor: to ask it takes long in a virtual machine.
fn rights_at() -> usize {
    const FORM: u32 = 0xd;
    static AT: AtomicU32 = AtomicU32::new(0);
    match AT.load(Ordering::Relaxed) {
        0 => {
            let at = __cpuid_count(FORM, RIGHTS).ebx;
            AT.store(at, Ordering::Relaxed);
            at as usize
        }
        at => at as usize,
    }
}

/// Bytes of the area of the other registers at `vectors`.
///
/// # Safety
/// There must be one.
pub unsafe fn vectors_size(vectors: u64) -> usize {
    const FP_XSTATE_MAGIC1: u32 = 0x4650_5853;
    // SAFETY: both words lie in the smallest area.
    let [magic, size] = [MAGIC, SIZE].map(|at| unsafe { *((vectors as usize + at) as *const u32) });
    if magic == FP_XSTATE_MAGIC1 { size as usize } else { LEGACY }
}

impl Frame {
    /// Whether the thread was in 64-bit code.
    pub fn is_in_long_mode(&self) -> bool {
        const USER_CODE: u16 = 0x33;
        self.segments as u16 == USER_CODE
    }

    /// Copies the frame, and the other registers that belong to it, to room of the calling thread's area.
    ///
    /// # Safety
    /// `offset` must be that of room of [`FRAME_ROOM`] bytes of which nothing else is made; what the frame
    /// points to must be readable.
    pub unsafe fn keep<'a>(&self, area: &ThreadArea, offset: u32) -> &'a mut Frame {
        let place = area.this + u64::from(offset);
        let end = place + u64::from(FRAME_ROOM);
        let mut copy = *self;
        if copy.vectors != 0 {
            copy.vectors = (place + size_of::<Frame>() as u64).next_multiple_of(64);
            // SAFETY: as promised.
            unsafe {
                let size = vectors_size(self.vectors).min((end - copy.vectors) as usize);
                ptr::copy_nonoverlapping(self.vectors as *const u8, copy.vectors as *mut u8, size);
            }
        }
        // SAFETY: as promised.
        unsafe {
            (place as *mut Frame).write(copy);
            &mut *(place as *mut Frame)
        }
    }

    /// Sets `xmm0` to `xmm15`.
    ///
    /// # Safety
    /// The frame must be the kernel's, of the present signal.
    pub unsafe fn set_vectors(&mut self, values: &[[u64; 2]; 16]) {
        const SSE: u64 = 2;
        if self.vectors == 0 {
            return;
        }
        // SAFETY: within the area that the kernel made.
        unsafe {
            ptr::copy_nonoverlapping(values, (self.vectors as usize + XMM) as *mut [[u64; 2]; 16], 1);
            if vectors_size(self.vectors) > LEGACY {
                *((self.vectors as usize + PRESENT) as *mut u64) |= SSE;
            }
        }
    }

    /// Sets the other registers as a handler finds them.
    ///
    /// # Safety
    /// As [`Frame::set_vectors`].
    pub unsafe fn reset_vectors(&mut self) {
        const INITIAL_CONTROL: u16 = 0x37f;
        const INITIAL_MXCSR: u32 = 0x1f80;
        if self.vectors == 0 {
            return;
        }
        // SAFETY: within the area that the kernel made.
        unsafe {
            if vectors_size(self.vectors) > LEGACY {
                let with_rights = *((self.vectors as usize + FEATURES) as *const u64) & RIGHTS_BIT;
                *((self.vectors as usize + PRESENT) as *mut u64) = with_rights;
                if with_rights != 0 {
                    *((self.vectors as usize + rights_at()) as *mut u32) = RIGHTS_OF_HANDLERS;
                }
            } else {
                ptr::write_bytes(self.vectors as *mut u8, 0, MAGIC);
                *(self.vectors as *mut u16) = INITIAL_CONTROL;
            }
            *((self.vectors as usize + MXCSR) as *mut u32) = INITIAL_MXCSR;
        }
    }

    /// Puts the frame where the program's handler is to find it: its address. None if the program's stack
    /// for handlers is too small for it.
    ///
    /// # Safety
    /// The frame must be the kernel's, of the present signal, its registers the program's. If the
    /// program's stack is not writable there, the process dies as it would natively.
    pub unsafe fn put(&self, area: &ThreadArea, action: Action) -> Option<u64> {
        const RED_ZONE: u64 = 128;
        let stack = area.handler_stack;
        let nested = on_stack(&stack, self.registers.rsp);
        let mut top = self.registers.rsp.wrapping_sub(RED_ZONE);
        let enters = action.flags & ONSTACK != 0 && stack.size != 0 && !on_stack(&stack, top);
        if enters {
            top = stack.address.wrapping_add(stack.size);
        }
        let mut vectors = 0;
        let mut size = 0;
        if self.vectors != 0 {
            // SAFETY: the kernel made the area.
            size = unsafe { vectors_size(self.vectors) };
            top = top.wrapping_sub(size as u64) & !63;
            vectors = top;
        }
        let place = (top.wrapping_sub(size_of::<Frame>() as u64) & !15).wrapping_sub(8);
        if (nested || enters) && !holds(&stack, place) {
            return None;
        }
        let copy = Frame { return_address: action.restorer, stack, vectors, ..*self };
        // SAFETY: the program's own stack, below all that it uses.
        unsafe {
            ptr::copy_nonoverlapping(self.vectors as *const u8, vectors as *mut u8, size);
            (place as *mut Frame).write(copy);
        }
        Some(place)
    }
}

/// Whether a thread with this stack pointer is on the stack, as far as the kernel is concerned.
pub fn on_stack(stack: &Stack, pointer: u64) -> bool {
    stack.flags & SS_AUTODISARM == 0 && holds(stack, pointer)
}

fn holds(stack: &Stack, pointer: u64) -> bool {
    pointer > stack.address && pointer - stack.address <= stack.size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_holds_its_top_and_not_its_bottom() {
        let stack = Stack { address: 0x1000, flags: 0, reserved: 0, size: 0x1000 };
        assert!(!on_stack(&stack, 0x1000));
        assert!(on_stack(&stack, 0x1001));
        assert!(on_stack(&stack, 0x2000));
        assert!(!on_stack(&stack, 0x2001));
        assert!(!on_stack(&Stack { flags: SS_AUTODISARM, ..stack }, 0x1800));
        assert!(!on_stack(&Stack::default(), 0));
    }
}
