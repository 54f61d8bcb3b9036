//! What instructions work on: registers and flags of a thread, and its memory.

use iced_x86::Register;

/// What evaluation knows of a thread, besides its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// General registers, by their number in the encoding: `rax`, `rcx`, `rdx`, `rbx`, `rsp`, `rbp`, `rsi`,
    /// `rdi`, `r8` to `r15`.
    pub general: [u64; 16],
    /// The flags register.
    pub flags: u64,
    /// Those flags that the manuals leave undefined after what was evaluated: nothing may depend on them.
    pub undefined_flags: u64,
    /// Bases of the segments `fs` and `gs`, where they are known.
    pub segment_bases: [Option<u64>; 2],
}

/// The program's memory, as what is evaluated sees it. What is written is never seen by the program.
pub trait Memory {
    /// Fills `bytes` with what is at `address`: false, and nothing filled, if not all of it is known.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> bool;
    /// Notes what is written: false, and nothing noted, if that is not possible.
    fn write(&mut self, address: u64, bytes: &[u8]) -> bool;
}

/// Carry flag.
pub const CARRY: u64 = 1;
/// Parity flag.
pub const PARITY: u64 = 1 << 2;
/// Auxiliary flag.
pub const AUXILIARY: u64 = 1 << 4;
/// Zero flag.
pub const ZERO: u64 = 1 << 6;
/// Sign flag.
pub const SIGN: u64 = 1 << 7;
/// Direction flag.
pub const DIRECTION: u64 = 1 << 10;
/// Overflow flag.
pub const OVERFLOW: u64 = 1 << 11;
/// All flags that arithmetic writes.
pub const ARITHMETIC: u64 = CARRY | PARITY | AUXILIARY | ZERO | SIGN | OVERFLOW;

/// A part of a general register.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Which register.
    number: usize,
    /// Bytes.
    pub size: usize,
    /// Bits below it.
    shift: u32,
}

/// The part of a general register that a name means.
pub(super) fn part(register: Register) -> Option<Part> {
    let from = |first: Register| (register as usize).checked_sub(first as usize);
    let whole = |size, first| Some(Part { number: from(first)?, size, shift: 0 });
    match register {
        _ if register > Register::R15 || register < Register::AL => None,
        _ if register >= Register::RAX => whole(8, Register::RAX),
        _ if register >= Register::EAX => whole(4, Register::EAX),
        _ if register >= Register::AX => whole(2, Register::AX),
        // Those with numbers that a prefix makes different.
        _ if register >= Register::SPL => Some(Part { number: from(Register::SPL)? + 4, size: 1, shift: 0 }),
        _ if register >= Register::AH => Some(Part { number: from(Register::AH)?, size: 1, shift: 8 }),
        _ => whole(1, Register::AL),
    }
}

impl State {
    /// The value of a general register or of a part of one.
    pub(super) fn register(&self, register: Register) -> Option<u64> {
        let part = part(register)?;
        Some(self.general[part.number] >> part.shift & mask(part.size))
    }

    /// Sets it. Writing 32 bits clears the upper half, as the processor does.
    pub(super) fn set_register(&mut self, part: Part, value: u64) {
        let register = &mut self.general[part.number];
        *register = match part.size {
            4 | 8 => value & mask(part.size),
            size => *register & !(mask(size) << part.shift) | (value & mask(size)) << part.shift,
        };
    }

    /// Sets flags: those in `written` to what they are in `values`; those in `undefined` are known no more.
    pub(super) fn set_flags(&mut self, written: u64, values: u64, undefined: u64) {
        self.flags = self.flags & !written | values & written;
        self.undefined_flags = self.undefined_flags & !written | undefined;
    }

    /// Whether all of these flags are known.
    pub(super) fn knows(&self, flags: u64) -> bool {
        self.undefined_flags & flags == 0
    }
}

/// The bits of a value of so many bytes.
pub(super) fn mask(size: usize) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 }
}

/// A value of so many bytes with its sign carried on.
pub(super) fn extended(value: u64, size: usize) -> u64 {
    let unused = 64 - 8 * size.min(8) as u32;
    ((value << unused) as i64 >> unused) as u64
}
