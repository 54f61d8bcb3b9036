//! A small assembler: instruction bytes for a known address, with labels.

/// Where an instruction's register-or-memory operand is.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A register by number.
    Register(u8),
    /// Data at this offset, based on `rbx`.
    Based(u32),
    /// Data at this offset, relative to the program counter.
    Relative(u32),
}

/// A place in the code that jumps lead to, once it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(usize);

/// Prefixes and opcode of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Opcode<'a> {
    /// Prefixes before REX.
    pub prefix: &'a [u8],
    /// Whether the operands have 64 bits.
    pub wide: bool,
    /// The opcode.
    pub bytes: &'a [u8],
}

/// Code under construction.
#[derive(Debug)]
pub struct Assembler {
    /// The code so far.
    pub code: Vec<u8>,
    address: u64,
    data: u64,
    labels: Vec<Option<usize>>,
    /// Positions of 4-byte displacements that lead to labels.
    pending: Vec<(usize, Label)>,
}

impl Assembler {
    /// An empty one for code at `address` and data at `data`.
    pub fn new(address: u64, data: u64) -> Assembler {
        Assembler { code: Vec::new(), address, data, labels: Vec::new(), pending: Vec::new() }
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// A new label.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts a label here.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// An instruction that ends in a 4-byte displacement to a label.
    pub fn lead_to(&mut self, opcode: &[u8], label: Label) {
        self.raw(opcode);
        self.pending.push((self.code.len(), label));
        self.raw(&[0; 4]);
    }

    /// `mov register, value`.
    pub fn constant(&mut self, register: u8, value: u64) {
        self.raw(&[0x48 | register >> 3, 0xb8 | register & 7]);
        self.raw(&value.to_le_bytes());
    }

    /// An instruction with a ModRM byte and perhaps an immediate.
    pub fn instruction(&mut self, opcode: Opcode<'_>, register: u8, operand: Operand, immediate: &[u8]) {
        self.raw(opcode.prefix);
        let base = match operand {
            Operand::Register(number) => number,
            _ => 3,
        };
        let rex = u8::from(opcode.wide) << 3 | (register >> 3) << 2 | base >> 3;
        if rex != 0 {
            self.raw(&[0x40 | rex]);
        }
        self.raw(opcode.bytes);
        self.operand(register, operand, immediate);
    }

    /// An instruction with a VEX prefix of three bytes: `map` and `last` as its fields are encoded, `last`
    /// without the second register.
    pub fn vex(&mut self, map: u8, last: u8, opcode: u8, registers: [u8; 2], operand: Operand, rest: &[u8]) {
        let [first, second] = registers;
        let base = match operand {
            Operand::Register(number) => number,
            _ => 3,
        };
        let extensions = (!(first >> 3) & 1) << 7 | 0x40 | (!(base >> 3) & 1) << 5;
        self.raw(&[0xc4, extensions | map, last | (!second & 15) << 3, opcode]);
        self.operand(first, operand, rest);
    }

    fn operand(&mut self, register: u8, operand: Operand, immediate: &[u8]) {
        let register = (register & 7) << 3;
        match operand {
            Operand::Register(number) => self.raw(&[0xc0 | register | number & 7]),
            Operand::Based(offset) => {
                self.raw(&[0x83 | register]);
                self.raw(&offset.to_le_bytes());
            }
            Operand::Relative(offset) => {
                self.raw(&[0x05 | register]);
                let next = self.address + (self.code.len() + 4 + immediate.len()) as u64;
                let distance = (self.data + u64::from(offset)).wrapping_sub(next);
                self.raw(&(distance as u32).to_le_bytes());
            }
        }
        self.raw(immediate);
    }

    /// The code, with all displacements in place.
    pub fn finish(mut self) -> Vec<u8> {
        for (at, Label(label)) in self.pending {
            let target = self.labels[label].expect("every label is placed");
            let distance = target.wrapping_sub(at + 4) as u32;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.code
    }
}
