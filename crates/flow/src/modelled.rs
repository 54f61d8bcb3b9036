//! What a modelled core spent on the profile's code, and why: cycle stacks by instruction, and their sums.

use crate::analysis::Analysis;
use crate::code::{Code, InstructionId};
use crate::windows::{Coverage, Sampled, sampled};
use std::collections::BTreeSet;
use std::ops::AddAssign;
use timewise_attribution::category::Class;
use timewise_attribution::{Category, Component, Kind, Parts, Stacks, State};
use timewise_isa::{Control, Step};
use timewise_profile::{CommitState, EdgeKind, Profile, Simulation, SimulationId};
use timewise_trace::Psv;

/// A simulation of a profile, by the ids of its analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Modelled {
    /// On which core, and how much of the program.
    pub simulation: Simulation,
    /// How much of its run that is; `None` where it is not known, as of older profiles.
    pub coverage: Option<Coverage>,
    /// What is estimated of the rest, where windows were taken of it.
    pub sampled: Option<Sampled>,
    /// Cycle stacks by instruction.
    pub stacks: Stacks,
    /// How often each instruction was executed in what was simulated.
    pub executions: Vec<u64>,
}

impl Modelled {
    /// The latest simulation of a profile.
    pub fn new(profile: &Profile, code: &Code) -> Option<Modelled> {
        let simulation = profile.simulations.last()?.clone();
        let latest = SimulationId(profile.simulations.len() as u32 - 1);
        let mut executions = vec![0; code.instructions.len()];
        for row in profile.simulated_instructions.iter().filter(|row| row.simulation == latest) {
            if let Some(id) = code.instruction_at(row.place) {
                executions[id.index()] += row.executions;
            }
        }
        let mut stacks = Stacks::default();
        for row in profile.cycle_stacks.iter().filter(|row| row.simulation == latest) {
            if let Some(id) = code.instruction_at(row.place) {
                let component = Component::new(state(row.state), Psv::from_bits(row.events.0));
                stacks.add(id.0, component, Parts::raw(row.parts));
            }
        }
        let (coverage, sampled) = sampled(profile, latest).unzip();
        Some(Modelled { simulation, coverage, sampled: sampled.flatten(), stacks, executions })
    }

    /// Cycles in code that has no place in the profile.
    pub fn unattributed(&self) -> Parts {
        Parts::cycles(self.simulation.cycles).saturating_sub(self.stacks.total())
    }
}

fn state(stored: CommitState) -> State {
    match stored {
        CommitState::Computing => State::Computing,
        CommitState::Stalled => State::Stalled,
        CommitState::Drained => State::Drained,
        CommitState::Mispredicted => State::Mispredicted,
        CommitState::Flushed => State::Flushed,
    }
}

/// What an instruction does, as far as it says why it waits.
pub fn kind(step: &Step) -> Kind {
    if step.loads || matches!(step.control, Control::Return { .. }) {
        Kind::Load
    } else if step.stores || matches!(step.control, Control::Call { .. }) {
        Kind::Store
    } else {
        Kind::Other
    }
}

/// What some code cost on a modelled core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ModelledCost {
    by_category: [Parts; Category::ALL.len()],
    /// Instructions executed in what was simulated.
    pub instructions: u64,
}

impl ModelledCost {
    /// All its cycles.
    pub fn cycles(&self) -> Parts {
        self.by_category.into_iter().sum()
    }

    /// Its cycles of one category.
    pub fn of(&self, category: Category) -> Parts {
        self.by_category[category as usize]
    }

    /// Cycles per instruction, if any was executed.
    pub fn cpi(&self) -> Option<f64> {
        (self.instructions > 0).then(|| self.cycles().as_cycles() / self.instructions as f64)
    }

    /// What code of such cost mostly does.
    pub fn class(&self) -> Class {
        Class::of(|category| self.of(category))
    }
}

impl AddAssign for ModelledCost {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.by_category.iter_mut().zip(other.by_category).for_each(|(sum, parts)| *sum += parts);
    }
}

impl Analysis<'_> {
    /// What an instruction does, as far as it says why it waits.
    pub fn kind_of(&self, id: InstructionId) -> Kind {
        kind(&self.code.instructions[id.index()].step)
    }

    /// Modelled costs of so many groups; `group` gives that of an instruction. Nothing where no core was
    /// simulated.
    pub fn modelled_by(
        &self,
        groups: usize,
        group: impl Fn(InstructionId) -> Option<usize>,
    ) -> Vec<ModelledCost> {
        let mut costs = vec![ModelledCost::default(); groups];
        let Some(modelled) = &self.modelled else { return costs };
        for (id, &executions) in (0..).map(InstructionId).zip(&modelled.executions) {
            if let Some(group) = group(id) {
                costs[group].instructions += executions;
            }
        }
        for (id, component, parts) in modelled.stacks.iter() {
            let id = InstructionId(id);
            if let (Some(group), Some(state)) = (group(id), component.state()) {
                costs[group].by_category[Category::of(state, self.kind_of(id)) as usize] += parts;
            }
        }
        costs
    }

    /// System calls of the profile's runs, of which a model knows no time.
    pub fn system_calls(&self) -> u64 {
        let calls = self.code.edges.iter().filter(|edge| edge.kind == EdgeKind::SystemCall);
        calls.fold(0, |sum: u64, edge| sum.saturating_add(edge.count))
    }

    /// Modelled cost of all code.
    pub fn modelled_whole(&self) -> ModelledCost {
        self.modelled_by(1, |_| Some(0))[0]
    }

    /// Modelled cost of each routine by itself.
    pub fn modelled_by_routine(&self) -> Vec<ModelledCost> {
        self.modelled_by(self.routines.len(), |id| Some(self.owner[self.block_of(id).index()].index()))
    }

    /// Modelled cost of each loop's own blocks: those in no inner loop.
    pub fn modelled_by_loop(&self) -> Vec<ModelledCost> {
        self.modelled_by(self.forest.loops.len(), |id| {
            self.forest.innermost[self.block_of(id).index()].map(|id| id.index())
        })
    }

    /// Modelled cost of what waits for other threads: of loops that execute a `pause` in their own blocks, and of
    /// `pause` elsewhere.
    pub fn modelled_pauses(&self) -> ModelledCost {
        let innermost = |id| self.forest.innermost[self.block_of(id).index()];
        let pauses = |id: InstructionId| self.code.instructions[id.index()].step.pauses;
        let all = (0..self.code.instructions.len() as u32).map(InstructionId);
        let loops: BTreeSet<_> = all.filter(|id| pauses(*id)).filter_map(innermost).collect();
        let waits = |id| pauses(id) || innermost(id).is_some_and(|around| loops.contains(&around));
        self.modelled_by(1, |id| waits(id).then_some(0))[0]
    }

    /// Modelled cost of each block.
    pub fn modelled_by_block(&self) -> Vec<ModelledCost> {
        self.modelled_by(self.code.blocks.len(), |id| Some(self.block_of(id).index()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::CoreEvents;

    #[test]
    fn stored_events_are_those_of_traces() {
        for (bit, name) in CoreEvents::NAMES.iter().enumerate() {
            assert_eq!(Psv::named(name), Some(Psv::from_bits(1 << bit)), "{name}");
        }
        assert_eq!(Psv::ALL.count() as usize, CoreEvents::NAMES.len());
        assert_eq!(timewise_profile::StackComponent::PARTS_OF_A_CYCLE, Parts::OF_A_CYCLE);
    }

    #[test]
    fn stored_states_keep_their_order() {
        assert_eq!(CommitState::ALL.map(state), State::ALL);
    }
}
