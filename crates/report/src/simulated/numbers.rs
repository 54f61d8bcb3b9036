//! What the numbers stand for by which traces of a commit stage name instructions.

use crate::code_text::CodeText;
use crate::site::{self, Site};
use serde::Serialize;
use timewise_flow::{Analysis, InstructionId};

/// An instruction as a simulation numbered it.
pub struct Numbered {
    /// Its number: one of several if it is part of several blocks.
    pub number: u32,
    /// Where it stood in the process.
    pub address: u64,
    /// Which one of the analysis it is; `None` if its code has no place there.
    pub id: Option<InstructionId>,
}

#[derive(Default, Serialize)]
struct Cells {
    instruction: u32,
    address: String,
    module: String,
    offset: Option<u64>,
    function: String,
    file: Option<String>,
    line: Option<u32>,
    text: Option<String>,
}

/// A row for each number as CSV with one header line.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn numbers(
    analysis: &Analysis,
    instructions: impl IntoIterator<Item = Numbered>,
) -> Result<String, csv::Error> {
    let text = CodeText::new(analysis);
    crate::csv::table(instructions.into_iter().map(|one| {
        let site = one.id.map_or(Site::default(), |id| site::instruction(&text, analysis, id));
        Cells {
            instruction: one.number,
            address: format!("{:#x}", one.address),
            module: site.module,
            offset: site.offset,
            function: site.function,
            file: site.file,
            line: site.line,
            text: site.text,
        }
    }))
}
