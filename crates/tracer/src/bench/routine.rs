//! The machine code around a single instruction: registers in, the instruction, registers out.

use super::Data;
use core::mem::offset_of;
use timewise_isa::{Lone, MAX_LENGTH};

/// Room for the instruction: the rest is filled with `nop`.
const ROOM: usize = 16;

/// The program's registers that the routine with vectors takes over: x87, SSE, AVX and AVX-512.
const COMPONENTS: u8 = 0xe7;

/// A routine, and where in the page it begins.
#[derive(Clone, Copy)]
pub struct Routine {
    start: usize,
    vectors: bool,
}

impl Routine {
    /// For instructions on general registers.
    pub const GENERAL: Routine = Routine { start: 0, vectors: false };
    /// For all others.
    pub const VECTORS: Routine = Routine { start: 1024, vectors: true };

    /// Where in the page the instruction goes.
    const fn room(self) -> usize {
        self.start + 256
    }

    /// Writes the routine into a page, with the data behind it.
    ///
    /// # Safety
    /// The page is writable.
    pub unsafe fn write(self, page: *mut u8) {
        let mut code = Code { page, at: self.start };
        // push rbx, rbp, r12 to r15
        code.bytes(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]);
        code.with(&[0x48, 0x89, 0x25], offset_of!(Data, own_stack)); // mov [own_stack], rsp
        if self.vectors {
            code.with(&[0x0f, 0xae, 0x1d], offset_of!(Data, own_mxcsr)); // stmxcsr
            code.components();
            code.with(&[0x48, 0x0f, 0xae, 0x2d], offset_of!(Data, vectors)); // xrstor64
        }
        code.with(&[0xff, 0x35], offset_of!(Data, flags)); // push, popfq
        code.bytes(&[0x9d]);
        code.registers(0x8b);
        // jmp over what is left to the room
        let left = self.room() - code.at - 5;
        code.bytes(&[0xe9]);
        code.bytes(&(left as u32).to_le_bytes());
        code.at = self.room() + ROOM;
        code.registers(0x89);
        code.with(&[0x48, 0x8b, 0x25], offset_of!(Data, own_stack)); // mov rsp, [own_stack]
        code.bytes(&[0x9c]);
        code.with(&[0x8f, 0x05], offset_of!(Data, flags)); // pushfq, pop
        if self.vectors {
            code.components();
            code.with(&[0x48, 0x0f, 0xae, 0x25], offset_of!(Data, vectors)); // xsave64
            code.bytes(&[0xdb, 0xe3]); // fninit
            code.with(&[0x0f, 0xae, 0x15], offset_of!(Data, own_mxcsr)); // ldmxcsr
        }
        // cld; pop r15 to r12, rbp, rbx; ret
        code.bytes(&[0xfc, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3]);
    }

    /// Puts an instruction into the room and executes it.
    ///
    /// # Safety
    /// The routine is in the page, and the instruction does nothing but to registers and its operand.
    pub unsafe fn execute(self, page: *mut u8, lone: &Lone) {
        const NOP: u8 = 0x90;
        let mut bytes = [NOP; ROOM];
        bytes[..MAX_LENGTH].copy_from_slice(&lone.bytes);
        bytes[usize::from(lone.length)..].fill(NOP);
        if let Some(memory) = lone.memory {
            let at = usize::from(memory.distance_at);
            let end = self.room() + usize::from(lone.length);
            let distance = (4096 + offset_of!(Data, operand) - end) as u32;
            bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        // SAFETY: within the page, which is as promised. The routine keeps what a function has to keep.
        unsafe {
            page.add(self.room()).cast::<[u8; ROOM]>().write_volatile(bytes);
            let routine: extern "C" fn() = core::mem::transmute(page.add(self.start));
            routine();
        }
    }
}

/// Where code is written.
struct Code {
    page: *mut u8,
    at: usize,
}

impl Code {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            assert!(self.at < 4096, "routines fit into a page");
            // SAFETY: within the page, as promised to `Routine::write`.
            unsafe { self.page.add(self.at).write(byte) };
            self.at += 1;
        }
    }

    /// An instruction whose operand is a field of the data, relative to its end.
    fn with(&mut self, bytes: &[u8], field: usize) {
        self.bytes(bytes);
        let distance = 4096 + field - (self.at + 4);
        self.bytes(&(distance as u32).to_le_bytes());
    }

    /// `mov eax, COMPONENTS; xor edx, edx`.
    fn components(&mut self) {
        self.bytes(&[0xb8, COMPONENTS, 0, 0, 0, 0x31, 0xd2]);
    }

    /// Loads (0x8b) or stores (0x89) all general registers, the stack pointer last.
    fn registers(&mut self, opcode: u8) {
        const STACK: usize = 4;
        for number in (0..16).filter(|&number| number != STACK).chain([STACK]) {
            let (high, low) = ((number >> 3) as u8, (number & 7) as u8);
            self.with(&[0x48 | high << 2, opcode, low << 3 | 5], offset_of!(Data, general) + 8 * number);
        }
    }
}
