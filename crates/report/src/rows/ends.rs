//! What a reader looks for in a stack that leads to the kernel: the function that was called for it or met a fault, and
//! who called that.

use super::names::Names;
use crate::labels;
use timewise_flow::waiting::Culprit;
use timewise_profile::{Place, Profile};

/// The innermost module's outermost function, its caller, and the whole stack in words.
pub struct Ends {
    /// Path of the module; empty outside all known code.
    pub module: String,
    /// The function that was called into it, or that called the kernel itself.
    pub function: String,
    /// The function that called it, in other code.
    pub caller: Option<String>,
    /// Source file of that call.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// All functions, innermost first, between semicolons.
    pub stack: String,
}

impl Ends {
    /// Those of a stack, innermost frame first, of which the culprit is known.
    pub fn of(profile: &Profile, names: &Names, frames: &[Place], culprit: Option<Culprit>) -> Ends {
        let line = culprit.and_then(|culprit| culprit.line);
        Ends {
            module: culprit.map_or(String::new(), |found| labels::module_path(profile, found.waits.module)),
            function: culprit.map_or("in an unknown place".into(), |found| names.of_place(found.waits)),
            caller: culprit.and_then(|found| found.caller).map(|caller| names.of_place(caller)),
            file: line.map(|line| labels::file_path(profile, line.file).to_string()),
            line: line.map(|line| line.line),
            stack: frames.iter().map(|&frame| names.of_place(frame)).collect::<Vec<_>>().join(";"),
        }
    }
}

/// The function and its caller with the line of the call, as `pthread_mutex_lock < worker main.c:12`.
pub fn title(function: &str, caller: Option<&str>, (file, line): (Option<&str>, Option<u32>)) -> String {
    let caller = caller.map_or(String::new(), |caller| format!(" < {caller}"));
    let line = match (file, line) {
        (Some(file), Some(line)) => format!(" {}:{line}", labels::file_name(file)),
        _ => String::new(),
    };
    format!("{function}{caller}{line}")
}
