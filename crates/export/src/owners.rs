//! Whose code a place is, and what that is called.

use timewise_flow::place_name;
use timewise_flow::routine::{FunctionMap, Routine};
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{FunctionId, ModuleId, ModuleKind, Place};

/// The smallest named thing that holds a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Owner {
    /// A function.
    Function(FunctionId),
    /// Connected code that is treated as one function, because none is known.
    Routine(RoutineId),
    /// Some code of a module.
    Module(ModuleId),
    /// Code outside of all modules.
    Nowhere,
}

/// Finds owners and their names.
#[derive(Debug)]
pub struct Owners<'a> {
    analysis: &'a Analysis<'a>,
    functions: FunctionMap<'a>,
}

impl<'a> Owners<'a> {
    /// Prepares the look-up.
    pub fn new(analysis: &'a Analysis<'a>) -> Owners<'a> {
        Owners { analysis, functions: FunctionMap::new(analysis.profile) }
    }

    /// Whose code stands at `place`. Executed code belongs to whom reports say.
    pub fn at(&self, place: Place) -> Owner {
        if let Some(block) = self.analysis.code.block_at(place) {
            return self.of(self.analysis.owner[block.index()]);
        }
        self.functions.at(place).map_or(Owner::Module(place.module), Owner::Function)
    }

    /// The owner that a routine stands for.
    pub fn of(&self, routine: RoutineId) -> Owner {
        let Routine { function, place, blocks } = &self.analysis.routines[routine.index()];
        match function {
            Some(function) => Owner::Function(*function),
            // All code of a module that was not counted is one.
            None if blocks.is_empty() => Owner::Module(place.module),
            None => Owner::Routine(routine),
        }
    }

    /// What to call it, in one line. Code of which nothing but the module is known is called `[module]`.
    pub fn name(&self, owner: Owner) -> String {
        let name = match owner {
            Owner::Function(function) => self.analysis.profile.functions[function.index()].name.clone(),
            Owner::Routine(routine) => self.analysis.name_of(routine),
            Owner::Module(module) => {
                let name = self.module_name(module);
                if name.starts_with('[') { name } else { format!("[{name}]") }
            }
            Owner::Nowhere => "[unknown]".into(),
        };
        one_line(&name)
    }

    /// File and line where a function is declared, if line tables say so.
    pub fn declared(&self, owner: Owner) -> Option<(String, u32)> {
        let Owner::Function(function) = owner else { return None };
        let function = &self.analysis.profile.functions[function.index()];
        let file = function.file.filter(|_| function.line > 0)?;
        Some((one_line(&self.analysis.profile.files[file.index()].path), function.line))
    }

    /// The last part of a module's path.
    pub fn module_name(&self, module: ModuleId) -> String {
        place_name::file_name(&self.module_path(module)).to_owned()
    }

    /// A module's path.
    pub fn module_path(&self, module: ModuleId) -> String {
        one_line(&place_name::module_path(self.analysis.profile, module))
    }

    /// True for code of the kernel.
    pub fn is_kernel(&self, place: Place) -> bool {
        self.analysis.profile.modules[place.module.index()].kind == ModuleKind::Kernel
    }
}

/// `text` without anything that could end a line of a text format or move a terminal's cursor.
pub fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}
