//! The logs of process images, and what each inherits of its relatives'.

use super::claims::Claims;
use super::log::Reader;
use crate::arena::Arena;
use crate::code::Mapped;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use timewise_abi::NONE;
use timewise_abi::log::{BRIEF, BlockRecord, EdgeRecord, HELD, MappingRecord};
use timewise_abi::process::ProcessRecord;
use timewise_abi::thread::COUNTERS;
use timewise_target::maps;

/// What one process image logged itself, as far as it was read.
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
    code_ends: Vec<usize>,
    /// Its edges, likewise.
    pub edges: Vec<EdgeRecord>,
    /// Changes of its address space, in order.
    pub mappings: Vec<Mapped>,
    /// How many of them were told as new.
    told: usize,
    readers: [Reader; 3],
    /// Images that go on from its logs and are still needed.
    heirs: usize,
    /// It is one of its parent's heirs.
    is_heir: bool,
    /// Its counts were read: it has ended, or the whole run has.
    taken_in: bool,
}

impl Image {
    fn new(record: u64, process: &ProcessRecord) -> Image {
        Image {
            record,
            parent: process.parent,
            inherited: [0, 1, 2].map(|n| process.inherited[n].load(Ordering::Acquire) as usize),
            pid: process.pid.load(Ordering::Relaxed),
            blocks: Vec::new(),
            code: Vec::new(),
            code_ends: Vec::new(),
            edges: Vec::new(),
            mappings: Vec::new(),
            told: 0,
            readers: [Reader::default(), Reader::that_consumes(), Reader::default()],
            heirs: 0,
            is_heir: false,
            taken_in: false,
        }
    }

    /// The code of its own block number `block`.
    pub fn code(&self, block: usize) -> &[u8] {
        let start = if block == 0 { 0 } else { self.code_ends[block - 1] };
        &self.code[start..self.code_ends[block]]
    }

    /// Path of its executable, if it began with `execve`: what the kernel mapped first and lowest.
    pub fn executable(&self) -> Option<&[u8]> {
        let fresh = self.inherited[2] == 0;
        let file = self.mappings.iter().find(|mapped| mapped.path.starts_with(b"/"));
        file.filter(|_| fresh).map(|mapped| &mapped.path[..])
    }

    /// Whether its logs go on from its parent's.
    fn inherits(&self) -> bool {
        self.inherited != [0; 3]
    }

    /// Reads what was logged since; of blocks alone if somebody else reads the rest, which is read once.
    fn read(&mut self, arena: &Arena, claims: &mut Claims, process: &ProcessRecord, only_blocks: bool) {
        let counters = ((arena.counters_end() - u64::from(COUNTERS)) / 8) as u32;
        let mut damage = 0;
        let mut known = |counter: &mut u32, flags: u32| {
            if *counter & !flags >= counters && *counter != NONE {
                damage += 1;
                *counter = NONE;
            }
        };
        let [blocks, edges, mappings] = &mut self.readers;
        // Edges before blocks: an edge is logged after the blocks that it joins.
        if !only_blocks {
            edges.read::<EdgeRecord>(arena, claims, self.record, &process.edges, |mut record, _| {
                known(&mut record.counter, 0);
                known(&mut record.cost, BRIEF | HELD);
                self.edges.push(record);
                Some(0)
            });
        }
        blocks.read::<BlockRecord>(arena, claims, self.record, &process.blocks, |mut record, tail| {
            let length = usize::from(record.length);
            let code = tail.get(..length)?;
            known(&mut record.counter, 0);
            self.blocks.push(record);
            self.code.extend_from_slice(code);
            self.code_ends.push(self.code.len());
            Some(length)
        });
        mappings.read::<MappingRecord>(arena, claims, self.record, &process.mappings, |record, tail| {
            let length = record.path_length as usize;
            // The process copied it out of the kernel's table.
            let path = maps::path(tail.get(..length)?);
            self.mappings.push(Mapped::new(record, path));
            Some(length)
        });
        claims.damage += damage;
    }
}

/// Process images by record.
#[derive(Debug, Default)]
pub struct Images {
    only_blocks: bool,
    by_record: HashMap<u64, Image>,
}

impl Images {
    /// Without edges: whoever reads those, reads them once for all.
    pub fn of_blocks() -> Images {
        Images { only_blocks: true, ..Images::default() }
    }

    /// Adds an image, as far as it can be read now.
    pub fn add(
        &mut self,
        arena: &Arena,
        claims: &mut Claims,
        record: u64,
        process: &ProcessRecord,
    ) -> &Image {
        let mut image = Image::new(record, process);
        // Space is handed out in order, so no family is its own ancestor.
        if image.parent >= record {
            claims.damage += 1;
            image.parent = 0;
        }
        image.read(arena, claims, process, self.only_blocks);
        if image.inherits()
            && let Some(parent) = self.by_record.get_mut(&image.parent)
        {
            parent.heirs += 1;
            image.is_heir = true;
        }
        self.by_record.entry(record).or_insert(image)
    }

    /// Reads what an image and those that it goes on from have logged since. False if some of what it
    /// inherits is not there.
    pub fn refresh(&mut self, arena: &Arena, claims: &mut Claims, record: u64) -> bool {
        let mut next = record;
        while let Some(image) = self.by_record.get_mut(&next) {
            // What was taken in has ended: there is no more of it, and its memory may be gone.
            if let Some(process) = arena.process(next).filter(|_| !image.taken_in) {
                image.read(arena, claims, process, self.only_blocks);
            }
            next = if image.inherits() { image.parent } else { 0 };
        }
        let Some(image) = self.get(record) else { return false };
        [0, 1, 2].into_iter().all(|log| {
            let parts = self.parts(record, log);
            let before = parts.iter().filter(|(part, _)| part.record != record);
            before.map(|(_, range)| range.len()).sum::<usize>() == image.inherited[log]
        })
    }

    /// An image by its record.
    pub fn get(&self, record: u64) -> Option<&Image> {
        self.by_record.get(&record)
    }

    /// Changes of an image's address space that were read since this was last asked.
    pub fn new_mappings(&mut self, record: u64) -> &mut [Mapped] {
        let Some(image) = self.by_record.get_mut(&record) else { return &mut [] };
        let told = std::mem::replace(&mut image.told, image.mappings.len());
        &mut image.mappings[told..]
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

    /// Notes that an image was taken in: the records of all images that nobody needs any more, which are
    /// gone from here.
    pub fn taken_in(&mut self, record: u64) -> Vec<u64> {
        if let Some(image) = self.by_record.get_mut(&record) {
            image.taken_in = true;
        }
        let mut forgotten = Vec::new();
        let mut next = record;
        while let Some(image) = self.by_record.get(&next).filter(|image| image.taken_in && image.heirs == 0) {
            let parent = if image.is_heir { image.parent } else { 0 };
            self.by_record.remove(&next);
            forgotten.push(next);
            if let Some(parent) = self.by_record.get_mut(&parent) {
                parent.heirs -= 1;
            }
            next = parent;
        }
        forgotten
    }
}
