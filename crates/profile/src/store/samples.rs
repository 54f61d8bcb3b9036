//! Rows of samples and waits, and their call stacks.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::{Table, place_columns};
use crate::model::{Profile, Sample, StackId, StackNode, ThreadId, Wait};
use rusqlite::{Connection, Result, params};

pub const STACKS: Table = Table {
    name: "stack_nodes",
    columns: &["stack_id", "parent_stack_id", "return_module_id", "return_code_version", "return_offset"],
};

pub const SAMPLES: Table = Table {
    name: "samples",
    columns: &[
        "thread_id",
        "time_ns",
        "weight_ns",
        "weight_cycles",
        "module_id",
        "code_version",
        "offset",
        "kernel",
        "stack_id",
    ],
};

pub const WAITS: Table = Table {
    name: "waits",
    columns: &["thread_id", "module_id", "code_version", "offset", "stack_id", "times", "duration_ns"],
};

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = STACKS.insert(database)?;
    for (id, node) in profile.stacks.iter().enumerate() {
        let (module, version, offset) = place_columns(node.return_place);
        let parent = node.parent.map(|parent| parent.0);
        insert.execute(params![id as u32, parent, module, version, offset])?;
    }
    let mut insert = SAMPLES.insert(database)?;
    for sample in &profile.samples {
        let place = sample.place.map(place_columns);
        insert.execute(params![
            sample.thread.0,
            sample.time_ns as i64,
            sample.weight_ns as i64,
            sample.weight_cycles.map(|cycles| cycles as i64),
            place.map(|(module, _, _)| module),
            place.map(|(_, version, _)| version),
            place.map(|(_, _, offset)| offset),
            sample.kernel,
            sample.stack.map(|stack| stack.0),
        ])?;
    }
    let mut insert = WAITS.insert(database)?;
    for wait in &profile.waits {
        let place = wait.place.map(place_columns);
        insert.execute(params![
            wait.thread.0,
            place.map(|(module, _, _)| module),
            place.map(|(_, version, _)| version),
            place.map(|(_, _, offset)| offset),
            wait.stack.map(|stack| stack.0),
            wait.times.map(|times| times as i64),
            wait.duration_ns as i64,
        ])?;
    }
    Ok(())
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.stacks = reader.read_numbered(&STACKS, |columns| {
        Ok(StackNode {
            parent: columns.take::<Option<u32>>()?.map(StackId),
            return_place: columns.take_place()?,
        })
    })?;
    profile.samples = reader.read(&SAMPLES, |columns| {
        Ok(Sample {
            thread: ThreadId(columns.take()?),
            time_ns: columns.take_u64()?,
            weight_ns: columns.take_u64()?,
            weight_cycles: columns.take_optional_u64()?,
            place: columns.take_optional_place()?,
            kernel: columns.take()?,
            stack: columns.take::<Option<u32>>()?.map(StackId),
        })
    })?;
    profile.waits = reader.read(&WAITS, |columns| {
        Ok(Wait {
            thread: ThreadId(columns.take()?),
            place: columns.take_optional_place()?,
            stack: columns.take::<Option<u32>>()?.map(StackId),
            times: columns.take_optional_u64()?,
            duration_ns: columns.take_u64()?,
        })
    })?;
    Ok(())
}
