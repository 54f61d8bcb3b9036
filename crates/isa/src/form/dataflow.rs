//! Which registers an instruction reads for addresses, reads for its work, and writes.

use crate::flags::FlagSet;
use crate::numbers::numbers;
use iced_x86::{
    Code, EncodingKind, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

/// A set of registers as a renamer tells them apart: by number in [`Registers::COUNT`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Registers(u128);

/// Where the general-purpose registers stand.
const GENERAL: u8 = 0;
/// Where the stack pointer stands.
pub const STACK: u8 = 4;

/// The number of the frame pointer.
pub const FRAME: u8 = 5;

/// The number of the register that gets the upper half of a product of `mul` and one-operand `imul`.
const UPPER: u8 = 2;
/// Where the vector registers stand.
const VECTORS: u8 = 16;
/// Where the mask registers stand.
const MASKS: u8 = 48;
/// The two parts of the flags: carry, and the others.
pub const FLAGS: [u8; 2] = [56, 57];
/// Where the x87 registers stand, relative to the top of the stack.
pub const FPU_STACK: u8 = 58;
/// Where the MMX registers stand.
const MMX: u8 = 66;
/// The base of a segment, as an operand.
const SEGMENT: u8 = 74;

impl Registers {
    /// No register.
    pub const NONE: Registers = Registers(0);
    /// Numbers are below this.
    pub const COUNT: usize = 76;

    /// The numbers of the registers.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        numbers(self.0)
    }

    /// Whether it has the register of this number.
    pub const fn contains(self, number: u8) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Those of both.
    pub const fn union(self, other: Registers) -> Registers {
        Registers(self.0 | other.0)
    }

    fn add(&mut self, number: Option<u8>) {
        self.0 |= number.map_or(0, |number| 1 << number);
    }
}

/// What an instruction reads and writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dataflow {
    pub address: Registers,
    pub reads: Registers,
    pub writes: Registers,
    pub moves_stack: bool,
}

fn number(register: Register) -> Option<u8> {
    let full = register.full_register();
    let at = full.number() as u8;
    match full {
        Register::None | Register::RIP | Register::EIP => None,
        full if full.is_gpr64() => Some(GENERAL + at),
        full if full.is_vector_register() => Some(VECTORS + at),
        full if full.is_k() => Some(MASKS + at),
        full if full.is_st() => Some(FPU_STACK + at),
        full if full.is_mm() => Some(MMX + at),
        full if full.is_segment_register() => Some(SEGMENT),
        _ => None,
    }
}

pub(super) fn dataflow(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> Dataflow {
    let mut flow = Dataflow::default();
    let info = factory.info(instruction);
    for used in info.used_memory() {
        flow.address.add(number(used.base()));
        flow.address.add(number(used.index()));
    }
    if instruction.mnemonic() == Mnemonic::Lea {
        flow.address = Registers::NONE;
    }
    let moves_stack = instruction.is_stack_instruction() && instruction.mnemonic() != Mnemonic::Leave;
    for used in info.used_registers() {
        let register = used.register();
        if register.is_segment_register() {
            continue;
        }
        let at = number(register);
        let is_address = at.is_some_and(|at| flow.address.contains(at));
        match used.access() {
            OpAccess::Read | OpAccess::CondRead if !is_address => flow.reads.add(at),
            OpAccess::Read | OpAccess::CondRead => {}
            OpAccess::Write => {
                flow.writes.add(at);
                // What is not overwritten of the full register is kept.
                if register.is_gpr8() || register.is_gpr16() {
                    flow.reads.add(at);
                }
            }
            OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                flow.writes.add(at);
                flow.reads.add(at);
            }
            OpAccess::None | OpAccess::NoMemAccess => {}
        }
    }
    // A register can be part of an address and an operand at once.
    for operand in (0..instruction.op_count()).filter(|&n| instruction.op_kind(n) == OpKind::Register) {
        let read = matches!(
            info.op_access(operand),
            OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        if read && !instruction.op_register(operand).is_segment_register() {
            flow.reads.add(number(instruction.op_register(operand)));
        }
    }
    // What is pushed to the x87 stack is not among its operands.
    if instruction.fpu_stack_increment_info().increment() < 0 {
        flow.writes.0 |= 1 << FPU_STACK;
    }
    if merges(instruction) {
        flow.reads.add(number(instruction.op0_register()));
    }
    if moves_stack {
        let stack = Registers(1 << 4);
        let explicit = (0..instruction.op_count()).any(|n| {
            instruction.op_kind(n) == OpKind::Register && number(instruction.op_register(n)) == Some(4)
        });
        if !explicit {
            flow.moves_stack = true;
            flow.reads.0 &= !stack.0;
            flow.writes.0 &= !stack.0;
        }
    }
    flags(instruction, &mut flow);
    flow
}

/// Whether a scalar operation keeps the upper part of its destination without naming it as a source.
pub(crate) fn merges(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    instruction.encoding() == EncodingKind::Legacy
        && matches!(
            instruction.mnemonic(),
            Cvtsi2ss | Cvtsi2sd | Cvtss2sd | Cvtsd2ss | Sqrtss | Sqrtsd | Rcpss | Rsqrtss | Roundss | Roundsd
        )
}

fn flags(instruction: &Instruction, flow: &mut Dataflow) {
    let read = FlagSet::from_library(instruction.rflags_read());
    let written = FlagSet::from_library(instruction.rflags_modified());
    let parts = [(FLAGS[0], FlagSet::CARRY), (FLAGS[1], FlagSet::ALL.without(FlagSet::CARRY))];
    for (at, part) in parts {
        if read.intersects(part) {
            flow.reads.add(Some(at));
        }
        // The auxiliary flag alone is nobody's operand.
        if !written.intersection(part).without(FlagSet::AUXILIARY).is_empty() {
            flow.writes.add(Some(at));
        }
    }
}

/// The register that gets the upper half of a product, if the lower half goes to another.
pub fn upper(instruction: &Instruction) -> Option<u8> {
    match instruction.mnemonic() {
        Mnemonic::Mul | Mnemonic::Imul if instruction.op_count() == 1 => {
            (!matches!(instruction.code(), Code::Mul_rm8 | Code::Imul_rm8)).then_some(UPPER)
        }
        Mnemonic::Mulx => number(instruction.op0_register()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::form;
    use std::vec::Vec;

    fn of(bytes: &[u8]) -> [Vec<u8>; 3] {
        let form = form(bytes, 0).unwrap();
        [form.address, form.reads, form.writes].map(|set| set.iter().collect())
    }

    #[test]
    fn operands_are_sorted_by_what_they_are_for() {
        // add rax,[rbx+rcx]: the address needs no sum
        assert_eq!(of(&[0x48, 0x03, 0x04, 0x0b]), [vec(&[1, 3]), vec(&[0]), vec(&[0, 56, 57])]);
        // mov rax,[rax]
        assert_eq!(of(&[0x48, 0x8b, 0x00]), [vec(&[0]), vec(&[]), vec(&[0])]);
        // add rax,[rax]
        assert_eq!(of(&[0x48, 0x03, 0x00]), [vec(&[0]), vec(&[0]), vec(&[0, 56, 57])]);
        // lea rax,[rbx+rcx]
        assert_eq!(of(&[0x48, 0x8d, 0x04, 0x0b]), [vec(&[]), vec(&[1, 3]), vec(&[0])]);
    }

    #[test]
    fn the_stack_pointer_moves_by_itself() {
        assert_eq!(of(&[0x55]), [vec(&[4]), vec(&[5]), vec(&[])]); // push rbp
        assert_eq!(of(&[0x5d]), [vec(&[4]), vec(&[]), vec(&[5])]); // pop rbp
        assert_eq!(of(&[0xc3]), [vec(&[4]), vec(&[]), vec(&[])]); // ret
        assert_eq!(of(&[0x48, 0x83, 0xec, 8])[2], vec(&[4, 56, 57])); // sub rsp,8
        assert_eq!(of(&[0xc9])[2], vec(&[4, 5])); // leave
    }

    #[test]
    fn parts_are_merged() {
        assert_eq!(of(&[0x88, 0xd8]), [vec(&[]), vec(&[0, 3]), vec(&[0])]); // mov al,bl
        assert_eq!(of(&[0x89, 0xd8]), [vec(&[]), vec(&[3]), vec(&[0])]); // mov eax,ebx
        assert_eq!(of(&[0xf2, 0x0f, 0x2a, 0xc1])[1], vec(&[1, 16])); // cvtsi2sd xmm0,ecx
    }

    #[test]
    fn flags_are_two_registers() {
        assert_eq!(of(&[0x48, 0xff, 0xc0])[2], vec(&[0, 57])); // inc rax
        assert_eq!(of(&[0x72, 0x00])[1], vec(&[56])); // jb
        assert_eq!(of(&[0x76, 0x00])[1], vec(&[56, 57])); // jbe
    }

    fn vec(numbers: &[u8]) -> Vec<u8> {
        numbers.to_vec()
    }
}
