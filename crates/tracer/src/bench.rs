//! Executing a single instruction of the program by the processor, away from the program, with its registers in a
//! copy: what evaluation does not know by itself.

use crate::bench::routine::Routine;
use timewise_isa::lone::LARGEST_OPERAND;
use timewise_isa::{ARITHMETIC, Lone, Memory, State};

mod routine;

#[cfg(test)]
mod tests;

/// Bytes of the processor's state of vectors in the standard form, up to where AVX-512 ends.
const VECTORS_BYTES: usize = 2688;

/// Where the second page is.
const DATA: usize = 4096;

/// What the routines work on: the second page.
#[repr(C, align(4096))]
struct Data {
    general: [u64; 16],
    flags: u64,
    own_stack: u64,
    own_mxcsr: u64,
    is_ready: u64,
    /// Where the instruction stands.
    instruction: u64,
    padding: [u64; 43],
    vectors: [u8; VECTORS_BYTES],
    padding_2: [u64; 48],
    operand: [u8; LARGEST_OPERAND],
}

/// Pages of a thread's own, executable and writable: routines, data, and instructions.
pub struct Bench {
    page: *mut u8,
    vectors: Option<*const u8>,
    has_vectors: bool,
    /// Whether registers of AVX-512 hold anything: instructions of AVX clear their upper parts.
    is_wide: bool,
}

impl Bench {
    /// The bench at `page`; `vectors` is where the kernel keeps the program's registers of vectors in the frame of
    /// this signal.
    ///
    /// # Safety
    /// [`BENCH_BYTES`](timewise_abi::tracing::BENCH_BYTES) are mapped there, executable and writable, zeros at first and
    /// used by nothing else.
    /// `vectors` is the kernel's.
    pub unsafe fn new(page: *mut u8, vectors: Option<*const u8>) -> Bench {
        let mut bench = Bench { page, vectors, has_vectors: false, is_wide: false };
        if bench.data().is_ready == 0 {
            for routine in [Routine::GENERAL, Routine::VECTORS, Routine::ALL_VECTORS] {
                // SAFETY: the page is as promised, and routines do not overlap.
                unsafe { routine.write(page) };
            }
            bench.data().is_ready = 1;
        }
        bench
    }

    fn data(&mut self) -> &mut Data {
        // SAFETY: as promised to `new`; integers and bytes have no invalid values.
        unsafe { &mut *self.page.add(DATA).cast::<Data>() }
    }

    /// Executes an instruction: false, with `state` as it was, if its operand cannot be read or written, or if the
    /// registers that it needs are not known.
    pub fn execute(&mut self, lone: &Lone, state: &mut State, memory: &mut impl Memory) -> bool {
        if lone.vectors && !self.has_vectors && !self.load_vectors() {
            return false;
        }
        let routine = match (lone.vectors, lone.wide || self.is_wide) {
            (false, _) => Routine::GENERAL,
            (true, false) => Routine::VECTORS,
            (true, true) => Routine::ALL_VECTORS,
        };
        let mut before = [0; LARGEST_OPERAND];
        let size = lone.memory.map_or(0, |memory| usize::from(memory.size));
        if lone.memory.is_some_and(|operand| !memory.read(operand.address, &mut before[..size])) {
            return false;
        }
        let data = self.data();
        data.operand[..size].copy_from_slice(&before[..size]);
        data.general = state.general;
        data.flags = state.flags & ARITHMETIC;
        // SAFETY: the page is as promised; the instruction does nothing but to the registers that the routine
        // saves and to its operand, which lies in the second page.
        unsafe { routine.execute(self.page, lone) };
        let data = self.data();
        if let Some(operand) = lone.memory
            && data.operand[..size] != before[..size]
            && !memory.write(operand.address, &data.operand[..size])
        {
            return false;
        }
        self.is_wide |= lone.wide;
        let data = self.data();
        state.general = data.general;
        state.flags = state.flags & !ARITHMETIC | data.flags & ARITHMETIC;
        state.undefined_flags &= !lone.flags_written;
        true
    }

    /// Takes the program's registers over from the frame. Nothing may fault for what they hold.
    fn load_vectors(&mut self) -> bool {
        const MAGIC: u32 = 0x4650_5853;
        const MAGIC_AT: usize = 464;
        const SIZE_AT: usize = 480;
        let Some(frame) = self.vectors else { return false };
        // SAFETY: the kernel's frame has at least 512 bytes, and as many as it says if it has the magic number.
        let available = unsafe {
            let magic = frame.add(MAGIC_AT).cast::<u32>().read();
            if magic != MAGIC {
                return false;
            }
            (frame.add(SIZE_AT).cast::<u32>().read() as usize).min(VECTORS_BYTES)
        };
        let vectors = &mut self.data().vectors;
        // SAFETY: as above; both have so many bytes.
        unsafe { core::ptr::copy_nonoverlapping(frame, vectors.as_mut_ptr(), available) };
        hide_exceptions(vectors);
        self.is_wide = vectors[COMPONENTS_AT] & AVX_512 != 0;
        self.has_vectors = true;
        true
    }
}

/// Where the state of vectors says which components hold anything, and those of AVX-512 in it.
const COMPONENTS_AT: usize = 512;
const AVX_512: u8 = 0xe0;

/// Masks all exceptions of floating-point units, and takes back those that are pending.
fn hide_exceptions(vectors: &mut [u8; VECTORS_BYTES]) {
    const ALL_MASKED: u8 = 0x3f;
    vectors[0] |= ALL_MASKED;
    vectors[2] &= 0x7f;
    vectors[3] &= 0x7f;
    // Bits 7 to 12 of the register at 24.
    vectors[24] |= 0x80;
    vectors[25] |= 0x1f;
}
