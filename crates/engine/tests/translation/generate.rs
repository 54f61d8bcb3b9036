//! Random programs: sequences of instructions, branches, loops, calls and indirect jumps, between a start
//! that gives every register a value and an end that writes all of them, flags and memory out.

use super::assembler::{Assembler, Label, Opcode, Operand};
use super::program::Layout;
use super::random::Random;

/// Bytes of data: what instructions use, and the registers at the end.
pub const DATA: u64 = 4096;

/// Data that instructions use.
const SCRATCH: u32 = 2048;
/// Where jumps keep their target.
const TARGET: u32 = 2048;
const REGISTERS: u32 = 2176;
const VECTORS: u32 = 2560;

/// `rbx` points to the data, `r14` and `r15` count loops.
const FREE: [u8; 12] = [0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/// Registers of 8 bits, with `ah`, `ch` and `dh`, which a REX prefix would turn into others.
const BYTES: [u8; 6] = [0, 1, 2, 4, 5, 6];

/// How often the whole is executed.
const ROUNDS: u64 = 7;

struct Generator {
    random: Random,
    code: Assembler,
    writable: bool,
    vectors: bool,
    /// Functions that are called and not yet written.
    functions: Vec<Label>,
    in_loop: bool,
}

/// The code of the program that `seed` stands for.
pub fn generate(seed: u64, layout: Layout) -> Vec<u8> {
    let mut generator = Generator {
        random: Random::new(seed),
        code: Assembler::new(layout.code, layout.data),
        writable: layout.writable,
        vectors: std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2"),
        functions: Vec::new(),
        in_loop: false,
    };
    generator.start(layout.data);
    let again = generator.code.label();
    generator.code.place(again);
    generator.sequence(60, 3);
    generator.end(again);
    while let Some(function) = generator.functions.pop() {
        generator.code.place(function);
        generator.sequence(6, 0);
        generator.code.raw(&[0xc3]);
    }
    generator.code.finish()
}

fn plain(bytes: &[u8]) -> Opcode<'_> {
    Opcode { prefix: &[], wide: false, bytes }
}

fn wide(bytes: &[u8]) -> Opcode<'_> {
    Opcode { prefix: &[], wide: true, bytes }
}

impl Generator {
    fn start(&mut self, data: u64) {
        self.code.constant(3, data);
        for offset in (0..SCRATCH).step_by(64) {
            let value = self.random.next();
            self.code.constant(0, value);
            self.code.instruction(wide(&[0x89]), 0, Operand::Based(offset), &[]);
        }
        for vector in 0..16 {
            let offset = self.offset();
            self.code.instruction(plain(&[0x0f, 0x10]), vector, Operand::Based(offset), &[]);
        }
        for register in FREE {
            let value = self.random.next();
            self.code.constant(register, value);
        }
        self.code.constant(15, ROUNDS);
        // Of the flags, the arithmetic ones.
        let flags = self.random.next() as u32 & 0x8d5;
        self.code.raw(&[0x68]);
        self.code.raw(&flags.to_le_bytes());
        self.code.raw(&[0x9d]);
    }

    fn end(&mut self, again: Label) {
        self.code.raw(&[0x9c, 0x49, 0xff, 0xcf]); // pushfq; dec r15
        let out = self.code.label();
        self.code.lead_to(&[0x0f, 0x84], out); // jz
        self.code.raw(&[0x9d]);
        self.code.lead_to(&[0xe9], again);
        self.code.place(out);
        self.code.raw(&[0x8f, 0x83]); // pop [rbx+…]: the flags
        self.code.raw(&REGISTERS.to_le_bytes());
        for (register, place) in (0..16).zip((REGISTERS + 8..).step_by(8)) {
            if register != 4 {
                self.code.instruction(wide(&[0x89]), register, Operand::Based(place), &[]);
            }
        }
        for (vector, place) in (0..16).zip((VECTORS..).step_by(32)) {
            match self.vectors {
                true => self.code.vex(1, 0x06, 0x7f, [vector, 0], Operand::Based(place), &[]), // vmovdqu
                false => self.code.instruction(plain(&[0x0f, 0x11]), vector, Operand::Based(place), &[]),
            }
        }
        let write = [0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0, 0x48, 0x89, 0xde, 0xba];
        self.code.raw(&write); // mov eax, 1; mov edi, 1; mov rsi, rbx; mov edx, …
        self.code.raw(&(DATA as u32).to_le_bytes());
        self.code.raw(&[0x0f, 0x05, 0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05]); // syscall; exit(0)
    }

    fn sequence(&mut self, length: u64, depth: u32) {
        for _ in 0..length {
            match self.random.below(12) {
                0 if depth > 0 => self.either(depth - 1),
                1 if depth > 0 => self.function_call(),
                2 if depth > 0 && !self.in_loop => self.counted_loop(depth - 1),
                3 => self.indirect_jump(),
                4 if self.writable => self.patch(),
                5 => self.odd(),
                6 | 7 => self.vector(),
                _ => self.integer(),
            }
        }
    }

    fn register(&mut self) -> u8 {
        self.random.of(&FREE)
    }

    fn offset(&mut self) -> u32 {
        // Vectors are not to be split by the end.
        self.random.below(u64::from(SCRATCH) - 64) as u32
    }

    fn memory(&mut self) -> Operand {
        let offset = self.offset();
        match self.random.below(2) {
            0 => Operand::Based(offset),
            _ => Operand::Relative(offset),
        }
    }

    fn operand(&mut self) -> Operand {
        match self.random.below(2) {
            0 => Operand::Register(self.register()),
            _ => self.memory(),
        }
    }

    /// `if` and `else`, on a random condition.
    fn either(&mut self, depth: u32) {
        let [other, end] = [self.code.label(), self.code.label()];
        let length = self.random.below(4);
        if self.random.below(6) == 0 {
            self.code.raw(&[0xe3, 5]); // jrcxz over the jump
            self.code.lead_to(&[0xe9], other);
        } else {
            let condition = self.random.below(16) as u8;
            self.code.lead_to(&[0x0f, 0x80 | condition], other);
        }
        self.sequence(length, depth);
        self.code.lead_to(&[0xe9], end);
        self.code.place(other);
        self.sequence(length, depth);
        self.code.place(end);
    }

    fn counted_loop(&mut self, depth: u32) {
        let times = 1 + self.random.below(5) as u32;
        self.code.raw(&[0x41, 0xbe]); // mov r14d, times
        self.code.raw(&times.to_le_bytes());
        let again = self.code.label();
        self.code.place(again);
        self.in_loop = true;
        let length = 1 + self.random.below(5);
        self.sequence(length, depth);
        self.in_loop = false;
        self.code.raw(&[0x41, 0xff, 0xce]); // dec r14d
        self.code.lead_to(&[0x0f, 0x85], again);
    }

    fn function_call(&mut self) {
        let function = self.code.label();
        self.functions.push(function);
        match self.random.below(3) {
            0 => self.code.lead_to(&[0xe8], function),
            1 => {
                self.code.lead_to(&[0x48, 0x8d, 0x05], function); // lea rax, [function]
                self.code.raw(&[0xff, 0xd0]);
            }
            _ => {
                self.keep_target(function);
                let target = self.target();
                self.code.instruction(plain(&[0xff]), 2, target, &[]);
            }
        }
    }

    fn indirect_jump(&mut self) {
        let next = self.code.label();
        if self.random.below(2) == 0 {
            self.code.lead_to(&[0x48, 0x8d, 0x0d], next); // lea rcx, [next]
            self.code.raw(&[0x3e, 0xff, 0xe1]); // notrack jmp rcx
        } else {
            self.keep_target(next);
            let target = self.target();
            self.code.instruction(plain(&[0xff]), 4, target, &[]);
        }
        // What is skipped is no instruction.
        self.code.raw(&[0x06]);
        self.code.place(next);
    }

    fn keep_target(&mut self, label: Label) {
        self.code.lead_to(&[0x48, 0x8d, 0x15], label); // lea rdx, [label]
        self.code.instruction(wide(&[0x89]), 2, Operand::Based(TARGET), &[]);
    }

    fn target(&mut self) -> Operand {
        match self.random.below(2) {
            0 => Operand::Based(TARGET),
            _ => Operand::Relative(TARGET),
        }
    }

    /// Code that changes the instruction after it, between addition and subtraction or in a constant.
    fn patch(&mut self) {
        let (place, other) = (self.code.label(), self.register());
        match self.random.below(2) {
            0 => {
                // xor byte [place], 0x28 by way of its address, for the immediate comes last
                self.code.lead_to(&[0x48, 0x8d, 0x05], place); // lea rax, [place]
                self.code.raw(&[0x80, 0x30, 0x28]);
                let register = self.register();
                let rex = 0x48 | (register >> 3) << 2 | other >> 3;
                self.code.raw(&[rex]);
                self.code.place(place);
                self.code.raw(&[0x01, 0xc0 | (register & 7) << 3 | other & 7]);
            }
            _ => {
                self.code.lead_to(&[0x89, 0x05], place); // mov [place], eax
                self.code.raw(&[0x48 | other >> 3, 0xb8 | other & 7]);
                self.code.place(place);
                let value = self.random.next();
                self.code.raw(&value.to_le_bytes());
            }
        }
    }

    fn immediate(&mut self, size: usize) -> Vec<u8> {
        self.random.next().to_le_bytes()[..size].to_vec()
    }

    fn integer(&mut self) {
        let (register, operand) = (self.register(), self.operand());
        let is_wide = self.random.below(2) == 0;
        let half = self.random.below(5) == 0;
        let prefix: &[u8] = if half { &[0x66] } else { &[] };
        let op = |bytes| Opcode { prefix, wide: is_wide, bytes };
        let size = if half && !is_wide { 2 } else { 4 };
        let kind = self.random.below(8) as u8;
        match self.random.below(20) {
            0..=2 => self.code.instruction(op(&[kind << 3 | 1]), register, operand, &[]),
            3 => self.code.instruction(op(&[kind << 3 | 3]), register, operand, &[]),
            4 => {
                let (register, memory) = (self.random.of(&BYTES), self.memory());
                self.code.instruction(plain(&[kind << 3]), register, memory, &[]);
            }
            5 => {
                let immediate = self.immediate(size);
                self.code.instruction(op(&[0x81]), kind, operand, &immediate);
            }
            6 => {
                let immediate = self.immediate(1);
                self.code.instruction(op(&[0x83]), kind, operand, &immediate);
            }
            7 => self.code.instruction(op(&[0x85]), register, operand, &[]), // test
            8 => self.code.instruction(op(&[0x87]), register, operand, &[]), // xchg
            9 => self.code.instruction(op(&[0x8b]), register, operand, &[]), // mov
            10 => {
                let memory = self.memory();
                self.code.instruction(wide(&[0x8d]), register, memory, &[]); // lea
                // Addresses differ with nothing else than the layout, which is the same both times.
            }
            11 => {
                let digit = self.random.of(&[2, 3]); // not, neg
                self.code.instruction(op(&[0xf7]), digit, operand, &[]);
            }
            12 => {
                let digit = self.random.of(&[0, 1]); // inc, dec
                self.code.instruction(op(&[0xff]), digit, operand, &[]);
            }
            13 => {
                let digit = self.random.of(&[0, 1, 2, 3, 4, 5, 7]);
                let immediate = self.immediate(1);
                self.code.instruction(op(&[0xc1]), digit, operand, &immediate);
            }
            14 => {
                let digit = self.random.of(&[0, 1, 2, 3, 4, 5, 7]);
                self.code.instruction(op(&[0xd3]), digit, operand, &[]); // by cl
            }
            15 => self.code.instruction(op(&[0x0f, 0xaf]), register, operand, &[]), // imul
            16 => self.code.instruction(op(&[0x0f, 0x40 | kind]), register, operand, &[]), // cmov
            17 => {
                let memory = self.memory();
                let bytes = [0x0f, 0x90 | kind]; // setcc
                self.code.instruction(plain(&bytes), 0, memory, &[]);
            }
            18 => {
                let bytes: &[u8] = self.random.of(&[&[0x0f, 0xb6], &[0x0f, 0xbf], &[0x0f, 0xbe]]);
                let memory = self.memory();
                self.code.instruction(wide(bytes), register, memory, &[]); // movzx, movsx
            }
            _ => {
                let digit = self.random.of(&[4, 5, 6, 7]); // bt, bts, btr, btc
                let immediate = self.immediate(1);
                self.code.instruction(op(&[0x0f, 0xba]), digit, operand, &immediate);
            }
        }
    }

    /// Instructions with implicit operands and other odd properties.
    fn odd(&mut self) {
        let (register, memory) = (self.register(), self.memory());
        let locked = |bytes| Opcode { prefix: &[0xf0], wide: true, bytes };
        match self.random.below(16) {
            0 => self.code.raw(&[0x9f]),                                              // lahf
            1 => self.code.raw(&[0x9e]),                                              // sahf
            2 => self.code.raw(&[0xf5]),                                              // cmc
            3 => self.code.raw(&[0x48, 0x99]),                                        // cqo
            4 => self.code.instruction(locked(&[0x0f, 0xb1]), register, memory, &[]), // lock cmpxchg
            5 => self.code.instruction(locked(&[0x0f, 0xc1]), register, memory, &[]), // lock xadd
            6 => self.code.instruction(wide(&[0xf7]), 4, memory, &[]),                // mul
            7 => {
                self.code.instruction(wide(&[0xff]), 6, memory, &[]); // push
                self.code.raw(&[0x58]); // pop rax
            }
            8 => self.code.raw(&[0x9c, 0x58, 0x25, 0xd5, 0x08, 0, 0]), // pushfq; pop rax; and eax, …
            9 => self.code.raw(&[0x50, 0x50, 0x5a, 0x5a]),             // push rax twice; pop rdx twice
            10 => self.code.raw(&[0x48, 0x0f, 0xc8]),                  // bswap rax
            11 => {
                let string: &[u8] = self.random.of(&[&[0xf3, 0xa4], &[0xf3, 0x48, 0xab], &[0xf3, 0xa6]]);
                let times = self.random.below(20) as u8;
                // lea rsi, [rbx]; lea rdi, [rbx+512]; mov ecx, times
                self.code.raw(&[0x48, 0x8d, 0x33, 0x48, 0x8d, 0xbb, 0, 2, 0, 0, 0xb9, times, 0, 0, 0]);
                self.code.raw(string);
            }
            12 => {
                let bytes: &[u8] = self.random.of(&[&[0x0f, 0xa5], &[0x0f, 0xad]]);
                self.code.instruction(wide(bytes), register, memory, &[]); // shld, shrd by cl
            }
            13 => {
                let counted = Opcode { prefix: &[0xf3], wide: true, bytes: &[0x0f, 0xb8] }; // popcnt
                self.code.instruction(counted, register, memory, &[]);
            }
            14 if self.vectors => {
                let second = self.register();
                let last = self.random.of(&[0x80, 0x81, 0x82, 0x83]);
                let opcode = if last == 0x80 { 0xf2 } else { 0xf7 }; // andn, shlx, sarx, shrx
                self.code.vex(2, last, opcode, [register, second], memory, &[]);
            }
            15 if self.vectors => {
                let second = self.register();
                self.code.vex(2, 0x83, 0xf5, [register, second], memory, &[]); // pdep
            }
            _ => self.code.raw(&[0xf9]), // stc
        }
    }

    fn vector(&mut self) {
        let [first, second] = [self.random.below(16) as u8, self.random.below(16) as u8];
        let operand = match self.random.below(2) {
            0 => Operand::Register(second),
            _ => self.memory(),
        };
        let packed = |bytes| Opcode { prefix: &[0x66], wide: false, bytes };
        match self.random.below(8) {
            0 | 1 if self.vectors => {
                // vpaddd, vpxor, vpsubq, vpand on 256 bits
                let opcode = self.random.of(&[0xfe, 0xef, 0xfb, 0xdb]);
                self.code.vex(1, 0x05, opcode, [first, second], operand, &[]);
            }
            2 => self.code.instruction(plain(&[0x0f, 0x10]), first, operand, &[]), // movups
            3 => {
                let memory = self.memory();
                self.code.instruction(plain(&[0x0f, 0x11]), first, memory, &[]);
            }
            4 => {
                // ucomisd: sets flags
                let memory = self.memory();
                self.code.instruction(packed(&[0x0f, 0x2e]), first, memory, &[]);
            }
            5 => {
                let bytes: &[u8] = self.random.of(&[&[0x0f, 0xfe], &[0x0f, 0xef], &[0x0f, 0xd4]]);
                self.code.instruction(packed(bytes), first, Operand::Register(second), &[]);
            }
            6 => {
                let register = self.register();
                self.code.instruction(packed(&[0x0f, 0xd7]), register, Operand::Register(first), &[]);
            }
            _ => {
                let immediate = self.immediate(1);
                self.code.instruction(plain(&[0x0f, 0xc6]), first, Operand::Register(second), &immediate);
            }
        }
    }
}
