//! Rows of executions that breakpoints counted.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::{Table, place_columns};
use crate::model::{Profile, RunId, Tally};
use rusqlite::{Connection, Result, params};

pub const TALLIES: Table = Table {
    name: "tallies",
    columns: &["run_id", "module_id", "code_version", "offset", "executions", "cpu_ns", "variance"],
};

/// Writes all rows of this file's table.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = TALLIES.insert(database)?;
    for tally in &profile.tallies {
        let (module, version, offset) = place_columns(tally.place);
        insert.execute(params![
            tally.run.0,
            module,
            version,
            offset,
            tally.executions as i64,
            tally.cpu_ns as i64,
            tally.variance as i64,
        ])?;
    }
    Ok(())
}

/// Reads all rows of this file's table.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.tallies = reader.read(&TALLIES, |columns| {
        Ok(Tally {
            run: RunId(columns.take()?),
            place: columns.take_place()?,
            executions: columns.take_u64()?,
            cpu_ns: columns.take_u64()?,
            variance: columns.take_u64()?,
        })
    })?;
    Ok(())
}
