//! Decoding one instruction into what translation and control-flow analysis need of it.

use crate::flags::FlagSet;
use crate::quick::quick;
use crate::segment::uses_gs;
use iced_x86::{Code, ConditionCode, Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind};

/// Longest x86-64 instruction, in bytes.
pub const MAX_LENGTH: usize = 15;

/// Why bytes are not an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// More bytes are needed.
    Truncated,
    /// No instruction of this processor family starts like this.
    Invalid,
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// To the next instruction.
    Next,
    /// To `target`, always.
    Jump {
        /// Absolute address.
        target: u64,
    },
    /// To `target` or to the next instruction, by flags.
    Branch {
        /// Absolute address if taken.
        target: u64,
        /// The processor's condition number, 0 to 15 as in `jcc`.
        condition: u8,
    },
    /// To `target` or to the next instruction, by `rcx` (`loop`, `jrcxz` and their kin): these have
    /// 8-bit displacements only.
    CountBranch {
        /// Absolute address if taken.
        target: u64,
    },
    /// To `target`, pushing the return address.
    Call {
        /// Absolute address.
        target: u64,
    },
    /// Into a transaction, or to `target` with the reason in `eax` if it is aborted.
    Transaction {
        /// Absolute address if aborted.
        target: u64,
    },
    /// To the address in a register or in memory.
    IndirectJump,
    /// Likewise, pushing the return address.
    IndirectCall,
    /// To the address on the stack, then discarding `discard` further bytes.
    Return {
        /// Immediate operand of `ret`.
        discard: u16,
    },
    /// Into the kernel and back to the next instruction.
    SystemCall,
    /// An instruction that leaves 64-bit user code in a way that is not followed: far branches, returns
    /// from interrupts, `sysenter`.
    Unsupported,
}

impl Control {
    /// Whether a processor has to guess where it leads, and may guess wrongly. It remembers where returns lead.
    pub fn is_guessed(self) -> bool {
        matches!(
            self,
            Control::Branch { .. }
                | Control::CountBranch { .. }
                | Control::IndirectJump
                | Control::IndirectCall
        )
    }
}

/// One decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u8,
    /// Where control goes.
    pub control: Control,
    /// Flags that it may read.
    pub flags_read: FlagSet,
    /// Flags that it surely overwrites.
    pub flags_written: FlagSet,
    /// Position of the 32-bit displacement and the address it refers to, if an operand is relative to
    /// the program counter.
    pub relative_operand: Option<(u8, u64)>,
    /// True if what it does depends on the base of the `gs` segment.
    pub uses_gs: bool,
    /// True if it repeats by a prefix (`rep movsb` and the like): one execution, many iterations.
    pub repeats: bool,
}

impl Instruction {
    /// Address of the next instruction in memory.
    pub fn next(&self) -> u64 {
        self.address + u64::from(self.length)
    }

    /// True if control may go anywhere but to the next instruction.
    pub fn ends_block(&self) -> bool {
        self.control != Control::Next
    }
}

/// Decodes the instruction at the start of `bytes`, which stand at `address`.
///
/// # Errors
/// [`DecodeError::Truncated`] if `bytes` ends inside an instruction, [`DecodeError::Invalid`] if they
/// are none.
pub fn decode(bytes: &[u8], address: u64) -> Result<Instruction, DecodeError> {
    let quick = bytes.first_chunk().and_then(|bytes| quick(bytes, address));
    quick.map_or_else(|| by_library(bytes, address), Ok)
}

/// [`decode()`] by the decoder library.
pub(crate) fn by_library(bytes: &[u8], address: u64) -> Result<Instruction, DecodeError> {
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let decoded = decoder.decode();
    if decoded.is_invalid() {
        let truncated = decoder.last_error() == iced_x86::DecoderError::NoMoreBytes;
        return Err(if truncated { DecodeError::Truncated } else { DecodeError::Invalid });
    }
    let relative_operand = decoded.is_ip_rel_memory_operand().then(|| {
        let at = decoder.get_constant_offsets(&decoded).displacement_offset();
        (at as u8, decoded.ip_rel_memory_address())
    });
    let written = if repeats(&decoded) || may_shift_by_zero(&decoded) {
        FlagSet::NONE
    } else {
        surely_written(&decoded)
    };
    Ok(Instruction {
        address,
        length: decoded.len() as u8,
        control: control(&decoded),
        flags_read: FlagSet::from_library(decoded.rflags_read()),
        flags_written: written,
        relative_operand,
        uses_gs: uses_gs(&decoded),
        repeats: repeats(&decoded),
    })
}

/// Flags that the manuals leave undefined may be left as they were, and are on some processors; programs
/// that keep flags show it.
fn surely_written(decoded: &iced_x86::Instruction) -> FlagSet {
    use Mnemonic::{And, Or, Test, Xor};
    let written = FlagSet::from_library(decoded.rflags_modified() & !decoded.rflags_undefined());
    match decoded.mnemonic() {
        // All processors clear the auxiliary flag here.
        And | Or | Xor | Test => written.union(FlagSet::AUXILIARY),
        _ => written,
    }
}

pub(crate) fn repeats(decoded: &iced_x86::Instruction) -> bool {
    (decoded.has_rep_prefix() || decoded.has_repne_prefix()) && decoded.is_string_instruction()
}

/// Shifts and rotates write no flag when the count, after masking, is zero.
fn may_shift_by_zero(decoded: &iced_x86::Instruction) -> bool {
    use Mnemonic::{Rcl, Rcr, Rol, Ror, Sal, Sar, Shl, Shld, Shr, Shrd};
    if !matches!(decoded.mnemonic(), Rcl | Rcr | Rol | Ror | Sal | Sar | Shl | Shld | Shr | Shrd) {
        return false;
    }
    match decoded.op_kind(decoded.op_count() - 1) {
        // A count of 32 is zero for operands of up to 32 bits; taking it as zero for all is safe.
        OpKind::Immediate8 => decoded.immediate8() & 0x1f == 0,
        _ => true,
    }
}

pub(crate) fn control(decoded: &iced_x86::Instruction) -> Control {
    let near = || decoded.near_branch_target();
    // Most of what is not the next is one of these: they are told without the library's table, of which no line may be near.
    if decoded.is_jcc_short_or_near() {
        return Control::Branch { target: near(), condition: condition_number(decoded.condition_code()) };
    }
    if decoded.is_jmp_short_or_near() {
        return Control::Jump { target: near() };
    }
    match decoded.flow_control() {
        FlowControl::Next => Control::Next,
        FlowControl::ConditionalBranch
            if decoded.is_jcx_short() || decoded.is_loop() || decoded.is_loopcc() =>
        {
            Control::CountBranch { target: near() }
        }
        FlowControl::Call if decoded.is_call_near() => Control::Call { target: near() },
        FlowControl::Call if decoded.mnemonic() == Mnemonic::Syscall => Control::SystemCall,
        FlowControl::IndirectBranch if decoded.code() == Code::Jmp_rm64 => Control::IndirectJump,
        FlowControl::IndirectCall if decoded.code() == Code::Call_rm64 => Control::IndirectCall,
        FlowControl::Return if decoded.code() == Code::Retnq => Control::Return { discard: 0 },
        FlowControl::Return if decoded.code() == Code::Retnq_imm16 => {
            Control::Return { discard: decoded.immediate16() }
        }
        // `ud2`, `int3` and the like fault where they stand; the fault is what the program asked for.
        // `int 0x80` enters the kernel and comes back.
        FlowControl::Exception | FlowControl::Interrupt => Control::Next,
        FlowControl::XbeginXabortXend if decoded.mnemonic() == Mnemonic::Xbegin => {
            Control::Transaction { target: near() }
        }
        // Outside of a transaction, which is all that is executed, they fault or do nothing.
        FlowControl::XbeginXabortXend => Control::Next,
        // Calls of a hypervisor fault or come back.
        FlowControl::Call if decoded.is_privileged() || is_hypervisor_call(decoded.mnemonic()) => {
            Control::Next
        }
        _ => Control::Unsupported,
    }
}

fn is_hypervisor_call(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Vmcall | Mnemonic::Vmmcall | Mnemonic::Vmgexit | Mnemonic::Tdcall)
}

/// The condition's number in the encoding of `jcc`, `setcc` and `cmovcc`.
pub(crate) fn condition_number(condition: ConditionCode) -> u8 {
    match condition {
        ConditionCode::o | ConditionCode::None => 0,
        ConditionCode::no => 1,
        ConditionCode::b => 2,
        ConditionCode::ae => 3,
        ConditionCode::e => 4,
        ConditionCode::ne => 5,
        ConditionCode::be => 6,
        ConditionCode::a => 7,
        ConditionCode::s => 8,
        ConditionCode::ns => 9,
        ConditionCode::p => 10,
        ConditionCode::np => 11,
        ConditionCode::l => 12,
        ConditionCode::ge => 13,
        ConditionCode::le => 14,
        ConditionCode::g => 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> Instruction {
        decode(bytes, 0x1000).expect("valid instruction")
    }

    #[test]
    fn control_transfers_are_told_apart() {
        assert_eq!(one(&[0xeb, 0x10]).control, Control::Jump { target: 0x1012 });
        assert_eq!(one(&[0x75, 0xfe]).control, Control::Branch { target: 0x1000, condition: 5 });
        assert_eq!(one(&[0xe3, 0x02]).control, Control::CountBranch { target: 0x1004 });
        assert_eq!(one(&[0xe8, 0, 0, 0, 0]).control, Control::Call { target: 0x1005 });
        assert_eq!(one(&[0xff, 0x25, 0, 0, 0, 0]).control, Control::IndirectJump);
        assert_eq!(one(&[0x3e, 0xff, 0xe0]).control, Control::IndirectJump);
        assert_eq!(one(&[0xff, 0xd0]).control, Control::IndirectCall);
        assert_eq!(one(&[0xc3]).control, Control::Return { discard: 0 });
        assert_eq!(one(&[0xc2, 8, 0]).control, Control::Return { discard: 8 });
        assert_eq!(one(&[0x0f, 0x05]).control, Control::SystemCall);
        assert_eq!(one(&[0x0f, 0x0b]).control, Control::Next);
        assert_eq!(one(&[0xcd, 0x80]).control, Control::Next);
        assert_eq!(one(&[0xc7, 0xf8, 0, 0, 0, 0]).control, Control::Transaction { target: 0x1006 });
        assert_eq!(one(&[0x0f, 0x01, 0xd5]).control, Control::Next); // xend
        assert_eq!(one(&[0x48, 0xcf]).control, Control::Unsupported); // iretq
        assert_eq!(one(&[0x0f, 0x34]).control, Control::Unsupported); // sysenter
    }

    #[test]
    fn relative_operand_is_located() {
        // mov rax, [rip+0x10]
        assert_eq!(one(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0]).relative_operand, Some((3, 0x1017)));
        // cmp dword [rip+0x10], 5: the displacement stands before the immediate
        assert_eq!(one(&[0x83, 0x3d, 0x10, 0, 0, 0, 5]).relative_operand, Some((2, 0x1017)));
    }

    #[test]
    fn flags_are_only_written_when_surely_written() {
        assert_eq!(one(&[0x48, 0x01, 0xc8]).flags_written, FlagSet::ALL); // add
        assert_eq!(one(&[0x48, 0xff, 0xc0]).flags_written, FlagSet::WRITTEN_BY_INC); // inc
        assert_eq!(one(&[0x48, 0xd3, 0xe0]).flags_written, FlagSet::NONE); // shl rax, cl
        assert_eq!(one(&[0x0f, 0xa5, 0xc8]).flags_written, FlagSet::NONE); // shld eax, ecx, cl
        assert_eq!(one(&[0xc1, 0xe0, 0x20]).flags_written, FlagSet::NONE); // shl eax, 32
        assert_eq!(one(&[0x85, 0xc0]).flags_written, FlagSet::ALL); // test eax, eax
        assert_eq!(one(&[0xd1, 0xe0]).flags_written, FlagSet::ALL.without(FlagSet::AUXILIARY)); // shl eax, 1
        assert_eq!(one(&[0x48, 0x0f, 0xba, 0xf0, 1]).flags_written, FlagSet::CARRY); // btr rax, 1
        assert_eq!(one(&[0x48, 0x8d, 0x00]).flags_written, FlagSet::NONE); // lea
        assert!(one(&[0x0f, 0x92, 0xc0]).flags_read.intersects(FlagSet::CARRY)); // setb
    }

    #[test]
    fn bad_bytes_are_errors() {
        assert_eq!(decode(&[0x48], 0).unwrap_err(), DecodeError::Truncated);
        assert_eq!(decode(&[0x06; 15], 0).unwrap_err(), DecodeError::Invalid);
    }
}
