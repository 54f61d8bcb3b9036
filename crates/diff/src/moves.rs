//! By how many lines parts of a source file moved, as declarations of functions that both sides have tell: between two
//! that moved by as many, no more lines were put in than were taken out.

use crate::pairing::Pairing;
use std::collections::HashMap;
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{FileId, ModuleId};

/// A source file as compiled into a module.
pub type ModuleFile = (ModuleId, FileId);

/// Declarations of functions that both sides have, by their files in BASE and in TEST.
pub struct Moves(HashMap<(ModuleFile, ModuleFile), Vec<(u32, u32)>>);

impl Moves {
    /// Those of all executed functions that are paired.
    pub fn new(base: &Analysis, test: &Analysis, routines: &Pairing) -> Moves {
        let mut moves: HashMap<_, Vec<(u32, u32)>> = HashMap::new();
        for ours in 0..base.routines.len() as u32 {
            let Some(theirs) = routines.of_base(ours) else { continue };
            let both = declared(base, RoutineId(ours)).zip(declared(test, RoutineId(theirs)));
            if let Some(((our_file, our_line), (their_file, their_line))) = both {
                moves.entry((our_file, their_file)).or_default().push((our_line, their_line));
            }
        }
        for lines in moves.values_mut() {
            lines.sort_unstable();
            // Instances of a template, and clones, are declared on one line.
            lines.dedup();
        }
        Moves(moves)
    }

    /// By how many lines a line of a file of BASE moved, if those around it moved alike.
    pub fn of(&self, files: (ModuleFile, ModuleFile), line: u32) -> Option<i64> {
        let declared = self.0.get(&files)?;
        let after = declared.partition_point(|(ours, _)| *ours <= line);
        let by = |at: usize| declared.get(at).map(|&(ours, theirs)| i64::from(theirs) - i64::from(ours));
        match (after.checked_sub(1).and_then(by), by(after)) {
            (Some(before), Some(after)) if before != after => None,
            (before, after) => before.or(after),
        }
    }
}

/// File and line of a function's declaration.
fn declared(analysis: &Analysis, routine: RoutineId) -> Option<(ModuleFile, u32)> {
    let function = &analysis.profile.functions[analysis.function_of(routine)?.index()];
    let file = function.file.filter(|_| function.line > 0)?;
    Some(((function.place.module, file), function.line))
}
