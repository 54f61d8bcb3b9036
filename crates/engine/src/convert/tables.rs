//! The tables of a profile, from what all processes executed.

use super::calls;
use super::flow::Flow;
use super::intervals::Intervals;
use super::partition::Partition;
use super::pieces::{PieceId, Pieces};
use super::process::Converter;
use super::traffic::Traffic;
use crate::streams::{Places, Stream};
use std::collections::HashMap;
use timewise_profile::{
    Block, BlockCount, BlockId, EdgeCount, EdgeKind, Exit, ModuleId, Place, Process, ProcessId, Profile,
    RunId, Thread, ThreadId,
};

impl Converter {
    /// A profile of one run, whose row the caller gives; its first process is the program itself.
    /// Also what the blocks of each image are, if that was kept. `streams` are those of intervals.
    pub fn into_profile(mut self, streams: Vec<Stream>) -> (Profile, Places) {
        self.rows.all.iter_mut().for_each(|row| calls::merge(&mut row.costs));
        let rows = &self.rows.all;
        let partition = Partition::new(&self.pieces, rows.iter().map(|row| row.flows.as_slice()));
        let mut profile = Profile::default();
        let mut first_threads = Vec::with_capacity(rows.len());
        let mut counter = Counter {
            pieces: &self.pieces,
            partition: &partition,
            traffic: Traffic::default(),
            executions: vec![0; partition.blocks.len()],
        };
        for (number, row) in rows.iter().enumerate() {
            let id = ProcessId(number as u32);
            profile.processes.push(Process {
                run: RunId(0),
                pid: row.pid,
                parent: row.parent.map(|row| ProcessId(row as u32)),
                executable: row.executable.clone(),
                exit: Exit::Unknown,
                count_uncertainty: row.unknown_ends,
            });
            first_threads.push(profile.threads.len());
            let thread = |&(tid, instructions): &(u32, u64)| Thread {
                process: id,
                tid,
                name: String::new(),
                instructions: Some(instructions),
            };
            profile.threads.extend(row.threads.iter().map(thread));
            counter.count(&mut profile, id, &row.flows);
            profile.call_costs.extend(calls::rows(&row.costs, &partition, id));
        }
        profile.blocks = (partition.blocks.iter())
            .map(|block| Block {
                place: block.place,
                instructions: block.instructions,
                code: self.pieces.code(block.place, block.length as usize),
            })
            .collect();
        profile.modules = self.modules.into_vec();
        let intervals = Intervals { pieces: &self.pieces, partition: &partition };
        let id = |(row, thread): (usize, usize)| ThreadId((first_threads[row] + thread) as u32);
        let threads: HashMap<u64, ThreadId> =
            std::mem::take(&mut self.threads).into_iter().map(|(area, thread)| (area, id(thread))).collect();
        for stream in streams {
            let pieces = self.kept.as_ref().and_then(|kept| kept.get(&stream.image));
            if let Some((pieces, &thread)) = pieces.zip(threads.get(&stream.area)) {
                intervals.add(&mut profile, thread, pieces, stream.intervals);
            }
        }
        let modules = keep_executed_modules(&mut profile);
        let places = self.kept.take().unwrap_or_default().into_iter().map(|(record, pieces)| {
            let place = |piece: PieceId| {
                let place = self.pieces.get(piece).place;
                modules[place.module.index()].map(|module| Place { module, ..place })
            };
            (record, pieces.into_iter().map(place).collect())
        });
        let by_image = places.collect();
        let executables = std::mem::take(&mut self.rows.executables);
        (profile, Places { by_image, executables, threads })
    }
}

/// Leaves out the modules of which nothing was executed: what is left of each.
fn keep_executed_modules(profile: &mut Profile) -> Vec<Option<ModuleId>> {
    let mut ids: Vec<Option<ModuleId>> = vec![None; profile.modules.len()];
    let all = std::mem::take(&mut profile.modules);
    for block in &mut profile.blocks {
        let id = &mut ids[block.place.module.index()];
        block.place.module = *id.get_or_insert_with(|| {
            profile.modules.push(all[block.place.module.index()].clone());
            ModuleId(profile.modules.len() as u32 - 1)
        });
    }
    ids
}

/// Counts blocks and edges, one process after the other.
struct Counter<'a> {
    pieces: &'a Pieces,
    partition: &'a Partition,
    traffic: Traffic,
    /// By block; zero between processes.
    executions: Vec<u64>,
}

type Edge = ((Option<u32>, Option<u32>, EdgeKind), u64);

impl Counter<'_> {
    fn count(&mut self, profile: &mut Profile, process: ProcessId, flows: &[Flow]) {
        self.traffic.clear();
        self.traffic.add(self.pieces, flows);
        let mut blocks: Vec<u32> = Vec::new();
        let mut edges: Vec<Edge> = Vec::with_capacity(flows.len());
        for &piece in self.traffic.pieces() {
            let segments = self.partition.segments(piece);
            for segment in segments.iter().filter(|segment| segment.at_start) {
                let executions = &mut self.executions[segment.block as usize];
                if *executions == 0 {
                    blocks.push(segment.block);
                }
                *executions = executions.saturating_add(self.traffic.executions(piece, segment.first));
            }
            for pair in segments.windows(2) {
                let ends = (Some(pair[0].block), Some(pair[1].block), EdgeKind::Fallthrough);
                edges.push((ends, self.traffic.executions(piece, pair[1].first)));
            }
        }
        edges.extend(flows.iter().filter_map(|flow| self.edge(flow)));
        blocks.sort_unstable();
        blocks.dedup();
        for block in blocks {
            let executions = std::mem::take(&mut self.executions[block as usize]);
            if executions > 0 {
                profile.block_counts.push(BlockCount { block: BlockId(block), process, executions });
            }
        }
        edges.sort_unstable_by_key(|edge| edge.0);
        for equal in edges.chunk_by(|a, b| a.0 == b.0) {
            let ((from, to, kind), _) = equal[0];
            let count = equal.iter().fold(0, |sum: u64, edge| sum.saturating_add(edge.1));
            if count > 0 {
                let (from, to) = (from.map(BlockId), to.map(BlockId));
                profile.edge_counts.push(EdgeCount { from, to, kind, process, count });
            }
        }
    }

    /// The edge between blocks that a flow is, unless it stays within one.
    fn edge(&self, flow: &Flow) -> Option<Edge> {
        if flow.stays() {
            return None;
        }
        let from = flow.from.filter(|&(_, executed)| executed > 0).and_then(|(piece, executed)| {
            let segments = self.partition.segments(piece);
            let after = segments.partition_point(|segment| segment.first < executed);
            segments.get(after.checked_sub(1)?).map(|segment| segment.block)
        });
        let to = flow.to.and_then(|piece| self.partition.segments(piece).first());
        if to.is_some_and(|segment| !segment.at_start) || (from.is_none() && to.is_none()) {
            return None;
        }
        Some(((from, to.map(|segment| segment.block), flow.kind), flow.count))
    }
}
