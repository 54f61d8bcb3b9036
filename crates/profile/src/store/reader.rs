//! Reading tables: the large ones in parts, side by side, as taking rows out of the database is most of the
//! time that a large profile takes to load.

use super::load::LoadCause;
use super::schema::{NEWER_COLUMNS, NEWER_TABLES};
use super::table::{Columns, Table};
use rusqlite::{Connection, OpenFlags, Result};
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, Builder};

/// Below this length of a file one thread is as fast as several.
const LARGE_FILE_BYTES: u64 = 4 << 20;

/// Rows that a thread reads at once: enough to be worth one, and few enough to be held twice.
const PART_ROWS: i128 = 1 << 15;

/// Numbers of rows may have gaps in a file that is not ours, of any size.
const MOST_PARTS: i128 = 1 << 12;

/// More threads would wait for each other's memory.
const MOST_THREADS: usize = 8;

/// No row takes less of the file: a damaged one may seem to have any number of them.
const LEAST_ROW_BYTES: u64 = 4;

/// A file that is being read.
pub struct Reader {
    /// At least one, each for one thread.
    connections: Vec<Connection>,
    bytes: u64,
    version: u32,
}

impl Reader {
    /// Opens the file of this length and version of the format.
    pub fn open(path: &Path, bytes: u64, version: u32) -> Result<Reader> {
        let threads = match bytes {
            ..LARGE_FILE_BYTES => 1,
            _ => thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS),
        };
        let connections = (0..threads).map(|_| connect(path)).collect::<Result<_>>()?;
        Ok(Reader { connections, bytes, version })
    }

    /// All rows in the order in which they were written, each made by `row`.
    pub fn read<T: Send>(
        &mut self,
        table: &Table,
        row: impl Fn(&mut Columns) -> Result<T> + Sync,
    ) -> Result<Vec<T>, LoadCause> {
        self.read_parts(table, |columns, _| row(columns))
    }

    /// Likewise, where the first column must count up from 0.
    pub fn read_numbered<T: Send>(
        &mut self,
        table: &Table,
        row: impl Fn(&mut Columns) -> Result<T> + Sync,
    ) -> Result<Vec<T>, LoadCause> {
        self.read_parts(table, |columns, position| {
            let id: i64 = columns.take()?;
            if id != position {
                return Err(columns.bad(format!("row {position} has id {id}")));
            }
            row(columns)
        })
    }

    /// `row` also gets the position of the row, which holds only where rows are numbered without gaps.
    fn read_parts<T: Send>(
        &mut self,
        table: &Table,
        row: impl Fn(&mut Columns, i64) -> Result<T> + Sync,
    ) -> Result<Vec<T>, LoadCause> {
        if NEWER_TABLES.iter().any(|&(since, name)| name == table.name && since > self.version) {
            return Ok(Vec::new());
        }
        let select = select(table, self.version);
        let noted = noted(&self.connections[0], table)?;
        let most = (self.bytes / LEAST_ROW_BYTES).min(noted.try_into().unwrap_or(0)) as usize;
        let mut found = Vec::new();
        for side_by_side in parts(&self.connections[0], table)?.chunks(self.connections.len()) {
            let mut readers = self.connections.iter_mut().zip(side_by_side);
            let Some((database, first)) = readers.next() else { break };
            let (row, select) = (&row, &select);
            thread::scope(|scope| {
                let mut others = Vec::new();
                for (database, part) in readers {
                    let work = move || part.read(database, select, most, row);
                    others.push((part, Builder::new().spawn_scoped(scope, work)));
                }
                found.append(&mut first.read(database, select, most, row)?);
                for (part, other) in others {
                    found.append(&mut match other {
                        Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic))?,
                        // Where the system allows no further thread this one does the work.
                        Err(_) => part.read(database, select, most, row)?,
                    });
                }
                Ok::<_, rusqlite::Error>(())
            })?;
            if found.len() > most {
                break;
            }
        }
        match found.len() as i64 {
            rows if rows == noted => Ok(found),
            found => Err(LoadCause::RowsMissing { table: table.name, noted, found }),
        }
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    // A damaged or forged file must not make the library trust what it says of itself.
    database.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    Ok(database)
}

/// How many rows a table had when it was written.
fn noted(database: &Connection, table: &Table) -> Result<i64> {
    let noted = "SELECT number_of_rows FROM row_counts WHERE table_name = ?";
    database.query_row(noted, [table.name], |row| row.get(0))
}

/// The statement that gives some rows of a table as this version has them, of a file of that version.
fn select(table: &Table, version: u32) -> String {
    let column = |&column: &&'static str| {
        let newer = NEWER_COLUMNS.iter().find(|newer| (newer.table, newer.column) == (table.name, column));
        newer.filter(|newer| newer.since > version).map_or(column, |newer| newer.before)
    };
    let columns: Vec<&str> = table.columns.iter().map(column).collect();
    format!("SELECT {} FROM {} WHERE rowid BETWEEN ? AND ? ORDER BY rowid", columns.join(","), table.name)
}

/// Neighbouring rows.
struct Part {
    /// Their numbers in the database.
    rows: RangeInclusive<i64>,
    /// Position of the first.
    position: i64,
}

impl Part {
    /// Stops behind `most` rows.
    fn read<T>(
        &self,
        database: &Connection,
        select: &str,
        most: usize,
        row: &impl Fn(&mut Columns, i64) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = database.prepare(select)?;
        let mut found = statement.query([self.rows.start(), self.rows.end()])?;
        let mut values = Vec::new();
        while let Some(next) = found.next()?.filter(|_| values.len() <= most) {
            let position = self.position.saturating_add(values.len() as i64);
            values.push(row(&mut Columns::of(next), position)?);
        }
        Ok(values)
    }
}

/// The parts of a table, in order.
fn parts(database: &Connection, table: &Table) -> Result<Vec<Part>> {
    // Asked for both at once, the database would look at all rows.
    let limit = |which| format!("(SELECT {which}(rowid) FROM {})", table.name);
    let limits = format!("SELECT {}, {}", limit("min"), limit("max"));
    let (first, last): (Option<i64>, Option<i64>) =
        database.query_row(&limits, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some((first, last)) = first.zip(last) else { return Ok(Vec::new()) };
    let rows = i128::from(last) - i128::from(first) + 1;
    let count = (rows / PART_ROWS).clamp(1, MOST_PARTS);
    let begin = |part: i128| i128::from(first) + rows * part / count;
    let part = |at: i128| Part {
        rows: begin(at) as i64..=(begin(at + 1) - 1) as i64,
        position: (begin(at) - i128::from(first)) as i64,
    };
    Ok((0..count).map(part).collect())
}
