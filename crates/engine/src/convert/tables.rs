//! The tables of a profile, from what all process images executed.

use super::flow::Flow;
use super::partition::{Partition, Traffic};
use super::pieces::Pieces;
use super::process::{Converter, ImageFlow};
use std::collections::{BTreeMap, HashMap};
use timewise_profile::{
    Block, BlockCount, BlockId, EdgeCount, EdgeKind, Exit, Process, ProcessId, Profile, RunId, Thread,
};

impl Converter {
    /// A profile of one run, whose row the caller gives; its first process is the program itself.
    pub fn into_profile(self) -> Profile {
        let mut profile = Profile::default();
        let partition = Partition::new(&self.pieces, self.images.iter().map(|image| image.flows.as_slice()));
        let mut rows: HashMap<u64, ProcessId> = HashMap::new();
        let mut flows: Vec<Vec<&Flow>> = Vec::new();
        for image in &self.images {
            let id = process_row(&mut profile, &rows, image);
            rows.insert(image.record, id);
            flows.resize_with(profile.processes.len(), Vec::new);
            flows[id.index()].extend(&image.flows);
            let thread = |&(tid, instructions): &(u32, u64)| Thread {
                process: id,
                tid,
                name: String::new(),
                instructions: Some(instructions),
            };
            profile.threads.extend(image.threads.iter().map(thread));
        }
        for (number, flows) in flows.iter().enumerate() {
            let flows: Vec<Flow> = flows.iter().map(|&&flow| flow).collect();
            count(&mut profile, &self.pieces, &partition, ProcessId(number as u32), &flows);
        }
        profile.blocks = (partition.blocks.iter())
            .map(|block| Block {
                place: block.place,
                instructions: block.instructions,
                code: self.pieces.code(block.place, block.length as usize),
            })
            .collect();
        profile.modules = self.modules.into_vec();
        profile
    }
}

/// The row of an image's process: that of the image before it if it began with `execve`, else a new one.
fn process_row(profile: &mut Profile, rows: &HashMap<u64, ProcessId>, image: &ImageFlow) -> ProcessId {
    let parent = rows.get(&image.parent).copied();
    if let Some(before) = parent.filter(|id| profile.processes[id.index()].pid == image.pid) {
        let row = &mut profile.processes[before.index()];
        row.count_uncertainty += image.unknown_ends;
        if let Some(executable) = &image.executable {
            row.executable.clone_from(executable);
        }
        return before;
    }
    let inherited = || parent.map(|id| profile.processes[id.index()].executable.clone());
    let executable = image.executable.clone().or_else(inherited).unwrap_or_default();
    profile.processes.push(Process {
        run: RunId(0),
        pid: image.pid,
        parent,
        executable,
        exit: Exit::Unknown,
        count_uncertainty: image.unknown_ends,
    });
    ProcessId(profile.processes.len() as u32 - 1)
}

/// Adds the counts of a process.
fn count(profile: &mut Profile, pieces: &Pieces, partition: &Partition, process: ProcessId, flows: &[Flow]) {
    let mut traffic = Traffic::default();
    traffic.add(pieces, flows);
    let mut executions: BTreeMap<u32, u64> = BTreeMap::new();
    let mut edges: BTreeMap<(Option<u32>, Option<u32>, EdgeKind), u64> = BTreeMap::new();
    for piece in traffic.pieces() {
        let segments = partition.segments(piece);
        for segment in segments.iter().filter(|segment| segment.at_start) {
            *executions.entry(segment.block).or_default() += traffic.executions(piece, segment.first);
        }
        for pair in segments.windows(2) {
            let ends = (Some(pair[0].block), Some(pair[1].block), EdgeKind::Fallthrough);
            *edges.entry(ends).or_default() += traffic.executions(piece, pair[1].first);
        }
    }
    for flow in flows {
        let from = flow.from.filter(|&(_, executed)| executed > 0).and_then(|(piece, executed)| {
            let segments = partition.segments(piece);
            let after = segments.partition_point(|segment| segment.first < executed);
            segments.get(after.checked_sub(1)?).map(|segment| segment.block)
        });
        let to = flow.to.and_then(|piece| partition.segments(piece).first());
        // Going on within a block is no edge.
        if to.is_some_and(|segment| !segment.at_start) || (from.is_none() && to.is_none()) {
            continue;
        }
        *edges.entry((from, to.map(|segment| segment.block), flow.kind)).or_default() += flow.count;
    }
    let block = |block: u32| BlockId(block);
    profile.block_counts.extend(
        (executions.into_iter().filter(|(_, executions)| *executions > 0))
            .map(|(id, executions)| BlockCount { block: block(id), process, executions }),
    );
    profile.edge_counts.extend((edges.into_iter().filter(|(_, count)| *count > 0)).map(
        |((from, to, kind), count)| EdgeCount {
            from: from.map(block),
            to: to.map(block),
            kind,
            process,
            count,
        },
    ));
}
