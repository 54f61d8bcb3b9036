//! Instructions that can be executed by the processor on their own, away from the program: those that do nothing
//! but to registers, arithmetic flags and one operand in memory.

use crate::decode::{Control, MAX_LENGTH};
use crate::evaluate::{ARITHMETIC, Decoded, State, operand_address};
use crate::operands::in_memory;
use iced_x86::{Code, CpuidFeature as F, EncodingKind, Instruction, Mnemonic as M, OpKind, Register};

/// Bytes of the largest operand in memory.
pub const LARGEST_OPERAND: usize = 64;

/// An instruction made ready to be executed elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lone {
    /// Its bytes, of which the first `length` count. The operand in memory is relative to the program counter.
    pub bytes: [u8; MAX_LENGTH],
    /// See `bytes`.
    pub length: u8,
    /// The operand in memory, if there is one.
    pub memory: Option<LoneMemory>,
    /// Whether registers of vectors, of masks or of the floating-point unit may be involved.
    pub vectors: bool,
    /// Whether others of these than those of SSE and AVX may be.
    pub wide: bool,
    /// Arithmetic flags that it writes.
    pub flags_written: u64,
}

/// An operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoneMemory {
    /// Where it is.
    pub address: u64,
    /// Bytes, at most [`LARGEST_OPERAND`].
    pub size: u8,
    /// Where in the bytes the 32-bit distance stands from their end to the operand, which is to be filled in.
    pub distance_at: u8,
}

/// Makes an instruction ready to be executed on its own in `state`. `None` of all that may do anything else, may
/// fault other than by its operand, or depends on flags or on the base of a segment that are not known.
pub fn lone(decoded: &Decoded, state: &State) -> Option<Lone> {
    let instruction = &decoded.instruction;
    let kind = kind(instruction)?;
    let stack = |operand| instruction.op_register(operand).full_register() == Register::RSP;
    let registers = (0..instruction.op_count()).filter(|&n| instruction.op_kind(n) == OpKind::Register);
    if decoded.control() != Control::Next
        || instruction.is_stack_instruction()
        || registers.into_iter().any(stack)
    {
        return None;
    }
    let read = u64::from(instruction.rflags_read());
    if flags(read) & state.undefined_flags != 0 {
        return None;
    }
    let bytes = decoded.bytes();
    let mut lone = Lone {
        bytes: [0; MAX_LENGTH],
        length: 0,
        memory: None,
        vectors: kind == Kind::Vectors,
        wide: kind == Kind::Vectors && !is_narrow(instruction),
        flags_written: flags(instruction.rflags_modified().into()),
    };
    let mut kinds = (0..instruction.op_count()).map(|n| (n, instruction.op_kind(n)));
    match kinds.find(|&(_, kind)| in_memory(kind)) {
        None => {
            lone.bytes[..bytes.len()].copy_from_slice(bytes);
            lone.length = bytes.len() as u8;
        }
        Some((number, OpKind::Memory)) => {
            let size = instruction.memory_size().size();
            if size == 0 || size > LARGEST_OPERAND || instruction.is_vsib() || instruction.is_broadcast() {
                return None;
            }
            let address = operand_address(instruction, number, state)?;
            let distance_at = relative(bytes, instruction, &mut lone)?;
            lone.memory = Some(LoneMemory { address, size: size as u8, distance_at });
        }
        Some(_) => return None,
    }
    Some(lone)
}

/// The arithmetic flags that the decoder library's bits name, as the processor has them.
fn flags(library: u64) -> u64 {
    use iced_x86::RflagsBits as R;
    let names = [(R::CF, 1), (R::PF, 4), (R::AF, 16), (R::ZF, 64), (R::SF, 128), (R::OF, 2048)];
    let set = names.into_iter().filter(|&(name, _)| library & u64::from(name) != 0);
    set.fold(0, |flags, (_, flag)| flags | flag) & ARITHMETIC
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    General,
    Vectors,
}

/// Which registers an instruction may involve; `None` of those that are not known to be harmless.
fn kind(instruction: &Instruction) -> Option<Kind> {
    let mnemonic = instruction.mnemonic();
    let general = matches!(
        mnemonic,
        M::Adc
            | M::Add
            | M::And
            | M::Bsf
            | M::Bsr
            | M::Bswap
            | M::Cmp
            | M::Cmpxchg
            | M::Cmpxchg8b
            | M::Cmpxchg16b
            | M::Xadd
            | M::Xchg
            | M::Dec
            | M::Inc
            | M::Imul
            | M::Mul
            | M::Lahf
            | M::Sahf
            | M::Cmc
            | M::Mov
            | M::Movnti
            | M::Movbe
            | M::Neg
            | M::Not
            | M::Or
            | M::Rcl
            | M::Rcr
            | M::Rol
            | M::Ror
            | M::Sar
            | M::Sal
            | M::Shl
            | M::Shr
            | M::Shld
            | M::Shrd
            | M::Sbb
            | M::Sub
            | M::Test
            | M::Xor
            | M::Popcnt
            | M::Lzcnt
            | M::Tzcnt
            | M::Andn
            | M::Bextr
            | M::Blsi
            | M::Blsmsk
            | M::Blsr
            | M::Bzhi
            | M::Mulx
            | M::Pdep
            | M::Pext
            | M::Rorx
            | M::Sarx
            | M::Shlx
            | M::Shrx
            | M::Adcx
            | M::Adox
    );
    // With a register as index they reach beyond their operand.
    let bits = matches!(mnemonic, M::Bt | M::Btc | M::Btr | M::Bts);
    if bits && !(instruction.op0_kind() == OpKind::Memory && instruction.op1_kind() == OpKind::Register) {
        return Some(Kind::General);
    }
    if general {
        return (!reads_absolutely(instruction.code()) && !names_segments(instruction))
            .then_some(Kind::General);
    }
    let features = instruction.cpuid_features();
    let harmless = !features.is_empty() && features.iter().all(|&feature| is_of_vectors(feature));
    (harmless && !controls(mnemonic)).then_some(Kind::Vectors)
}

/// Whether all registers of vectors that are involved are those of SSE and AVX.
fn is_narrow(instruction: &Instruction) -> bool {
    let is_avx = match instruction.encoding() {
        EncodingKind::VEX => true,
        EncodingKind::Legacy => !instruction.cpuid_features().iter().any(|&feature| is_of_fpu(feature)),
        _ => false,
    };
    let mut registers = (0..instruction.op_count())
        .filter(|&n| instruction.op_kind(n) == OpKind::Register)
        .map(|n| instruction.op_register(n));
    is_avx && registers.all(|register| register.is_xmm() || register.is_ymm() || register.is_gpr())
}

/// Whether it is of the floating-point unit, or of MMX, which has the same registers.
fn is_of_fpu(feature: F) -> bool {
    matches!(feature, F::FPU | F::FPU287 | F::FPU387 | F::CMOV | F::MMX)
}

/// `mov` with an address instead of an operand that is encoded the usual way.
fn reads_absolutely(code: Code) -> bool {
    use Code as C;
    matches!(
        code,
        C::Mov_AL_moffs8
            | C::Mov_AX_moffs16
            | C::Mov_EAX_moffs32
            | C::Mov_RAX_moffs64
            | C::Mov_moffs8_AL
            | C::Mov_moffs16_AX
            | C::Mov_moffs32_EAX
            | C::Mov_moffs64_RAX
    )
}

/// Whether segments, control registers or debug registers are operands.
fn names_segments(instruction: &Instruction) -> bool {
    (0..instruction.op_count())
        .any(|n| instruction.op_kind(n) == OpKind::Register && !instruction.op_register(n).is_gpr())
}

/// Extensions whose instructions compute: those that the kernel and the program must both have enabled.
fn is_of_vectors(feature: F) -> bool {
    matches!(
        feature,
        F::FPU
            | F::FPU287
            | F::FPU387
            | F::CMOV
            | F::MMX
            | F::SSE
            | F::SSE2
            | F::SSE3
            | F::SSSE3
            | F::SSE4_1
            | F::SSE4_2
            | F::AES
            | F::PCLMULQDQ
            | F::SHA
            | F::AVX
            | F::AVX2
            | F::FMA
            | F::F16C
            | F::GFNI
            | F::VAES
            | F::VPCLMULQDQ
            | F::AVX_VNNI
            | F::AVX512F
            | F::AVX512VL
            | F::AVX512BW
            | F::AVX512DQ
            | F::AVX512CD
            | F::AVX512_VBMI
            | F::AVX512_VBMI2
            | F::AVX512_VNNI
            | F::AVX512_BITALG
            | F::AVX512_IFMA
            | F::AVX512_VPOPCNTDQ
            | F::AVX512_BF16
    )
}

/// Those that set or show how the units are set, wait for exceptions, or write to memory that no operand names.
fn controls(mnemonic: M) -> bool {
    matches!(
        mnemonic,
        M::Ldmxcsr
            | M::Stmxcsr
            | M::Vldmxcsr
            | M::Vstmxcsr
            | M::Maskmovq
            | M::Maskmovdqu
            | M::Vmaskmovdqu
            | M::Fldcw
            | M::Fnstcw
            | M::Fstcw
            | M::Fldenv
            | M::Fnstenv
            | M::Fstenv
            | M::Frstor
            | M::Fnsave
            | M::Fsave
            | M::Fnclex
            | M::Fclex
            | M::Fninit
            | M::Finit
            | M::Wait
            | M::Fnsetpm
            | M::Fsetpm
            | M::Fneni
            | M::Feni
            | M::Fndisi
            | M::Fdisi
            | M::Frstpm
            | M::Clflush
    )
}

impl Lone {
    fn put(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(usize::from(self.length))? = byte;
        self.length += 1;
        Some(())
    }
}

/// Copies an instruction with its operand in memory made relative to the program counter: where the distance
/// stands.
fn relative(bytes: &[u8], instruction: &Instruction, lone: &mut Lone) -> Option<u8> {
    let mut from = bytes.iter().copied().peekable();
    while let Some(prefix) = from.next_if(|&byte| is_prefix(byte)) {
        // The operand's segment and the width of its address are taken care of.
        if !matches!(prefix, 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x67) {
            lone.put(prefix)?;
        }
    }
    let mut before = match instruction.encoding() {
        EncodingKind::Legacy => 1,
        EncodingKind::VEX if from.peek() == Some(&0xc5) => 3,
        EncodingKind::VEX => 4,
        EncodingKind::EVEX => 5,
        _ => return None,
    };
    if instruction.encoding() == EncodingKind::Legacy {
        let is_rex = |byte: u8| byte & 0xf0 == 0x40;
        if let Some(rex) = from.next_if(|&byte| is_rex(byte)) {
            lone.put(rex)?;
            // Before another prefix this one means nothing.
            if from.peek().is_some_and(|&byte| is_prefix(byte) || is_rex(byte)) {
                return None;
            }
        }
        if let Some(escape) = from.next_if_eq(&0x0f) {
            lone.put(escape)?;
            before += usize::from(matches!(from.peek(), Some(0x38 | 0x3a)));
        }
    }
    for _ in 0..before {
        lone.put(from.next()?)?;
    }
    let operand = from.next()?;
    let (form, base) = (operand >> 6, operand & 7);
    let scaled = if base == 4 { Some(from.next()?) } else { None };
    lone.put(operand & 0x38 | 5)?;
    let displacement = match form {
        0 if base == 5 || scaled.is_some_and(|byte| byte & 7 == 5) => 4,
        0 => 0,
        1 => 1,
        2 => 4,
        _ => return None,
    };
    for _ in 0..displacement {
        from.next()?;
    }
    let distance_at = lone.length;
    for byte in [0; 4].into_iter().chain(from) {
        lone.put(byte)?;
    }
    Some(distance_at)
}

fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}
