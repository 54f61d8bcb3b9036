//! What an instruction is, in the terms of an instruction mix.

extern crate alloc;

use crate::decode::{Control, control};
use crate::memory::prefetched;
use crate::operands::in_memory;
use alloc::format;
use iced_x86::{CpuidFeature, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};

macro_rules! categories {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// What an instruction is: each is of one category.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Category { $($(#[$doc])* $name,)* }

        impl Category {
            /// All of them.
            pub const ALL: &[Category] = &[$(Category::$name,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Category::$name => $word,)* }
            }
        }
    };
}

categories! {
    /// Copies a general-purpose register, a constant or memory, widened or not.
    Move = "move",
    /// Copies a vector register, or memory into one or back.
    VectorMove = "vector-move",
    /// Pushes or pops, or makes or leaves a frame.
    Stack = "stack",
    /// Computes an address (`lea`), or any sum.
    Address = "address",
    /// Integer addition and subtraction.
    Arithmetic = "arithmetic",
    /// Logic on general-purpose registers.
    Logic = "logic",
    /// Shifts and rotates.
    Shift = "shift",
    /// Tests, counts and searches bits.
    Bits = "bits",
    /// Integer multiplication.
    Multiply = "multiply",
    /// Integer division.
    Divide = "divide",
    /// Compares and writes only flags; floating point included.
    Compare = "compare",
    /// Moves or sets by a condition.
    Conditional = "conditional",
    /// Converts between numbers of different kinds or widths.
    Conversion = "conversion",
    /// A conditional branch.
    Branch = "branch",
    /// A jump to one place.
    Jump = "jump",
    /// A jump to a place in a register or in memory.
    IndirectJump = "indirect-jump",
    /// A call of one place.
    Call = "call",
    /// A call of a place in a register or in memory.
    IndirectCall = "indirect-call",
    /// A return.
    Return = "return",
    /// Floating point on one number in a vector register.
    ScalarFloat = "scalar-float",
    /// Floating point on several.
    PackedFloat = "packed-float",
    /// Integers, logic and rearrangement in vector registers.
    Vector = "vector",
    /// The floating point of x87, and MMX.
    X87 = "x87",
    /// A string instruction, repeated or not.
    String = "string",
    /// Reads and writes memory as one step.
    Atomic = "atomic",
    /// Enters the kernel.
    SystemCall = "system-call",
    /// Fences, clocks, states of the processor.
    System = "system",
    /// Nothing but to take room, to mark a target, or to ask for a line of memory.
    Nothing = "nothing",
    /// Anything else.
    Other = "other",
}

/// The category of the instruction at the start of `bytes`.
pub fn category(bytes: &[u8]) -> Category {
    let instruction = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return Category::Other;
    }
    match control(&instruction) {
        Control::Next => of_plain(&instruction),
        Control::Jump { .. } => Category::Jump,
        Control::Branch { .. } | Control::CountBranch { .. } => Category::Branch,
        Control::Call { .. } => Category::Call,
        Control::IndirectJump => Category::IndirectJump,
        Control::IndirectCall => Category::IndirectCall,
        Control::Return { .. } => Category::Return,
        Control::SystemCall => Category::SystemCall,
        Control::Transaction { .. } | Control::Unsupported => Category::System,
    }
}

/// Whether it is of x87 or MMX, which share registers.
pub(crate) fn is_x87(instruction: &Instruction) -> bool {
    let old = [CpuidFeature::FPU, CpuidFeature::FPU287, CpuidFeature::FPU387, CpuidFeature::MMX];
    instruction.cpuid_features().iter().any(|feature| old.contains(feature))
}

fn of_plain(instruction: &Instruction) -> Category {
    use Mnemonic::*;
    let memory = (0..instruction.op_count()).any(|n| in_memory(instruction.op_kind(n)));
    let mnemonic = instruction.mnemonic();
    if instruction.has_lock_prefix() || mnemonic == Xchg && memory {
        return Category::Atomic;
    }
    // `movsd` and `cmpsd` are also the names of scalar instructions.
    if instruction.is_string_instruction() {
        return Category::String;
    }
    if prefetched(instruction).is_some() {
        return Category::Nothing;
    }
    if is_x87(instruction) {
        return Category::X87;
    }
    match mnemonic {
        Nop | Endbr64 | Endbr32 | Pause => Category::Nothing,
        Push | Pop | Pushfq | Popfq | Enter | Leave => Category::Stack,
        Lea => Category::Address,
        Add | Sub | Adc | Sbb | Inc | Dec | Neg | Adcx | Adox => Category::Arithmetic,
        And | Or | Xor | Not | Andn => Category::Logic,
        Shl | Sal | Shr | Sar | Rol | Ror | Rcl | Rcr | Shld | Shrd | Rorx | Sarx | Shlx | Shrx => {
            Category::Shift
        }
        Bt | Bts | Btr | Btc | Bsf | Bsr | Tzcnt | Lzcnt | Popcnt | Bextr | Blsi | Blsmsk | Blsr | Bzhi
        | Pdep | Pext | Bswap | Crc32 => Category::Bits,
        Mul | Imul | Mulx => Category::Multiply,
        Div | Idiv => Category::Divide,
        Cmp | Test | Comiss | Comisd | Ucomiss | Ucomisd | Vcomiss | Vcomisd | Vucomiss | Vucomisd
        | Ptest | Vptest => Category::Compare,
        Cbw | Cwde | Cdqe | Cwd | Cdq | Cqo => Category::Conversion,
        Xchg | Movbe => Category::Move,
        _ => by_name(instruction),
    }
}

/// The category of what has many kin, which are called alike.
fn by_name(instruction: &Instruction) -> Category {
    let name = format!("{:?}", instruction.mnemonic());
    let name = name.strip_prefix('V').unwrap_or(&name);
    let is_vector = |n: u32| {
        let register = instruction.op_register(n);
        instruction.op_kind(n) == OpKind::Register && (register.is_vector_register() || register.is_k())
    };
    let vector = (0..instruction.op_count()).any(is_vector);
    let begins = |with: &[&str]| with.iter().any(|start| name.to_ascii_lowercase().starts_with(start));
    if begins(&["cvt"]) {
        return Category::Conversion;
    }
    if begins(&["mov", "lddqu"]) && !begins(&["movmsk"]) {
        return if vector { Category::VectorMove } else { Category::Move };
    }
    if begins(&["cmov", "set"]) && !vector {
        return Category::Conditional;
    }
    if begins(&["zero"]) {
        return Category::Vector;
    }
    if !vector {
        return if is_system(instruction) { Category::System } else { Category::Other };
    }
    let rearranges = ["and", "or", "xor", "unpck", "shuf", "blend", "perm", "insert", "extract", "broadcast"];
    match () {
        () if begins(&rearranges) || begins(&["p", "movmsk"]) => Category::Vector,
        () if ["ss", "sd", "sh"].iter().any(|end| name.ends_with(end)) => Category::ScalarFloat,
        () if ["ps", "pd", "ph"].iter().any(|end| name.ends_with(end)) => Category::PackedFloat,
        () => Category::Vector,
    }
}

fn is_system(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    instruction.is_privileged()
        || matches!(
            instruction.mnemonic(),
            Cpuid
                | Rdtsc
                | Rdtscp
                | Rdpmc
                | Mfence
                | Lfence
                | Sfence
                | Serialize
                | Xgetbv
                | Xsave
                | Xsavec
                | Xsaveopt
                | Xrstor
                | Fxsave
                | Fxrstor
                | Ldmxcsr
                | Stmxcsr
                | Vldmxcsr
                | Vstmxcsr
                | Rdrand
                | Rdseed
                | Rdfsbase
                | Wrfsbase
                | Rdgsbase
                | Wrgsbase
                | Clflush
                | Clflushopt
                | Clwb
                | Ud2
                | Int3
                | Int
                | Rdpid
                | Xend
                | Xabort
                | Xtest
        )
}

#[cfg(test)]
mod tests {
    use super::{Category, category};

    #[test]
    fn instructions_have_their_category() {
        let cases: [(&[u8], Category); 31] = [
            (&[0x89, 0xd8], Category::Move),
            (&[0x0f, 0xb6, 0xc3], Category::Move),
            (&[0xf2, 0x0f, 0x10, 0x03], Category::VectorMove), // movsd xmm0,[rbx]
            (&[0xa5], Category::String),                       // movsd
            (&[0xf3, 0xa4], Category::String),
            (&[0x53], Category::Stack),
            (&[0x48, 0x8d, 0x43, 1], Category::Address),
            (&[0x48, 0x01, 0xd8], Category::Arithmetic),
            (&[0x31, 0xc0], Category::Logic),
            (&[0xd1, 0xe0], Category::Shift),
            (&[0xf3, 0x0f, 0xb8, 0xc3], Category::Bits), // popcnt eax,ebx
            (&[0x0f, 0xaf, 0xc3], Category::Multiply),
            (&[0xf7, 0xf1], Category::Divide),
            (&[0x39, 0xd8], Category::Compare),
            (&[0x66, 0x0f, 0x2e, 0xc1], Category::Compare), // ucomisd
            (&[0x0f, 0x44, 0xc3], Category::Conditional),
            (&[0x0f, 0x94, 0xc0], Category::Conditional),
            (&[0xf2, 0x0f, 0x2a, 0xc0], Category::Conversion),
            (&[0x48, 0x99], Category::Conversion),
            (&[0x74, 0], Category::Branch),
            (&[0xc3], Category::Return),
            (&[0xff, 0xd0], Category::IndirectCall),
            (&[0xf2, 0x0f, 0x58, 0xc1], Category::ScalarFloat), // addsd
            (&[0x66, 0x0f, 0x58, 0xc1], Category::PackedFloat), // addpd
            (&[0xc4, 0xe2, 0xf1, 0xb8, 0xc2], Category::PackedFloat), // vfmadd231pd
            (&[0x0f, 0x57, 0xc0], Category::Vector),            // xorps
            (&[0x66, 0x0f, 0xfe, 0xc1], Category::Vector),      // paddd
            (&[0xd9, 0xe8], Category::X87),
            (&[0xf0, 0x01, 0x03], Category::Atomic),
            (&[0x0f, 0xa2], Category::System),
            (&[0xf3, 0x0f, 0x1e, 0xfa], Category::Nothing),
        ];
        for (bytes, expected) in cases {
            assert_eq!(category(bytes), expected, "{bytes:x?}");
        }
    }
}
