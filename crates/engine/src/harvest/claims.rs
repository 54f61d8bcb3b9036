//! Which parts of the shared file have been read, and as what.
//!
//! Each part is one thing of one process, and is read once. So no chain of references goes round in
//! circles, and what is read is never more than what there is.

use crate::arena::Arena;
use std::collections::{BTreeMap, HashMap};
use timewise_abi::log::SEGMENT_SIZE;

/// Parts of the file by what they were taken for.
#[derive(Debug, Default)]
pub struct Claims {
    /// End of each part, by its start.
    ends: BTreeMap<u64, u64>,
    /// Thread areas and segments of logs, by process record.
    owned: HashMap<u64, (Vec<u64>, Vec<u64>)>,
    /// Bytes of logs.
    log_bytes: u64,
    /// How many things in the file made no sense.
    pub damage: u64,
}

impl Claims {
    /// Nothing was read yet. The runtime's image is no record.
    pub fn new(arena: &Arena) -> Claims {
        let mut claims = Claims::default();
        claims.ends.insert(arena.image().start, arena.image().end);
        claims
    }

    /// Takes `size` bytes at `offset`; false if they do not all lie in the file or belong to something else.
    pub fn take(&mut self, arena: &Arena, offset: u64, size: u64) -> bool {
        if !arena.shared().holds(offset, size) {
            return false;
        }
        let before = self.ends.range(..offset + size).next_back();
        if before.is_some_and(|(_, &end)| end > offset) {
            return false;
        }
        self.ends.insert(offset, offset + size);
        true
    }

    /// Takes a thread area for a process.
    pub fn take_area(&mut self, arena: &Arena, process: u64, offset: u64) -> bool {
        let taken = self.take(arena, offset, arena.thread_area_size());
        if taken {
            self.owned.entry(process).or_default().0.push(offset);
        }
        taken
    }

    /// Takes a segment of a log for a process. All logs together are never larger than their limit, but for
    /// the last segment.
    pub fn take_segment(&mut self, arena: &Arena, process: u64, offset: u64) -> bool {
        let room = self.log_bytes <= arena.log_limit();
        let taken = room && self.take(arena, offset, SEGMENT_SIZE);
        if taken {
            self.log_bytes += SEGMENT_SIZE;
            self.owned.entry(process).or_default().1.push(offset);
        }
        taken
    }

    /// Thread areas and segments of a process that is no longer read.
    pub fn of(&mut self, process: u64) -> (Vec<u64>, Vec<u64>) {
        self.owned.remove(&process).unwrap_or_default()
    }

    /// Notes that a thread area was given back, so that another process may use it.
    pub fn release_area(&mut self, offset: u64) {
        self.ends.remove(&offset);
    }

    /// Notes that segments were given back: their bytes.
    pub fn released(&mut self, segments: &[u64]) -> u64 {
        let bytes = segments.len() as u64 * SEGMENT_SIZE;
        self.log_bytes -= bytes;
        bytes
    }
}
