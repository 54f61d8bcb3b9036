//! What changed in the cycles of a modelled core. The model adds no noise: what differs differs. But parts of two
//! executions hold equal work only where both executed as many instructions, or nearly; else windows of both tell of the
//! whole, within limits, or nothing does.

use crate::comparison::Comparison;
use crate::loops::innermost;
use crate::pairing::Both;
use crate::things::{Grain, Rows, Thing};
use std::cmp::Reverse;
use timewise_attribution::{Category, Parts};
use timewise_flow::{Analysis, Estimate, InstructionId, ModelledCost};
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

/// Something of either or both sides, and how its modelled cycles changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelledRow {
    /// What it is.
    pub what: Both<Thing>,
    /// How it changed.
    pub change: ModelledChange,
}

/// What the simulated parts of two sides are to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// The same work: all of it, or equal parts of as many instructions.
    Same,
    /// Other parts of each, from which the cycles of all that each executed are estimated.
    Estimated {
        /// In BASE.
        base: Estimate,
        /// In TEST.
        test: Estimate,
    },
    /// Other parts of each, which tell nothing of the rest.
    Unequal,
}

/// By so much of a window's length its place may differ for its work to be the same, and by so much of all the number of
/// instructions that were simulated.
const UNEQUAL: f64 = 0.001;

impl Comparison<'_> {
    /// What the simulated parts of both sides are to each other; `None` unless both were simulated alike.
    pub fn modelled_work(&self) -> Option<Work> {
        let (base, test) = self.simulations()?;
        let executed = |analysis: &Analysis, simulation: &Simulation| {
            simulation.executed.unwrap_or_else(|| analysis.whole().instructions)
        };
        let (old, new) = (executed(self.base, base), executed(self.test, test));
        let is_whole = base.instructions >= old && test.instructions >= new;
        let length = base.part.length.unwrap_or(u64::MAX).min(base.instructions);
        let is_near = |one: u64, other: u64, of: u64| one.abs_diff(other) as f64 <= UNEQUAL * of as f64;
        let is_same =
            is_near(old, new, length) && is_near(base.instructions, test.instructions, base.instructions);
        if is_whole || is_same {
            return Some(Work::Same);
        }
        let cycles = |analysis: &Analysis| {
            let sampled = analysis.modelled.as_ref()?.sampled.filter(|sampled| sampled.is_whole)?;
            Some(sampled.cycles())
        };
        let estimates = cycles(self.base).zip(cycles(self.test));
        Some(estimates.map_or(Work::Unequal, |(base, test)| Work::Estimated { base, test }))
    }

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

    /// Rows of everything of a grain, those that changed most first; none unless both sides were simulated alike.
    pub fn modelled_rows(&self, grain: Grain) -> Vec<ModelledRow> {
        if self.simulations().is_none() {
            return Vec::new();
        }
        by_size(self.modelled(Rows::new(self, grain)))
    }

    /// Loops, and of functions what is in no loop: each instruction is in one of them.
    pub fn modelled_spots(&self) -> Vec<ModelledRow> {
        if self.simulations().is_none() {
            return Vec::new();
        }
        let mut rest = Rows::new(self, Grain::Function);
        for (analysis, rows) in [(self.base, &mut rest.base), (self.test, &mut rest.test)] {
            for (id, row) in (0..).map(InstructionId).zip(&mut rows.instructions) {
                *row = row.filter(|_| innermost(analysis, id).is_none());
            }
        }
        by_size(self.modelled(Rows::new(self, Grain::Loop)).chain(self.modelled(rest)))
    }

    fn modelled(&self, rows: Rows) -> impl Iterator<Item = ModelledRow> {
        let base = self.base.modelled_by(rows.len(), |id| rows.base.instructions[id.index()]);
        let test = self.test.modelled_by(rows.len(), |id| rows.test.instructions[id.index()]);
        let changes = base.into_iter().zip(test).map(|(base, test)| ModelledChange { base, test });
        rows.things.into_iter().zip(changes).map(|(what, change)| ModelledRow { what, change })
    }
}

fn by_size(rows: impl Iterator<Item = ModelledRow>) -> Vec<ModelledRow> {
    let mut rows: Vec<ModelledRow> = rows.collect();
    rows.sort_by_key(|row| Reverse(row.change.size()));
    rows
}
