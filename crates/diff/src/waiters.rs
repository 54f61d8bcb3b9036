//! What waits and who called it, under names that both sides have for the same function: functions that moved or were
//! renamed are paired as everywhere else.

use crate::comparison::Comparison;
use std::collections::HashMap;
use timewise_flow::names::Names;
use timewise_flow::short_name::without_clones;
use timewise_flow::waiting::Culprit;
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{FunctionId, ModuleId, Place};

/// What waited, and what called it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Waiter {
    /// What waited.
    pub callee: Code,
    /// What called it; `None` if nothing did.
    pub caller: Option<Code>,
}

/// A function, as both sides call it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// By its name in BASE, or in TEST if it has no partner there.
    Named(String),
    /// Without a name, by where it begins in BASE.
    InBase(Place),
    /// Without a name or a partner, by where it begins in TEST.
    InTest(Place),
}

/// Both sides.
pub struct Waiters<'a> {
    comparison: &'a Comparison<'a>,
    base: Side<'a>,
    test: Side<'a>,
}

impl<'a> Waiters<'a> {
    /// Those of a comparison.
    pub fn new(comparison: &'a Comparison<'a>) -> Waiters<'a> {
        Waiters { comparison, base: Side::new(comparison.base), test: Side::new(comparison.test) }
    }

    /// What waits in BASE.
    pub fn in_base(&self, found: Culprit) -> Waiter {
        waiter(found, |place| self.of_base(self.base.function(place)))
    }

    /// What waits in TEST.
    pub fn in_test(&self, found: Culprit) -> Waiter {
        waiter(found, |place| self.of_test(place))
    }

    fn of_base(&self, function: Function) -> Code {
        self.base.name(function).map_or(Code::InBase(function.start), Code::Named)
    }

    fn of_test(&self, place: Place) -> Code {
        let partner = |routine: RoutineId| self.comparison.matching.routines.of_test(routine.0);
        if let Some(partner) = self.test.routine(place).and_then(partner) {
            return self.of_base(self.base.of_routine(RoutineId(partner)));
        }
        let function = self.test.function(place);
        // Code that was not counted has a partner where it lies in the same build.
        let nameless =
            || self.in_same_build(function.start).map_or(Code::InTest(function.start), Code::InBase);
        self.test.name(function).map_or_else(nameless, Code::Named)
    }

    /// Where code of TEST lies in BASE, if that is the same build.
    fn in_same_build(&self, place: Place) -> Option<Place> {
        let partner = ModuleId(self.comparison.matching.modules.of_test(place.module.0)?);
        let ours = &self.base.analysis.profile.modules[partner.index()];
        let theirs = &self.test.analysis.profile.modules[place.module.index()];
        let is_same = !ours.build_id.is_empty() && ours.build_id == theirs.build_id;
        is_same.then_some(Place { module: partner, ..place })
    }
}

fn waiter(found: Culprit, code: impl Fn(Place) -> Code) -> Waiter {
    Waiter { callee: code(found.place), caller: found.caller.map(code) }
}

/// A function of one side, or code that belongs to none.
#[derive(Clone, Copy)]
struct Function {
    id: Option<FunctionId>,
    start: Place,
}

/// One side, to look up what holds a place.
struct Side<'a> {
    analysis: &'a Analysis<'a>,
    names: Names<'a>,
    routines: HashMap<FunctionId, RoutineId>,
}

impl<'a> Side<'a> {
    fn new(analysis: &'a Analysis<'a>) -> Side<'a> {
        let routines = (0..).map(RoutineId).zip(&analysis.routines);
        let routines = routines.filter_map(|(id, routine)| Some((routine.function?, id))).collect();
        Side { analysis, names: Names::of(analysis.profile), routines }
    }

    /// The routine that holds a place, if it was counted or sampled.
    fn routine(&self, place: Place) -> Option<RoutineId> {
        let block = self.analysis.code.block_at(place);
        let counted = block.map(|block| self.analysis.owner[block.index()]);
        counted.or_else(|| self.routines.get(&self.names.function(place)?).copied())
    }

    fn function(&self, place: Place) -> Function {
        if let Some(routine) = self.routine(place) {
            return self.of_routine(routine);
        }
        let id = self.names.function(place);
        Function { id, start: id.map_or(place, |id| self.analysis.profile.functions[id.index()].place) }
    }

    fn of_routine(&self, routine: RoutineId) -> Function {
        let routine = &self.analysis.routines[routine.index()];
        Function { id: routine.function, start: routine.place }
    }

    /// Its name, if it has one by which another build knows it.
    fn name(&self, function: Function) -> Option<String> {
        let function = &self.analysis.profile.functions[function.id?.index()];
        (!function.symbol.is_empty()).then(|| without_clones(&function.name).to_string())
    }
}
