//! Reading what the runtime recorded.

use crate::arena::Arena;
use crate::code::Mapped;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use timewise_abi::log::{BlockRecord, EdgeRecord, MappingRecord};
use timewise_abi::process::ProcessRecord;
use timewise_abi::thread::{self, COUNTERS};
use timewise_abi::view::Shared;

/// What one process image logged itself.
#[derive(Debug)]
pub struct Image {
    /// Offset of its record, which names it among its relatives.
    pub record: u64,
    /// Record of the image that forked it or called `execve`, 0 for none.
    pub parent: u64,
    /// How many blocks, edges and mappings of its parent stand before its own.
    pub inherited: [usize; 3],
    /// Process id.
    pub pid: u32,
    /// Its blocks in the order of their translation.
    pub blocks: Vec<BlockRecord>,
    code: Vec<u8>,
    code_ends: Vec<u32>,
    /// Its edges, likewise.
    pub edges: Vec<EdgeRecord>,
    /// Changes of its address space, in order.
    pub mappings: Vec<Mapped>,
}

impl Image {
    /// The code of its own block number `block`.
    pub fn code(&self, block: usize) -> &[u8] {
        let start = if block == 0 { 0 } else { self.code_ends[block - 1] };
        &self.code[start as usize..self.code_ends[block] as usize]
    }

    /// Path of its executable, if it began with `execve`: what the kernel mapped first and lowest.
    pub fn executable(&self) -> Option<Vec<u8>> {
        let fresh = self.inherited[2] == 0;
        let file = self.mappings.iter().find(|mapped| mapped.path.starts_with(b"/"));
        file.filter(|_| fresh).map(|mapped| mapped.path.clone())
    }

    /// Reads the logs of a process record.
    pub fn read(shared: Shared, record: u64) -> Image {
        let process = shared.process(record);
        let mut image = Image {
            record,
            parent: process.parent,
            inherited: [0, 1, 2].map(|n| process.inherited[n].load(Ordering::Acquire) as usize),
            pid: process.pid.load(Ordering::Relaxed),
            blocks: Vec::new(),
            code: Vec::new(),
            code_ends: Vec::new(),
            edges: Vec::new(),
            mappings: Vec::new(),
        };
        // Edges before blocks: an edge is logged after the blocks that it joins.
        shared.read::<EdgeRecord>(&process.edges, |record, _| {
            image.edges.push(record);
            0
        });
        shared.read::<BlockRecord>(&process.blocks, |record, tail| {
            let length = usize::from(record.length);
            image.blocks.push(record);
            image.code.extend_from_slice(&tail[..length]);
            image.code_ends.push(image.code.len() as u32);
            length
        });
        shared.read::<MappingRecord>(&process.mappings, |record, tail| {
            let length = record.path_length as usize;
            image.mappings.push(Mapped { record, path: tail[..length].to_vec() });
            length
        });
        image
    }
}

/// All process images by record.
#[derive(Debug, Default)]
pub struct Images {
    by_record: HashMap<u64, Image>,
    /// Records in the order of their registration.
    pub order: Vec<u64>,
}

impl Images {
    /// Reads the logs of all images.
    pub fn read(shared: Shared) -> Images {
        let mut images = Images::default();
        let mut next = shared.header().latest_process.load(Ordering::Acquire);
        while next != 0 {
            images.by_record.insert(next, Image::read(shared, next));
            images.order.push(next);
            next = shared.process(next).previous.load(Ordering::Acquire);
        }
        images.order.reverse();
        images
    }

    /// An image by its record.
    pub fn get(&self, record: u64) -> Option<&Image> {
        self.by_record.get(&record)
    }

    /// The parts of logs that an image sees as its own: the eldest ancestor's first, up to where each
    /// descendant branched off. `log` is 0 for blocks, 1 for edges, 2 for mappings.
    pub fn parts(&self, record: u64, log: usize) -> Vec<(&Image, Range<usize>)> {
        let mut parts = Vec::new();
        let mut end = usize::MAX;
        let mut next = self.get(record);
        while let Some(image) = next {
            let own = [image.blocks.len(), image.edges.len(), image.mappings.len()][log];
            let before = image.inherited[log];
            parts.push((image, 0..own.min(end.saturating_sub(before))));
            end = end.min(before);
            next = if before == 0 { None } else { self.get(image.parent) };
        }
        parts.reverse();
        parts
    }
}

/// What a thread area says at the end.
#[derive(Debug)]
pub struct Area {
    /// Thread id, of the last thread that used it.
    pub tid: u32,
    /// A [`timewise_abi::thread::state`].
    pub state: u32,
    /// Block of the system call that the thread is in, while `state` says so.
    pub position: u32,
    /// Counters that are not zero.
    pub counters: Vec<(u32, u64)>,
}

/// The thread areas of a process, the first thread's first.
pub fn areas(arena: &Arena, process: &ProcessRecord) -> Vec<Area> {
    let shared = arena.shared();
    let counters = process.counters.load(Ordering::Acquire);
    let mut areas = Vec::new();
    let mut next = process.latest_thread.load(Ordering::Acquire);
    while next != 0 {
        let first = next + u64::from(COUNTERS);
        let mut counted = Vec::new();
        arena.each_word(first..first + 8 * u64::from(counters), |at, value| {
            if value != 0 {
                counted.push((((at - first) / 8) as u32, value));
            }
        });
        // SAFETY: a registered area; these fields are atomic.
        let (tid, state, position) = unsafe {
            let area = shared.thread(next);
            (&(*area).tid, &(*area).state, &(*area).position)
        };
        areas.push(Area {
            tid: tid.load(Ordering::Relaxed),
            state: state.load(Ordering::Acquire),
            position: position.load(Ordering::Relaxed),
            counters: counted,
        });
        next = shared.previous_thread(next);
    }
    areas.reverse();
    areas
}

impl Area {
    /// Whether a thread ran on it when the process ended, in its own code rather than in the kernel.
    pub fn was_running(&self) -> bool {
        self.state == thread::state::RUNNING
    }

    /// The block by whose system call its thread was in the kernel when the process ended.
    pub fn in_system_call(&self) -> Option<u32> {
        (self.state == thread::state::IN_SYSTEM_CALL).then_some(self.position)
    }
}
