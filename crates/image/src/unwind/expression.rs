//! Calculations in unwind tables, as they stand in linkage stubs, below signal handlers and in functions that
//! align their stack.

use super::rule::{Registers, Stop};
use gimli::{Encoding, EndianSlice, Evaluation, EvaluationResult, LittleEndian, Location, Value};

/// Longest expression that is kept; real ones have a dozen bytes.
const LONGEST: usize = 256;

/// Operations at most in one evaluation: expressions can jump backwards.
const OPERATIONS: u32 = 1000;

/// An expression and the encoding that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    code: Box<[u8]>,
    encoding: Encoding,
}

impl Expression {
    /// `None` if it is longer than any real one.
    pub fn new(code: &[u8], encoding: Encoding) -> Option<Expression> {
        (code.len() <= LONGEST).then(|| Expression { code: code.into(), encoding })
    }

    /// Its value; `initial` is what the calculation begins with, if anything. Memory is read in whole words.
    pub fn evaluate(
        &self,
        initial: Option<u64>,
        registers: &Registers,
        memory: &impl Fn(u64) -> Option<u64>,
    ) -> Result<u64, Stop> {
        let lost = |_| Stop::Lost;
        let mut evaluation = Evaluation::new(EndianSlice::new(&self.code, LittleEndian), self.encoding);
        evaluation.set_max_iterations(OPERATIONS);
        if let Some(value) = initial {
            evaluation.set_initial_value(value);
        }
        let mut result = evaluation.evaluate().map_err(lost)?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let number = u8::try_from(register.0).map_err(|_| Stop::Lost)?;
                    let value = match number {
                        RETURN_ADDRESS => Some(registers.ip),
                        number => registers.get(number),
                    };
                    let value = Value::Generic(value.ok_or(Stop::Lost)?);
                    evaluation.resume_with_register(value).map_err(lost)?
                }
                EvaluationResult::RequiresMemory { address, size: 8, space: None, .. } => {
                    let value = Value::Generic(memory(address).ok_or(Stop::Unread)?);
                    evaluation.resume_with_memory(value).map_err(lost)?
                }
                _ => return Err(Stop::Lost),
            };
        }
        match evaluation.as_result().last().map(|piece| &piece.location) {
            Some(Location::Address { address }) => Ok(*address),
            _ => Err(Stop::Lost),
        }
    }
}

/// The number that stands for the instruction pointer.
const RETURN_ADDRESS: u8 = gimli::X86_64::RA.0 as u8;

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODING: Encoding = Encoding { format: gimli::Format::Dwarf32, version: 4, address_size: 8 };

    fn evaluate(code: &[u8]) -> Result<u64, Stop> {
        let registers = Registers::of_frame(0x1_000b, 0x1000, 0x2000);
        let memory = |address| (address == 0x1ff8).then_some(0x3000);
        Expression::new(code, ENCODING).unwrap().evaluate(None, &registers, &memory)
    }

    #[test]
    fn what_compilers_and_linkers_write() {
        // A function that aligns its stack: breg6 -8, deref.
        assert_eq!(evaluate(&[0x76, 0x78, 0x06]), Ok(0x3000));
        // A stub: breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus.
        let stub = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        assert_eq!(evaluate(&stub), Ok(0x1010));
    }

    #[test]
    fn what_nobody_writes() {
        // Jumps to itself for ever.
        assert_eq!(evaluate(&[0x2f, 0xfd, 0xff]), Err(Stop::Lost));
        // Reads memory that is not there, a register that is not known, nothing at all.
        assert_eq!(evaluate(&[0x76, 0x70, 0x06]), Err(Stop::Unread));
        assert_eq!(evaluate(&[0x73, 0]), Err(Stop::Lost));
        assert_eq!(evaluate(&[]), Err(Stop::Lost));
        assert_eq!(Expression::new(&[0x30; LONGEST + 1], ENCODING), None);
    }
}
