//! What an instruction does, as far as processors treat kinds of work differently.

use crate::decode::{Control, control, repeats};
use crate::memory::prefetched;
use iced_x86::{Instruction, Mnemonic, OpKind};

/// What an instruction does beside its accesses to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Nothing.
    Nop,
    /// Nothing but to ask for a line of memory.
    Prefetch,
    /// Throws a line of memory out of the caches.
    Evict,
    /// Only moves data: from memory, to memory, between registers.
    Move,
    /// Integer arithmetic, comparisons, logic.
    Integer,
    /// Integer multiplication and other arithmetic in a longer pipeline.
    Multiply,
    /// Integer division.
    Divide,
    /// Integers and bits in vector registers.
    Vector,
    /// Floating-point addition, multiplication, conversion, comparison.
    Float,
    /// Floating-point division.
    FloatDivide,
    /// Square root.
    SquareRoot,
    /// A branch, call or return.
    Branch,
    /// A string instruction that repeats.
    Repeated,
    /// Microcode of any other sort.
    System,
}

/// How an instruction is ordered with its neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By its operands.
    Free,
    /// It reads, changes and writes memory as one step (`lock`, `xchg`).
    Locked,
    /// Loads wait for it, and it waits for all that is older (`lfence`).
    LoadFence,
    /// Stores wait for it (`sfence`).
    StoreFence,
    /// Stores before it are made before loads behind it (`mfence`).
    FullFence,
    /// It reads a clock.
    Clock,
    /// It writes the control register of floating point (`ldmxcsr`, `fldcw`).
    FloatControl,
    /// Nothing goes past it (`cpuid`, `serialize`, `xrstor`).
    Serialising,
    /// It enters the kernel.
    SystemCall,
}

impl Order {
    /// How many there are.
    pub const COUNT: usize = Order::SystemCall as usize + 1;
}

pub(crate) fn class(instruction: &Instruction) -> Class {
    use Mnemonic::*;
    if repeats(instruction) {
        return Class::Repeated;
    }
    match control(instruction) {
        Control::Next => {}
        Control::SystemCall | Control::Unsupported => return Class::System,
        _ => return Class::Branch,
    }
    match instruction.mnemonic() {
        Nop | Fnop | Endbr64 | Endbr32 => Class::Nop,
        _ if prefetched(instruction).is_some() => Class::Prefetch,
        Clflush | Clflushopt => Class::Evict,
        Mov | Movzx | Movsx | Movsxd | Push | Pop | Movaps | Movapd | Movups | Movupd | Movdqa | Movdqu
        | Movd | Movq | Movss | Movsd | Vmovaps | Vmovapd | Vmovups | Vmovupd | Vmovdqa | Vmovdqu | Vmovd
        | Vmovq | Vmovss | Vmovsd | Movbe | Movnti | Movntdq | Movntps | Movntpd | Leave | Fld | Fst
        | Fstp => Class::Move,
        Mul | Imul | Mulx | Popcnt | Lzcnt | Tzcnt | Bsf | Bsr | Pdep | Pext | Crc32 => Class::Multiply,
        Div | Idiv => Class::Divide,
        Divss | Divsd | Divps | Divpd | Vdivss | Vdivsd | Vdivps | Vdivpd | Fdiv | Fdivp | Fdivr | Fdivrp
        | Fidiv | Fidivr | Fprem | Fprem1 => Class::FloatDivide,
        Sqrtss | Sqrtsd | Sqrtps | Sqrtpd | Vsqrtss | Vsqrtsd | Vsqrtps | Vsqrtpd | Fsqrt => {
            Class::SquareRoot
        }
        Cpuid | Serialize | Xsave | Xsavec | Xsaveopt | Xrstor | Fxsave | Fxrstor | Rdrand | Rdseed
        | Xgetbv | Pause | Rdtsc | Rdtscp | Rdpmc | Fsin | Fcos | Fsincos | Fptan | Fpatan | F2xm1
        | Fyl2x | Fyl2xp1 => Class::System,
        _ => {
            let vector = (0..instruction.op_count()).any(|n| {
                let register = instruction.op_register(n);
                instruction.op_kind(n) == OpKind::Register
                    && (register.is_vector_register() || register.is_st() || register.is_mm())
            });
            match (vector, is_float(instruction)) {
                (_, true) => Class::Float,
                (true, false) => Class::Vector,
                (false, false) => Class::Integer,
            }
        }
    }
}

/// Whether an instruction computes in floating point: by the type of its operand, and for registers by the
/// suffix of the mnemonic's family.
fn is_float(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    if instruction.fpu_stack_increment_info().writes_top() {
        return true;
    }
    matches!(
        instruction.mnemonic(),
        Addss
            | Addsd
            | Addps
            | Addpd
            | Subss
            | Subsd
            | Subps
            | Subpd
            | Mulss
            | Mulsd
            | Mulps
            | Mulpd
            | Minss
            | Minsd
            | Minps
            | Minpd
            | Maxss
            | Maxsd
            | Maxps
            | Maxpd
            | Comiss
            | Comisd
            | Ucomiss
            | Ucomisd
            | Cvtsi2ss
            | Cvtsi2sd
            | Cvtss2sd
            | Cvtsd2ss
            | Cvttss2si
            | Cvttsd2si
            | Cvtss2si
            | Cvtsd2si
            | Cvtdq2ps
            | Cvtdq2pd
            | Cvtps2pd
            | Cvtpd2ps
            | Cvttps2dq
            | Cvttpd2dq
            | Cmpss
            | Cmpsd
            | Cmpps
            | Cmppd
            | Roundss
            | Roundsd
            | Roundps
            | Roundpd
            | Haddps
            | Haddpd
            | Addsubps
            | Addsubpd
            | Rcpss
            | Rcpps
            | Rsqrtss
            | Rsqrtps
            | Vaddss
            | Vaddsd
            | Vaddps
            | Vaddpd
            | Vsubss
            | Vsubsd
            | Vsubps
            | Vsubpd
            | Vmulss
            | Vmulsd
            | Vmulps
            | Vmulpd
            | Vminss
            | Vminsd
            | Vminps
            | Vminpd
            | Vmaxss
            | Vmaxsd
            | Vmaxps
            | Vmaxpd
            | Vcomiss
            | Vcomisd
            | Vucomiss
            | Vucomisd
            | Vcvtsi2ss
            | Vcvtsi2sd
            | Vcvtss2sd
            | Vcvtsd2ss
            | Vcvttss2si
            | Vcvttsd2si
            | Vcvtdq2ps
            | Vcvtdq2pd
            | Vcvtps2pd
            | Vcvtpd2ps
            | Vfmadd132sd
            | Vfmadd213sd
            | Vfmadd231sd
            | Vfmadd132pd
            | Vfmadd213pd
            | Vfmadd231pd
            | Vfmadd132ss
            | Vfmadd213ss
            | Vfmadd231ss
            | Vfmadd132ps
            | Vfmadd213ps
            | Vfmadd231ps
            | Vfnmadd132sd
            | Vfnmadd213sd
            | Vfnmadd231sd
            | Vfnmadd231pd
            | Fadd
            | Faddp
            | Fsub
            | Fsubp
            | Fsubr
            | Fsubrp
            | Fmul
            | Fmulp
            | Fiadd
            | Fimul
            | Fisub
            | Fcom
            | Fcomi
            | Fcomip
            | Fucomi
            | Fucomip
            | Fchs
            | Fabs
    )
}

pub(super) fn order(instruction: &Instruction) -> Order {
    use Mnemonic::*;
    let memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    match instruction.mnemonic() {
        Syscall | Sysenter | Int => Order::SystemCall,
        Xchg if memory => Order::Locked,
        _ if instruction.has_lock_prefix() => Order::Locked,
        Lfence => Order::LoadFence,
        Sfence => Order::StoreFence,
        Mfence => Order::FullFence,
        Rdtsc | Rdtscp | Rdpmc => Order::Clock,
        Ldmxcsr | Vldmxcsr | Fldcw | Fldenv | Frstor | Fnclex => Order::FloatControl,
        Cpuid | Serialize | Xrstor | Fxrstor => Order::Serialising,
        _ => Order::Free,
    }
}

/// Whether a conditional branch right behind may be fused with the instruction: only of one memory or
/// constant operand, not of both, as the constants of both do not fit together.
pub(super) fn fuses(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let kind = |n| if instruction.op_count() > n { instruction.op_kind(n) } else { OpKind::Register };
    let memory_and_constant = kind(0) == OpKind::Memory && kind(1) != OpKind::Register;
    match instruction.mnemonic() {
        Cmp | Test => !memory_and_constant && !instruction.is_ip_rel_memory_operand(),
        Add | Sub | And | Inc | Dec => kind(0) == OpKind::Register && kind(1) != OpKind::Memory,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::form;
    use super::{Class, Order};

    fn class(bytes: &[u8]) -> Class {
        form(bytes, 0).unwrap().class
    }

    #[test]
    fn kinds_of_work() {
        assert_eq!(class(&[0x90]), Class::Nop);
        assert_eq!(class(&[0x0f, 0x18, 0x08]), Class::Prefetch); // prefetcht0 [rax]
        assert_eq!(class(&[0x0f, 0xae, 0x38]), Class::Evict); // clflush [rax]
        assert_eq!(class(&[0x48, 0x8b, 0x03]), Class::Move); // mov rax,[rbx]
        assert_eq!(class(&[0x48, 0x01, 0xd8]), Class::Integer); // add rax,rbx
        assert_eq!(class(&[0x48, 0x0f, 0xaf, 0xc3]), Class::Multiply); // imul rax,rbx
        assert_eq!(class(&[0x48, 0xf7, 0xf1]), Class::Divide); // div rcx
        assert_eq!(class(&[0xf2, 0x0f, 0x58, 0xc1]), Class::Float); // addsd xmm0,xmm1
        assert_eq!(class(&[0x66, 0x0f, 0xfe, 0xc1]), Class::Vector); // paddd xmm0,xmm1
        assert_eq!(class(&[0xf2, 0x0f, 0x51, 0xc1]), Class::SquareRoot); // sqrtsd xmm0,xmm1
        assert_eq!(class(&[0x74, 0x00]), Class::Branch); // je
        assert_eq!(class(&[0xf3, 0xa4]), Class::Repeated); // rep movsb
        assert_eq!(class(&[0x0f, 0xa2]), Class::System); // cpuid
    }

    #[test]
    fn orders() {
        let order = |bytes: &[u8]| form(bytes, 0).unwrap().order;
        assert_eq!(order(&[0xf0, 0x48, 0x01, 0x01]), Order::Locked); // lock add [rcx],rax
        assert_eq!(order(&[0x87, 0x01]), Order::Locked); // xchg [rcx],eax
        assert_eq!(order(&[0x0f, 0xae, 0xe8]), Order::LoadFence);
        assert_eq!(order(&[0x0f, 0xae, 0x10]), Order::FloatControl); // ldmxcsr [rax]
        assert_eq!(order(&[0x0f, 0x05]), Order::SystemCall);
        assert_eq!(order(&[0x01, 0x01]), Order::Free);
    }

    #[test]
    fn what_branches_are_fused_with() {
        let fuses = |bytes: &[u8]| form(bytes, 0).unwrap().fuses;
        assert!(fuses(&[0x48, 0x39, 0xd8])); // cmp rax,rbx
        assert!(fuses(&[0x48, 0x3b, 0x03])); // cmp rax,[rbx]
        assert!(!fuses(&[0x80, 0x3b, 0x01])); // cmp byte [rbx],1
        assert!(!fuses(&[0x48, 0x01, 0x03])); // add [rbx],rax
        assert!(!fuses(&[0x48, 0x8b, 0x03])); // mov rax,[rbx]
    }
}
