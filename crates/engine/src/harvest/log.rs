//! Reading a log as it grows.

use super::claims::Claims;
use crate::arena::Arena;
use std::sync::atomic::Ordering;
use timewise_abi::log::{BlockRecord, EdgeRecord, Log, MappingRecord, SEGMENT_SIZE, Segment};

/// Records of logs.
///
/// # Safety
/// They consist of numbers alone, without padding: any bytes are a value.
pub unsafe trait Record: Copy {}

// SAFETY: integers and arrays of them, which fill the type.
unsafe impl Record for BlockRecord {}
// SAFETY: as above.
unsafe impl Record for EdgeRecord {}
// SAFETY: as above.
unsafe impl Record for MappingRecord {}

/// How far a log was read.
#[derive(Debug, Default)]
pub struct Reader {
    /// Whether what was read is given back to the system.
    consumes: bool,
    /// The segment that is being read, 0 before the first.
    segment: u64,
    /// Where in it the next record stands.
    at: usize,
    /// Records that were read.
    records: u32,
    /// It goes on with something that is no log.
    broken: bool,
}

impl Reader {
    /// Of a log that nobody but the host reads: what was read is given back to the system.
    pub fn that_consumes() -> Reader {
        Reader { consumes: true, ..Reader::default() }
    }

    /// Calls `each` with every further record and the bytes after it. `each` says how many of those belong
    /// to the record, or `None` if the record makes no sense: then the rest of the log is left out.
    pub fn read<T: Record>(
        &mut self,
        arena: &Arena,
        claims: &mut Claims,
        process: u64,
        log: &Log,
        mut each: impl FnMut(T, &[u8]) -> Option<usize>,
    ) {
        let count = log.count.load(Ordering::Acquire);
        while !self.broken && self.records < count {
            let bytes = self.unread(arena);
            let mut read = 0;
            while self.records < count && bytes.len() - read >= size_of::<T>() {
                // SAFETY: as many bytes as the record has, of any values.
                let record = unsafe { bytes[read..].as_ptr().cast::<T>().read_unaligned() };
                let tail = &bytes[read + size_of::<T>()..];
                let Some(length) = each(record, tail).filter(|&length| length <= tail.len()) else {
                    self.give_up(claims);
                    return;
                };
                read += size_of::<T>() + length.next_multiple_of(8);
                self.records += 1;
                if read > bytes.len() {
                    break;
                }
            }
            self.at += read;
            if self.records < count && !self.go_on(arena, claims, process, log) {
                self.give_up(claims);
            }
        }
    }

    /// What the present segment holds beyond what was read.
    fn unread(&self, arena: &Arena) -> Vec<u8> {
        let Some(segment) = arena.shared().segment(self.segment) else { return Vec::new() };
        let used = u64::from(segment.used.load(Ordering::Acquire)).min(SEGMENT_SIZE);
        arena.copy(self.segment + used.min(self.at as u64)..self.segment + used)
    }

    /// Goes on to the next segment.
    fn go_on(&mut self, arena: &Arena, claims: &mut Claims, process: u64, log: &Log) -> bool {
        let link = arena.shared().segment(self.segment).map_or(&log.first, |segment| &segment.next);
        let read = std::mem::replace(&mut self.segment, link.load(Ordering::Acquire));
        if self.consumes && read != 0 {
            arena.release(read..read + SEGMENT_SIZE);
        }
        self.at = size_of::<Segment>();
        claims.take_segment(arena, process, self.segment)
    }

    fn give_up(&mut self, claims: &mut Claims) {
        claims.damage += 1;
        self.broken = true;
    }
}
