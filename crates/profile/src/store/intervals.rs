//! Rows of basic block vectors.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::Table;
use crate::model::{BlockId, Interval, IntervalBlock, IntervalId, Profile, ThreadId};
use rusqlite::{Connection, Result, params};

pub const INTERVALS: Table =
    Table { name: "intervals", columns: &["interval_id", "thread_id", "first_instruction", "instructions"] };

pub const INTERVAL_BLOCKS: Table =
    Table { name: "interval_blocks", columns: &["interval_id", "block_id", "instructions"] };

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = INTERVALS.insert(database)?;
    for (number, interval) in profile.intervals.iter().enumerate() {
        let Interval { thread, first_instruction, instructions } = *interval;
        insert.execute(params![number as i64, thread.0, first_instruction as i64, instructions as i64])?;
    }
    let row = |part: &IntervalBlock| {
        [part.interval.0.into(), part.block.0.into(), part.instructions as i64].map(Some)
    };
    INTERVAL_BLOCKS.insert_numbers(database, profile.interval_blocks.iter().map(row))
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.intervals = reader.read_numbered(&INTERVALS, |columns| {
        Ok(Interval {
            thread: ThreadId(columns.take()?),
            first_instruction: columns.take_u64()?,
            instructions: columns.take_u64()?,
        })
    })?;
    profile.interval_blocks = reader.read(&INTERVAL_BLOCKS, |columns| {
        Ok(IntervalBlock {
            interval: IntervalId(columns.take()?),
            block: BlockId(columns.take()?),
            instructions: columns.take_u64()?,
        })
    })?;
    Ok(())
}
