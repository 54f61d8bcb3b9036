//! A view of the shared memory by its contents: the one place that turns offsets into references.

use crate::log::{Log, MappingRecord, SEGMENT_SIZE, Segment};
use crate::paths::Plan;
use crate::process::ProcessRecord;
use crate::thread::{COUNTERS, ThreadArea};
use crate::{Failure, GRANULE, NONE, SharedHeader};
use core::ptr;
use core::sync::atomic::Ordering;

/// The shared file, mapped whole.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    base: u64,
    /// Bytes, as the header said when it was first looked at: a program may write to it later.
    size: u64,
}

impl Shared {
    /// # Safety
    /// The shared file must be mapped at `base`, and stay.
    pub unsafe fn at(base: u64) -> Shared {
        // SAFETY: the file begins with the header.
        Shared { base, size: unsafe { (*(base as *const SharedHeader)).size } }
    }

    /// Its first page.
    pub fn header(self) -> &'static SharedHeader {
        // SAFETY: the file begins with the header; fields that change are atomic.
        unsafe { &*(self.base as *const SharedHeader) }
    }

    /// What is to be done so that paths are counted, if they are.
    pub fn paths(self) -> Option<&'static Plan> {
        let offset = self.header().paths;
        // SAFETY: the host laid it down there, and nobody changes it.
        (offset != 0).then(|| unsafe { &*((self.base + offset) as *const Plan) })
    }

    /// So many items of what the host laid down at an offset.
    ///
    /// # Safety
    /// They must lie there, for good.
    pub unsafe fn items<T>(self, [offset, count]: [u64; 2]) -> &'static [T] {
        // SAFETY: as promised.
        unsafe { core::slice::from_raw_parts((self.base + offset) as *const T, count as usize) }
    }

    /// A process record, by its offset.
    pub fn process(self, offset: u64) -> &'static ProcessRecord {
        // SAFETY: the caller names an offset that was registered; fields that change are atomic.
        unsafe { &*((self.base + offset) as *const ProcessRecord) }
    }

    /// Likewise, for the fields that whoever registers it writes.
    pub(crate) fn process_mut(self, offset: u64) -> *mut ProcessRecord {
        (self.base + offset) as *mut ProcessRecord
    }

    /// A thread area, by its offset.
    pub fn thread(self, offset: u64) -> *mut ThreadArea {
        (self.base + offset) as *mut ThreadArea
    }

    /// Offset of an address within the file.
    pub fn offset(self, address: u64) -> u64 {
        address - self.base
    }

    /// Hands out `size` bytes, zero.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn allocate(self, size: u64) -> Result<u64, Failure> {
        let size = size.checked_next_multiple_of(GRANULE).ok_or(Failure::SharedFull)?;
        let offset = self.header().next_free.fetch_add(size, Ordering::Relaxed);
        if self.holds(offset, size) {
            return Ok(offset);
        }
        self.fail(Failure::SharedFull);
        Err(Failure::SharedFull)
    }

    /// Whether `size` bytes at `offset` lie in the file, where whatever is handed out begins.
    pub fn holds(self, offset: u64, size: u64) -> bool {
        let end = offset.checked_add(size);
        offset >= GRANULE && offset.is_multiple_of(GRANULE) && end.is_some_and(|end| end <= self.size)
    }

    /// Records that counts are incomplete, and why. The first reason stays.
    pub fn fail(self, failure: Failure) {
        let _ =
            self.header().failure.compare_exchange(0, failure as u32, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Appends a record and its tail to a log: the address of the tail. One thread at a time.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn append<T: Copy>(self, log: &Log, record: &T, tail: &[u8]) -> Result<u64, Failure> {
        const { assert!(size_of::<T>().is_multiple_of(8), "records keep 8-byte alignment") };
        let size = size_of::<T>() + tail.len().next_multiple_of(8);
        let mut last = log.last.load(Ordering::Relaxed);
        let used = |segment| self.segment(segment).map_or(u32::MAX, |s| s.used.load(Ordering::Relaxed));
        let mut at = used(last);
        if at as usize + size > SEGMENT_SIZE as usize {
            let header = self.header();
            if header.log_bytes.fetch_add(SEGMENT_SIZE, Ordering::Relaxed) >= header.log_limit {
                self.fail(Failure::SharedFull);
                return Err(Failure::SharedFull);
            }
            let fresh = self.allocate(SEGMENT_SIZE)?;
            at = size_of::<Segment>() as u32;
            let link = self.segment(last).map_or(&log.first, |segment| &segment.next);
            link.store(fresh, Ordering::Release);
            log.last.store(fresh, Ordering::Relaxed);
            last = fresh;
        }
        let place = (self.base + last + u64::from(at)) as *mut u8;
        // SAFETY: the bytes from `used` to the segment's end are ours alone until `used` moves.
        unsafe {
            ptr::copy_nonoverlapping(ptr::from_ref(record).cast::<u8>(), place, size_of::<T>());
            ptr::copy_nonoverlapping(tail.as_ptr(), place.add(size_of::<T>()), tail.len());
        }
        if let Some(segment) = self.segment(last) {
            segment.used.store(at + size as u32, Ordering::Release);
        }
        // Nobody else writes to it, so that no store needs to be waited for.
        log.count.store(log.count.load(Ordering::Relaxed) + 1, Ordering::Release);
        Ok(place as u64 + size_of::<T>() as u64)
    }

    /// Calls `each` with the records of a log of mappings so far, and their paths.
    pub fn each_mapping(self, log: &Log, mut each: impl FnMut(&MappingRecord, &[u8])) {
        const RECORD: usize = size_of::<MappingRecord>();
        let mut offset = log.first.load(Ordering::Acquire);
        while let Some(segment) = self.segment(offset) {
            let used = segment.used.load(Ordering::Acquire).min(SEGMENT_SIZE as u32) as usize;
            let mut at = size_of::<Segment>();
            while at + RECORD <= used {
                let place = self.base + offset + at as u64;
                // SAFETY: within the segment; any bytes are a record.
                let record = unsafe { &*(place as *const MappingRecord) };
                let length = (record.path_length as usize).min(used - at - RECORD);
                // SAFETY: likewise.
                let path = unsafe { core::slice::from_raw_parts((place as *const u8).add(RECORD), length) };
                each(record, path);
                at += RECORD + length.next_multiple_of(8);
            }
            offset = segment.next.load(Ordering::Acquire);
        }
    }

    /// The thread area registered before this one, 0 for none.
    pub fn previous_thread(self, thread: u64) -> u64 {
        // SAFETY: written before the area was registered.
        unsafe { (*self.thread(thread)).previous.load(Ordering::Acquire) }
    }

    /// Whether more than one thread of a process was registered yet.
    pub fn has_several_threads(self, process: &ProcessRecord) -> bool {
        let latest = process.latest_thread.load(Ordering::Acquire);
        latest != 0 && self.previous_thread(latest) != 0
    }

    /// A segment of a log, by its offset; `None` if none can be there.
    pub fn segment(self, offset: u64) -> Option<&'static Segment> {
        // SAFETY: within the file, aligned; all fields are atomic or never change.
        self.holds(offset, SEGMENT_SIZE).then(|| unsafe { &*((self.base + offset) as *const Segment) })
    }

    /// Takes the next free counter of a process, or [`NONE`] if a thread area has no room for more. One thread at a
    /// time.
    pub fn take_counter(self, process: &ProcessRecord) -> u32 {
        let room = (self.header().counters_end - u64::from(COUNTERS)) / 8;
        let number = process.counters.load(Ordering::Relaxed);
        if u64::from(number) < room {
            process.counters.store(number + 1, Ordering::Relaxed);
            return number;
        }
        self.fail(Failure::CountersFull);
        NONE
    }
}

/// Adds one to a counter of a thread.
///
/// # Safety
/// `area` must be the thread area of the calling thread.
pub unsafe fn count(area: *mut ThreadArea, counter: u32) {
    if counter == NONE {
        return;
    }
    // SAFETY: counters lie within the area, and no other thread writes to them.
    unsafe {
        let place = area.cast::<u8>().add(COUNTERS as usize).cast::<u64>().add(counter as usize);
        *place += 1;
    }
}
