//! Operands in memory of what is added at calls, as machine code names them.

use crate::emit::{Borrowed, Code};
use timewise_abi::thread::COUNTERS;

/// Number of `rsp`, which as an index means none, and as a base needs the byte that names an index.
const STACK: u8 = 4;

/// Number of `rbp`, which as a base without a distance means none.
const NO_BASE: u8 = 5;

/// The thread area's segment.
const GS: u8 = 0x65;

/// Where an operand lies.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    in_thread_area: bool,
    base: Option<u8>,
    index: Option<u8>,
    distance: i32,
}

impl Memory {
    /// `gs:[offset]`.
    pub fn thread(offset: u32) -> Memory {
        Memory { in_thread_area: true, base: None, index: None, distance: offset as i32 }
    }

    /// `gs:[counter]`, a counter's distance from the first.
    pub fn counter(counter: Borrowed) -> Memory {
        Memory { in_thread_area: true, base: Some(counter as u8), index: None, distance: COUNTERS as i32 }
    }

    /// `[base+distance]`.
    pub fn at(base: Borrowed, distance: impl Into<i32>) -> Memory {
        let distance = distance.into();
        Memory { in_thread_area: false, base: Some(base as u8), index: None, distance }
    }

    /// `[rsp+distance]`.
    pub fn stack(distance: i32) -> Memory {
        Memory { in_thread_area: false, base: Some(STACK), index: None, distance }
    }

    /// `[base+index+distance]`, with the base by its number.
    pub fn sum(base: u8, index: Borrowed, distance: i32) -> Memory {
        Memory { in_thread_area: false, base: Some(base), index: Some(index as u8), distance }
    }
}

impl Code {
    /// An instruction of 64 bits with an operand in memory, and a register or what belongs to the opcode.
    pub fn word(&mut self, opcode: u8, register: u8, memory: Memory) {
        self.instruction(0x48, opcode, register, memory);
    }

    /// The same of 32 bits.
    pub fn half(&mut self, opcode: u8, register: u8, memory: Memory) {
        self.instruction(0x40, opcode, register, memory);
    }

    fn instruction(&mut self, prefix: u8, opcode: u8, register: u8, memory: Memory) {
        let Memory { in_thread_area, base, index, distance } = memory;
        let high = |number: Option<u8>| number.map_or(0, |number| number >> 3);
        let low = |number: Option<u8>, none: u8| number.map_or(none, |number| number & 7);
        let prefix = prefix | (register >> 3) << 2 | high(index) << 1 | high(base);
        // At once, as there are very many.
        match (in_thread_area, prefix) {
            (true, 0x40) => self.raw(&[GS, opcode]),
            (true, _) => self.raw(&[GS, prefix, opcode]),
            (false, 0x40) => self.raw(&[opcode]),
            (false, _) => self.raw(&[prefix, opcode]),
        }
        let short = i8::try_from(distance).ok().filter(|_| base.is_some());
        let form = match (base, short) {
            (None, _) => 0,
            (_, Some(_)) => 0x40,
            _ => 0x80,
        };
        if base.is_none() || index.is_some() || low(base, NO_BASE) == STACK {
            self.raw(&[form | (register & 7) << 3 | 4, low(index, STACK) << 3 | low(base, NO_BASE)]);
        } else {
            self.raw(&[form | (register & 7) << 3 | low(base, NO_BASE)]);
        }
        match short {
            Some(distance) => self.raw(&[distance as u8]),
            None => self.raw32(distance as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::Borrowed::{R11, Rax, Rcx, Rdx};

    #[test]
    fn operands_are_named_as_an_assembler_names_them() {
        let word = |opcode, register: u8, memory| {
            let mut code = Code::at(0);
            code.word(opcode, register, memory);
            code.bytes
        };
        assert_eq!(word(0x89, 11, Memory::at(Rax, 8)), [0x4c, 0x89, 0x58, 0x08]); // mov [rax+8], r11
        assert_eq!(word(0x8b, 0, Memory::at(R11, 8)), [0x49, 0x8b, 0x43, 0x08]); // mov rax, [r11+8]
        assert_eq!(word(0x8d, 1, Memory::at(Rcx, 300)), [0x48, 0x8d, 0x89, 0x2c, 1, 0, 0]); // lea rcx, [rcx+300]
        assert_eq!(word(0x8d, 1, Memory::stack(-8)), [0x48, 0x8d, 0x4c, 0x24, 0xf8]); // lea rcx, [rsp-8]
        assert_eq!(word(0x8d, 2, Memory::sum(2, Rcx, 1)), [0x48, 0x8d, 0x54, 0x0a, 1]); // lea rdx, [rdx+rcx+1]
        assert_eq!(word(0x8d, 1, Memory::sum(0, R11, -7)), [0x4a, 0x8d, 0x4c, 0x18, 0xf9]); // lea rcx, [rax+r11-7]
        // mov r11, gs:[0x28]
        assert_eq!(word(0x8b, 11, Memory::thread(0x28)), [0x65, 0x4c, 0x8b, 0x1c, 0x25, 0x28, 0, 0, 0]);
        let mut code = Code::at(0);
        code.half(0x89, 2, Memory::counter(R11)); // mov gs:[r11+COUNTERS], edx
        assert_eq!(code.bytes[..4], [0x65, 0x41, 0x89, 0x93]);
        assert_eq!(code.bytes[4..], COUNTERS.to_le_bytes());
        code.bytes.clear();
        code.half(0x89, 2, Memory::at(Rdx, 4)); // mov [rdx+4], edx
        assert_eq!(code.bytes, [0x89, 0x52, 0x04]);
    }
}
