//! What changed in the cycles of a modelled core. The model adds no noise: what differs differs.

use crate::comparison::{Comparison, positions};
use crate::lines::ModuleLine;
use crate::loops::innermost;
use crate::pairing::{Both, Pairing};
use std::cmp::Reverse;
use timewise_attribution::{Category, Parts};
use timewise_flow::{Analysis, InstructionId, LoopId, ModelledCost, RoutineId};
use timewise_profile::Simulation;

/// Modelled cycles of the same code on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ModelledChange {
    /// In BASE.
    pub base: ModelledCost,
    /// In TEST.
    pub test: ModelledCost,
}

impl ModelledChange {
    /// By how many cycles it grew.
    pub fn cycles(&self) -> f64 {
        self.test.cycles().as_cycles() - self.base.cycles().as_cycles()
    }

    /// By how many cycles of a category it grew.
    pub fn of(&self, category: Category) -> f64 {
        self.test.of(category).as_cycles() - self.base.of(category).as_cycles()
    }

    fn size(&self) -> Parts {
        let (base, test) = (self.base.cycles(), self.test.cycles());
        base.saturating_sub(test) + test.saturating_sub(base)
    }
}

/// Code that a change of modelled cycles is told of: a loop without its inner loops, or what of a function is in no
/// loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A loop.
    Loop(LoopId),
    /// A function.
    Function(RoutineId),
}

/// Something of either or both sides, and how its modelled cycles changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelledRow<T> {
    /// What it is.
    pub what: Both<T>,
    /// How it changed.
    pub change: ModelledChange,
}

impl<T> ModelledRow<T> {
    /// The same of what `thing` makes of what it is of.
    pub fn of<U>(self, thing: fn(T) -> U) -> ModelledRow<U> {
        ModelledRow { what: self.what.map(thing, thing), change: self.change }
    }
}

impl Comparison<'_> {
    /// The simulations of both sides, if they can be compared: of equal cores and equal parts.
    pub fn simulations(&self) -> Option<(&Simulation, &Simulation)> {
        let (base, test) =
            (&self.base.modelled.as_ref()?.simulation, &self.test.modelled.as_ref()?.simulation);
        (base.core_hash == test.core_hash && base.part == test.part).then_some((base, test))
    }

    /// The change of the whole program; `None` unless both sides were simulated alike.
    pub fn modelled_whole(&self) -> Option<ModelledChange> {
        self.simulations()?;
        Some(ModelledChange { base: self.base.modelled_whole(), test: self.test.modelled_whole() })
    }

    /// System calls of both sides, of which a model knows no time.
    pub fn system_calls(&self) -> (u64, u64) {
        (self.base.system_calls(), self.test.system_calls())
    }

    /// Functions without their callees, those that changed most first, as are all rows.
    pub fn modelled_functions(&self) -> Vec<ModelledRow<RoutineId>> {
        let owner = |analysis: &Analysis, id| Some(owner(analysis, id).0);
        self.modelled_rows(&self.matching.routines, owner, owner, RoutineId)
    }

    /// Loops without their inner loops.
    pub fn modelled_loops(&self) -> Vec<ModelledRow<LoopId>> {
        let innermost = |analysis: &Analysis, id| innermost(analysis, id).map(|id| id.0);
        self.modelled_rows(&self.matching.loops, innermost, innermost, LoopId)
    }

    /// Instructions.
    pub fn modelled_instructions(&self) -> Vec<ModelledRow<InstructionId>> {
        let itself = |_: &Analysis, id: InstructionId| Some(id.0);
        self.modelled_rows(&self.matching.instructions, itself, itself, InstructionId)
    }

    /// Source lines.
    pub fn modelled_lines(&self) -> Vec<ModelledRow<ModuleLine>> {
        let (base, test) = (&self.matching.base_lines, &self.matching.test_lines);
        let ours = |_: &Analysis, id: InstructionId| base.of[id.index()];
        let theirs = |_: &Analysis, id: InstructionId| test.of[id.index()];
        let rows = self.modelled_rows(&self.matching.lines, ours, theirs, |line| line);
        let line = |row: ModelledRow<u32>| ModelledRow {
            what: row.what.map(|at| base.all[at as usize], |at| test.all[at as usize]),
            change: row.change,
        };
        rows.into_iter().map(line).collect()
    }

    /// Loops, and of functions what is in no loop: each instruction is in one of them.
    pub fn modelled_spots(&self) -> Vec<ModelledRow<Spot>> {
        let rest = |analysis: &Analysis, id| innermost(analysis, id).is_none().then(|| owner(analysis, id).0);
        let rests = self.modelled_rows(&self.matching.routines, rest, rest, RoutineId);
        let functions = rests.into_iter().map(|ModelledRow { what, change }| ModelledRow {
            what: what.map(Spot::Function, Spot::Function),
            change,
        });
        let loops = self.modelled_loops().into_iter().map(|ModelledRow { what, change }| ModelledRow {
            what: what.map(Spot::Loop, Spot::Loop),
            change,
        });
        let mut spots: Vec<_> = loops.chain(functions).collect();
        spots.sort_by_key(|row| Reverse(row.change.size()));
        spots
    }

    fn modelled_rows<T>(
        &self,
        pairing: &Pairing,
        ours: impl Fn(&Analysis, InstructionId) -> Option<u32>,
        theirs: impl Fn(&Analysis, InstructionId) -> Option<u32>,
        id: fn(u32) -> T,
    ) -> Vec<ModelledRow<T>> {
        if self.simulations().is_none() {
            return Vec::new();
        }
        let all = pairing.all();
        let (row_of_base, row_of_test) = positions(&all);
        let base = self.base.modelled_by(all.len(), |id| row_of_base.get(&ours(self.base, id)?).copied());
        let test = self.test.modelled_by(all.len(), |id| row_of_test.get(&theirs(self.test, id)?).copied());
        let sides = base.into_iter().zip(test);
        let rows = all.into_iter().zip(sides).map(|(what, (base, test))| ModelledRow {
            what: what.map(id, id),
            change: ModelledChange { base, test },
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|row| Reverse(row.change.size()));
        rows
    }
}

/// The routine that holds an instruction.
fn owner(analysis: &Analysis, id: InstructionId) -> RoutineId {
    analysis.owner[analysis.block_of(id).index()]
}
