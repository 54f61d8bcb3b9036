//! What a model of a processor needs to know of an instruction: which row of a table of latencies it has,
//! what it reads and writes, and where it is a case of its own.

mod class;
mod dataflow;

pub(crate) use class::class;
pub use class::{Class, Order};
pub(crate) use dataflow::merges;
pub use dataflow::{FLAGS, FPU_STACK, FRAME, Registers, STACK};

use crate::operands::in_memory;
use iced_x86::{
    Code, Decoder, DecoderOptions, EncodingKind, Instruction, InstructionInfoFactory, Mnemonic, OpKind,
    Register,
};

/// An instruction as a processor sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The decoder's number of the encoding; [`encoding_name`] has its name.
    pub encoding: u16,
    /// Whether it is the form with an operand in memory.
    pub memory: bool,
    /// What it does.
    pub class: Class,
    /// What it waits for, and what waits for it.
    pub order: Order,
    /// Registers that addresses of memory operands are made of.
    pub address: Registers,
    /// Registers that are read beside those.
    pub reads: Registers,
    /// Registers that are written, but for the stack pointer where `moves_stack`.
    pub writes: Registers,
    /// It pushes or pops: the stack pointer moves by a constant.
    pub moves_stack: bool,
    /// By how much the top of the x87 stack moves: -1 pushes.
    pub stack_top: i8,
    /// A register is set to zero (or to ones) whatever it held.
    pub is_idiom: bool,
    /// A full register is copied into another of the same kind.
    pub is_copy: bool,
    /// A small constant is added to a general-purpose register of 64 bits.
    pub is_increment: bool,
    /// What it loads or stores is a general-purpose register or a constant, or what is in memory with a constant added or
    /// the like, at an address that only a base register and a displacement make.
    pub passes_registers: bool,
    /// It sets flags that a conditional branch right behind it may be fused with.
    pub fuses: bool,
    /// Its memory operand has base, index and displacement.
    pub has_three_parts: bool,
    /// Its memory operand has an index that is multiplied.
    pub is_scaled: bool,
    /// It computes an address and accesses no memory.
    pub is_lea: bool,
    /// The register that gets the upper half of a product, where the lower one goes to another.
    pub upper: Option<u8>,
    /// It computes the stack pointer.
    pub computes_stack: bool,
    /// It does so by other means than adding a constant to it.
    pub replaces_stack: bool,
    /// It is `leave`: the stack pointer gets what is behind the address, and what is loaded is the frame pointer.
    pub leaves_frame: bool,
    /// Bytes of the widest vector register among its operands; 0 if there is none.
    pub vector_bytes: u8,
    /// It is of an encoding that leaves the upper parts of the vector registers that it writes as they are.
    pub keeps_upper: bool,
}

/// The form of the instruction at the start of `bytes`, which stands at `address`; `None` if they are none.
pub fn form(bytes: &[u8], address: u64) -> Option<Form> {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return None;
    }
    let mut factory = InstructionInfoFactory::new();
    let flow = dataflow::dataflow(&instruction, &mut factory);
    let is_idiom = is_idiom(&instruction);
    let computes_stack = !flow.moves_stack && flow.writes.contains(STACK);
    let parts = (instruction.memory_base() != Register::None) as u8
        + (instruction.memory_index() != Register::None) as u8
        + (instruction.memory_displacement64() != 0) as u8;
    Some(Form {
        encoding: instruction.code() as u16,
        memory: (0..instruction.op_count()).any(|n| in_memory(instruction.op_kind(n))),
        class: class::class(&instruction),
        order: class::order(&instruction),
        address: flow.address,
        reads: if is_idiom { Registers::NONE } else { flow.reads },
        writes: flow.writes,
        moves_stack: flow.moves_stack,
        stack_top: instruction.fpu_stack_increment_info().increment() as i8,
        is_idiom,
        is_copy: is_copy(&instruction),
        is_increment: is_increment(&instruction),
        passes_registers: passes_registers(&instruction),
        fuses: class::fuses(&instruction),
        has_three_parts: parts == 3,
        is_scaled: instruction.memory_index_scale() > 1,
        is_lea: instruction.mnemonic() == Mnemonic::Lea,
        upper: dataflow::upper(&instruction),
        computes_stack,
        replaces_stack: computes_stack && !steps_stack(&instruction),
        leaves_frame: instruction.mnemonic() == Mnemonic::Leave,
        vector_bytes: vector_bytes(&instruction),
        keeps_upper: instruction.code().encoding() == EncodingKind::Legacy,
    })
}

/// The name that the decoder library has for an encoding, such as `Add_r64_rm64`.
pub fn encoding_name(encoding: u16) -> Option<impl core::fmt::Display> {
    struct Name(Code);
    impl core::fmt::Display for Name {
        fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
            core::fmt::Debug::fmt(&self.0, f)
        }
    }
    Code::try_from(usize::from(encoding)).ok().map(Name)
}

/// Whether a constant is added to the stack pointer, by itself or as an address.
fn steps_stack(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Add | Mnemonic::Sub => {
            instruction.op1_kind() != OpKind::Register && !in_memory(instruction.op1_kind())
        }
        Mnemonic::Lea => {
            instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None
        }
        _ => false,
    }
}

/// Whether both of the two (or the last two of three) registers are the same, and the operation then has a
/// result that does not depend on them.
pub(crate) fn is_idiom(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let same = match instruction.op_count() {
        2 => instruction.op0_register() == instruction.op1_register(),
        3 => {
            instruction.op1_register() == instruction.op2_register()
                && instruction.op2_kind() == OpKind::Register
        }
        _ => false,
    };
    if !same || instruction.op1_kind() != OpKind::Register || instruction.op0_register().size() < 4 {
        return false;
    }
    matches!(
        instruction.mnemonic(),
        Xor | Sub
            | Pxor
            | Vpxor
            | Vpxord
            | Vpxorq
            | Xorps
            | Xorpd
            | Vxorps
            | Vxorpd
            | Psubb
            | Psubw
            | Psubd
            | Psubq
            | Vpsubb
            | Vpsubw
            | Vpsubd
            | Vpsubq
            | Pcmpeqb
            | Pcmpeqw
            | Pcmpeqd
            | Vpcmpeqb
            | Vpcmpeqw
            | Vpcmpeqd
    )
}

fn is_copy(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let registers = (instruction.op0_register(), instruction.op1_register());
    let between = instruction.op_count() == 2
        && instruction.op0_kind() == OpKind::Register
        && instruction.op1_kind() == OpKind::Register;
    let full = |register: iced_x86::Register| register.is_gpr64() || register.is_gpr32();
    match instruction.mnemonic() {
        Mov => between && full(registers.0) && full(registers.1),
        Movaps | Movapd | Movups | Movupd | Movdqa | Movdqu | Vmovaps | Vmovapd | Vmovups | Vmovupd
        | Vmovdqa | Vmovdqu | Vmovdqa32 | Vmovdqa64 | Vmovdqu8 | Vmovdqu16 | Vmovdqu32 | Vmovdqu64 => {
            between && instruction.op_mask() == iced_x86::Register::None
        }
        _ => false,
    }
}

fn is_increment(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    if !instruction.op0_register().is_gpr64() || instruction.op0_kind() != OpKind::Register {
        return false;
    }
    // As many bits as rename of Golden Cove adds.
    let is_small = |constant: i64| (-1024..1024).contains(&constant);
    match instruction.mnemonic() {
        Inc | Dec => true,
        Add | Sub => match instruction.op1_kind() {
            OpKind::Immediate8to64 | OpKind::Immediate32to64 => is_small(instruction.immediate(1) as i64),
            _ => false,
        },
        Lea => is_small(instruction.memory_displacement64() as i64) && is_base_alone(instruction),
        _ => false,
    }
}

/// Whether the address of the memory operand is made of a base register of 64 bits and a displacement.
fn is_base_alone(instruction: &Instruction) -> bool {
    instruction.memory_base().is_gpr64() && instruction.memory_index() == iced_x86::Register::None
}

fn is_shift_by_one(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(instruction.mnemonic(), Shl | Shr | Sar) && instruction.immediate(1) == 1
}

fn passes_registers(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    match instruction.mnemonic() {
        Push | Pop => !in_memory(instruction.op0_kind()),
        _ if !is_base_alone(instruction) || instruction.memory_size().size() == 2 => false,
        Mov | Movzx => true,
        // These were seen to wait for the store queue.
        Movsx | Movsxd | Cmp | Test | Adc | Sbb => false,
        // What changes memory is known if a constant stands in it: not in `inc`, `not` or a shift by one.
        _ if in_memory(instruction.op0_kind()) => {
            let is_constant = instruction.op_count() == 2 && instruction.op1_kind() != OpKind::Register;
            is_constant && instruction.memory_size().size() == 8 && !is_shift_by_one(instruction)
        }
        _ => true,
    }
}

fn vector_bytes(instruction: &Instruction) -> u8 {
    let registers = (0..instruction.op_count())
        .filter(|&n| instruction.op_kind(n) == OpKind::Register)
        .map(|n| instruction.op_register(n));
    let widths = registers.filter(|register| register.is_vector_register()).map(|register| register.size());
    widths.max().unwrap_or(0) as u8
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    fn of(bytes: &[u8]) -> Form {
        form(bytes, 0x1000).unwrap()
    }

    #[test]
    fn encodings_have_names() {
        let add = of(&[0x48, 0x03, 0x03]); // add rax,[rbx]
        assert_eq!(encoding_name(add.encoding).unwrap().to_string(), "Add_r64_rm64");
        assert!(add.memory && !of(&[0x48, 0x03, 0xc3]).memory);
        assert!(encoding_name(u16::MAX).is_none());
        assert!(form(&[0x06], 0).is_none());
    }

    #[test]
    fn zeroing_reads_nothing() {
        assert!(of(&[0x31, 0xc0]).is_idiom && of(&[0x31, 0xc0]).reads == Registers::NONE); // xor eax,eax
        assert!(!of(&[0x31, 0xc8]).is_idiom); // xor eax,ecx
        assert!(!of(&[0x30, 0xc0]).is_idiom); // xor al,al
        let vpxor = of(&[0xc5, 0xf1, 0xef, 0xc9]); // xmm1,xmm1,xmm1
        assert!(vpxor.is_idiom && !vpxor.keeps_upper);
        let pxor = of(&[0x66, 0x0f, 0xef, 0xc9]); // xmm1,xmm1
        assert!(pxor.is_idiom && pxor.keeps_upper);
    }

    #[test]
    fn what_a_renamer_may_fold() {
        assert!(of(&[0x48, 0x89, 0xd8]).is_copy); // mov rax,rbx
        assert!(!of(&[0x66, 0x89, 0xd8]).is_copy); // mov ax,bx
        assert!(!of(&[0x48, 0x8b, 0x03]).is_copy); // mov rax,[rbx]
        assert!(of(&[0x48, 0x83, 0xc0, 1]).is_increment); // add rax,1
        assert!(!of(&[0x83, 0xc0, 1]).is_increment && !of(&[0xff, 0xc0]).is_increment); // add eax,1; inc eax
        assert!(of(&[0x48, 0x8d, 0x43, 1]).is_increment); // lea rax,[rbx+1]
        assert!(!of(&[0x48, 0x8d, 0x44, 0x0b, 1]).is_increment); // lea rax,[rbx+rcx+1]
        assert!(of(&[0x48, 0x8d, 0x83, 0xff, 3, 0, 0]).is_increment); // lea rax,[rbx+1023]
        assert!(!of(&[0x48, 0x8d, 0x83, 0, 4, 0, 0]).is_increment); // lea rax,[rbx+1024]
        assert!(of(&[0x48, 0x2d, 0, 0xfc, 0xff, 0xff]).is_increment); // sub rax,-1024
        assert!(!of(&[0x48, 0x81, 0xc3, 0xff, 0xfb, 0xff, 0xff]).is_increment); // add rbx,-1025
        assert!(!of(&[0x48, 0x8d, 0x05, 1, 0, 0, 0]).is_increment); // lea rax,[rip+1]
        assert!(!of(&[0x48, 0x05, 0, 0, 1, 0]).is_increment); // add rax,0x10000
        assert!(!of(&[0x48, 0x83, 0x00, 1]).is_increment); // add qword [rax],1
    }

    #[test]
    fn what_is_pushed_to_the_x87_stack_is_written() {
        for (bytes, reads) in [(&[0xdd, 0x07][..], false), (&[0xd9, 0xc0], true), (&[0xd9, 0xe8], false)] {
            // fld qword [rdi]; fld st(0); fld1
            let form = of(bytes);
            assert!(form.stack_top == -1 && form.writes.contains(FPU_STACK));
            assert_eq!(form.reads.contains(FPU_STACK), reads);
        }
    }

    #[test]
    fn what_passes_registers_through_memory() {
        let passes = |bytes: &[u8]| of(bytes).passes_registers;
        assert!(passes(&[0x48, 0x8b, 0x43, 8]) && passes(&[0x48, 0x89, 0x43, 8])); // mov rax,[rbx+8] and back
        assert!(passes(&[0x55]) && passes(&[0x0f, 0xb6, 0x03])); // push rbp; movzx eax,byte [rbx]
        assert!(passes(&[0x48, 0x83, 0x03, 1]) && passes(&[0x48, 0x03, 0x03])); // add qword [rbx],1; add rax,[rbx]
        assert!(!passes(&[0x48, 0x01, 0x03]) && !passes(&[0x83, 0x03, 1])); // add [rbx],rax; add dword [rbx],1
        assert!(!passes(&[0x48, 0xff, 0x03]) && !passes(&[0x48, 0xf7, 0x13])); // inc qword [rbx]; not qword [rbx]
        assert!(!passes(&[0x48, 0xd1, 0x23]) && passes(&[0x48, 0xc1, 0x23, 3])); // shl qword [rbx],1 and 3
        assert!(!passes(&[0x48, 0x8b, 0x04, 0x0b])); // mov rax,[rbx+rcx]
        assert!(!passes(&[0x48, 0x8b, 0x05, 0, 0, 0, 0])); // mov rax,[rip]
        assert!(!passes(&[0x48, 0x63, 0x03]) && !passes(&[0x0f, 0xb7, 0x03])); // movsxd rax,[rbx]; movzx eax,word [rbx]
    }
}
