//! One table of the file: its columns are named once, for writing and for reading.

use crate::model::{CodeVersion, Exit, ModuleId, Offset, Place};
use rusqlite::types::{FromSql, FromSqlError, ToSql, ToSqlOutput, Type, ValueRef};
use rusqlite::{Connection, Result, Row, Statement};

/// A table's name and the columns that hold its rows, in the order of writing and reading.
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [&'static str],
}

/// Rows of numbers that one statement inserts: one for each takes three times as long, and more gain nothing.
const ROWS: usize = 32;

impl Table {
    /// The statement that inserts one row.
    pub fn insert<'a>(&self, database: &'a Connection) -> Result<Statement<'a>> {
        self.insert_rows(database, 1)
    }

    fn insert_rows<'a>(&self, database: &'a Connection, rows: usize) -> Result<Statement<'a>> {
        let row = format!("({})", vec!["?"; self.columns.len()].join(","));
        let (columns, rows) = (self.columns.join(","), vec![row; rows].join(","));
        database.prepare(&format!("INSERT INTO {} ({columns}) VALUES {rows}", self.name))
    }

    /// Inserts rows of numbers, of which there may be millions.
    pub fn insert_numbers<const COLUMNS: usize>(
        &self,
        database: &Connection,
        mut rows: impl ExactSizeIterator<Item = [Option<i64>; COLUMNS]>,
    ) -> Result<()> {
        for size in [ROWS, 1] {
            let mut insert = self.insert_rows(database, size)?;
            while rows.len() >= size {
                for (number, value) in rows.by_ref().take(size).flatten().enumerate() {
                    insert.raw_bind_parameter(number + 1, value)?;
                }
                insert.raw_execute()?;
            }
        }
        Ok(())
    }
}

/// The columns of one row, taken from left to right.
pub struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Columns<'a> {
    /// All columns of a row.
    pub fn of(row: &'a Row<'a>) -> Columns<'a> {
        Columns { row, next: 0 }
    }

    /// The next column.
    pub fn take<T: FromSql>(&mut self) -> Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// The next column, which holds an unsigned 64-bit number as two's complement.
    pub fn take_u64(&mut self) -> Result<u64> {
        Ok(self.take::<i64>()? as u64)
    }

    /// The next column, likewise, or NULL.
    pub fn take_optional_u64(&mut self) -> Result<Option<u64>> {
        Ok(self.take::<Option<i64>>()?.map(|bits| bits as u64))
    }

    /// The next column, bytes of the operating system.
    pub fn take_bytes(&mut self) -> Result<Vec<u8>> {
        Ok(self.take::<OwnedBytes>()?.0)
    }

    /// The next column, a name out of `names`.
    pub fn take_named<T: Copy>(&mut self, names: &[(T, &str)]) -> Result<T> {
        let name: String = self.take()?;
        self.named(names, &name)
    }

    /// The next column, likewise, or NULL.
    pub fn take_optional_named<T: Copy>(&mut self, names: &[(T, &str)]) -> Result<Option<T>> {
        let name: Option<String> = self.take()?;
        name.map(|name| self.named(names, &name)).transpose()
    }

    fn named<T: Copy>(&self, names: &[(T, &str)], name: &str) -> Result<T> {
        match names.iter().find(|(_, known)| *known == name) {
            Some((value, _)) => Ok(*value),
            None => Err(self.bad(format!("unknown name '{name}'"))),
        }
    }

    /// The next three columns, a place.
    pub fn take_place(&mut self) -> Result<Place> {
        Ok(Place {
            module: ModuleId(self.take()?),
            version: CodeVersion(self.take()?),
            offset: Offset(self.take_u64()?),
        })
    }

    /// The next three columns, a place, or nothing if the first is NULL.
    pub fn take_optional_place(&mut self) -> Result<Option<Place>> {
        if self.row.get_ref(self.next)? == ValueRef::Null {
            self.next += 3;
            return Ok(None);
        }
        self.take_place().map(Some)
    }

    /// The next two columns: the exit code, and the signal.
    pub fn take_exit(&mut self) -> Result<Exit> {
        let (code, signal) = (self.take()?, self.take()?);
        match (code, signal) {
            (Some(code), None) => Ok(Exit::Code(code)),
            (None, Some(signal)) => Ok(Exit::Signal(signal)),
            (None, None) => Ok(Exit::Unknown),
            (Some(_), Some(_)) => Err(self.bad("an exit code and a signal at once".into())),
        }
    }

    /// An error about the column that was taken last.
    pub fn bad(&self, what: String) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(self.next.saturating_sub(1), Type::Null, what.into())
    }
}

/// The two columns of an [`Exit`].
pub fn exit_columns(exit: Exit) -> (Option<i32>, Option<i32>) {
    match exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Unknown => (None, None),
    }
}

/// The three columns of a place: module, version and offset.
pub fn place_columns(place: Place) -> (u32, u32, i64) {
    (place.module.0, place.version.0, place.offset.0 as i64)
}

/// The name that stands for `value`, which must be in `names`.
pub fn name_of<T: Copy + PartialEq>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| name)
}

/// Bytes of the operating system, stored as text where they are text, so that any tool shows them.
pub struct Bytes<'a>(pub &'a [u8]);

impl ToSql for Bytes<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(match std::str::from_utf8(self.0) {
            Ok(_) => ToSqlOutput::Borrowed(ValueRef::Text(self.0)),
            Err(_) => ToSqlOutput::Borrowed(ValueRef::Blob(self.0)),
        })
    }
}

struct OwnedBytes(Vec<u8>);

impl FromSql for OwnedBytes {
    fn column_result(value: ValueRef<'_>) -> std::result::Result<Self, FromSqlError> {
        match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(Self(bytes.to_vec())),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}
