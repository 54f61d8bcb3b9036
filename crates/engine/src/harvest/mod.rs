//! Reading what the runtime recorded: of processes that have ended while the program goes on, so that
//! their memory can be given back, and of all others at the end.
//!
//! The program can write to all that is read here, by accident or by design. Nothing is taken for what it
//! says: what does not lie in the file, or was met before, or makes no sense, is left out and noted as
//! [`Claims::damage`].

mod area;
mod claims;
mod ended;
mod image;
mod log;
#[cfg(test)]
mod scribbled;
mod still_running;

pub use area::{Area, LARGEST_COUNT, offsets};
pub use claims::Claims;
pub use ended::Ended;
pub use image::{Image, Images};

use crate::arena::Arena;
use crate::census::Census;
use crate::convert::Converter;
use std::sync::atomic::Ordering;
use timewise_abi::GRANULE;
use timewise_abi::log::SEGMENT_SIZE;

/// All that was read so far.
#[derive(Debug)]
pub struct Harvest<'a> {
    arena: &'a Arena,
    claims: Claims,
    images: Images,
    converter: Converter,
    ended: Ended,
    /// The process record that stood at the head of the list when it was last looked at.
    latest: u64,
    /// Registered processes that had not taken a step when last looked at, in order.
    unborn: Vec<u64>,
    /// Process images whose counts are still to be read, in order.
    open: Vec<u64>,
    /// Thread areas that were given back and are not offered yet.
    spare: Vec<u64>,
}

impl<'a> Harvest<'a> {
    /// Nothing read yet. At most `process_limit` processes get rows of their own. `keep` says whether it is to be
    /// known in the end what each translated block was.
    pub fn new(arena: &'a Arena, process_limit: usize, keep: bool) -> Harvest<'a> {
        Harvest {
            arena,
            claims: Claims::new(arena),
            images: Images::default(),
            converter: Converter::new(process_limit, keep),
            ended: Ended::default(),
            latest: 0,
            unborn: Vec::new(),
            open: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Takes in the processes that have ended since, and gives their memory back.
    pub fn collect(&mut self) {
        // In this order: a process that has ended has registered all its children.
        let mut ended = self.open.clone();
        ended.retain(|&record| self.has_ended(record));
        self.discover();
        for record in ended {
            let unborn = self.unborn.iter().filter_map(|&child| self.arena.process(child));
            if unborn.map(|child| child.parent).all(|parent| parent != record) {
                self.open.retain(|&open| open != record);
                self.take_in(record);
                self.release(record);
            }
        }
        // What was logged is read as it comes, so that little of it lies in memory that the program is charged with.
        for record in self.open.clone() {
            self.refresh(record);
        }
        while let Some(&area) = self.spare.last()
            && self.arena.shared().offer_area(area)
        {
            self.spare.pop();
        }
    }

    /// Takes in all others: what was counted, and how much of the records made no sense.
    pub fn finish(mut self) -> (Converter, u64) {
        self.discover();
        let census = Census::take(self.arena);
        for record in std::mem::take(&mut self.open) {
            let _stopped = still_running::stop(self.arena, &census, record);
            self.take_in(record);
        }
        (self.converter, self.claims.damage)
    }

    fn has_ended(&mut self, record: u64) -> bool {
        self.arena.process(record).is_some_and(|process| self.ended.is(self.arena, record, process))
    }

    /// Finds out which processes were registered since the last time. Those that have not taken a step yet
    /// are left for the next time; a `fork` that failed leaves one that never does.
    fn discover(&mut self) {
        let head = self.arena.shared().header().latest_process.load(Ordering::Acquire);
        let mut found = Vec::new();
        let mut next = head;
        while next != self.latest && next != 0 {
            let process = self.arena.process(next).filter(|_| self.claims.take(self.arena, next, GRANULE));
            let Some(process) = process else {
                self.claims.damage += 1;
                break;
            };
            found.push(next);
            next = process.previous.load(Ordering::Acquire);
        }
        self.latest = head;
        self.unborn.extend(found.into_iter().rev());
        for record in std::mem::take(&mut self.unborn) {
            match self.arena.process(record) {
                Some(process) if process.pid.load(Ordering::Acquire) != 0 => {
                    let image = self.images.add(self.arena, &mut self.claims, record, process);
                    self.converter.rows.admit(image);
                    self.open.push(record);
                }
                _ => self.unborn.push(record),
            }
        }
    }

    /// Reads what a process logged since. Whether it is one.
    fn refresh(&mut self, record: u64) -> bool {
        let is_one = self.images.refresh(self.arena, &mut self.claims, record);
        let pid = self.arena.process(record).map_or(0, |process| process.pid.load(Ordering::Relaxed));
        let modules = &mut self.converter.modules;
        self.images.new_mappings(record).iter_mut().for_each(|mapped| modules.note(mapped, pid));
        is_one
    }

    fn take_in(&mut self, record: u64) {
        match self.arena.process(record).filter(|_| self.refresh(record)) {
            Some(process) => {
                let (blocks, ticks) = &mut self.converter.translated_in;
                *blocks += u64::from(process.blocks.count.load(Ordering::Relaxed));
                *ticks = ticks.saturating_add(process.translation_ticks.load(Ordering::Relaxed));
                let areas = area::all(self.arena, &mut self.claims, record, process);
                for area in &areas {
                    self.claims.damage += self.converter.paths.add(self.arena, area.offset);
                }
                self.converter.add(&self.images, record, &areas);
            }
            None => self.claims.damage += 1,
        }
        for forgotten in self.images.taken_in(record) {
            self.converter.forget(forgotten);
        }
    }

    /// Gives back the memory of a process that has ended and was taken in.
    fn release(&mut self, record: u64) {
        let (areas, segments) = self.claims.of(record);
        for &area in &areas {
            self.arena.release(area..area + self.arena.thread_area_size());
            self.claims.release_area(area);
        }
        self.spare.extend(areas);
        for &segment in &segments {
            self.arena.release(segment..segment + SEGMENT_SIZE);
        }
        self.arena.give_back_record(record);
        let bytes = self.claims.released(&segments);
        self.arena.shared().header().log_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
