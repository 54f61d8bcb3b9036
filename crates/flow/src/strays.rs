//! Routines of code that was not counted: it was sampled, or called what was.

use crate::code::Code;
use crate::routine::{FunctionMap, Routine, RoutineId};
use std::collections::HashMap;
use timewise_profile::{FunctionId, ModuleId, Place, Profile};

/// Finds a routine for any place, and opens one where there is none yet.
pub(crate) struct Owners<'a> {
    profile: &'a Profile,
    code: &'a Code,
    counted: &'a [RoutineId],
    map: &'a FunctionMap<'a>,
    routines: Vec<Routine>,
    of_function: HashMap<FunctionId, RoutineId>,
    of_module: HashMap<ModuleId, RoutineId>,
}

impl<'a> Owners<'a> {
    /// Begins with the routines that were counted; `counted` is the one of each block.
    pub fn new(
        profile: &'a Profile,
        code: &'a Code,
        map: &'a FunctionMap<'a>,
        routines: Vec<Routine>,
        counted: &'a [RoutineId],
    ) -> Owners<'a> {
        let known = routines.iter().enumerate();
        let of_function = known
            .filter_map(|(at, routine)| routine.function.map(|function| (function, RoutineId(at as u32))))
            .collect();
        Owners { profile, code, counted, map, routines, of_function, of_module: HashMap::new() }
    }

    /// The routine of the code at `place`. Without a function, all of a module's code is one.
    pub fn at(&mut self, place: Place) -> RoutineId {
        if let Some(block) = self.code.block_at(place) {
            return self.counted[block.index()];
        }
        let routines = &mut self.routines;
        let mut open = |function: Option<FunctionId>, place: Place| {
            routines.push(Routine { function, place, blocks: Vec::new() });
            RoutineId(routines.len() as u32 - 1)
        };
        match self.map.at(place) {
            Some(function) => *self
                .of_function
                .entry(function)
                .or_insert_with(|| open(Some(function), self.profile.functions[function.index()].place)),
            None => *self.of_module.entry(place.module).or_insert_with(|| open(None, place)),
        }
    }

    /// All routines, also those that were opened.
    pub fn into_routines(self) -> Vec<Routine> {
        self.routines
    }
}
