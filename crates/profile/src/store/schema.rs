//! Which tables a file has, and which version of them this program reads and writes.

use super::table::Table;
use super::{branches, code, counts, events, intervals, paths, runs, samples, simulations, tallies};
use rusqlite::{Connection, Result, params};

/// Marks a database as a profile: "twpf" as a big-endian number in the file's header.
pub const APPLICATION_ID: u32 = u32::from_be_bytes(*b"twpf");

/// Version of the tables. Any change of their meaning makes a new one.
pub const VERSION: u32 = 9;

/// The oldest version that this program reads.
pub const OLDEST: u32 = 7;

/// A column that came with a later version than [`OLDEST`].
pub struct Newer {
    /// The first version that has it.
    pub since: u32,
    /// Its table.
    pub table: &'static str,
    /// Its name.
    pub column: &'static str,
    /// What stands for it in files of before.
    pub before: &'static str,
}

/// All of them.
pub const NEWER_COLUMNS: [Newer; 2] = [
    Newer { since: 8, table: simulations::SIMULATIONS.name, column: "executed_instructions", before: "NULL" },
    Newer {
        since: 8,
        table: simulations::SIMULATED_THREADS.name,
        column: "simulated_thread_id",
        before: "rowid - 1",
    },
];

/// Likewise whole tables, with the first version that has each. Files of before have no rows of them.
pub const NEWER_TABLES: [(u32, &str); 3] =
    [(8, simulations::SIMULATED_WINDOWS.name), (9, events::OS_NAMES.name), (9, events::OS_EVENTS.name)];

/// The statements that make the tables.
const STATEMENTS: &str = include_str!("schema.sql");

/// Tables that hold the profile, whose rows are counted.
const TABLES: [&Table; 34] = [
    &runs::RUNS,
    &runs::ARGUMENTS,
    &runs::ENVIRONMENT,
    &runs::WARNINGS,
    &runs::CLOCKS,
    &runs::CALL_STACKS,
    &runs::PROCESSES,
    &runs::THREADS,
    &code::MODULES,
    &code::FILES,
    &code::FUNCTIONS,
    &code::LINES,
    &code::INLINED_CALLS,
    &code::BLOCKS,
    &samples::STACKS,
    &samples::SAMPLES,
    &samples::WAITS,
    &events::OS_NAMES,
    &events::OS_EVENTS,
    &tallies::TALLIES,
    &counts::BLOCK_COUNTS,
    &counts::EDGE_KINDS,
    &counts::EDGE_COUNTS,
    &counts::CALL_COSTS,
    &intervals::INTERVALS,
    &intervals::INTERVAL_BLOCKS,
    &paths::PATHS,
    &paths::PATH_BLOCKS,
    &branches::TAKEN_BRANCHES,
    &simulations::SIMULATIONS,
    &simulations::SIMULATED_THREADS,
    &simulations::SIMULATED_WINDOWS,
    &simulations::SIMULATED_INSTRUCTIONS,
    &simulations::CYCLE_STACKS,
];

/// Makes the tables and marks the database as ours.
pub fn create(database: &Connection) -> Result<()> {
    database.execute_batch(STATEMENTS)?;
    database.pragma_update(None, "application_id", APPLICATION_ID)?;
    database.pragma_update(None, "user_version", VERSION)?;
    let written_by = concat!("timewise ", env!("CARGO_PKG_VERSION"));
    database.execute("INSERT INTO format VALUES (?, ?)", params![VERSION, written_by])?;
    Ok(())
}

/// Notes how many rows each table has.
pub fn write_row_counts(database: &Connection) -> Result<()> {
    let mut insert = database.prepare("INSERT INTO row_counts VALUES (?, ?)")?;
    for table in TABLES {
        insert.execute(params![table.name, rows(database, table)?])?;
    }
    Ok(())
}

fn rows(database: &Connection, table: &Table) -> Result<i64> {
    database.query_row(&format!("SELECT count(*) FROM {}", table.name), [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_newer_is_there() {
        for Newer { since, table, column, .. } in NEWER_COLUMNS {
            let found = TABLES.iter().find(|known| known.name == table).unwrap();
            assert!(
                found.columns.contains(&column) && since > OLDEST && since <= VERSION,
                "{table} {column}"
            );
        }
        for (since, table) in NEWER_TABLES {
            assert!(TABLES.iter().any(|known| known.name == table) && since > OLDEST, "{table}");
        }
    }
}
