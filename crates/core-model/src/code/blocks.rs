//! Static instructions, block by block, as they turn up in streams.

use super::recipe::{MemoryUops, Recipes};
use super::{NO_REGISTER, Repeats, Static, Uop};
use crate::predict::Branch;
use crate::processor::{Processor, ProcessorError, Rename};
use timewise_isa::form::FPU_STACK;
use timewise_isa::memory::accesses;
use timewise_isa::{Class, Control, Form, MAX_LENGTH, Order, Registers, boundaries, form};
use timewise_trace::Numbers;

/// Which instruction of which block a static instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The process image, as chunks of streams name it.
    pub image: u64,
    /// The block's number in it.
    pub block: u32,
    /// The instruction's position in the block.
    pub position: u16,
    /// Bytes from the block's first to the instruction's.
    pub offset: u32,
}

/// Static instructions, numbered as they turn up. One that is part of several blocks has several numbers.
#[derive(Debug)]
pub struct Code {
    recipes: Recipes,
    rename: Rename,
    /// Bytes of a vector in an entry.
    vector_bytes: u8,
    statics: Vec<Static>,
    uops: Vec<Uop>,
    origins: Vec<Origin>,
    /// Addresses of which somebody wants to know all numbers.
    watched: Vec<(u64, Numbers)>,
}

impl Code {
    /// No code yet, for a processor.
    ///
    /// # Errors
    /// If the processor's record names what is not there.
    pub fn new(processor: &Processor) -> Result<Code, ProcessorError> {
        Ok(Code {
            recipes: Recipes::new(processor).map_err(ProcessorError::Senseless)?,
            rename: processor.rename.clone(),
            vector_bytes: processor.backend.entry_bytes().unwrap_or(u8::MAX),
            statics: Vec::new(),
            uops: Vec::new(),
            origins: Vec::new(),
            watched: Vec::new(),
        })
    }

    /// Tells all numbers that the instruction at this address gets from here on.
    pub fn watch(&mut self, address: u64, numbers: Numbers) {
        self.watched.push((address, numbers));
    }

    /// The µops that access memory.
    pub fn memory_uops(&self) -> MemoryUops {
        self.recipes.memory
    }

    /// What a µop may become when it is given to a scheduler; nothing if there is no choice.
    #[inline]
    pub fn shares(&self, uop: Uop) -> &[Uop] {
        self.recipes.shares(uop)
    }

    /// An instruction by number.
    #[inline]
    pub fn get(&self, number: u32) -> &Static {
        &self.statics[number as usize]
    }

    /// The µops that compute of an instruction.
    #[inline]
    pub fn uops(&self, of: &Static) -> &[Uop] {
        let first = of.first_uop as usize;
        &self.uops[first..first + usize::from(of.uops)]
    }

    /// Where an instruction is from.
    pub fn origin(&self, number: u32) -> Origin {
        self.origins[number as usize]
    }

    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.statics.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.statics.is_empty()
    }

    /// Adds the instructions of a block whose code stands at `address`; gives the number of its first.
    pub fn add(&mut self, image: u64, block: u32, code: &[u8], address: u64) -> u32 {
        let first = self.statics.len() as u32;
        let mut at = 0;
        let (mut may_fuse, mut room) = (false, 0);
        for (position, (length, control)) in boundaries(code, address).enumerate() {
            let bytes = &code[at..(at + MAX_LENGTH).min(code.len())];
            let place = address + at as u64;
            let Some(form) = form(bytes, place) else { break };
            let mut new = self.instruction(&form, bytes, (place, length), control);
            if may_fuse && new.branch == Branch::Conditional {
                self.fuse(&mut new);
            }
            new.is_fused_nop = form.class == Class::Nop && length <= room;
            if new.is_fused_nop {
                new.entries = 0;
            }
            room = self.room_for_nop(&new);
            let is_comparison = !new.allocates[0];
            may_fuse =
                self.rename.fuses_branches && form.fuses && (is_comparison || self.rename.fuses_computations);
            let number = self.statics.len() as u32;
            let watched = self.watched.iter().filter(|(address, _)| *address == place);
            watched.for_each(|(_, numbers)| numbers.add(number));
            self.statics.push(new);
            self.origins.push(Origin { image, block, position: position as u16, offset: at as u32 });
            at += usize::from(length);
        }
        first
    }

    /// Fuses a conditional branch with the instruction before it, which then goes where branches go.
    fn fuse(&mut self, branch: &mut Static) {
        let before = self.statics.last_mut().expect("a branch is fused with the instruction before it");
        branch.entries = 0;
        // One that needs no execution leaves that to the branch.
        if before.uops == 1 {
            before.first_uop = branch.first_uop;
            (branch.uops, branch.latency) = (0, 0);
        }
    }

    /// Bytes that a `nop` behind an instruction may have to be fused with it.
    fn room_for_nop(&self, before: &Static) -> u8 {
        let is_plain = before.entries == 1
            && before.branch == Branch::None
            && before.order == Order::Free
            && before.repeats.is_none()
            && !before.is_vector;
        self.rename.fuses_nops.filter(|_| is_plain).map_or(0, |most| most.saturating_sub(before.length))
    }

    fn instruction(
        &mut self,
        form: &Form,
        bytes: &[u8],
        (address, length): (u64, u8),
        control: Control,
    ) -> Static {
        let accessed = accesses(bytes, address);
        // What only asks for a line takes what a load does.
        let loads = accessed.iter().filter(|access| access.reads || !access.writes).count();
        let stores = accessed.iter().filter(|access| access.writes).count();
        let removed = self.rename.removes_copies && form.is_copy
            || self.rename.removes_zeroing
                && form.is_idiom
                && (self.rename.removes_legacy_zeroing || form.vector_bytes == 0 || !form.keeps_upper)
            || self.rename.removes_increments && form.is_increment;
        let recipe = match removed {
            true => Default::default(),
            false => self.recipes.of(form, [loads, stores]),
        };
        let memory = match (self.rename.fuses_memory, recipe.entries, loads > 0, stores > 0) {
            (true, _, true, true) => self.rename.update_entries.saturating_sub(recipe.entries.min(1)),
            (true, 0, true, _) | (true, 0, _, true) => 1,
            (true, ..) => 0,
            (false, ..) => (loads + stores).min(16) as u8,
        };
        let first_uop = self.uops.len() as u32;
        self.uops.extend_from_slice(&recipe.uops);
        let reads = match recipe.waits_for_destination {
            true => form.reads.union(form.writes),
            false => form.reads,
        };
        let writes =
            |range: std::ops::Range<u8>| form.writes.iter().any(|register| range.contains(&register));
        Static {
            address,
            length,
            entries: (recipe.entries + memory).max(form.vector_bytes.div_ceil(self.vector_bytes)).max(1),
            is_fused_nop: false,
            branch: branch(control),
            target: target(control),
            order: form.order,
            first_uop,
            uops: recipe.uops.len() as u8,
            latency: recipe.latency,
            upper: match recipe.upper_extra {
                0 => (NO_REGISTER, 0),
                extra => (form.upper.unwrap_or(NO_REGISTER), extra),
            },
            address_registers: numbers(form.address),
            reads: numbers(reads),
            writes: numbers(form.writes),
            repeats: repeats(form, [loads, stores]),
            is_vector: form.vector_bytes > 0,
            allocates: [writes(0..16), writes(16..48)],
            moves_stack: form.moves_stack,
            stack_top: form.stack_top,
            passes_registers: form.passes_registers,
            evicts: form.class == Class::Evict,
            has_complex_address: form.has_three_parts || form.is_scaled,
            computes_stack: form.computes_stack,
            replaces_stack: form.replaces_stack,
            leaves_frame: form.leaves_frame,
        }
    }
}

fn branch(control: Control) -> Branch {
    match control {
        Control::Next | Control::SystemCall | Control::Unsupported => Branch::None,
        Control::Jump { .. } => Branch::Jump,
        Control::Branch { .. } | Control::CountBranch { .. } | Control::Transaction { .. } => {
            Branch::Conditional
        }
        Control::Call { .. } => Branch::Call,
        Control::IndirectJump => Branch::IndirectJump,
        Control::IndirectCall => Branch::IndirectCall,
        Control::Return { .. } => Branch::Return,
    }
}

/// Where a direct branch goes; 0 for what is none.
fn target(control: Control) -> u64 {
    match control {
        Control::Jump { target }
        | Control::Branch { target, .. }
        | Control::CountBranch { target }
        | Control::Transaction { target }
        | Control::Call { target } => target,
        _ => 0,
    }
}

fn repeats(form: &Form, accesses: [usize; 2]) -> Option<Repeats> {
    let kind = match accesses {
        [0, _] => Repeats::Stores,
        [2, 0] => Repeats::Compares,
        [_, 0] => Repeats::Searches,
        _ => Repeats::Moves,
    };
    (form.class == Class::Repeated).then_some(kind)
}

/// The numbers of registers; those beyond what there is room for are left out.
fn numbers<const N: usize>(registers: Registers) -> [u8; N] {
    let mut numbers = [NO_REGISTER; N];
    numbers.iter_mut().zip(registers.iter()).for_each(|(number, register)| *number = register);
    numbers
}

/// The place of an x87 register, given where the top of the stack is; other registers stay where they are.
#[inline]
pub(crate) fn rotated(register: u8, top: u8) -> u8 {
    match register.wrapping_sub(FPU_STACK) {
        position @ 0..8 => FPU_STACK + ((position + top) & 7),
        _ => register,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, bytes: &[u8]) -> Code {
        let mut code = Code::new(&Processor::named(name).unwrap()).unwrap();
        code.add(0, 0, bytes, 0x1000);
        code
    }

    #[test]
    fn a_loop_in_detail() {
        // add rax,[rbx]; mov [rcx],rax; cmp rcx,rdx; jne -12
        let bytes = [0x48, 0x03, 0x03, 0x48, 0x89, 0x01, 0x48, 0x39, 0xd1, 0x75, 0xf5];
        let code = code("zen-4", &bytes);
        let of = |number| {
            let one = code.get(number);
            (one.entries, one.uops, one.latency)
        };
        assert_eq!([0, 1, 2, 3].map(of), [(1, 1, 1), (1, 0, 0), (1, 1, 1), (0, 0, 0)]);
        assert_eq!(code.get(0).address_registers, [3, NO_REGISTER, NO_REGISTER]);
        assert_eq!(code.get(0).reads[..2], [0, NO_REGISTER]);
        // The comparison goes where branches go: to two ports, not to four.
        assert_eq!(code.uops(code.get(2))[0].ports.count_ones(), 2);
        assert_eq!(code.origin(3), Origin { image: 0, block: 0, position: 3, offset: 9 });
    }

    #[test]
    fn a_plain_core_has_an_entry_for_every_uop() {
        // add rax,[rbx]; mov [rcx],rax; cmp rcx,rdx; jne -12; push rax
        let bytes = [0x48, 0x03, 0x03, 0x48, 0x89, 0x01, 0x48, 0x39, 0xd1, 0x75, 0xf5, 0x50];
        let code = code("boom-4w-tip", &bytes);
        assert_eq!([0, 1, 2, 3].map(|number| code.get(number).entries), [2, 1, 1, 1]);
        assert!(code.get(4).moves_stack, "the stack pointer is computed");
    }

    #[test]
    fn what_is_removed_has_no_uops() {
        // xor eax,eax; mov rcx,rax; nop; add rax,rcx
        let bytes = [0x31, 0xc0, 0x48, 0x89, 0xc1, 0x90, 0x48, 0x01, 0xc8];
        let code = code("zen-4", &bytes);
        let of = |number| (code.get(number).entries, code.get(number).uops);
        // The nop is fused with the copy.
        assert_eq!([0, 1, 2, 3].map(of), [(1, 0), (1, 0), (0, 0), (1, 1)]);
        assert_eq!(code.get(1).reads[0], 0);
    }

    #[test]
    fn nops_are_fused_with_what_is_before_them() {
        // mov ecx,ebx; nop; nop; nop; vaddps xmm2,xmm1,xmm0; nop; nop of 9 bytes; nop of 8; jmp
        let mut bytes = vec![0x89, 0xd9, 0x90, 0x90, 0x90, 0xc5, 0xf0, 0x58, 0xd0, 0x90];
        bytes.extend([0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xeb, 0]);
        let fused = |name| {
            let code = code(name, &bytes);
            (0..code.len() as u32).filter(|number| code.get(*number).is_fused_nop).collect::<Vec<_>>()
        };
        assert_eq!(fused("zen-4"), [1, 3, 6]);
        assert!(fused("zen-5").is_empty());
    }

    #[test]
    fn what_asks_for_a_line_is_no_nop() {
        // mov ecx,ebx; prefetcht0 [rax]
        let code = code("zen-4", &[0x89, 0xd9, 0x0f, 0x18, 0x08]);
        assert!(!code.get(1).is_fused_nop && code.get(1).entries == 1);
    }

    #[test]
    fn the_x87_stack_turns() {
        assert_eq!(rotated(FPU_STACK + 1, 7), FPU_STACK);
        assert_eq!(rotated(5, 7), 5);
    }
}
