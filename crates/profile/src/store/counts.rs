//! Rows of exact counts: executions of blocks, traversals of edges, costs of calls.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::Table;
use crate::model::{BlockCount, BlockId, CallCost, EdgeCount, EdgeKind, ProcessId, Profile};
use rusqlite::{Connection, Result, params};

pub const BLOCK_COUNTS: Table =
    Table { name: "block_counts", columns: &["block_id", "process_id", "executions"] };

pub const EDGE_KINDS: Table = Table { name: "edge_kinds", columns: &["edge_kind", "name"] };

pub const EDGE_COUNTS: Table = Table {
    name: "edge_counts",
    columns: &["from_block_id", "to_block_id", "edge_kind", "process_id", "traversals"],
};

pub const CALL_COSTS: Table = Table {
    name: "call_costs",
    columns: &["site_block_id", "callee_block_id", "process_id", "instructions"],
};

/// The position of a kind is its number in the file.
const KINDS: [(EdgeKind, &str); 9] = [
    (EdgeKind::Fallthrough, "fallthrough"),
    (EdgeKind::Jump, "jump"),
    (EdgeKind::Branch, "branch"),
    (EdgeKind::IndirectJump, "indirect jump"),
    (EdgeKind::Call, "call"),
    (EdgeKind::IndirectCall, "indirect call"),
    (EdgeKind::Return, "return"),
    (EdgeKind::SystemCall, "system call"),
    (EdgeKind::External, "external"),
];

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let counts = profile.block_counts.iter();
    let row = |count: &BlockCount| {
        [count.block.0.into(), count.process.0.into(), count.executions as i64].map(Some)
    };
    BLOCK_COUNTS.insert_numbers(database, counts.map(row))?;
    let mut insert = EDGE_KINDS.insert(database)?;
    for (number, (_, name)) in KINDS.iter().enumerate() {
        insert.execute(params![number as i64, name])?;
    }
    let row = |edge: &EdgeCount| {
        let kind = KINDS.iter().position(|(kind, _)| *kind == edge.kind).map(|number| number as i64);
        let [from, to] = [edge.from, edge.to].map(|block| block.map(|block| block.0.into()));
        [from, to, kind, Some(edge.process.0.into()), Some(edge.count as i64)]
    };
    EDGE_COUNTS.insert_numbers(database, profile.edge_counts.iter().map(row))?;
    let row = |cost: &CallCost| {
        let ends = [cost.site, cost.callee].map(|block| i64::from(block.0));
        [ends[0], ends[1], cost.process.0.into(), cost.instructions as i64].map(Some)
    };
    CALL_COSTS.insert_numbers(database, profile.call_costs.iter().map(row))
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.block_counts = reader.read(&BLOCK_COUNTS, |columns| {
        Ok(BlockCount {
            block: BlockId(columns.take()?),
            process: ProcessId(columns.take()?),
            executions: columns.take_u64()?,
        })
    })?;
    let kinds = reader.read_numbered(&EDGE_KINDS, |columns| columns.take_named(&KINDS))?;
    profile.edge_counts = reader.read(&EDGE_COUNTS, |columns| {
        Ok(EdgeCount {
            from: columns.take::<Option<u32>>()?.map(BlockId),
            to: columns.take::<Option<u32>>()?.map(BlockId),
            kind: {
                let number: u32 = columns.take()?;
                let kind = kinds.get(number as usize).copied();
                kind.ok_or_else(|| columns.bad(format!("there is no edge kind {number}")))?
            },
            process: ProcessId(columns.take()?),
            count: columns.take_u64()?,
        })
    })?;
    profile.call_costs = reader.read(&CALL_COSTS, |columns| {
        Ok(CallCost {
            site: BlockId(columns.take()?),
            callee: BlockId(columns.take()?),
            process: ProcessId(columns.take()?),
            instructions: columns.take_u64()?,
        })
    })?;
    Ok(())
}
