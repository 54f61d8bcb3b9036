//! Rows of branch traces.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::{Table, place_columns};
use crate::model::{ProcessId, Profile, TakenBranch};
use rusqlite::{Connection, Result, params};

pub const TAKEN_BRANCHES: Table = Table {
    name: "taken_branches",
    columns: &[
        "process_id",
        "from_module_id",
        "from_code_version",
        "from_offset",
        "to_module_id",
        "to_code_version",
        "to_offset",
        "next_module_id",
        "next_code_version",
        "next_offset",
        "times_seen",
        "weight",
    ],
};

/// Writes all rows of this file's table.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = TAKEN_BRANCHES.insert(database)?;
    for branch in &profile.taken_branches {
        let (from, to) = (place_columns(branch.from), place_columns(branch.to));
        let next = branch.next.map(place_columns);
        insert.execute(params![
            branch.process.0,
            from.0,
            from.1,
            from.2,
            to.0,
            to.1,
            to.2,
            next.map(|(module, _, _)| module),
            next.map(|(_, version, _)| version),
            next.map(|(_, _, offset)| offset),
            branch.count as i64,
            branch.weight as i64,
        ])?;
    }
    Ok(())
}

/// Reads all rows of this file's table.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.taken_branches = reader.read(&TAKEN_BRANCHES, |columns| {
        Ok(TakenBranch {
            process: ProcessId(columns.take()?),
            from: columns.take_place()?,
            to: columns.take_place()?,
            next: columns.take_optional_place()?,
            count: columns.take_u64()?,
            weight: columns.take_u64()?,
        })
    })?;
    Ok(())
}
