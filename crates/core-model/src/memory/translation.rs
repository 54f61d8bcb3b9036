//! TLBs and page walks.

use super::LINE;
use super::cache::{Cache, Found};
use super::hierarchy::{Access, Hierarchy, Line, Why};
use super::prefetch::Wanted;
use crate::processor::{Tlb, Translation};
use crate::resources::Spans;
use std::collections::HashSet;

/// Whose addresses are translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Those of instructions.
    Instructions,
    /// Those of data.
    Data,
}

/// How a translation went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Translated {
    /// When it is known.
    pub ready: u64,
    /// It missed the first-level TLB.
    pub missed: bool,
}

/// TLBs, their walkers, and the pages that were touched.
#[derive(Debug)]
pub struct Translations {
    first: [Cache; 2],
    second: Cache,
    second_latency: u64,
    directory: Cache,
    walk: u64,
    walkers: Spans,
    page: u32,
    /// Kept only where first touches matter.
    touched: Option<HashSet<u64>>,
}

/// Where the model's page tables stand among the lines: behind all that programs can address.
const TABLES: u64 = 1 << 58;

/// The line of a page's entry: eight entries share one.
fn table_line(page: u64) -> u64 {
    TABLES + (page >> 3)
}

/// The line of its table's entry in the directory: a table has 512 entries.
fn directory_line(page: u64) -> u64 {
    TABLES * 2 + (page >> 12)
}

fn cache(tlb: &Tlb) -> Cache {
    Cache::new(tlb.entries / tlb.ways, tlb.ways)
}

impl Translations {
    /// Empty TLBs; with `touches`, pages are noted when they are first touched.
    pub fn new(record: &Translation, touches: bool) -> Translations {
        Translations {
            first: [cache(&record.instructions), cache(&record.data)],
            second: cache(&record.second),
            second_latency: record.second.latency,
            directory: Cache::new(1, record.directory),
            walk: record.walk,
            walkers: Spans::new(record.walkers),
            page: record.page.ilog2(),
            touched: touches.then(HashSet::new),
        }
    }

    /// Translates an address at `cycle`; a walk reads page tables through the data caches.
    #[inline]
    pub fn translate(&mut self, side: Side, address: u64, cycle: u64, caches: &mut Hierarchy) -> Translated {
        let page = address >> self.page;
        match self.first[side as usize].find(page, cycle) {
            Found::Present => Translated { ready: cycle, missed: false },
            Found::Coming(ready) => Translated { ready, missed: true },
            Found::Absent => self.miss(side, page, cycle, caches),
        }
    }

    /// Uses a page outside of time, to have TLBs as they would be.
    pub fn touch(&mut self, side: Side, address: u64, caches: &mut Hierarchy) {
        let page = address >> self.page;
        if !self.first[side as usize].touch(page) && !self.second.touch(page) {
            if !self.directory.touch(page >> 9) {
                caches.touch(directory_line(page), Why::Walk);
            }
            caches.touch(table_line(page), Why::Walk);
        }
        if let Some(touched) = &mut self.touched {
            touched.insert(page);
        }
    }

    /// Asks for a line at `cycle`, and, with translations of their own, for what prefetchers want of other pages then.
    #[inline]
    pub fn access(&mut self, line: Line, cycle: u64, why: Why, caches: &mut Hierarchy) -> Access {
        let access = caches.access(line, cycle, why);
        if let Some(wanted) = caches.take_apart() {
            self.prefetch(&wanted, cycle, caches);
        }
        access
    }

    /// Asks for lines of other pages, each when its page is known. The first level of TLB does not learn of it.
    fn prefetch(&mut self, wanted: &Wanted, cycle: u64, caches: &mut Hierarchy) {
        for (place, &line) in wanted.iter().enumerate() {
            let address = line << LINE;
            if self.untouched(address, 1).is_some() {
                // Of a page that is not there nothing is asked for.
                continue;
            }
            let page = address >> self.page;
            let is_first = self.first[Side::Data as usize].holds(page);
            let known = if is_first { cycle } else { self.look_up(page, cycle, caches) };
            caches.prefetch_apart(line, wanted.is_below(place), known);
        }
    }

    fn miss(&mut self, side: Side, page: u64, cycle: u64, caches: &mut Hierarchy) -> Translated {
        let ready = self.look_up(page, cycle, caches);
        self.first[side as usize].fill(page, cycle, ready);
        Translated { ready, missed: true }
    }

    /// Looks for a page in the second level, and walks to it if it is not there; gives when it is known.
    fn look_up(&mut self, page: u64, cycle: u64, caches: &mut Hierarchy) -> u64 {
        let looked_up = cycle + self.second_latency;
        match self.second.find(page, looked_up) {
            Found::Present => looked_up,
            Found::Coming(ready) => ready,
            Found::Absent => {
                let ready = self.walk(page, looked_up, caches);
                self.second.fill(page, looked_up, ready);
                ready
            }
        }
    }

    /// How many of so many bytes lie before the first page of theirs that was never touched; `None` if all were, and where
    /// first touches do not matter.
    #[inline]
    pub fn untouched(&self, address: u64, bytes: u64) -> Option<u64> {
        let touched = self.touched.as_ref()?;
        let last = address.saturating_add(bytes.max(1) - 1) >> self.page;
        let page = (address >> self.page..=last).find(|page| !touched.contains(page))?;
        Some((page << self.page).saturating_sub(address))
    }

    /// Touches the first page of so many bytes that was never touched; false if there is none, and where first touches do
    /// not matter.
    #[inline]
    pub fn touch_first(&mut self, address: u64, bytes: u64) -> bool {
        let untouched = self.untouched(address, bytes);
        let touched = self.touched.as_mut().zip(untouched);
        touched.is_some_and(|(touched, before)| touched.insert((address + before) >> self.page))
    }

    fn walk(&mut self, page: u64, cycle: u64, caches: &mut Hierarchy) -> u64 {
        let (begin, walker) = self.walkers.find(cycle, self.walk + caches.first_latency());
        let mut at = begin + self.walk;
        if self.directory.find(page >> 9, at) == Found::Absent {
            at = caches.access(directory_line(page), at, Why::Walk).ready;
            self.directory.fill(page >> 9, begin, at);
        }
        let ready = caches.access(table_line(page), at, Why::Walk).ready;
        self.walkers.take(walker, begin, ready);
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Processor;

    fn parts() -> (Translations, Hierarchy) {
        let processor = Processor::named("boom-4w-tip").unwrap();
        let record = Translation {
            instructions: Tlb { entries: 2, ways: 2, latency: 0 },
            data: Tlb { entries: 2, ways: 2, latency: 0 },
            second: Tlb { entries: 8, ways: 4, latency: 7 },
            walk: 10,
            walkers: 1,
            directory: 4,
            page: 4096,
        };
        (Translations::new(&record, true), Hierarchy::new(&processor.memory))
    }

    #[test]
    fn a_page_is_walked_to_once() {
        let (mut pages, mut caches) = parts();
        let first = pages.translate(Side::Data, 0x1234, 100, &mut caches);
        assert!(first.missed && first.ready > 117, "{first:?}");
        let again = pages.translate(Side::Data, 0x1fff, 5000, &mut caches);
        assert_eq!(again, Translated { ready: 5000, missed: false });
        // Known to the second level for the other side.
        let other = pages.translate(Side::Instructions, 0x1000, 6000, &mut caches);
        assert_eq!(other, Translated { ready: 6007, missed: true });
    }

    #[test]
    fn pages_are_new_until_they_are_touched() {
        let (mut pages, mut caches) = parts();
        pages.translate(Side::Data, 0x1000, 0, &mut caches);
        assert_eq!(pages.untouched(0x1234, 8), Some(0), "a translation alone touches nothing");
        assert!(pages.touch_first(0x1234, 8) && !pages.touch_first(0x1234, 8));
        assert_eq!(pages.untouched(0x1ffc, 8), Some(4));
        assert_eq!((pages.untouched(0x1ffc, 4), pages.untouched(0x1800, 0x4000)), (None, Some(0x800)));
        assert!(pages.touch_first(0x1ffc, 8) && pages.untouched(0x1000, 0x2000).is_none());
        pages.touch(Side::Data, 0x3000, &mut caches);
        assert_eq!(pages.untouched(0x3fff, 1), None);
        let processor = Processor::named("zen-4").unwrap();
        let mut there = Translations::new(&processor.translation, false);
        assert!(!there.touch_first(0x1000, 8) && there.untouched(0x1000, 8).is_none());
    }

    #[test]
    fn prefetches_of_other_pages_are_translated() {
        let mut processor = Processor::named("zen-4").unwrap();
        processor.memory.second.as_mut().unwrap().prefetch.clear();
        let mut caches = Hierarchy::new(&processor.memory);
        let mut pages = Translations::new(&processor.translation, false);
        let mut load = |step: u64, instruction, cycle| {
            let address = 0x1000_0000 + step * 65 * 64;
            let page = pages.translate(Side::Data, address, cycle, &mut caches);
            let access = pages.access(address >> LINE, page.ready, Why::Load(instruction), &mut caches);
            (page, access.ready - page.ready)
        };
        (0..20).for_each(|step| _ = load(step, 7, 10_000 * step));
        let (mut latencies, second) = (Vec::new(), processor.translation.second.latency);
        for step in 20..34 {
            // By another instruction, of which no stride is known.
            let (page, latency) = load(step, 8 + step, 1_000_000);
            assert_eq!(page, Translated { ready: 1_000_000 + second, missed: true });
            latencies.push(latency);
        }
        // Eight in the first level, six in the second, and what is farther was not asked for.
        assert_eq!(latencies[..8], [processor.memory.data.latency; 8]);
        assert_eq!(latencies[8..], [processor.memory.second.as_ref().unwrap().latency; 6]);
        let (page, latency) = load(34, 99, 1_000_000);
        assert!(page.ready > 1_000_000 + second && latency >= processor.memory.latency);
    }

    #[test]
    fn what_the_first_level_forgets_the_second_knows() {
        let (mut pages, mut caches) = parts();
        (0..3).for_each(|n| _ = pages.translate(Side::Data, n << 12, n * 10_000, &mut caches));
        let back = pages.translate(Side::Data, 0, 90_000, &mut caches);
        assert_eq!(back, Translated { ready: 90_007, missed: true });
    }

    #[test]
    fn walks_wait_for_a_walker() {
        let (mut pages, mut caches) = parts();
        let first = pages.translate(Side::Data, 0x1000, 0, &mut caches);
        let second = pages.translate(Side::Data, 0x9000, 0, &mut caches);
        assert!(second.ready >= first.ready + 10, "{first:?} {second:?}");
    }
}
