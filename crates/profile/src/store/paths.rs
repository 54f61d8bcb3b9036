//! Rows of path profiles.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::Table;
use crate::check::Inconsistency;
use crate::model::{BlockId, PathCount, Profile};
use rusqlite::{Connection, Result, params};

pub const PATHS: Table =
    Table { name: "paths", columns: &["path_id", "entered", "left_function", "executions", "is_bound"] };

pub const PATH_BLOCKS: Table = Table { name: "path_blocks", columns: &["path_id", "block_id"] };

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = PATHS.insert(database)?;
    let mut insert_block = PATH_BLOCKS.insert(database)?;
    for (number, path) in profile.paths.iter().enumerate() {
        let PathCount { blocks, entered, left, executions, is_bound } = path;
        insert.execute(params![number as i64, entered, left, *executions as i64, is_bound])?;
        for block in blocks {
            insert_block.execute(params![number as i64, block.0])?;
        }
    }
    Ok(())
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.paths = reader.read_numbered(&PATHS, |columns| {
        Ok(PathCount {
            blocks: Vec::new(),
            entered: columns.take()?,
            left: columns.take()?,
            executions: columns.take_u64()?,
            is_bound: columns.take()?,
        })
    })?;
    let blocks: Vec<(u32, BlockId)> =
        reader.read(&PATH_BLOCKS, |columns| Ok((columns.take()?, BlockId(columns.take()?))))?;
    for (row, (id, block)) in blocks.into_iter().enumerate() {
        let Some(path) = profile.paths.get_mut(id as usize) else {
            let (table, target) = (PATH_BLOCKS.name, PATHS.name);
            return Err(LoadCause::Inconsistent(Inconsistency::Dangling { table, row, target, id }));
        };
        path.blocks.push(block);
    }
    Ok(())
}
