//! Instructions of a program's file, overwritten by others that do nothing.

use anyhow::{Context, Result, ensure};

/// A part of the file that is mapped: where it begins in memory and in the file, and its bytes there.
struct Segment {
    address: u64,
    position: u64,
    length: u64,
}

/// A program's file as bytes.
pub struct Program {
    bytes: Vec<u8>,
    segments: Vec<Segment>,
}

impl Program {
    /// Reads the program headers of an ELF file for x86-64.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(bytes: Vec<u8>) -> Result<Program> {
        ensure!(bytes.starts_with(b"\x7fELF\x02\x01"), "no 64-bit ELF file");
        let number = |at: usize, width: usize| {
            let field = bytes.get(at..at + width).context("a file that ends too early")?;
            anyhow::Ok(field.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
        };
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        let mut segments = Vec::new();
        for at in (0..count).map(|index| (table + index * size) as usize) {
            const LOADED: u64 = 1;
            if number(at, 4)? == LOADED {
                let [position, address, length] =
                    [number(at + 8, 8)?, number(at + 16, 8)?, number(at + 32, 8)?];
                segments.push(Segment { address, position, length });
            }
        }
        Ok(Program { bytes, segments })
    }

    /// The bytes from a link-time address on.
    fn at(&mut self, address: u64, length: usize) -> Option<&mut [u8]> {
        let segment = self.segments.iter().find(|segment| {
            address >= segment.address && address + length as u64 <= segment.address + segment.length
        })?;
        let position = (address - segment.address + segment.position) as usize;
        self.bytes.get_mut(position..position + length)
    }

    /// Overwrites an instruction by one that does nothing and is as long.
    ///
    /// # Errors
    /// If the file holds no code there.
    pub fn blank(&mut self, address: u64, length: usize) -> Result<()> {
        let bytes = self.at(address, length).with_context(|| format!("no code at {address:#x}"))?;
        bytes.copy_from_slice(&nop(length));
        Ok(())
    }

    /// The file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// One instruction of 1 to 15 bytes that does nothing.
fn nop(length: usize) -> Vec<u8> {
    const OPERAND_SIZE: u8 = 0x66;
    let longest: [u8; 8] = [0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    let core = match length {
        1 => vec![0x90],
        2 => vec![OPERAND_SIZE, 0x90],
        3 => vec![0x0f, 0x1f, 0],
        4 => vec![0x0f, 0x1f, 0x40, 0],
        5 => vec![0x0f, 0x1f, 0x44, 0, 0],
        6 => vec![OPERAND_SIZE, 0x0f, 0x1f, 0x44, 0, 0],
        7 => vec![0x0f, 0x1f, 0x80, 0, 0, 0, 0],
        _ => longest.into(),
    };
    let mut bytes = vec![OPERAND_SIZE; length - core.len()];
    bytes.extend(core);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_isa::{Class, form};

    #[test]
    fn what_does_nothing_is_one_instruction_of_any_length() {
        for length in 1..=15 {
            let bytes = nop(length);
            let decoded = timewise_isa::decode(&bytes, 0).unwrap();
            assert_eq!((bytes.len(), usize::from(decoded.length)), (length, length));
            assert_eq!(form(&bytes, 0).unwrap().class, Class::Nop);
        }
    }

    #[test]
    fn code_is_found_by_its_address() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let mut program = Program::new(own.clone()).unwrap();
        let segment = program.segments.iter().find(|segment| segment.address != segment.position).unwrap();
        let (address, position) = (segment.address, segment.position as usize);
        program.blank(address + 16, 3).unwrap();
        let changed = program.into_bytes();
        assert_eq!(&changed[position + 16..position + 19], nop(3));
        assert_eq!(
            (&changed[..position + 16], &changed[position + 19..]),
            (&own[..position + 16], &own[position + 19..])
        );
        assert!(Program::new(own).unwrap().blank(u64::MAX - 64, 3).is_err());
    }
}
