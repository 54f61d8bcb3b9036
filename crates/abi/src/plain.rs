//! Which of the traced program's addresses are memory and nothing else, as the host finds them listed: what may be read
//! without the kernel's help. Where a device is mapped, reading may do something.

use crate::GRANULE;
use crate::tracing::TraceHeader;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering, fence};

/// Where in the tracer's shared file they stand.
pub const PLAIN: u64 = 0x2000;

const _: () = assert!(
    size_of::<TraceHeader>() as u64 <= PLAIN && PLAIN + (size_of::<PlainMemory>() as u64) < GRANULE / 2
);

/// Ranges that there is room for.
pub const RANGES: usize = 127;

/// Ranges of addresses. The host replaces them while threads look; all zeros is none.
#[repr(C)]
#[derive(Debug)]
pub struct PlainMemory {
    /// Odd while they are replaced.
    version: AtomicU64,
    /// How many there are.
    count: AtomicU64,
    /// Where each begins and ends, in order.
    ranges: [[AtomicU64; 2]; RANGES],
}

impl PlainMemory {
    /// Replaces them: by ranges in order that do not overlap, of which the first are taken if they are too many. One
    /// caller at a time.
    pub fn replace(&self, ranges: &[Range<u64>]) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version | 1, Ordering::Relaxed);
        // Whoever sees one of the stores below sees that of the version.
        fence(Ordering::Release);
        self.count.store(ranges.len().min(RANGES) as u64, Ordering::Relaxed);
        for ([start, end], range) in self.ranges.iter().zip(ranges) {
            start.store(range.start, Ordering::Relaxed);
            end.store(range.end, Ordering::Relaxed);
        }
        self.version.store((version | 1) + 1, Ordering::Release);
    }

    /// Whether an address lies in one of them; not if they are being replaced.
    pub fn holds(&self, address: u64) -> bool {
        let version = self.version.load(Ordering::Acquire);
        let count = (self.count.load(Ordering::Relaxed) as usize).min(RANGES);
        let [start, end] =
            [0, 1].map(|side| move |range: &[AtomicU64; 2]| range[side].load(Ordering::Relaxed));
        let before = self.ranges[..count].partition_point(|range| start(range) <= address);
        let holds = before.checked_sub(1).is_some_and(|last| address < end(&self.ranges[last]));
        fence(Ordering::Acquire);
        holds && version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    fn none() -> Box<PlainMemory> {
        // SAFETY: all zeros is a value of it.
        unsafe { Box::<PlainMemory>::new_zeroed().assume_init() }
    }

    #[test]
    fn what_lies_within_a_range_is_held_until_they_are_replaced() {
        let memory = none();
        assert!(!memory.holds(0));
        memory.replace(&[0x1000..0x3000, 0x3000..0x4000, 0x8000..0x9000]);
        let at = [0, 0xfff, 0x1000, 0x2fff, 0x3000, 0x3fff, 0x4000, 0x7fff, 0x8000, 0x8fff, 0x9000, u64::MAX];
        let held = [false, false, true, true, true, true, false, false, true, true, false, false];
        assert_eq!(at.map(|at| memory.holds(at)), held);
        memory.replace(core::slice::from_ref(&(0x8000..0x9000)));
        assert!(!memory.holds(0x1000) && memory.holds(0x8000));
        memory.version.fetch_add(1, Ordering::Relaxed);
        assert!(!memory.holds(0x8000), "they are being replaced");
        memory.replace(&[]);
        assert!(!memory.holds(0x8000));
    }

    #[test]
    fn too_many_are_cut_short() {
        let ranges: Vec<_> = (0..2 * RANGES as u64).map(|number| 2 * number..2 * number + 1).collect();
        let memory = none();
        memory.replace(&ranges);
        assert!(memory.holds(2 * RANGES as u64 - 2) && !memory.holds(2 * RANGES as u64));
    }
}
