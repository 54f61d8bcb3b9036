//! What a row is of: names and places as they are told.

use crate::code_text::CodeText;
use crate::labels::{self, file_name};
use timewise_flow::lines::{SourceLine, line_at};
use timewise_flow::{Analysis, InstructionId, LoopId, RoutineId};
use timewise_profile::{BlockId, ModuleId, Place};

/// Something that has a row: a function, a loop, an instruction or a line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Site {
    /// Path of the module.
    pub module: String,
    /// Name of the function; empty for a line, which may belong to several.
    pub function: String,
    /// Link-time address.
    pub offset: Option<u64>,
    /// Source file.
    pub file: Option<String>,
    /// Source line, the first of a loop.
    pub line: Option<u32>,
    /// Last source line of a loop.
    pub last_line: Option<u32>,
    /// Intel syntax of an instruction.
    pub text: Option<String>,
}

impl Site {
    /// Its source line, or module and offset where no line is known.
    pub fn source(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", file_name(file)),
            _ => self.place_in_module(),
        }
    }

    /// Its source lines, likewise.
    pub fn lines(&self) -> String {
        match (self.line, self.last_line) {
            (Some(line), Some(last)) if last > line && self.file.is_some() => {
                format!("{}-{last}", self.source())
            }
            _ => self.source(),
        }
    }

    fn place_in_module(&self) -> String {
        let offset = self.offset.map_or(String::new(), |offset| format!("+{offset:#x}"));
        format!("{}{offset}", file_name(&self.module))
    }
}

/// A function.
pub fn function(analysis: &Analysis, id: RoutineId) -> Site {
    let place = analysis.routines[id.index()].place;
    let function = analysis.function_of(id).map(|id| &analysis.profile.functions[id.index()]);
    let declared =
        function.and_then(|function| Some(SourceLine { file: function.file?, line: function.line }));
    Site {
        function: analysis.name_of(id),
        ..at_place(analysis, place, declared.filter(|line| line.line > 0))
    }
}

/// A loop.
pub fn a_loop(analysis: &Analysis, id: LoopId) -> Site {
    let one = &analysis.forest.loops[id.index()];
    let lines = analysis.lines_of_loop(id);
    let place = analysis.code.blocks[one.header.index()].place;
    Site {
        function: analysis.name_of(one.routine),
        last_line: lines.map(|(_, last)| last.line),
        ..at_place(analysis, place, lines.map(|(first, _)| first))
    }
}

/// A block.
pub fn block(analysis: &Analysis, id: BlockId) -> Site {
    let place = analysis.code.blocks[id.index()].place;
    Site {
        function: analysis.name_of(analysis.owner[id.index()]),
        ..at_place(analysis, place, line_at(analysis.profile, place))
    }
}

/// An instruction.
pub fn instruction(text: &CodeText, analysis: &Analysis, id: InstructionId) -> Site {
    let place = analysis.code.place(id);
    let routine = analysis.owner[analysis.code.instructions[id.index()].block.index()];
    Site {
        function: analysis.name_of(routine),
        text: Some(text.of(id)),
        ..at_place(analysis, place, line_at(analysis.profile, place))
    }
}

/// A source line as compiled into a module.
pub fn source_line(analysis: &Analysis, (module, line): (ModuleId, SourceLine)) -> Site {
    Site { module: labels::module_path(analysis.profile, module), ..at_line(analysis, Some(line)) }
}

fn at_place(analysis: &Analysis, place: Place, line: Option<SourceLine>) -> Site {
    Site {
        module: labels::module_path(analysis.profile, place.module),
        offset: Some(place.offset.0),
        ..at_line(analysis, line)
    }
}

fn at_line(analysis: &Analysis, line: Option<SourceLine>) -> Site {
    Site {
        file: line.map(|line| labels::file_path(analysis.profile, line.file).to_string()),
        line: line.map(|line| line.line),
        ..Site::default()
    }
}
