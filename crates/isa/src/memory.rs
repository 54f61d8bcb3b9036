//! Which memory an instruction accesses, and how the addresses follow from registers.
//!
//! The in-target runtime records what of an address is known only when the instruction is executed; who reads
//! the record finds with the same description what is in it.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, InstructionInfoOptions, MemorySize,
    Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};

/// Most accesses that one instruction is described with: `enter` may make more.
pub const MOST: usize = 4;

/// The segment that an address is relative to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segment {
    /// One with a base of 0.
    Flat,
    /// `fs`.
    Fs,
    /// `gs`.
    Gs,
}

/// How often an instruction makes an access, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Once.
    Once,
    /// Once, `al` being the index.
    ByTable,
    /// As often as its prefix has it repeated, from where the register that is the base points before the
    /// instruction to where it points after it.
    Repeated,
    /// Once for each element of a vector of indexes whose element of the mask is set.
    Gathered(Gathered),
}

/// A gather or scatter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gathered {
    /// The vector register with the indexes, by number.
    pub indexes: u8,
    /// Its bytes: 16, 32 or 64.
    pub bytes: u8,
    /// Bytes of an index: 4 or 8.
    pub index_bytes: u8,
    /// Accesses if all are made.
    pub elements: u8,
    /// Logarithm of the scale.
    pub scale: u8,
    /// What selects the elements.
    pub mask: Mask,
}

/// What selects the elements of a gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mask {
    /// The highest bits of the elements of a vector register.
    Vector {
        /// The register by number.
        register: u8,
        /// Its bytes: 16 or 32.
        bytes: u8,
        /// Bytes of an element.
        element: u8,
    },
    /// The bits of a mask register.
    Bits {
        /// The register by number.
        register: u8,
    },
}

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// What the address is relative to.
    pub segment: Segment,
    /// Base register by number.
    pub base: Option<u8>,
    /// Index register by number, and the logarithm of its scale.
    pub index: Option<(u8, u8)>,
    /// Displacement; the address itself if there is no register.
    pub displacement: u64,
    /// Whether only the low 32 bits of the sum count.
    pub narrow: bool,
    /// Bytes of each access; 0 where the processor's state decides (`xsave` and its kin).
    pub size: u16,
    /// It is read.
    pub reads: bool,
    /// It is written. What is neither read nor written is prefetched.
    pub writes: bool,
    /// How often.
    pub extent: Extent,
}

impl Access {
    const NONE: Access = Access {
        segment: Segment::Flat,
        base: None,
        index: None,
        displacement: 0,
        narrow: false,
        size: 0,
        reads: false,
        writes: false,
        extent: Extent::Once,
    };

    /// The address, if the instruction alone says it.
    pub fn fixed(&self) -> Option<u64> {
        let by_register = self.base.is_some() || self.index.is_some() || self.segment != Segment::Flat;
        (!by_register && self.extent == Extent::Once).then_some(self.displacement)
    }

    /// Bytes that are recorded of it: nothing of a fixed address, the address of a plain access, the register
    /// before and after of a repeated one; the address without indexes, the indexes, and the mask of a gather.
    pub fn recorded(&self) -> u32 {
        match self.extent {
            _ if self.fixed().is_some() => 0,
            Extent::Once | Extent::ByTable => 8,
            Extent::Repeated => 16,
            Extent::Gathered(Gathered { bytes, mask: Mask::Vector { bytes: mask, .. }, .. }) => {
                8 + u32::from(bytes) + u32::from(mask)
            }
            Extent::Gathered(Gathered { bytes, mask: Mask::Bits { .. }, .. }) => 8 + u32::from(bytes) + 8,
        }
    }
}

/// Most bytes that are recorded of one instruction.
pub const MOST_RECORDED: u32 = 8 + 64 + 32;

/// The accesses of an instruction, reads of a source before writes of a destination.
#[derive(Clone, Copy, Debug)]
pub struct Accesses {
    all: [Access; MOST],
    count: usize,
}

impl core::ops::Deref for Accesses {
    type Target = [Access];

    fn deref(&self) -> &[Access] {
        &self.all[..self.count]
    }
}

/// The accesses of the instruction at the start of `bytes`, which stands at `address`. Masked ones count as
/// whole; those of `bt` and its kin with an index in a register as if the index were 0.
pub fn accesses(bytes: &[u8], address: u64) -> Accesses {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    let mut accesses = Accesses { all: [Access::NONE; MOST], count: 0 };
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info_options(&instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
    for used in info.used_memory() {
        if let Some(access) = access(&instruction, used).filter(|_| accesses.count < MOST) {
            accesses.all[accesses.count] = access;
            accesses.count += 1;
        }
    }
    if let Some(hint) = prefetched(&instruction) {
        accesses = Accesses { all: [hint; MOST], count: 1 };
    }
    // What is written stands last, as it happens last; the library has the explicit operand first.
    accesses.all[..accesses.count].sort_by_key(|access| !access.reads);
    accesses
}

/// The general-purpose registers that the instruction at the start of `bytes` reads or writes, one bit for
/// each number.
pub fn used_registers(bytes: &[u8]) -> u16 {
    let instruction = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
    let mut factory = InstructionInfoFactory::new();
    let registers = factory.info(&instruction).used_registers().iter();
    registers.fold(0, |used, register| match register.register().full_register() {
        full if full.is_gpr64() => used | 1 << full.number(),
        _ => used,
    })
}

/// What an instruction asks for without using it.
pub(crate) fn prefetched(instruction: &Instruction) -> Option<Access> {
    use Mnemonic::{Prefetch, Prefetchnta, Prefetcht0, Prefetcht1, Prefetcht2, Prefetchw, Prefetchwt1};
    let is_prefetch = matches!(
        instruction.mnemonic(),
        Prefetch | Prefetchnta | Prefetcht0 | Prefetcht1 | Prefetcht2 | Prefetchw | Prefetchwt1
    );
    is_prefetch.then(|| addressed(instruction))
}

/// The memory operand of an instruction that does not access it.
pub(crate) fn addressed(instruction: &Instruction) -> Access {
    let scale = instruction.memory_index_scale().trailing_zeros() as u8;
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    Access {
        segment: segment(instruction.memory_segment()),
        base: number(base),
        index: number(index).map(|number| (number, scale)),
        displacement: instruction.memory_displacement64(),
        narrow: base.is_gpr32() || index.is_gpr32(),
        size: 1,
        ..Access::NONE
    }
}

fn segment(register: Register) -> Segment {
    match register {
        Register::FS => Segment::Fs,
        Register::GS => Segment::Gs,
        _ => Segment::Flat,
    }
}

/// The number of a general-purpose register of an address.
fn number(register: Register) -> Option<u8> {
    let is_general = register.is_gpr64() || register.is_gpr32();
    is_general.then(|| register.full_register().number() as u8)
}

fn access(instruction: &Instruction, used: &UsedMemory) -> Option<Access> {
    let (reads, writes) = match used.access() {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        OpAccess::None | OpAccess::NoMemAccess => return None,
    };
    let scale = used.scale().trailing_zeros() as u8;
    let (base, index) = (used.base(), used.index());
    let mut access = Access {
        segment: segment(used.segment()),
        base: number(base),
        index: number(index).map(|number| (number, scale)),
        displacement: used.displacement(),
        narrow: base.is_gpr32() || index.is_gpr32(),
        size: match used.memory_size() {
            // How often it is repeated decides.
            MemorySize::Unknown if is_string(instruction) => instruction.memory_size().size() as u16,
            size => size.size() as u16,
        },
        reads,
        writes,
        extent: Extent::Once,
    };
    if index.is_vector_register() {
        let gathered = gathered(instruction, used, scale);
        (access.size, access.extent) = (used.memory_size().element_size() as u16, Extent::Gathered(gathered));
    } else if index == Register::AL {
        access.extent = Extent::ByTable;
    } else if is_string(instruction) && (instruction.has_rep_prefix() || instruction.has_repne_prefix()) {
        access.extent = Extent::Repeated;
    }
    Some(access)
}

fn gathered(instruction: &Instruction, used: &UsedMemory, scale: u8) -> Gathered {
    let registers = [instruction.op0_register(), instruction.op1_register()];
    let data = registers.into_iter().find(|r| r.is_vector_register()).unwrap_or(used.index());
    let bytes = used.index().size();
    let index_bytes = used.vsib_size();
    let element = used.memory_size().element_size().max(1);
    let elements = (bytes / index_bytes.max(1) as usize).min(data.size() / element);
    let mask = match instruction.op_mask() {
        Register::None => Mask::Vector {
            register: instruction.op2_register().number() as u8,
            bytes: instruction.op2_register().size() as u8,
            element: element as u8,
        },
        register => Mask::Bits { register: register.number() as u8 },
    };
    Gathered {
        indexes: used.index().number() as u8,
        bytes: bytes as u8,
        index_bytes: index_bytes as u8,
        elements: elements as u8,
        scale,
        mask,
    }
}

fn is_string(instruction: &Instruction) -> bool {
    instruction.is_string_instruction()
        && (0..instruction.op_count())
            .any(|n| !matches!(instruction.op_kind(n), OpKind::Register | OpKind::Memory))
        && instruction.mnemonic() != Mnemonic::Maskmovdqu
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn of(bytes: &[u8]) -> Vec<Access> {
        accesses(bytes, 0x1000).to_vec()
    }

    #[test]
    fn plain_operands() {
        let [load] = of(&[0x41, 0x8b, 0x44, 0xb5, 0xf8])[..] else { panic!() }; // mov eax,[r13+rsi*4-8]
        assert_eq!((load.base, load.index), (Some(13), Some((6, 2))));
        assert_eq!((load.displacement as i64, load.size, load.reads, load.writes), (-8, 4, true, false));
        let [both] = of(&[0x48, 0x83, 0x00, 0x01])[..] else { panic!() }; // add qword [rax],1
        assert!(both.reads && both.writes && both.recorded() == 8);
        let [fixed] = of(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0])[..] else { panic!() }; // mov rax,[rip+16]
        assert_eq!((fixed.fixed(), fixed.recorded()), (Some(0x1017), 0));
        let [local] = of(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0])[..] else { panic!() }; // fs:[0x28]
        assert_eq!((local.segment, local.fixed(), local.displacement), (Segment::Fs, None, 0x28));
        assert!(of(&[0x48, 0x8d, 0x04, 0x13]).is_empty()); // lea
        assert!(of(&[0x0f, 0x1f, 0x40, 0]).is_empty()); // nop [rax]
        let [hint] = of(&[0x0f, 0x18, 0x4c, 0xb5, 0x40])[..] else { panic!() }; // prefetcht0 [rbp+rsi*4+64]
        assert_eq!((hint.base, hint.index, hint.displacement), (Some(5), Some((6, 2)), 64));
        assert!(!hint.reads && !hint.writes && hint.recorded() == 8);
    }

    #[test]
    fn the_stack() {
        let [push] = of(&[0x55])[..] else { panic!() };
        assert_eq!((push.base, push.displacement as i64, push.writes, push.size), (Some(4), -8, true, 8));
        let [ret] = of(&[0xc3])[..] else { panic!() };
        assert_eq!((ret.base, ret.displacement, ret.reads), (Some(4), 0, true));
        let [load, push] = of(&[0xff, 0x53, 0x08])[..] else { panic!() }; // call [rbx+8]
        assert_eq!((load.base, load.reads, push.base, push.writes), (Some(3), true, Some(4), true));
        let [read, write] = of(&[0x8f, 0x44, 0x24, 0x08])[..] else { panic!() }; // pop [rsp+8]
        assert_eq!((read.displacement, write.displacement), (0, 16));
        let [leave] = of(&[0xc9])[..] else { panic!() };
        assert_eq!((leave.base, leave.displacement), (Some(5), 0));
    }

    #[test]
    fn strings() {
        let [from, to] = of(&[0xf3, 0xa4])[..] else { panic!() }; // rep movsb
        assert_eq!((from.base, from.reads, to.base, to.writes), (Some(6), true, Some(7), true));
        assert_eq!(
            (from.extent, to.extent, to.size, to.recorded()),
            (Extent::Repeated, Extent::Repeated, 1, 16)
        );
        let [once] = of(&[0x48, 0xab])[..] else { panic!() }; // stosq
        assert_eq!((once.extent, once.base, once.size), (Extent::Once, Some(7), 8));
        let [double] = of(&[0xf2, 0x0f, 0x10, 0x00])[..] else { panic!() }; // movsd xmm0,[rax]
        assert_eq!((double.extent, double.size), (Extent::Once, 8));
    }

    #[test]
    fn gathers() {
        // vpgatherdd ymm0,[rax+ymm1*4],ymm2
        let [gather] = of(&[0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x88])[..] else { panic!() };
        let mask = Mask::Vector { register: 2, bytes: 32, element: 4 };
        let gathered = Gathered { indexes: 1, bytes: 32, index_bytes: 4, elements: 8, scale: 2, mask };
        assert_eq!((gather.extent, gather.size, gather.base), (Extent::Gathered(gathered), 4, Some(0)));
        assert_eq!(gather.recorded(), 72);
        // vgatherqps xmm0,[rax+ymm1*8],xmm2
        let [gather] = of(&[0xc4, 0xe2, 0x6d, 0x93, 0x04, 0xc8])[..] else { panic!() };
        assert!(matches!(gather.extent, Extent::Gathered(g) if g.elements == 4 && g.index_bytes == 8));
        // vpscatterdd [rax+zmm1*4]{k1},zmm0
        let [scatter] = of(&[0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x04, 0x88])[..] else { panic!() };
        assert!(scatter.writes && matches!(scatter.extent, Extent::Gathered(g) if g.elements == 16));
    }

    #[test]
    fn implicit_registers_are_used() {
        assert_eq!(used_registers(&[0xf3, 0xa4]), 1 << 1 | 1 << 6 | 1 << 7);
        assert_eq!(used_registers(&[0x55]), 1 << 4 | 1 << 5);
        assert_eq!(used_registers(&[0x8a, 0x24, 0x24]), 1 << 0 | 1 << 4); // mov ah,[rsp]
    }
}
