//! What an instruction reads, writes and computes, for following values along a path: conservative in both directions.

mod nature;
mod operand;
mod storages;

pub use operand::{Operand, Operation};
pub use storages::{STACK_POINTER, Storages, storage_name};

use crate::decode::by_library;
use crate::memory::{Access, Accesses, Extent, accesses, addressed};
use crate::stack_change::change;
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

/// How far it is known what an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nature {
    /// It writes what its operands say, and does nothing else: without its results it could as well not be there.
    Pure,
    /// What it reads and writes is known, but it does more than that, or may: it branches, writes the stack pointer, copies it
    /// for whoever looks at the stack, divides, raises exceptions of floating point.
    Fixed,
    /// It is executed for its length, its place or a cache, and has no results.
    Idle,
    /// It may read and write anything: calls, the kernel, atomic operations, fences, all that is not known better.
    Barrier,
}

/// What an instruction does to registers and memory.
#[derive(Clone, Copy, Debug)]
pub struct Effects {
    /// How far that is all.
    pub nature: Nature,
    /// What it may read.
    pub reads: Storages,
    /// What of it addresses of memory are made of.
    pub addresses: Storages,
    /// What of these its results depend on in no other way.
    pub only_in_addresses: Storages,
    /// What of it another register of the same value could take the place of.
    pub replaceable: Storages,
    /// What it may write, wholly or in part.
    pub writes: Storages,
    /// What it surely overwrites as a whole.
    pub overwrites: Storages,
    /// Its accesses to memory, those on the stack included.
    pub accesses: Accesses,
    /// Its operands, in their order.
    pub operands: [Option<Operand>; 5],
    /// What it computes of them.
    pub operation: Operation,
    /// The address that it computes without an access to it: `lea`.
    pub computed: Option<Access>,
    /// A memory operand without registers is relative to the program counter.
    pub is_relative: bool,
    /// The decoder's number of the encoding: equal numbers compute the same of equal operands.
    pub encoding: u16,
    /// What it adds to the stack pointer, if it moves that by a constant.
    pub stack_change: Option<i64>,
    /// It sets a register to zero by an operation that makes it depend on nothing.
    pub is_idiom: bool,
    /// It waits for the register that it overwrites, on some processors.
    pub waits_for_result: bool,
}

/// Whether where an access goes is known from the registers, and that it is made.
pub fn is_plain(access: &Access) -> bool {
    access.extent == Extent::Once && !access.narrow && access.size > 0
}

/// The effects of the instruction at the start of `bytes`, which stands at `address`. Bytes that are none may do anything.
pub fn effects(bytes: &[u8], address: u64) -> Effects {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    let is_idiom = crate::form::is_idiom(&instruction);
    let mut effects = Effects {
        nature: nature::nature(&instruction),
        reads: Storages::NONE,
        addresses: Storages::NONE,
        only_in_addresses: Storages::NONE,
        replaceable: Storages::NONE,
        writes: Storages::NONE,
        overwrites: Storages::NONE,
        accesses: accesses(bytes, address),
        operands: operand::operands(&instruction),
        operation: operand::operation(&instruction, is_idiom),
        computed: (instruction.mnemonic() == Mnemonic::Lea).then(|| addressed(&instruction)),
        is_relative: instruction.is_ip_rel_memory_operand(),
        encoding: instruction.code() as u16,
        stack_change: change(&instruction).filter(|&change| change != 0),
        is_idiom,
        waits_for_result: nature::waits_for_result(&instruction),
    };
    if !instruction.is_invalid() {
        registers(&instruction, &mut effects);
        flags(&instruction, bytes, &mut effects);
        stack(&instruction, &mut effects);
    }
    // What lies beyond the stack pointer is a signal handler's: wherever it points to, and for however long, matters.
    if effects.nature == Nature::Pure && effects.writes.contains(STACK_POINTER) {
        effects.nature = Nature::Fixed;
    }
    if effects.nature == Nature::Barrier {
        (effects.reads, effects.writes) = (Storages::ALL, Storages::ALL);
        (effects.replaceable, effects.overwrites) = (Storages::NONE, Storages::NONE);
        effects.operation = Operation::Other;
    }
    effects
}

fn registers(instruction: &Instruction, effects: &mut Effects) {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    for used in info.used_memory() {
        let parts = Storages::of(used.base()).union(Storages::of(used.index()));
        effects.addresses = effects.addresses.union(parts);
    }
    let mut explicit =
        Storages::of(instruction.memory_base()).union(Storages::of(instruction.memory_index()));
    let mut fixed = Storages::NONE;
    for n in (0..instruction.op_count()).filter(|&n| instruction.op_kind(n) == OpKind::Register) {
        let own = Storages::of(instruction.op_register(n));
        match info.op_access(n) {
            OpAccess::Read if is_any_register(instruction, n) => explicit = explicit.union(own),
            OpAccess::Write => {}
            _ => fixed = fixed.union(own),
        }
    }
    for used in info.used_registers().iter().filter(|used| !used.register().is_segment_register()) {
        let (register, own) = (used.register(), Storages::of(used.register()));
        match used.access() {
            OpAccess::Read | OpAccess::CondRead => effects.reads = effects.reads.union(own),
            OpAccess::Write => {
                effects.writes = effects.writes.union(own);
                let is_whole = register.is_gpr64() || register.is_vector_register() || register.is_k();
                if is_whole || register.is_gpr32() {
                    effects.overwrites = effects.overwrites.union(own);
                }
            }
            OpAccess::ReadWrite => {
                effects.reads = effects.reads.union(own);
                effects.writes = effects.writes.union(own);
                if register.is_gpr64() || register.is_gpr32() || register.is_xmm() {
                    effects.overwrites = effects.overwrites.union(own);
                }
                fixed = fixed.union(own);
            }
            OpAccess::CondWrite | OpAccess::ReadCondWrite => {
                effects.reads = effects.reads.union(own);
                effects.writes = effects.writes.union(own);
                fixed = fixed.union(own);
            }
            OpAccess::None | OpAccess::NoMemAccess => {}
        }
    }
    effects.only_in_addresses = effects.addresses.without(read_as_values(instruction));
    if crate::form::merges(instruction) {
        let merged = Storages::of(instruction.op0_register());
        effects.reads = effects.reads.union(merged);
        fixed = fixed.union(merged);
    }
    effects.replaceable = explicit.without(fixed);
}

/// Registers that are read also if no address of an operand is made of them.
fn read_as_values(instruction: &Instruction) -> Storages {
    let mut elsewhere = *instruction;
    elsewhere.set_memory_base(Register::None);
    elsewhere.set_memory_index(Register::None);
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(&elsewhere).used_registers().iter();
    let read = used.filter(|used| used.access() != OpAccess::Write);
    read.fold(Storages::NONE, |read, used| read.union(Storages::of(used.register())))
}

/// Whether any register could be this operand: the count of a shift is always in `cl`, and only four have a second byte.
fn is_any_register(instruction: &Instruction, operand: u32) -> bool {
    use Mnemonic::*;
    let is_shift =
        matches!(instruction.mnemonic(), Shl | Sal | Shr | Sar | Rol | Ror | Rcl | Rcr | Shld | Shrd);
    let is_high = matches!(operand::operands(instruction)[operand as usize], Some(Operand::HighByte { .. }));
    !(is_high || is_shift && operand + 1 == instruction.op_count())
}

fn flags(instruction: &Instruction, bytes: &[u8], effects: &mut Effects) {
    let set = |bits| Storages::of_flags(crate::FlagSet::from_library(bits));
    effects.reads = effects.reads.union(set(instruction.rflags_read()));
    effects.writes = effects.writes.union(set(instruction.rflags_modified()));
    if let Ok(decoded) = by_library(bytes, instruction.ip()) {
        effects.overwrites = effects.overwrites.union(Storages::of_flags(decoded.flags_written));
    }
}

fn stack(instruction: &Instruction, effects: &mut Effects) {
    // What only moves the stack pointer is known by how far.
    if instruction.is_stack_instruction() && effects.stack_change.is_some() {
        let pointer = Storages::one(STACK_POINTER);
        effects.reads = effects.reads.union(pointer);
        effects.writes = effects.writes.union(pointer);
        effects.overwrites = effects.overwrites.union(pointer);
    }
    let first = effects.operands[0];
    if effects.stack_change.map(i64::abs) != Some(8) {
        return;
    }
    match instruction.mnemonic() {
        Mnemonic::Push if first != Some(Operand::Memory) => {
            effects.operands = [Some(Operand::Memory), first, None, None, None];
            effects.operation = Operation::Move { bytes: 8 };
        }
        Mnemonic::Pop if first != Some(Operand::Memory) => {
            effects.operands = [first, Some(Operand::Memory), None, None, None];
            effects.operation = Operation::Move { bytes: 8 };
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
