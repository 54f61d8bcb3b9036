//! What things are called: modules, functions, places in the source.

use timewise_flow::Analysis;
use timewise_flow::RoutineId;
use timewise_flow::lines::{SourceLine, line_at};
use timewise_profile::{FileId, ModuleId, Place, Profile};

/// Path of a module.
pub fn module_path(profile: &Profile, module: ModuleId) -> String {
    String::from_utf8_lossy(&profile.modules[module.index()].path).into_owned()
}

/// Last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

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

/// A place in code as `libc.so.6+0x1a2b`.
pub fn offset(profile: &Profile, place: Place) -> String {
    let path = module_path(profile, place.module);
    format!("{}+{:#x}", file_name(&path), place.offset.0)
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
