//! Which instructions do nothing but to compute what their operands say.

use super::Nature;
use crate::category::is_x87;
use crate::decode::{Control, control, repeats};
use crate::form::{Class, class};
use crate::memory::prefetched;
use crate::operands::in_memory;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

pub(super) fn nature(instruction: &Instruction) -> Nature {
    use Mnemonic::*;
    if instruction.is_invalid() {
        return Nature::Barrier;
    }
    match control(instruction) {
        Control::Next => {}
        Control::Jump { .. }
        | Control::Branch { .. }
        | Control::CountBranch { .. }
        | Control::IndirectJump => return Nature::Fixed,
        _ => return Nature::Barrier,
    }
    let memory = (0..instruction.op_count()).any(|n| in_memory(instruction.op_kind(n)));
    let is_atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Xchg && memory;
    // Some of the latter share their mnemonics with vector instructions.
    if is_atomic || repeats(instruction) || instruction.is_string_instruction() {
        return Nature::Barrier;
    }
    if is_idle(instruction) {
        return Nature::Idle;
    }
    if is_frame_pointer(instruction) {
        return Nature::Fixed;
    }
    match instruction.mnemonic() {
        // Where in memory the bit lies depends on a register.
        Bt | Bts | Btr | Btc if memory && instruction.op1_kind() == OpKind::Register => Nature::Barrier,
        mnemonic if is_general(mnemonic) || is_vector(mnemonic) => match is_ordinary(instruction) {
            true => Nature::Pure,
            false => Nature::Barrier,
        },
        // What they write is known, but for what they may raise.
        Push | Pop | Leave | Div | Idiv => Nature::Fixed,
        // It may raise exceptions or leave a sticky bit in a status.
        _ if is_float(instruction) && is_ordinary(instruction) => Nature::Fixed,
        _ => Nature::Barrier,
    }
}

/// What is executed for nothing but its length, its place or a cache.
fn is_idle(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    match instruction.mnemonic() {
        Nop | Fnop | Endbr64 | Endbr32 | Pause => true,
        Lea => {
            let own = instruction.memory_base() == instruction.op0_register();
            let index = instruction.memory_index();
            own && index == Register::None
                && instruction.memory_displacement64() == 0
                && instruction.op0_register().is_gpr64()
        }
        _ => prefetched(instruction).is_some(),
    }
}

/// Whether it makes what may be a frame pointer, which is for whoever looks at the stack: all of the stack pointer copied to
/// a register, or an address on the stack put into `rbp`.
fn is_frame_pointer(instruction: &Instruction) -> bool {
    let is_register = instruction.op0_kind() == OpKind::Register && instruction.op0_register().is_gpr64();
    match instruction.mnemonic() {
        Mnemonic::Mov => is_register && instruction.op1_register() == Register::RSP,
        Mnemonic::Lea => {
            instruction.op0_register() == Register::RBP && instruction.memory_base() == Register::RSP
        }
        _ => false,
    }
}

/// Whether no operand is a register of segments, control or debugging.
fn is_ordinary(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).all(|n| match instruction.op_kind(n) {
        OpKind::Register => {
            let register = instruction.op_register(n);
            register.is_gpr() || register.is_xmm() || register.is_ymm()
        }
        _ => true,
    }) && !instruction.has_op_mask()
        && !instruction.is_broadcast()
}

fn is_general(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        Mov | Movzx
            | Movsx
            | Movsxd
            | Movbe
            | Lea
            | Add
            | Sub
            | Adc
            | Sbb
            | And
            | Or
            | Xor
            | Not
            | Neg
            | Inc
            | Dec
            | Cmp
            | Test
            | Shl
            | Sal
            | Shr
            | Sar
            | Rol
            | Ror
            | Rcl
            | Rcr
            | Shld
            | Shrd
            | Imul
            | Mul
            | Mulx
            | Bswap
            | Bt
            | Bts
            | Btr
            | Btc
            | Bsf
            | Bsr
            | Tzcnt
            | Lzcnt
            | Popcnt
            | Andn
            | Bextr
            | Blsi
            | Blsmsk
            | Blsr
            | Bzhi
            | Pdep
            | Pext
            | Rorx
            | Sarx
            | Shlx
            | Shrx
            | Cbw
            | Cwde
            | Cdqe
            | Cwd
            | Cdq
            | Cqo
            | Xchg
            | Adcx
            | Adox
            | Clc
            | Stc
            | Cmc
            | Seta
            | Setae
            | Setb
            | Setbe
            | Sete
            | Setne
            | Setg
            | Setge
            | Setl
            | Setle
            | Seto
            | Setno
            | Setp
            | Setnp
            | Sets
            | Setns
            | Cmova
            | Cmovae
            | Cmovb
            | Cmovbe
            | Cmove
            | Cmovne
            | Cmovg
            | Cmovge
            | Cmovl
            | Cmovle
            | Cmovo
            | Cmovno
            | Cmovp
            | Cmovnp
            | Cmovs
            | Cmovns
    )
}

/// Whether it computes in floating point, in vector registers.
fn is_float(instruction: &Instruction) -> bool {
    matches!(class(instruction), Class::Float | Class::FloatDivide | Class::SquareRoot)
        && !is_x87(instruction)
}

/// Moves, logic and integers in vector registers: no exception of floating point comes of them.
fn is_vector(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        Movaps
            | Movapd
            | Movups
            | Movupd
            | Movdqa
            | Movdqu
            | Movd
            | Movq
            | Movss
            | Movsd
            | Movlps
            | Movlpd
            | Movhps
            | Movhpd
            | Movhlps
            | Movlhps
            | Vmovaps
            | Vmovapd
            | Vmovups
            | Vmovupd
            | Vmovdqa
            | Vmovdqu
            | Vmovd
            | Vmovq
            | Vmovss
            | Vmovsd
            | Pxor
            | Por
            | Pand
            | Pandn
            | Xorps
            | Xorpd
            | Orps
            | Orpd
            | Andps
            | Andpd
            | Andnps
            | Andnpd
            | Vpxor
            | Vpor
            | Vpand
            | Vpandn
            | Vxorps
            | Vxorpd
            | Vorps
            | Vandps
            | Vandpd
            | Paddb
            | Paddw
            | Paddd
            | Paddq
            | Psubb
            | Psubw
            | Psubd
            | Psubq
            | Pcmpeqb
            | Pcmpeqw
            | Pcmpeqd
            | Pcmpgtb
            | Pcmpgtw
            | Pcmpgtd
            | Pmullw
            | Pmulld
            | Pmuludq
            | Pshufd
            | Pshufb
            | Pshuflw
            | Pshufhw
            | Shufps
            | Shufpd
            | Unpcklps
            | Unpcklpd
            | Unpckhps
            | Unpckhpd
            | Punpcklbw
            | Punpcklwd
            | Punpckldq
            | Punpcklqdq
            | Punpckhbw
            | Punpckhwd
            | Punpckhdq
            | Punpckhqdq
            | Pmovmskb
            | Movmskps
            | Movmskpd
            | Psllw
            | Pslld
            | Psllq
            | Psrlw
            | Psrld
            | Psrlq
            | Psraw
            | Psrad
            | Pslldq
            | Psrldq
            | Vpaddb
            | Vpaddw
            | Vpaddd
            | Vpaddq
            | Vpsubb
            | Vpsubw
            | Vpsubd
            | Vpsubq
            | Vpcmpeqb
            | Vpcmpeqd
            | Vpshufd
            | Vpshufb
            | Vpmovmskb
    )
}

/// Whether it waits for the register that it overwrites, on some processors, so that code sets that to zero before.
pub(super) fn waits_for_result(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(instruction.mnemonic(), Popcnt | Lzcnt | Tzcnt | Bsf | Bsr | Pdep | Pext)
}
