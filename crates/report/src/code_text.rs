//! Instructions as text, with names for what they refer to.

use crate::abbreviate;
use timewise_flow::routine::FunctionMap;
use timewise_flow::{Analysis, InstructionId};
use timewise_profile::{Offset, Place};

/// Disassembles the code that a profile stores.
pub struct CodeText<'a> {
    analysis: &'a Analysis<'a>,
    functions: FunctionMap<'a>,
}

impl<'a> CodeText<'a> {
    /// Prepares the names.
    pub fn new(analysis: &'a Analysis<'a>) -> CodeText<'a> {
        CodeText { analysis, functions: FunctionMap::new(analysis.profile) }
    }

    /// An instruction in Intel syntax. What lies in another function is called by name, what lies in
    /// the same one by its offset.
    pub fn of(&self, id: InstructionId) -> String {
        self.with_names(id, str::to_string)
    }

    /// The same for a sentence: names take no more room than others leave them in tables.
    pub fn in_sentence(&self, id: InstructionId) -> String {
        self.with_names(id, abbreviate::in_sentence)
    }

    fn with_names(&self, id: InstructionId, shown: impl Fn(&str) -> String) -> String {
        let code = &self.analysis.code;
        let instruction = &code.instructions[id.index()];
        let block = &self.analysis.profile.blocks[instruction.block.index()];
        let own = self.functions.at(block.place);
        let start = (instruction.step.offset - block.place.offset.0) as usize;
        let name = |offset: u64| {
            let place = Place { offset: Offset(offset), ..block.place };
            let function = self.functions.at(place).filter(|function| Some(*function) != own)?;
            let function = &self.analysis.profile.functions[function.index()];
            let within = offset.checked_sub(function.place.offset.0)?;
            let name = shown(&function.name);
            Some(if within == 0 { name } else { format!("{name}+{within:#x}") })
        };
        timewise_isa::text(&block.code[start..], instruction.step.offset, &name)
    }
}
