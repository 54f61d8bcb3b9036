//! Executing a single instruction of the program by the processor, away from the program, with its registers in a
//! copy: what evaluation does not know by itself.

use crate::bench::routine::Routine;
use timewise_isa::lone::LARGEST_OPERAND;
use timewise_isa::{ARITHMETIC, Decoded, Extensions, Lone, Memory, State, lone};

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
    /// All of them, as the processor saves them.
    vectors: [u8; VECTORS_BYTES],
    operand: [u8; LARGEST_OPERAND],
    /// Those of SSE and AVX, and how their instructions round: to load and store these one by one takes a fifth of the
    /// time.
    narrow: [[u8; 32]; 16],
    mxcsr: u32,
}

const _: () = assert!(size_of::<Data>() == 4096 && core::mem::offset_of!(Data, vectors) % 64 == 0);

/// Pages of a thread's own, executable and writable: routines, data, and instructions.
pub struct Bench {
    page: *mut u8,
    vectors: Option<*const u8>,
    held: Held,
    extensions: Extensions,
}

/// Which of the program's registers of vectors the data has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Nothing,
    /// Those of SSE and AVX, where instructions of AVX change no other: they clear what AVX-512 has above them. What only
    /// that has besides, which the C library's functions leave filled, stays as it is.
    Narrow,
    All,
}

impl Bench {
    /// The bench at `page`; `vectors` is where the kernel keeps the program's registers of vectors in the frame of
    /// this signal; `extensions` are those of the machine.
    ///
    /// # Safety
    /// [`BENCH_BYTES`](timewise_abi::tracing::BENCH_BYTES) are mapped there, executable and writable, zeros at first and
    /// used by nothing else.
    /// `vectors` is the kernel's.
    pub unsafe fn new(page: *mut u8, vectors: Option<*const u8>, extensions: Extensions) -> Bench {
        let mut bench = Bench { page, vectors, held: Held::Nothing, extensions };
        if bench.data().is_ready == 0 {
            for routine in [Routine::GENERAL, Routine::NARROW, Routine::ALL_VECTORS] {
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

    /// An instruction ready to be executed here, if it can be: without an extension that it needs it would fault.
    pub fn lone(&self, decoded: &Decoded, state: &State) -> Option<Lone> {
        lone(decoded, state).filter(|_| self.extensions.suffice_for(decoded))
    }

    /// Executes an instruction: false, with `state` as it was, if its operand cannot be read or written, or if the
    /// registers that it needs are not known.
    pub fn execute(&mut self, lone: &Lone, state: &mut State, memory: &mut impl Memory) -> bool {
        if lone.vectors && !self.hold_vectors(lone.wide) {
            return false;
        }
        let routine = match (lone.vectors, self.held) {
            (false, _) => Routine::GENERAL,
            (true, Held::Narrow) => Routine::NARROW,
            (true, _) => Routine::ALL_VECTORS,
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
        let data = self.data();
        state.general = data.general;
        state.flags = state.flags & !ARITHMETIC | data.flags & ARITHMETIC;
        state.undefined_flags &= !lone.flags_written;
        true
    }

    /// Takes the program's registers over from the frame, as far as was not done before: those of SSE and AVX, or all
    /// of them if others are used as well (`wide`), or have been. Nothing may fault for what they hold.
    fn hold_vectors(&mut self, wide: bool) -> bool {
        if self.held == Held::All || self.held == Held::Narrow && !wide {
            return true;
        }
        let Some(frame) = self.vectors.and_then(Frame::at) else { return false };
        if self.held == Held::Nothing && !wide && frame.is_narrow() {
            self.held = Held::Narrow;
            let data = self.data();
            (data.narrow, data.mxcsr) = (frame.narrow(), frame.mxcsr() | MASKED);
            return true;
        }
        let changed = self.held == Held::Narrow;
        self.held = Held::All;
        let data = self.data();
        frame.copy_to(&mut data.vectors);
        hide_exceptions(&mut data.vectors);
        if changed {
            put_narrow(&data.narrow, data.mxcsr, &mut data.vectors);
        }
        true
    }
}

/// Where the kernel's frame has the registers of vectors.
#[derive(Clone, Copy)]
struct Frame(*const u8);

impl Frame {
    /// What stands in the frame, if it says how far it reaches.
    fn at(vectors: *const u8) -> Option<Frame> {
        const MAGIC: u32 = 0x4650_5853;
        const MAGIC_AT: usize = 464;
        let frame = Frame(vectors);
        (frame.read::<4>(MAGIC_AT) == MAGIC.to_le_bytes()).then_some(frame)
    }

    /// So many bytes from a place on, below 512 or within what the frame says that it has.
    fn read<const N: usize>(self, at: usize) -> [u8; N] {
        // SAFETY: the kernel's frame has at least 512 bytes, and as many as it says.
        unsafe { self.0.add(at).cast::<[u8; N]>().read_unaligned() }
    }

    /// Bytes that it has.
    fn size(self) -> usize {
        const SIZE_AT: usize = 480;
        u32::from_le_bytes(self.read(SIZE_AT)) as usize
    }

    /// Whether it has registers of AVX, and holds nothing above them.
    fn is_narrow(self) -> bool {
        const FEATURES_AT: usize = 472;
        let [features, ..] = self.read::<8>(FEATURES_AT);
        features & AVX != 0 && self.size() >= UPPER_AT + 16 * 16 && self.components() & ABOVE_AVX == 0
    }

    /// Which components hold anything.
    fn components(self) -> u8 {
        let [components] = self.read(COMPONENTS_AT);
        components
    }

    fn mxcsr(self) -> u32 {
        u32::from_le_bytes(self.read(MXCSR_AT))
    }

    /// The registers of SSE and AVX.
    fn narrow(self) -> [[u8; 32]; 16] {
        let half =
            |holds: u8, at: usize| if self.components() & holds != 0 { self.read(at) } else { [0; 16] };
        core::array::from_fn(|number| {
            let mut register = [0; 32];
            register[..16].copy_from_slice(&half(SSE, LOWER_AT + 16 * number));
            register[16..].copy_from_slice(&half(AVX, UPPER_AT + 16 * number));
            register
        })
    }

    fn copy_to(self, vectors: &mut [u8; VECTORS_BYTES]) {
        // SAFETY: both have so many bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(self.0, vectors.as_mut_ptr(), self.size().min(VECTORS_BYTES))
        };
    }
}

/// Puts the registers of SSE and AVX among all others.
fn put_narrow(narrow: &[[u8; 32]; 16], mxcsr: u32, vectors: &mut [u8; VECTORS_BYTES]) {
    for (number, register) in narrow.iter().enumerate() {
        vectors[LOWER_AT + 16 * number..][..16].copy_from_slice(&register[..16]);
        vectors[UPPER_AT + 16 * number..][..16].copy_from_slice(&register[16..]);
    }
    vectors[MXCSR_AT..][..4].copy_from_slice(&mxcsr.to_le_bytes());
    vectors[COMPONENTS_AT] |= SSE | AVX;
}

/// Where the state of vectors has the register that masks exceptions, and its bits that do; and where the halves of the
/// registers of AVX are, the lower of which are those of SSE.
const MXCSR_AT: usize = 24;
const MASKED: u32 = 0x1f80;
const LOWER_AT: usize = 160;
const UPPER_AT: usize = 576;

/// Where it says which components hold anything, and what these are.
const COMPONENTS_AT: usize = 512;
const SSE: u8 = 0x02;
const AVX: u8 = 0x04;
const ABOVE_AVX: u8 = 0x40;

/// Masks all exceptions of floating-point units, and takes back those that are pending.
fn hide_exceptions(vectors: &mut [u8; VECTORS_BYTES]) {
    const ALL_MASKED: u8 = 0x3f;
    vectors[0] |= ALL_MASKED;
    vectors[2] &= 0x7f;
    vectors[3] &= 0x7f;
    for (byte, masked) in vectors[MXCSR_AT..].iter_mut().zip(MASKED.to_le_bytes()) {
        *byte |= masked;
    }
}
