//! By how many lines parts of a source file moved, as declarations of functions that both sides have tell: between two
//! that moved by as many, no more lines were put in than were taken out.

use crate::pairing::Pairing;
use std::collections::HashMap;
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{FileId, ModuleId, Profile};

/// A source file as compiled into a module.
pub type ModuleFile = (ModuleId, FileId);

/// What is known of the files of two sides.
pub struct Moves {
    /// Declarations of functions that both have, by their files in BASE and in TEST.
    declared: HashMap<(ModuleFile, ModuleFile), Vec<(u32, u32)>>,
    /// Files of TEST that have the same path as one of BASE, in modules that are paired.
    of_path: HashMap<ModuleFile, ModuleFile>,
}

impl Moves {
    /// By all executed functions that are paired, and by paths.
    pub fn new(base: &Analysis, test: &Analysis, modules: &Pairing, routines: &Pairing) -> Moves {
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
        Moves { declared: moves, of_path: of_path(base.profile, test.profile, modules) }
    }

    /// The file of TEST that has the path of one of BASE.
    pub fn of_path(&self, file: ModuleFile) -> Option<ModuleFile> {
        self.of_path.get(&file).copied()
    }

    /// Whether declarations tell how a file moved.
    pub fn are_told(&self, files: (ModuleFile, ModuleFile)) -> bool {
        self.declared.contains_key(&files)
    }

    /// By how many lines a line of a file of BASE moved, if those around it moved alike; by none where no declaration
    /// tells, as in headers of which all is inlined.
    pub fn of(&self, files: (ModuleFile, ModuleFile), line: u32) -> Option<i64> {
        let Some(declared) = self.declared.get(&files) else { return Some(0) };
        let after = declared.partition_point(|(ours, _)| *ours <= line);
        let by = |at: usize| declared.get(at).map(|&(ours, theirs)| i64::from(theirs) - i64::from(ours));
        match (after.checked_sub(1).and_then(by), by(after)) {
            (Some(before), Some(after)) if before != after => None,
            (before, after) => before.or(after),
        }
    }
}

fn of_path(base: &Profile, test: &Profile, modules: &Pairing) -> HashMap<ModuleFile, ModuleFile> {
    let theirs: HashMap<&str, FileId> =
        (0..).map(FileId).zip(&test.files).map(|(id, file)| (&file.path[..], id)).collect();
    let of_module = |ours: u32| {
        let module = ModuleId(modules.of_base(ours)?);
        let files = (0..).map(FileId).zip(&base.files);
        let same = files.filter_map(|(id, file)| Some((id, *theirs.get(&file.path[..])?)));
        Some(same.map(move |(id, partner)| ((ModuleId(ours), id), (module, partner))))
    };
    (0..base.modules.len() as u32).filter_map(of_module).flatten().collect()
}

/// File and line of a function's declaration.
fn declared(analysis: &Analysis, routine: RoutineId) -> Option<(ModuleFile, u32)> {
    let function = &analysis.profile.functions[analysis.function_of(routine)?.index()];
    let file = function.file.filter(|_| function.line > 0)?;
    Some(((function.place.module, file), function.line))
}
