//! Rows of what the operating system did.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::{Bytes, Table};
use crate::model::{NameId, OsEvent, OsEventKind, Profile, StackId, ThreadId};
use rusqlite::{Connection, Result, params};

pub const OS_NAMES: Table = Table { name: "os_names", columns: &["name_id", "name"] };

pub const OS_EVENTS: Table = Table {
    name: "os_events",
    columns: &[
        "thread_id",
        "kind",
        "event_name_id",
        "object_name_id",
        "begin_ns",
        "end_ns",
        "cpu_ns",
        "result",
        "stack_id",
    ],
};

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = OS_NAMES.insert(database)?;
    for (id, name) in profile.os_names.iter().enumerate() {
        insert.execute(params![id as u32, Bytes(name)])?;
    }
    let mut insert = OS_EVENTS.insert(database)?;
    for event in &profile.os_events {
        insert.execute(params![
            event.thread.0,
            event.kind.name(),
            event.name.map(|id| id.0),
            event.object.map(|id| id.0),
            event.begin_ns as i64,
            event.end_ns.map(|end| end as i64),
            event.cpu_ns as i64,
            event.result,
            event.stack.map(|id| id.0),
        ])?;
    }
    Ok(())
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.os_names = reader.read_numbered(&OS_NAMES, |columns| columns.take_bytes())?;
    let kinds = OsEventKind::ALL.map(|kind| (kind, kind.name()));
    profile.os_events = reader.read(&OS_EVENTS, |columns| {
        Ok(OsEvent {
            thread: ThreadId(columns.take()?),
            kind: columns.take_named(&kinds)?,
            name: columns.take::<Option<u32>>()?.map(NameId),
            object: columns.take::<Option<u32>>()?.map(NameId),
            begin_ns: columns.take_u64()?,
            end_ns: columns.take_optional_u64()?,
            cpu_ns: columns.take_u64()?,
            result: columns.take()?,
            stack: columns.take::<Option<u32>>()?.map(StackId),
        })
    })?;
    Ok(())
}
