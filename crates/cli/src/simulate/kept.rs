//! From what cores did to rows of a profile.

use super::cores::Done;
use std::collections::BTreeMap;
use timewise_attribution::{Parts, State};
use timewise_core_model::Processor;
use timewise_isa::StableHash;
use timewise_profile::{
    CommitState, CoreEvents, ModuleKind, Place, Profile, RunId, RunKind, SimulatedInstruction, SimulatedPart,
    SimulatedThreadId, SimulatedWindow, Simulation, SimulationId, StackComponent,
};

/// Adds to the profile of the run what cores spent on it.
pub fn add(profile: &mut Profile, done: &Done, processor: &Processor, part: SimulatedPart) {
    let simulation = SimulationId(profile.simulations.len() as u32);
    let (instructions, cycles) = done.totals();
    profile.simulations.push(Simulation {
        run: RunId(0),
        core: processor.name.clone(),
        core_hash: hash(processor),
        part,
        executed: done.executed,
        instructions,
        cycles,
    });
    for (row, windows) in done.rows(simulation) {
        let thread = SimulatedThreadId(profile.simulated_threads.len() as u32);
        profile.simulated_threads.push(row);
        profile.simulated_windows.extend(windows.iter().map(|window| SimulatedWindow {
            thread,
            first_instruction: window.first_instruction,
            instructions: window.instructions,
            cycles: window.cycles,
        }));
    }
    let mut executions: BTreeMap<Place, u64> = BTreeMap::new();
    let mut components: BTreeMap<(Place, CommitState, CoreEvents), Parts> = BTreeMap::new();
    for number in 0..done.numbered() {
        let executed = done.found.counts.executed(number);
        if let Some(place) = done.place(number).filter(|_| executed > 0) {
            *executions.entry(place).or_default() += executed;
        }
    }
    for (number, component, parts) in done.found.stacks().iter() {
        if let (Some(place), Some(state)) = (done.place(number), component.state()) {
            let key = (place, stored(state), CoreEvents(component.events().bits()));
            *components.entry(key).or_default() += parts;
        }
    }
    let executed = |(place, executions)| SimulatedInstruction { simulation, place, executions };
    profile.simulated_instructions.extend(executions.into_iter().map(executed));
    profile.cycle_stacks.extend(components.into_iter().map(|((place, state, events), parts)| {
        StackComponent { simulation, place, state, events, parts: parts.as_raw() }
    }));
}

fn stored(state: State) -> CommitState {
    match state {
        State::Computing => CommitState::Computing,
        State::Stalled => CommitState::Stalled,
        State::Drained => CommitState::Drained,
        State::Mispredicted => CommitState::Mispredicted,
        State::Flushed => CommitState::Flushed,
    }
}

/// A number for the core and for the program's version: another one may know other cores, and model them otherwise.
fn hash(processor: &Processor) -> u64 {
    let mut hash = StableHash::EMPTY;
    hash.add(env!("CARGO_PKG_VERSION").as_bytes());
    hash.add(processor.description().as_bytes());
    hash.value()
}

/// Adds a simulated run to the profile that it repeats: warnings of files that were changed since. Exact counts that
/// are there already stay as they are.
pub fn join(profile: &mut Profile, mut simulated: Profile) -> Vec<String> {
    if !profile.block_counts.is_empty() {
        simulated.block_counts.clear();
        simulated.edge_counts.clear();
        simulated.call_costs.clear();
        simulated.threads.iter_mut().for_each(|thread| thread.instructions = None);
        simulated.runs.iter_mut().for_each(|run| run.kind = RunKind::Simulation);
    }
    let (run, known) = (profile.runs.len(), profile.modules.len());
    profile.append(simulated);
    let (known, new) = profile.modules.split_at(known);
    let is_changed =
        |path: &[u8]| known.iter().any(|module| module.kind == ModuleKind::File && module.path == path);
    let changed = new.iter().filter(|module| is_changed(&module.path));
    let warnings = changed.map(|module| {
        let path = String::from_utf8_lossy(&module.path);
        format!("{path} was changed since it was profiled: the simulation is of other code")
    });
    let warnings: Vec<String> = warnings.collect();
    profile.runs[run].warnings.extend(warnings.iter().cloned());
    warnings
}
