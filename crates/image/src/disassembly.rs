//! Instructions as text, with names for what they refer to.

use crate::functions::Functions;
use timewise_isa::{text, walk};

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// Where it is.
    pub offset: u64,
    /// Bytes.
    pub length: u8,
    /// Intel syntax.
    pub text: String,
}

/// The instructions of `code`, which stands at `offset`.
pub fn of(code: &[u8], offset: u64, functions: &Functions) -> Vec<Disassembled> {
    let name = |target: u64| {
        let function = functions.at(target)?;
        let name = functions.name(function);
        Some(match target - function.offset {
            0 => name,
            within => format!("{name}+{within:#x}"),
        })
    };
    let one = |step: timewise_isa::Step| Disassembled {
        offset: step.offset,
        length: step.length,
        text: text(&code[(step.offset - offset) as usize..], step.offset, &name),
    };
    walk(code, offset).map(one).collect()
}
