//! Rows of runs, their processes and their threads.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::{Bytes, Columns, Table, exit_columns, name_of};
use crate::model::{
    CallStackMethod, CallStacks, Clock, ClockScope, Machine, Process, ProcessId, Profile, Run, RunId,
    RunKind, Thread,
};
use rusqlite::{Connection, Result, params};

pub const RUNS: Table = Table {
    name: "runs",
    columns: &[
        "run_id",
        "kind",
        "working_directory",
        "started_unix_ns",
        "elapsed_ns",
        "user_ns",
        "kernel_ns",
        "exit_code",
        "exit_signal",
        "randomised_addresses",
        "stdout_hash",
        "machine_processor",
        "machine_kernel",
        "machine_cpus",
        "lost_samples",
        "lost_calls",
        "counts_complete",
    ],
};

pub const ARGUMENTS: Table = Table { name: "run_arguments", columns: &["run_id", "position", "argument"] };

pub const ENVIRONMENT: Table =
    Table { name: "run_environment", columns: &["run_id", "position", "name", "value"] };

pub const WARNINGS: Table = Table { name: "run_warnings", columns: &["run_id", "position", "warning"] };

pub const CLOCKS: Table = Table {
    name: "clocks",
    columns: &[
        "run_id",
        "event",
        "counts_cycles",
        "precise_level",
        "frequency_hz",
        "scope",
        "core_frequency_hz",
        "core_frequency_low_hz",
        "core_frequency_high_hz",
    ],
};

pub const CALL_STACKS: Table =
    Table { name: "call_stacks", columns: &["run_id", "method", "taken", "cut_short", "broken"] };

pub const PROCESSES: Table = Table {
    name: "processes",
    columns: &[
        "process_id",
        "run_id",
        "system_pid",
        "parent_process_id",
        "executable_path",
        "exit_code",
        "exit_signal",
        "count_uncertainty_executions",
    ],
};

pub const THREADS: Table =
    Table { name: "threads", columns: &["thread_id", "process_id", "system_tid", "name", "instructions"] };

const RUN_KINDS: [(RunKind, &str); 5] = [
    (RunKind::Sampling, "sampling"),
    (RunKind::Counting, "counting"),
    (RunKind::Branches, "branches"),
    (RunKind::Simulation, "simulation"),
    (RunKind::Events, "events"),
];

const SCOPES: [(ClockScope, &str); 3] =
    [(ClockScope::Processors, "processors"), (ClockScope::Threads, "threads"), (ClockScope::Looks, "looks")];

const METHODS: [(CallStackMethod, &str); 3] = [
    (CallStackMethod::FramePointers, "frame pointers"),
    (CallStackMethod::UnwindTables, "unwind tables"),
    (CallStackMethod::Both, "both"),
];

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    for (id, run) in profile.runs.iter().enumerate() {
        write_run(database, id as u32, run)?;
    }
    let mut insert = PROCESSES.insert(database)?;
    for (id, process) in profile.processes.iter().enumerate() {
        let (code, signal) = exit_columns(process.exit);
        insert.execute(params![
            id as u32,
            process.run.0,
            process.pid,
            process.parent.map(|parent| parent.0),
            Bytes(&process.executable),
            code,
            signal,
            process.count_uncertainty,
        ])?;
    }
    let mut insert = THREADS.insert(database)?;
    for (id, thread) in profile.threads.iter().enumerate() {
        let instructions = thread.instructions.map(|count| count as i64);
        insert.execute(params![id as u32, thread.process.0, thread.tid, thread.name, instructions])?;
    }
    Ok(())
}

fn write_run(database: &Connection, id: u32, run: &Run) -> Result<()> {
    let (code, signal) = exit_columns(run.exit);
    RUNS.insert(database)?.execute(params![
        id,
        name_of(&RUN_KINDS, run.kind),
        Bytes(&run.directory),
        run.started_unix_ns,
        run.elapsed_ns as i64,
        run.user_ns as i64,
        run.kernel_ns as i64,
        code,
        signal,
        run.randomised_addresses,
        run.stdout_hash.map(|hash| hash as i64),
        run.machine.processor,
        run.machine.kernel,
        run.machine.cpus,
        run.lost_samples as i64,
        run.lost_calls.map(|calls| calls as i64),
        run.counts_complete,
    ])?;
    let mut insert = ARGUMENTS.insert(database)?;
    for (position, argument) in run.command.iter().enumerate() {
        insert.execute(params![id, position as i64, Bytes(argument)])?;
    }
    let mut insert = ENVIRONMENT.insert(database)?;
    for (position, (name, value)) in run.environment.iter().enumerate() {
        insert.execute(params![id, position as i64, Bytes(name), Bytes(value)])?;
    }
    let mut insert = WARNINGS.insert(database)?;
    for (position, warning) in run.warnings.iter().enumerate() {
        insert.execute(params![id, position as i64, warning])?;
    }
    if let Some(stacks) = &run.call_stacks {
        CALL_STACKS.insert(database)?.execute(params![
            id,
            name_of(&METHODS, stacks.method),
            stacks.taken as i64,
            stacks.cut_short as i64,
            stacks.broken as i64,
        ])?;
    }
    if let Some(clock) = &run.clock {
        CLOCKS.insert(database)?.execute(params![
            id,
            clock.event,
            clock.counts_cycles,
            clock.precise_level,
            clock.frequency_hz,
            clock.scope.map(|scope| name_of(&SCOPES, scope)),
            clock.core_hz,
            clock.core_hz_low,
            clock.core_hz_high,
        ])?;
    }
    Ok(())
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.runs = reader.read_numbered(&RUNS, run)?;
    let runs = &mut profile.runs;
    let count = runs.len();
    let arguments = reader.read(&ARGUMENTS, |columns| {
        let (run, _) = (owner(columns, count)?, columns.take::<i64>()?);
        Ok((run, columns.take_bytes()?))
    })?;
    arguments.into_iter().for_each(|(run, argument)| runs[run].command.push(argument));
    let variables = reader.read(&ENVIRONMENT, |columns| {
        let (run, _) = (owner(columns, count)?, columns.take::<i64>()?);
        Ok((run, (columns.take_bytes()?, columns.take_bytes()?)))
    })?;
    variables.into_iter().for_each(|(run, variable)| runs[run].environment.push(variable));
    let warnings = reader.read(&WARNINGS, |columns| {
        let (run, _) = (owner(columns, count)?, columns.take::<i64>()?);
        Ok((run, columns.take()?))
    })?;
    warnings.into_iter().for_each(|(run, warning)| runs[run].warnings.push(warning));
    let clocks = reader.read(&CLOCKS, |columns| Ok((owner(columns, count)?, clock(columns)?)))?;
    clocks.into_iter().for_each(|(run, clock)| runs[run].clock = Some(clock));
    let stacks = reader.read(&CALL_STACKS, |columns| Ok((owner(columns, count)?, call_stacks(columns)?)))?;
    stacks.into_iter().for_each(|(run, stacks)| runs[run].call_stacks = Some(stacks));
    profile.processes = reader.read_numbered(&PROCESSES, |columns| {
        Ok(Process {
            run: RunId(columns.take()?),
            pid: columns.take()?,
            parent: columns.take::<Option<u32>>()?.map(ProcessId),
            executable: columns.take_bytes()?,
            exit: columns.take_exit()?,
            count_uncertainty: columns.take()?,
        })
    })?;
    profile.threads = reader.read_numbered(&THREADS, |columns| {
        Ok(Thread {
            process: ProcessId(columns.take()?),
            tid: columns.take()?,
            name: columns.take()?,
            instructions: columns.take_optional_u64()?,
        })
    })?;
    Ok(())
}

fn run(columns: &mut Columns) -> Result<Run> {
    Ok(Run {
        kind: columns.take_named(&RUN_KINDS)?,
        command: Vec::new(),
        directory: columns.take_bytes()?,
        environment: Vec::new(),
        started_unix_ns: columns.take()?,
        elapsed_ns: columns.take_u64()?,
        user_ns: columns.take_u64()?,
        kernel_ns: columns.take_u64()?,
        exit: columns.take_exit()?,
        randomised_addresses: columns.take()?,
        stdout_hash: columns.take_optional_u64()?,
        machine: Machine { processor: columns.take()?, kernel: columns.take()?, cpus: columns.take()? },
        clock: None,
        call_stacks: None,
        lost_samples: columns.take_u64()?,
        lost_calls: columns.take_optional_u64()?,
        counts_complete: columns.take()?,
        warnings: Vec::new(),
    })
}

fn clock(columns: &mut Columns) -> Result<Clock> {
    // SQLite stores a float that is not a number as NULL; such a profile is refused as a whole.
    let hertz = |value: Option<f64>| value.unwrap_or(f64::NAN);
    Ok(Clock {
        event: columns.take()?,
        counts_cycles: columns.take()?,
        precise_level: columns.take()?,
        frequency_hz: columns.take()?,
        scope: columns.take_optional_named(&SCOPES)?,
        core_hz: hertz(columns.take()?),
        core_hz_low: hertz(columns.take()?),
        core_hz_high: hertz(columns.take()?),
    })
}

fn call_stacks(columns: &mut Columns) -> Result<CallStacks> {
    Ok(CallStacks {
        method: columns.take_named(&METHODS)?,
        taken: columns.take_u64()?,
        cut_short: columns.take_u64()?,
        broken: columns.take_u64()?,
    })
}

/// The next column, the id of one of so many runs.
fn owner(columns: &mut Columns, runs: usize) -> Result<usize> {
    let id: u32 = columns.take()?;
    let known = Some(id as usize).filter(|&id| id < runs);
    known.ok_or_else(|| columns.bad(format!("there is no run {id}")))
}
