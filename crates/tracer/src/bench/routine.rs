//! The machine code around a single instruction: registers in, the instruction, registers out.

use super::{DATA, Data};
use core::mem::offset_of;
use timewise_abi::tracing::BENCH_BYTES;
use timewise_isa::{Lone, MAX_LENGTH};

/// Room for an instruction and the jump behind it.
const ROOM: usize = 32;

/// Where the instructions stand, behind the data.
const ROOMS: usize = 2 * DATA;

/// How many there is room for. One that was executed before stands there still: a processor takes long to notice that
/// code is another.
const ROOM_COUNT: u64 = (BENCH_BYTES - ROOMS as u64) / ROOM as u64;

/// A routine: where in the first page it begins and where it goes on behind the instruction, and which of the program's
/// registers of vectors it takes over.
#[derive(Clone, Copy)]
pub struct Routine {
    start: usize,
    vectors: Vectors,
}

/// Registers of vectors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vectors {
    None,
    /// Those of SSE and AVX.
    Narrow,
    All,
}

/// The components that hold registers of vectors: those of x87, SSE, AVX and AVX-512.
const COMPONENTS: u8 = 0xe7;

/// Bytes of a half of a routine, before and behind the instruction.
const HALF: usize = 384;

impl Routine {
    /// For instructions on general registers.
    pub const GENERAL: Routine = Routine { start: 0, vectors: Vectors::None };
    /// For those of SSE and AVX.
    pub const NARROW: Routine = Routine { start: 2 * HALF, vectors: Vectors::Narrow };
    /// For all others: x87, SSE, AVX and AVX-512.
    pub const ALL_VECTORS: Routine = Routine { start: 4 * HALF, vectors: Vectors::All };

    /// Writes the routine into a page, with the data behind it.
    ///
    /// # Safety
    /// The page is writable.
    pub unsafe fn write(self, page: *mut u8) {
        const LOAD_MXCSR: [u8; 3] = [0x0f, 0xae, 0x15];
        const STORE_MXCSR: [u8; 3] = [0x0f, 0xae, 0x1d];
        let mut code = Code { page, at: self.start, end: self.start + HALF };
        // push rbx, rbp, r12 to r15
        code.bytes(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]);
        code.with(&[0x48, 0x89, 0x25], offset_of!(Data, own_stack)); // mov [own_stack], rsp
        if self.vectors != Vectors::None {
            code.with(&STORE_MXCSR, offset_of!(Data, own_mxcsr));
        }
        match self.vectors {
            Vectors::None => {}
            Vectors::Narrow => {
                code.with(&LOAD_MXCSR, offset_of!(Data, mxcsr));
                code.narrow(0x10);
            }
            Vectors::All => {
                code.components();
                code.with(&[0x48, 0x0f, 0xae, 0x2d], offset_of!(Data, vectors)); // xrstor64
            }
        }
        code.with(&[0xff, 0x35], offset_of!(Data, flags)); // push, popfq
        code.bytes(&[0x9d]);
        code.registers(0x8b);
        code.with(&[0xff, 0x25], offset_of!(Data, instruction)); // jmp [instruction]
        let mut code = Code { page, at: self.behind(), end: self.behind() + HALF };
        code.registers(0x89);
        code.with(&[0x48, 0x8b, 0x25], offset_of!(Data, own_stack)); // mov rsp, [own_stack]
        code.bytes(&[0x9c]);
        code.with(&[0x8f, 0x05], offset_of!(Data, flags)); // pushfq, pop
        match self.vectors {
            Vectors::None => {}
            Vectors::Narrow => {
                code.narrow(0x11);
                code.with(&STORE_MXCSR, offset_of!(Data, mxcsr));
                code.bytes(&[0xc5, 0xf8, 0x77]); // vzeroupper
            }
            Vectors::All => {
                code.components();
                code.with(&[0x48, 0x0f, 0xae, 0x25], offset_of!(Data, vectors)); // xsave64
                code.bytes(&[0xdb, 0xe3]); // fninit
            }
        }
        if self.vectors != Vectors::None {
            code.with(&LOAD_MXCSR, offset_of!(Data, own_mxcsr));
        }
        // cld; pop r15 to r12, rbp, rbx; ret
        code.bytes(&[0xfc, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3]);
    }

    /// Where it goes on behind the instruction.
    const fn behind(self) -> usize {
        self.start + HALF
    }

    /// Executes an instruction.
    ///
    /// # Safety
    /// The routine is in the page, and the instruction does nothing but to registers and its operand.
    pub unsafe fn execute(self, page: *mut u8, lone: &Lone) {
        const JUMP: u8 = 0xe9;
        let length = usize::from(lone.length);
        let at = self.room(lone);
        let distance = |from: usize, to: usize| (to as u32).wrapping_sub(from as u32).to_le_bytes();
        let mut bytes = [0; ROOM];
        bytes[..MAX_LENGTH].copy_from_slice(&lone.bytes);
        bytes[length..].fill(0);
        if let Some(memory) = lone.memory {
            let operand = distance(at + length, DATA + offset_of!(Data, operand));
            bytes[usize::from(memory.distance_at)..][..4].copy_from_slice(&operand);
        }
        bytes[length] = JUMP;
        bytes[length + 1..][..4].copy_from_slice(&distance(at + length + 5, self.behind()));
        // SAFETY: within the pages, which are as promised. The routine keeps what a function has to keep.
        unsafe {
            let room = page.add(at).cast::<[u8; ROOM]>();
            if room.read_volatile() != bytes {
                room.write_volatile(bytes);
            }
            (*page.add(DATA).cast::<Data>()).instruction = room as u64;
            let routine: extern "C" fn() = core::mem::transmute(page.add(self.start));
            routine();
        }
    }

    /// Where the instruction goes: the same ones always to the same room.
    fn room(self, lone: &Lone) -> usize {
        let [low, high] = [0, MAX_LENGTH - 8]
            .map(|at| u64::from_le_bytes(core::array::from_fn(|byte| lone.bytes[at + byte])));
        let mixed = (low ^ high.rotate_left(29) ^ self.start as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ROOMS + ROOM * ((mixed >> 32) % ROOM_COUNT) as usize
    }
}

/// Where code is written.
struct Code {
    page: *mut u8,
    at: usize,
    end: usize,
}

impl Code {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            assert!(self.at < self.end, "a half of a routine fits into its place");
            // SAFETY: within the page, as promised to `Routine::write`.
            unsafe { self.page.add(self.at).write(byte) };
            self.at += 1;
        }
    }

    /// An instruction whose operand is a field of the data, relative to its end.
    fn with(&mut self, bytes: &[u8], field: usize) {
        self.bytes(bytes);
        let distance = DATA + field - (self.at + 4);
        self.bytes(&(distance as u32).to_le_bytes());
    }

    /// `mov eax, components; xor edx, edx`.
    fn components(&mut self) {
        self.bytes(&[0xb8, COMPONENTS, 0, 0, 0, 0x31, 0xd2]);
    }

    /// Loads (0x10) or stores (0x11) the registers of AVX: `vmovups`.
    fn narrow(&mut self, opcode: u8) {
        for number in 0..16 {
            let (prefix, low) = (if number < 8 { 0xfc } else { 0x7c }, number as u8 & 7);
            self.with(&[0xc5, prefix, opcode, low << 3 | 5], offset_of!(Data, narrow) + 32 * number);
        }
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
