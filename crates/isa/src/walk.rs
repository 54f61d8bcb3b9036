//! Walking over code: where each instruction begins, how control leaves it, and what kind of
//! work it does, which bounds how long it can hold up the instructions behind it.

use crate::decode::{Control, control, repeats};
use crate::operands::in_memory;
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess,
    OpKind, Register,
};

/// What an instruction does, by what decides its cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Integer arithmetic, moves between registers, nothing at all.
    Simple,
    /// A few cycles in a pipelined unit: multiplication, vectors, floating point.
    Pipelined,
    /// Tens of cycles in a unit that is busy meanwhile.
    Division,
    /// Likewise of one operand: a square root, or one of x87's functions.
    Function,
    /// Drains or serialises the pipeline, or runs microcode: locked and string operations, fences,
    /// `cpuid`, reading of clocks.
    Serial,
}

/// One instruction of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Offset of its first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u8,
    /// Where control goes; targets are offsets like `offset`.
    pub control: Control,
    /// What it does.
    pub work: Work,
    /// It reads data memory (beyond popping a return address).
    pub loads: bool,
    /// It writes data memory (beyond pushing).
    pub stores: bool,
    /// It sets flags that a conditional branch right behind it may be fused with.
    pub fuses: bool,
    /// It is a repeated string operation: an interrupt taken in its middle finds the program counter
    /// still on it.
    pub repeats: bool,
    /// It is a `pause`, which code executes while it waits for another thread.
    pub pauses: bool,
}

/// Walks over `code`, whose first byte stands at `offset`, instruction by instruction. Bytes that
/// do not decode give one [`Control::Unsupported`] step over all that is left.
pub fn walk(code: &[u8], offset: u64) -> impl Iterator<Item = Step> {
    let mut decoder = Decoder::with_ip(64, code, offset, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    core::iter::from_fn(move || {
        if !decoder.can_decode() {
            return None;
        }
        let left = decoder.max_position() - decoder.position();
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            let offset = instruction.ip();
            let _ = decoder.set_position(decoder.max_position());
            return Some(Step { offset, length: left.min(255) as u8, ..UNDECODABLE });
        }
        Some(step(&instruction, &mut factory))
    })
}

/// The lengths of the instructions of `code`, and how control leaves each: [`walk`] for those who need no
/// more. Ends at bytes that do not decode.
pub fn boundaries(code: &[u8], offset: u64) -> impl Iterator<Item = (u8, Control)> {
    let mut decoder = Decoder::with_ip(64, code, offset, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    core::iter::from_fn(move || {
        if !decoder.can_decode() {
            return None;
        }
        decoder.decode_out(&mut instruction);
        (!instruction.is_invalid()).then(|| (instruction.len() as u8, control(&instruction)))
    })
}

const UNDECODABLE: Step = Step {
    offset: 0,
    length: 0,
    control: Control::Unsupported,
    work: Work::Serial,
    loads: false,
    stores: false,
    fuses: false,
    repeats: false,
    pauses: false,
};

/// Whether the instruction at the start of `bytes` may write to data memory beyond pushing.
pub fn stores(bytes: &[u8]) -> bool {
    let instruction = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
    data_accesses(&instruction, &mut InstructionInfoFactory::new()).1
}

fn step(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> Step {
    let (loads, stores) = data_accesses(instruction, factory);
    Step {
        offset: instruction.ip(),
        length: instruction.len() as u8,
        control: control(instruction),
        work: work(instruction),
        loads,
        stores,
        fuses: matches!(
            instruction.mnemonic(),
            Mnemonic::Cmp
                | Mnemonic::Test
                | Mnemonic::Add
                | Mnemonic::Sub
                | Mnemonic::And
                | Mnemonic::Inc
                | Mnemonic::Dec
        ),
        repeats: repeats(instruction),
        pauses: instruction.mnemonic() == Mnemonic::Pause,
    }
}

/// Whether an explicit or string operand is read from and written to memory. The stack accesses of
/// `push`, `pop`, `call` and `ret` are left out: they hit the store buffer or the first cache.
fn data_accesses(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> (bool, bool) {
    let options = InstructionInfoOptions::NO_MEMORY_USAGE | InstructionInfoOptions::NO_REGISTER_USAGE;
    let info = factory.info_options(instruction, options);
    let (mut loads, mut stores) = (false, false);
    for operand in 0..instruction.op_count() {
        if !in_memory(instruction.op_kind(operand)) {
            continue;
        }
        let access = info.op_access(operand);
        loads |= matches!(
            access,
            OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        stores |= matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
    }
    (loads, stores)
}

fn work(instruction: &Instruction) -> Work {
    use Mnemonic::*;
    let memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    if instruction.has_lock_prefix() || repeats(instruction) {
        return Work::Serial;
    }
    match instruction.mnemonic() {
        Xchg if memory => Work::Serial,
        Mfence | Lfence | Sfence | Cpuid | Rdtsc | Rdtscp | Rdpmc | Serialize | Pause | Xgetbv | Xsave
        | Xsavec | Xsaves | Xsaveopt | Xrstor | Fxsave | Fxrstor | Rdrand | Rdseed | Syscall | Sysenter
        | Int => Work::Serial,
        Div | Idiv | Divss | Divsd | Divps | Divpd | Vdivss | Vdivsd | Vdivps | Vdivpd | Fdiv | Fdivp
        | Fdivr | Fdivrp | Fidiv | Fidivr | Fprem | Fprem1 => Work::Division,
        Sqrtss | Sqrtsd | Sqrtps | Sqrtpd | Vsqrtss | Vsqrtsd | Vsqrtps | Vsqrtpd | Fsqrt | Fsin | Fcos
        | Fptan | Fpatan | F2xm1 | Fyl2x => Work::Function,
        Mul | Imul | Mulx | Popcnt | Lzcnt | Tzcnt | Bsf | Bsr | Pdep | Pext | Crc32 => Work::Pipelined,
        _ if (0..instruction.op_count()).any(|n| is_vector(instruction, n)) => Work::Pipelined,
        _ => Work::Simple,
    }
}

fn is_vector(instruction: &Instruction, operand: u32) -> bool {
    let register = match instruction.op_kind(operand) {
        OpKind::Register => instruction.op_register(operand),
        _ => Register::None,
    };
    register.is_vector_register() || register.is_st() || register.is_mm()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn only(code: &[u8]) -> Step {
        let mut steps = walk(code, 0x40);
        let step = steps.next().unwrap();
        assert_eq!(steps.next(), None, "{code:x?}");
        assert_eq!((step.offset, usize::from(step.length)), (0x40, code.len()));
        step
    }

    #[test]
    fn boundaries_and_ways_out() {
        // sub eax,imm32; jne -7; call +0; ret; syscall; jmp rax; call [rax]; ud2
        let code = [
            0x2d, 1, 0, 0, 0, 0x75, 0xf9, 0xe8, 0, 0, 0, 0, 0xc3, 0x0f, 0x05, 0xff, 0xe0, 0xff, 0x10, 0x0f,
            0x0b,
        ];
        let got: Vec<(u64, Control)> = walk(&code, 0x100).map(|s| (s.offset, s.control)).collect();
        let want = [
            (0x100, Control::Next),
            (0x105, Control::Branch { target: 0x100, condition: 5 }),
            (0x107, Control::Call { target: 0x10c }),
            (0x10c, Control::Return { discard: 0 }),
            (0x10d, Control::SystemCall),
            (0x10f, Control::IndirectJump),
            (0x111, Control::IndirectCall),
            (0x113, Control::Next),
        ];
        assert_eq!(got, want);
        let lengths: Vec<(u8, Control)> = walk(&code, 0x100).map(|s| (s.length, s.control)).collect();
        assert_eq!(boundaries(&code, 0x100).collect::<Vec<_>>(), lengths);
    }

    #[test]
    fn what_touches_memory() {
        let load = only(&[0x48, 0x8b, 0x34, 0x33]); // mov rsi,[rbx+rsi]
        assert!(load.loads && !load.stores && load.work == Work::Simple);
        let store = only(&[0x41, 0x89, 0x34, 0x96]); // mov [r14+rdx*4],esi
        assert!(!store.loads && store.stores);
        let both = only(&[0x48, 0x83, 0x00, 0x01]); // add qword [rax],1
        assert!(both.loads && both.stores && both.fuses);
        let address = only(&[0x48, 0x8d, 0x04, 0x13]); // lea rax,[rbx+rdx]
        assert!(!address.loads && !address.stores);
        let push = only(&[0x55]);
        assert!(!push.loads && !push.stores);
        let copy = only(&[0xf3, 0xa4]); // rep movsb
        assert!(copy.loads && copy.stores && copy.repeats && copy.work == Work::Serial);
        assert!(!only(&[0xa4]).repeats); // movsb
        let nop = only(&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]); // nop with a memory form
        assert!(!nop.loads && !nop.stores);
    }

    #[test]
    fn kinds_of_work() {
        assert_eq!(only(&[0x48, 0xf7, 0xf1]).work, Work::Division); // div rcx
        assert_eq!(only(&[0xf2, 0x0f, 0x51, 0xc0]).work, Work::Function); // sqrtsd xmm0, xmm0
        assert_eq!(only(&[0x48, 0x0f, 0xaf, 0xc3]).work, Work::Pipelined); // imul rax,rbx
        assert_eq!(only(&[0xf2, 0x0f, 0x58, 0xc1]).work, Work::Pipelined); // addsd xmm0,xmm1
        assert_eq!(only(&[0xf0, 0x48, 0x01, 0x01]).work, Work::Serial); // lock add [rcx],rax
        assert_eq!(only(&[0x87, 0x01]).work, Work::Serial); // xchg [rcx],eax
        assert_eq!(only(&[0x31, 0xc0]).work, Work::Simple); // xor eax,eax
    }

    #[test]
    fn bytes_that_are_no_instruction_end_the_walk() {
        let steps: Vec<Step> = walk(&[0x90, 0x06, 0x90], 0).collect();
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[1].offset, steps[1].length, steps[1].control), (1, 2, Control::Unsupported));
    }
}
