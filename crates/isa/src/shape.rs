//! What an instruction is, apart from where it stands: to tell whether two builds of a program hold the same
//! instruction.
//!
//! Targets of branches and displacements from the program counter change whenever code moves, so they are no
//! part of it.

use crate::hash::StableHash;
use crate::operands::in_memory;
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};

/// An instruction without addresses, as two hashes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Equal where the operation and the kinds of its operands are: registers, memory operands and constants
    /// may be others.
    pub loose: u64,
    /// Equal where registers, memory operands and constants are the same too.
    pub exact: u64,
}

/// The shape of the instruction at the start of `code`; bytes that are none have the shape of no instruction.
pub fn shape(code: &[u8]) -> Shape {
    let instruction = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
    let mut loose = StableHash::EMPTY;
    add_word(&mut loose, instruction.mnemonic() as u64);
    let prefixes =
        [instruction.has_rep_prefix(), instruction.has_repne_prefix(), instruction.has_lock_prefix()];
    prefixes.into_iter().for_each(|prefix| add_word(&mut loose, prefix.into()));
    for operand in 0..instruction.op_count() {
        add_word(&mut loose, kind(&instruction, operand));
    }
    let mut exact = loose;
    for operand in 0..instruction.op_count() {
        match instruction.op_kind(operand) {
            OpKind::Register => add_word(&mut exact, instruction.op_register(operand) as u64),
            kind if is_branch(kind) => {}
            kind if in_memory(kind) => add_memory(&mut exact, &instruction),
            _ => add_word(&mut exact, instruction.try_immediate(operand).unwrap_or_default()),
        }
    }
    Shape { loose: loose.value(), exact: exact.value() }
}

/// The kind of an operand: the size of a register or of what lies in memory, or that it is a constant.
fn kind(instruction: &Instruction, operand: u32) -> u64 {
    const CONSTANT: u64 = 1 << 20;
    const TARGET: u64 = 2 << 20;
    const MEMORY: u64 = 3 << 20;
    match instruction.op_kind(operand) {
        OpKind::Register => instruction.op_register(operand).size() as u64,
        kind if is_branch(kind) => TARGET,
        kind if in_memory(kind) => MEMORY | instruction.memory_size() as u64,
        _ => CONSTANT,
    }
}

fn is_branch(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::NearBranch16
            | OpKind::NearBranch32
            | OpKind::NearBranch64
            | OpKind::FarBranch16
            | OpKind::FarBranch32
    )
}

fn add_memory(hash: &mut StableHash, instruction: &Instruction) {
    add_word(hash, instruction.memory_segment() as u64);
    add_word(hash, instruction.memory_base() as u64);
    add_word(hash, instruction.memory_index() as u64);
    add_word(hash, instruction.memory_index_scale().into());
    if !instruction.is_ip_rel_memory_operand() {
        add_word(hash, instruction.memory_displacement64());
    }
}

fn add_word(hash: &mut StableHash, word: u64) {
    hash.add(&word.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_no_part_of_an_instruction() {
        assert_eq!(shape(&[0x75, 0x10]), shape(&[0x0f, 0x85, 0x10, 1, 0, 0])); // jne, short and near
        assert_ne!(shape(&[0x75, 0x10]).loose, shape(&[0x74, 0x10]).loose); // jne, je
        assert_eq!(shape(&[0xe8, 1, 0, 0, 0]), shape(&[0xe8, 2, 0, 0, 0])); // call
        // mov rax,[rip+0x10]; mov rax,[rip+0x20]
        assert_eq!(shape(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0]), shape(&[0x48, 0x8b, 0x05, 0x20, 0, 0, 0]));
    }

    #[test]
    fn registers_and_constants_are_its_details() {
        let (one, other) = (shape(&[0x48, 0x01, 0xc8]), shape(&[0x48, 0x01, 0xd8])); // add rax,rcx; add rax,rbx
        assert_eq!(one.loose, other.loose);
        assert_ne!(one.exact, other.exact);
        assert_ne!(one.loose, shape(&[0x01, 0xc8]).loose); // add eax,ecx
        let (one, other) = (shape(&[0x83, 0xc0, 1]), shape(&[0x83, 0xc0, 2])); // add eax,1; add eax,2
        assert_eq!(one.loose, other.loose);
        assert_ne!(one.exact, other.exact);
        let (one, other) = (shape(&[0x8b, 0x42, 8]), shape(&[0x8b, 0x42, 16])); // mov eax,[rdx+8]; [rdx+16]
        assert_eq!(one.loose, other.loose);
        assert_ne!(one.exact, other.exact);
        assert_ne!(one.loose, shape(&[0x48, 0x8b, 0x42, 8]).loose); // mov rax,[rdx+8]
    }

    #[test]
    fn bytes_that_are_no_instruction_have_a_shape() {
        assert_eq!(shape(&[0x06]), shape(&[]));
    }
}
