//! What things are called: modules, functions, places in the source.

use timewise_flow::Analysis;
use timewise_flow::RoutineId;
use timewise_flow::lines::{SourceLine, line_at};
use timewise_profile::{FileId, Place, Profile};

pub use timewise_flow::place_name::{file_name, module_path, offset};

/// Path of a source file.
pub fn file_path(profile: &Profile, file: FileId) -> &str {
    &profile.files[file.index()].path
}

/// A source line as `table.c:97`.
pub fn line(profile: &Profile, line: SourceLine) -> String {
    format!("{}:{}", file_name(file_path(profile, line.file)), line.line)
}

/// A range of source lines as `table.c:95-103`.
pub fn lines(profile: &Profile, first: SourceLine, last: SourceLine) -> String {
    let begin = line(profile, first);
    if last.line > first.line { format!("{begin}-{}", last.line) } else { begin }
}

/// A place in code: its source line, or module and offset where no line is known.
pub fn place(profile: &Profile, place: Place) -> String {
    line_at(profile, place).map_or_else(|| offset(profile, place), |at| line(profile, at))
}

/// A source line as `table.c:97`, or the name of a module where none is known.
pub fn line_or_module(file: Option<&str>, line: Option<u32>, module: &str) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", file_name(file)),
        _ => file_name(module).to_string(),
    }
}

/// Where a routine is declared, or which module holds it.
pub fn declared(analysis: &Analysis, routine: RoutineId) -> String {
    let profile = analysis.profile;
    let function = analysis.function_of(routine).map(|id| &profile.functions[id.index()]);
    match function.and_then(|function| Some((function.file?, function.line)).filter(|at| at.1 > 0)) {
        Some((file, number)) => line(profile, SourceLine { file, line: number }),
        None => {
            let path = module_path(profile, analysis.routines[routine.index()].place.module);
            file_name(&path).to_string()
        }
    }
}
