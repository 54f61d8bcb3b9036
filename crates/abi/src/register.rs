//! Registering processes and threads: the host does it for a fresh image, the runtime for what a program
//! makes by itself.

use crate::Failure;
use crate::paths::POISON;
use crate::process::ProcessRecord;
use crate::thread::{COUNTERS, Frame};
use crate::view::Shared;
use core::sync::atomic::{AtomicU64, Ordering};

impl Shared {
    /// Registers a process image that descends from `parent` (0 for none): the offset of its record.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn register_process(self, parent: u64) -> Result<u64, Failure> {
        let offset = self.allocate(size_of::<ProcessRecord>() as u64)?;
        // SAFETY: just handed out, zero, which is a valid record; nobody else knows of it yet.
        unsafe { (*self.process_mut(offset)).parent = parent };
        push(&self.header().latest_process, &self.process(offset).previous, offset);
        Ok(offset)
    }

    /// Registers a thread area of a process, with all counters at zero: its offset.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn register_thread(self, process: u64) -> Result<u64, Failure> {
        let size = self.header().thread_area_size;
        let offset = match self.take_spare_area(size) {
            Some(spare) => spare,
            None => self.allocate(size)?,
        };
        let this = self.header().base + offset;
        // SAFETY: just handed out, zero, which is a valid area; nobody else knows of it yet.
        let area = unsafe { &mut *self.thread(offset) };
        area.this = this;
        area.stack_top = this + u64::from(COUNTERS);
        area.shared = self.header().base;
        area.frame_top = this + self.header().frames;
        if self.header().frames > 0 {
            // SAFETY: frames lie in the area, and begin with the one that stands for none.
            let none = unsafe { self.thread(offset).byte_add(self.header().frames as usize) }.cast::<Frame>();
            // SAFETY: as the area's.
            unsafe { (*none).slot = Frame::ABOVE };
        }
        area.path_top = self.paths().map_or(0, |plan| this + plan.waiting);
        area.path = POISON.into();
        area.process = process;
        push(&self.process(process).latest_thread, &area.previous, offset);
        Ok(offset)
    }

    /// Registers a ring at `offset`, whose `previous` is given.
    pub fn register_ring(self, offset: u64, previous: &AtomicU64) {
        push(&self.header().latest_ring, previous, offset);
    }

    /// Offers a thread area, all of which reads as zero, to whoever next registers a thread; false if enough of them
    /// are offered.
    pub fn offer_area(self, offset: u64) -> bool {
        let offer = |place: &AtomicU64| {
            place.compare_exchange(0, offset, Ordering::Release, Ordering::Relaxed).is_ok()
        };
        self.header().spare_areas.iter().any(offer)
    }

    fn take_spare_area(self, size: u64) -> Option<u64> {
        // A program can have written there: what cannot be an area is dropped.
        let take = |place: &AtomicU64| {
            let is_there = place.load(Ordering::Relaxed) != 0;
            let offset = if is_there { place.swap(0, Ordering::Acquire) } else { 0 };
            self.holds(offset, size).then_some(offset)
        };
        self.header().spare_areas.iter().find_map(take)
    }
}

/// Puts `offset` at the head of a list whose next-pointer, for it, is `link`.
fn push(head: &AtomicU64, link: &AtomicU64, offset: u64) {
    let mut previous = head.load(Ordering::Acquire);
    loop {
        link.store(previous, Ordering::Relaxed);
        match head.compare_exchange(previous, offset, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => previous = now,
        }
    }
}
