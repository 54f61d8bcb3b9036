//! Reading what the runtime recorded.

use crate::solve::{Solution, solve};
use std::sync::atomic::Ordering;
use timewise_abi::Failure;
use timewise_abi::log::{BlockRecord, EdgeRecord, MappingRecord};
use timewise_abi::process::ProcessRecord;
use timewise_abi::view::Shared;

/// A translated block with its code.
#[derive(Clone, Debug)]
pub struct RecordedBlock {
    /// What the runtime says of it.
    pub record: BlockRecord,
    /// Its code.
    pub code: Vec<u8>,
}

/// A change of the address space with the path of the file.
#[derive(Clone, Debug)]
pub struct RecordedMapping {
    /// What the runtime or the host says of it.
    pub record: MappingRecord,
    /// Path of the mapped file, or a name in brackets.
    pub path: Vec<u8>,
}

/// Exact counts of one process image.
#[derive(Debug)]
pub struct ProcessCounts {
    /// Offset of its record, which names it among its relatives.
    pub record: u64,
    /// Record of its parent, 0 for none.
    pub parent: u64,
    /// Process id.
    pub pid: u32,
    /// A [`timewise_abi::process::state`].
    pub state: u32,
    /// Blocks in the order of their translation.
    pub blocks: Vec<RecordedBlock>,
    /// Edges likewise.
    pub edges: Vec<EdgeRecord>,
    /// Changes of the address space, in order.
    pub mappings: Vec<RecordedMapping>,
    /// Executions of blocks and edges.
    pub solution: Solution,
}

/// Everything of all processes, in the order of their start.
pub fn harvest(shared: Shared) -> (Vec<ProcessCounts>, Option<Failure>) {
    let mut all = Vec::new();
    let mut next = shared.header().latest_process.load(Ordering::Acquire);
    while next != 0 {
        let process = shared.process(next);
        all.push(one(shared, next, process));
        next = process.previous.load(Ordering::Acquire);
    }
    all.reverse();
    let failure = match shared.header().failure.load(Ordering::Relaxed) {
        0 => None,
        1 => Some(Failure::SharedFull),
        2 => Some(Failure::CountersFull),
        3 => Some(Failure::CacheFull),
        4 => Some(Failure::Unsupported),
        _ => Some(Failure::Internal),
    };
    (all, failure)
}

fn one(shared: Shared, offset: u64, process: &ProcessRecord) -> ProcessCounts {
    let (mut blocks, mut edges, mut mappings) = (Vec::new(), Vec::new(), Vec::new());
    logs(shared, offset, [u32::MAX; 3], &mut blocks, &mut edges, &mut mappings);
    let mut counters = vec![0u64; process.counters.load(Ordering::Acquire) as usize];
    let mut thread = process.latest_thread.load(Ordering::Acquire);
    while thread != 0 {
        shared.add_counters(thread, &mut counters);
        thread = shared.previous_thread(thread);
    }
    let records: Vec<BlockRecord> = blocks.iter().map(|b| b.record).collect();
    let solution = solve(&records, &edges, |n| counters[n as usize]);
    ProcessCounts {
        record: offset,
        parent: process.parent,
        pid: process.pid.load(Ordering::Relaxed),
        state: process.state.load(Ordering::Acquire),
        blocks,
        edges,
        mappings,
        solution,
    }
}

/// Appends what the logs of a process hold, after what it inherited, up to `limits` records of each.
fn logs(
    shared: Shared,
    offset: u64,
    limits: [u32; 3],
    blocks: &mut Vec<RecordedBlock>,
    edges: &mut Vec<EdgeRecord>,
    mappings: &mut Vec<RecordedMapping>,
) {
    let process = shared.process(offset);
    let inherited = [0, 1, 2].map(|n: usize| process.inherited[n].load(Ordering::Relaxed));
    if inherited != [0; 3] {
        logs(shared, process.parent, inherited, blocks, edges, mappings);
    }
    shared.read::<BlockRecord>(&process.blocks, |record, tail| {
        let length = usize::from(record.length);
        blocks.push(RecordedBlock { record, code: tail[..length].to_vec() });
        length
    });
    shared.read::<EdgeRecord>(&process.edges, |record, _| {
        edges.push(record);
        0
    });
    shared.read::<MappingRecord>(&process.mappings, |record, tail| {
        let length = record.path_length as usize;
        mappings.push(RecordedMapping { record, path: tail[..length].to_vec() });
        length
    });
    blocks.truncate(limits[0] as usize);
    edges.truncate(limits[1] as usize);
    mappings.truncate(limits[2] as usize);
}
