//! Rows of simulations: cycle stacks of instructions.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::{Bytes, Table, name_of, place_columns};
use crate::model::{
    CommitState, CoreEvents, Profile, RunId, SimulatedInstruction, SimulatedPart, SimulatedThread,
    SimulatedThreadId, SimulatedWindow, Simulation, SimulationId, StackComponent, ThreadId,
};
use rusqlite::{Connection, Result, params};

pub const SIMULATIONS: Table = Table {
    name: "simulations",
    columns: &[
        "simulation_id",
        "run_id",
        "core",
        "core_hash",
        "skipped_instructions",
        "window_instructions",
        "windows",
        "instructions",
        "cycles",
        "executed_instructions",
    ],
};

pub const SIMULATED_THREADS: Table = Table {
    name: "simulated_threads",
    columns: &[
        "simulated_thread_id",
        "simulation_id",
        "thread_id",
        "image",
        "executable_path",
        "instructions",
        "cycles",
    ],
};

pub const SIMULATED_WINDOWS: Table = Table {
    name: "simulated_windows",
    columns: &["simulated_thread_id", "first_instruction", "instructions", "cycles"],
};

pub const SIMULATED_INSTRUCTIONS: Table = Table {
    name: "simulated_instructions",
    columns: &["simulation_id", "module_id", "code_version", "offset", "executions"],
};

pub const CYCLE_STACKS: Table = Table {
    name: "cycle_stacks",
    columns: &["simulation_id", "module_id", "code_version", "offset", "state", "events", "cycle_parts"],
};

const STATES: [(CommitState, &str); 5] = [
    (CommitState::Computing, "computing"),
    (CommitState::Stalled, "stalled"),
    (CommitState::Drained, "drained"),
    (CommitState::Mispredicted, "mispredicted"),
    (CommitState::Flushed, "flushed"),
];

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = SIMULATIONS.insert(database)?;
    for (id, simulation) in profile.simulations.iter().enumerate() {
        let SimulatedPart { skipped, length, windows } = simulation.part;
        insert.execute(params![
            id as u32,
            simulation.run.0,
            simulation.core,
            simulation.core_hash as i64,
            skipped as i64,
            length.map(|length| length as i64),
            windows,
            simulation.instructions as i64,
            simulation.cycles as i64,
            simulation.executed.map(|executed| executed as i64),
        ])?;
    }
    let mut insert = SIMULATED_THREADS.insert(database)?;
    for (id, row) in profile.simulated_threads.iter().enumerate() {
        insert.execute(params![
            id as u32,
            row.simulation.0,
            row.thread.0,
            row.image,
            Bytes(&row.executable),
            row.instructions as i64,
            row.cycles as i64,
        ])?;
    }
    let mut insert = SIMULATED_WINDOWS.insert(database)?;
    for row in &profile.simulated_windows {
        let SimulatedWindow { thread, first_instruction, instructions, cycles } = *row;
        insert.execute(params![thread.0, first_instruction as i64, instructions as i64, cycles as i64])?;
    }
    let mut insert = SIMULATED_INSTRUCTIONS.insert(database)?;
    for row in &profile.simulated_instructions {
        let (module, version, offset) = place_columns(row.place);
        insert.execute(params![row.simulation.0, module, version, offset, row.executions as i64])?;
    }
    let mut insert = CYCLE_STACKS.insert(database)?;
    for row in &profile.cycle_stacks {
        let (module, version, offset) = place_columns(row.place);
        let (state, events) = (name_of(&STATES, row.state), row.events.names());
        insert.execute(params![
            row.simulation.0,
            module,
            version,
            offset,
            state,
            events,
            row.parts as i64
        ])?;
    }
    Ok(())
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.simulations = reader.read_numbered(&SIMULATIONS, |columns| {
        Ok(Simulation {
            run: RunId(columns.take()?),
            core: columns.take()?,
            core_hash: columns.take_u64()?,
            part: SimulatedPart {
                skipped: columns.take_u64()?,
                length: columns.take_optional_u64()?,
                windows: columns.take()?,
            },
            instructions: columns.take_u64()?,
            cycles: columns.take_u64()?,
            executed: columns.take_optional_u64()?,
        })
    })?;
    profile.simulated_threads = reader.read_numbered(&SIMULATED_THREADS, |columns| {
        Ok(SimulatedThread {
            simulation: SimulationId(columns.take()?),
            thread: ThreadId(columns.take()?),
            image: columns.take()?,
            executable: columns.take_bytes()?,
            instructions: columns.take_u64()?,
            cycles: columns.take_u64()?,
        })
    })?;
    profile.simulated_windows = reader.read(&SIMULATED_WINDOWS, |columns| {
        Ok(SimulatedWindow {
            thread: SimulatedThreadId(columns.take()?),
            first_instruction: columns.take_u64()?,
            instructions: columns.take_u64()?,
            cycles: columns.take_u64()?,
        })
    })?;
    profile.simulated_instructions = reader.read(&SIMULATED_INSTRUCTIONS, |columns| {
        Ok(SimulatedInstruction {
            simulation: SimulationId(columns.take()?),
            place: columns.take_place()?,
            executions: columns.take_u64()?,
        })
    })?;
    profile.cycle_stacks = reader.read(&CYCLE_STACKS, |columns| {
        Ok(StackComponent {
            simulation: SimulationId(columns.take()?),
            place: columns.take_place()?,
            state: columns.take_named(&STATES)?,
            events: {
                let names: String = columns.take()?;
                CoreEvents::named(&names).ok_or_else(|| columns.bad(format!("unknown events '{names}'")))?
            },
            parts: columns.take_u64()?,
        })
    })?;
    Ok(())
}
