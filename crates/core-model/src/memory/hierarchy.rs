//! Caches above each other, links between them, and memory.

use super::cache::{Cache, Found};
use super::prefetch::{Prefetcher, Wanted};
use crate::processor::{CacheRecord, Memory};
use crate::resources::{Link, Spans};

/// A line's number: its address without the lowest bits.
pub type Line = u64;

/// Who asks for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// An instruction fetch.
    Fetch,
    /// A load, by the instruction at this address.
    Load(u64),
    /// A store that goes into the cache, likewise.
    Store(u64),
    /// A page walk.
    Walk,
    /// A prefetcher of the level above, or of the same.
    Prefetch,
}

/// How an access went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// When the data are there.
    pub ready: u64,
    /// It missed the first level.
    pub missed_first: bool,
    /// It missed the last level.
    pub missed_last: bool,
}

/// One level.
#[derive(Debug)]
struct Level {
    cache: Cache,
    latency: u64,
    misses: Spans,
    /// From the level below.
    link: Link,
    prefetcher: Prefetcher,
}

impl Level {
    fn new(record: &CacheRecord) -> Level {
        let cache = if record.hashed { Cache::hashed } else { Cache::new };
        Level {
            cache: cache(record.sets(), record.ways),
            latency: record.latency,
            misses: Spans::new(record.misses),
            link: Link::new(record.line_cycles),
            prefetcher: Prefetcher::new(&record.prefetch),
        }
    }
}

/// Positions in [`Hierarchy::levels`].
const INSTRUCTIONS: usize = 0;
const DATA: usize = 1;

/// Caches and memory.
#[derive(Debug)]
pub struct Hierarchy {
    /// First levels, then those that they share, the nearest first.
    levels: Vec<Level>,
    latency: u64,
    memory: Link,
    /// The way to memory, if it is another than that from it.
    written: Option<Link>,
    /// What prefetchers of the first level of data want of other pages.
    apart: Wanted,
}

impl Hierarchy {
    /// Empty caches.
    pub fn new(memory: &Memory) -> Hierarchy {
        let records = [&memory.instructions, &memory.data].into_iter().chain(&memory.second);
        let levels = records.chain([&memory.last]).map(Level::new).collect();
        let written = memory.written_line_cycles.map(Link::new);
        let (latency, link) = (memory.latency, Link::new(memory.line_cycles));
        Hierarchy { levels, latency, memory: link, written, apart: Wanted::default() }
    }

    /// Nobody asks for cycles before this one any more.
    pub fn forget(&mut self, before: u64) {
        self.memory.forget(before);
        self.written.iter_mut().for_each(|link| link.forget(before));
        self.levels.iter_mut().for_each(|level| level.link.forget(before));
    }

    /// Latency of a hit in the first-level data cache.
    pub fn first_latency(&self) -> u64 {
        self.levels[DATA].latency
    }

    /// Asks for a line at `cycle`, the one at which the first level is looked up.
    #[inline]
    pub fn access(&mut self, line: Line, cycle: u64, why: Why) -> Access {
        let first = if why == Why::Fetch { INSTRUCTIONS } else { DATA };
        let level = &mut self.levels[first];
        let found = level.cache.find(line, cycle);
        let is_miss = found != Found::Present;
        let wanted = level.prefetcher.observe(line, why, is_miss);
        let access = match found {
            Found::Present => {
                Access { ready: cycle + level.latency, missed_first: false, missed_last: false }
            }
            // How far it has to come was told to who asked for it first.
            Found::Coming(ready) => {
                Access { ready: ready.max(cycle + level.latency), missed_first: true, missed_last: false }
            }
            Found::Absent => self.miss(first, line, cycle, why),
        };
        if let Why::Store(_) = why {
            self.levels[first].cache.write(line);
        }
        self.prefetch(first, &wanted, cycle);
        access
    }

    /// Throws a line out of the instruction cache; false if it is not there.
    #[inline]
    pub fn drop_code(&mut self, line: Line) -> bool {
        self.levels[INSTRUCTIONS].cache.drop(line)
    }

    /// Throws a line out of all caches; if it was written to, it goes to memory.
    pub fn evict(&mut self, line: Line, cycle: u64) {
        let is_written =
            self.levels.iter_mut().fold(false, |is_written, level| level.cache.evict(line) | is_written);
        if is_written {
            self.write_back(self.levels.len(), line, cycle);
        }
    }

    /// Uses a line outside of time, to have caches as they would be: all levels that miss it get it, and what
    /// their prefetchers want.
    pub fn touch(&mut self, line: Line, why: Why) {
        let mut at = if why == Why::Fetch { INSTRUCTIONS } else { DATA };
        while let Some(level) = self.levels.get_mut(at) {
            let found = level.cache.touch(line);
            let wanted = level.prefetcher.observe(line, why, !found);
            for (place, &line) in wanted.iter().enumerate() {
                let first = at.max(DATA) + usize::from(wanted.is_below(place));
                self.levels[first..].iter_mut().for_each(|level| _ = level.cache.touch(line));
            }
            if found {
                break;
            }
            at = at.max(DATA) + 1;
        }
        if let Why::Store(_) = why {
            self.levels[DATA].cache.write(line);
        }
    }

    /// Gets a line that the level misses.
    fn miss(&mut self, at: usize, line: Line, cycle: u64, why: Why) -> Access {
        let below = at.max(DATA) + 1;
        let likely = self.levels.get(below).map_or(self.latency, |level| level.latency);
        let (begin, entry) = self.levels[at].misses.find(cycle, likely);
        let mut access = self.below(below, line, begin, why);
        let passed = self.levels[at].link.pass(access.ready.saturating_sub(1)) + 1;
        access.ready = access.ready.max(passed);
        access.missed_first = true;
        self.levels[at].misses.take(entry, begin, access.ready);
        let out = self.levels[at].cache.fill(line, begin, access.ready);
        if let Some(out) = out {
            self.write_back(below, out, access.ready);
        }
        access
    }

    /// Asks a level that levels share, or memory behind the last.
    fn below(&mut self, at: usize, line: Line, cycle: u64, why: Why) -> Access {
        let Some(level) = self.levels.get_mut(at) else {
            let begun = self.memory.pass(cycle);
            return Access { ready: begun + self.latency, missed_first: true, missed_last: true };
        };
        let found = level.cache.find(line, cycle);
        let wanted = level.prefetcher.observe(line, why, found != Found::Present);
        let access = match found {
            Found::Present => Access { ready: cycle + level.latency, missed_first: true, missed_last: false },
            Found::Coming(ready) => {
                Access { ready: ready.max(cycle + level.latency), missed_first: true, missed_last: false }
            }
            Found::Absent => self.miss(at, line, cycle, why),
        };
        self.prefetch(at, &wanted, cycle);
        access
    }

    /// Takes a line that was written to.
    fn write_back(&mut self, at: usize, line: Line, cycle: u64) {
        let Some(level) = self.levels.get_mut(at) else {
            self.written.as_mut().unwrap_or(&mut self.memory).pass(cycle);
            return;
        };
        if level.cache.write(line) {
            return;
        }
        let out = level.cache.fill(line, cycle, cycle);
        level.cache.write(line);
        if let Some(out) = out {
            self.write_back(at + 1, out, cycle);
        }
    }

    /// Asks for what a level's prefetchers want.
    #[inline]
    fn prefetch(&mut self, at: usize, wanted: &Wanted, cycle: u64) {
        for (place, &line) in wanted.iter().enumerate() {
            let is_below = wanted.is_below(place);
            if wanted.is_apart(place) {
                self.apart.push_to(line, is_below, true);
            } else if !self.prefetch_line(at, line, is_below, cycle) {
                break;
            }
        }
    }

    /// Asks for a line into a level, or into the next one alone, for which it still waits as for its own; false if it wants
    /// no more, as no miss register is free.
    fn prefetch_line(&mut self, at: usize, line: Line, is_below: bool, cycle: u64) -> bool {
        let below = at.max(DATA) + 1;
        let likely = self.levels.get(below).map_or(self.latency, |level| level.latency);
        let into = if is_below { below.min(self.levels.len() - 1) } else { at };
        if self.levels[into].cache.holds(line) {
            return true;
        }
        let (begin, entry) = self.levels[at].misses.find(cycle, likely);
        if begin > cycle {
            self.levels[at].prefetcher.refuse(line);
            return false;
        }
        let access = self.miss(into, line, cycle, Why::Prefetch);
        if into != at {
            self.levels[at].misses.take(entry, begin, access.ready);
        }
        true
    }

    /// What the latest accesses led to expect in other pages: to be asked for by [`Hierarchy::prefetch_apart`].
    #[inline]
    pub(super) fn take_apart(&mut self) -> Option<Wanted> {
        (!self.apart.is_empty()).then(|| std::mem::take(&mut self.apart))
    }

    /// Asks for a line of those at `cycle`, in which its page is known.
    pub(super) fn prefetch_apart(&mut self, line: Line, is_below: bool, cycle: u64) {
        self.prefetch_line(DATA, line, is_below, cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Prefetch;

    fn record(kib: usize, latency: u64, misses: usize) -> CacheRecord {
        CacheRecord { kib, ways: 8, hashed: false, latency, misses, line_cycles: 1.0, prefetch: Vec::new() }
    }

    fn memory() -> Memory {
        Memory {
            instructions: record(32, 4, 8),
            data: record(32, 5, 4),
            second: Some(record(256, 15, 16)),
            last: record(1024, 40, 16),
            latency: 200,
            line_cycles: 4.0,
            written_line_cycles: None,
        }
    }

    #[test]
    fn each_level_has_its_latency() {
        let mut caches = Hierarchy::new(&memory());
        let cold = caches.access(1, 100, Why::Load(0));
        assert_eq!(cold, Access { ready: 300, missed_first: true, missed_last: true });
        let hit = caches.access(1, 400, Why::Load(0));
        assert_eq!(hit, Access { ready: 405, missed_first: false, missed_last: false });
        // 64 sets: nine lines of one set push the first one out.
        (1..=8).for_each(|n| _ = caches.access(1 + 64 * n, 1000 * n, Why::Load(0)));
        let second = caches.access(1, 20_000, Why::Load(0));
        assert_eq!(second, Access { ready: 20_015, missed_first: true, missed_last: false });
    }

    #[test]
    fn misses_of_one_line_are_one() {
        let mut caches = Hierarchy::new(&memory());
        assert_eq!(caches.access(1, 100, Why::Load(0)).ready, 300);
        let merged = caches.access(1, 150, Why::Load(0));
        assert_eq!((merged.ready, merged.missed_first), (300, true));
    }

    #[test]
    fn miss_registers_limit_what_is_in_flight() {
        let mut caches = Hierarchy::new(&memory());
        let ready: Vec<u64> = (0..6).map(|n| caches.access(100 + n, 0, Why::Load(0)).ready).collect();
        // Four at a time, four cycles apart on the way from memory; the fifth waits for the first.
        assert_eq!(ready, [200, 204, 208, 212, 400, 404]);
    }

    #[test]
    fn memory_gives_a_line_every_so_often() {
        let many = Memory { data: record(32, 5, 64), ..memory() };
        let many = Memory { second: Some(record(256, 15, 64)), last: record(1024, 40, 64), ..many };
        let mut caches = Hierarchy::new(&many);
        let ready: Vec<u64> = (0..32).map(|n| caches.access(100 + n, 0, Why::Load(0)).ready).collect();
        assert_eq!((ready[0], ready[31]), (200, 200 + 31 * 4));
    }

    #[test]
    fn the_next_line_comes_early() {
        let mut early = memory();
        early.data.prefetch = vec![Prefetch::NextLine];
        let mut caches = Hierarchy::new(&early);
        caches.access(10, 0, Why::Load(0));
        assert!(!caches.access(11, 1000, Why::Load(0)).missed_first);
    }

    #[test]
    fn lines_far_ahead_come_to_the_second_level() {
        let mut far = memory();
        let (below, translates) = (2, false);
        far.data.prefetch =
            vec![Prefetch::Stride { distance: 1, longest: 999, repeats: 1, below, degree: 3, translates }];
        let mut caches = Hierarchy::new(&far);
        (0..3).for_each(|step| _ = caches.access(100 * step, 1000 * step, Why::Load(7)));
        // By another instruction, of which no stride is known.
        let mut latency = |step: u64| {
            let cycle = 9000 + 10 * step;
            caches.access(100 * step, cycle, Why::Load(8 + step)).ready - cycle
        };
        assert_eq!([3, 4, 5, 6].map(&mut latency), [5, 15, 15, 200]);
    }

    #[test]
    fn lines_that_were_written_take_the_way_back() {
        let mut small = memory();
        small.second = None;
        small.last = record(32, 40, 16);
        let mut caches = Hierarchy::new(&small);
        caches.access(0, 0, Why::Store(0));
        // Pushed out of both, as both have the same sets.
        (1..=17).for_each(|n| _ = caches.access(64 * n, 0, Why::Load(0)));
        let cycles: u64 = caches.access(5, 0, Why::Load(0)).ready;
        // The link to memory has carried 19 lines and one back.
        assert!(cycles >= 200 + 19 * 4, "{cycles}");
    }

    #[test]
    fn lines_to_memory_may_have_a_way_of_their_own() {
        let behind_another = |written_line_cycles| {
            let mut caches = Hierarchy::new(&Memory { written_line_cycles, ..memory() });
            let memory = caches.levels.len();
            caches.write_back(memory, 7, 0);
            caches.access(1, 0, Why::Load(0)).ready
        };
        assert_eq!(behind_another(None) - behind_another(Some(4.0)), 4);
    }
}
