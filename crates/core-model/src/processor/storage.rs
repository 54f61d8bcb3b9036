//! The part of the record that is about memory.

use super::ranges::{CYCLES, LINE_CYCLES, QUEUE, WAYS, WIDTH, fields, in_ways, part, within};
use serde::Deserialize;

/// Loads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loads {
    /// Ports that take loads.
    pub ports: Vec<String>,
    /// Ports that take those to vector registers, if others.
    #[serde(default)]
    pub vector_ports: Vec<String>,
    /// Ports that take those of more than 32 bytes, if others.
    #[serde(default)]
    pub wide_ports: Vec<String>,
    /// Ports that take the second part of those that cross lines, if others.
    #[serde(default)]
    pub split_ports: Vec<String>,
    /// Cycles that a load keeps one of those for if it crosses pages.
    #[serde(default = "one")]
    pub page_split: u16,
    /// Loads in flight.
    pub queue: u32,
    /// Cycles beyond the first level's latency for vector registers.
    pub vector_extra: u64,
    /// Cycles beyond it for loads that cross lines, which take a port twice.
    pub split_extra: u64,
    /// Cycles for an address with a multiplied index, or with base, index and displacement.
    #[serde(default)]
    pub complex_extra: u64,
    /// Cycles from a store's data to a load that takes them from the store queue.
    pub forward: u64,
    /// Cycles beyond that for vector registers.
    #[serde(default)]
    pub vector_forward_extra: u64,
    /// Cycles from what is stored to a load with the same address registers that begins where the store does, if such pairs
    /// are recognised at rename: of at least four bytes, between general-purpose registers, and where the load computes
    /// nothing, or an instruction of one µop that computes stores the result again.
    #[serde(default)]
    pub renamed: Option<u64>,
    /// Whether only one of them is recognised in a cycle.
    #[serde(default)]
    pub renamed_alone: bool,
    /// Whether those are recognised instead that move registers or constants to memory and back, of other sizes than two
    /// bytes, or add constants there, by a base register alone.
    #[serde(default)]
    pub renames_moves: bool,
    /// How many instructions are remembered that found their data in stores most lately, 0 for none. A load that did so
    /// often enough is known at rename to be of what was just stored, whatever its address registers, unless one is the
    /// stack pointer, and then takes what `renamed` says.
    #[serde(default)]
    pub foreseen: u32,
    /// Cycles beyond that for a load that takes data of several stores, or of parts of memory: it waits until the
    /// store is in the cache.
    pub blocked: u64,
    /// Loads that were executed before an older store to the same place are foreseen when they were so often
    /// enough; without that, they always are.
    pub speculates: bool,
}

/// Stores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stores {
    /// Ports that take addresses.
    pub address_ports: Vec<String>,
    /// Ports that take data.
    pub data_ports: Vec<String>,
    /// Ports that take data of vector registers, if others.
    #[serde(default)]
    pub vector_data_ports: Vec<String>,
    /// Whether what an instruction itself computes is stored without a cycle for its way to the store queue.
    #[serde(default)]
    pub updates_at_once: bool,
    /// Stores in flight, until they are in the cache.
    pub queue: u32,
    /// Lines that stores go to in a cycle, in order.
    pub drained: u32,
    /// Stores to one line that go into the cache together.
    #[serde(default = "alone")]
    pub joined: u32,
    /// Whether both parts of a store that crosses lines go into the cache alone.
    #[serde(default)]
    pub splits_alone: bool,
    /// Cycles beyond that for a store that crosses pages.
    #[serde(default)]
    pub page_split: u64,
    /// Cycles from a store's way into the cache to fetch of code that it wrote and that had been fetched before;
    /// without it, stores have nothing to do with code.
    #[serde(default)]
    pub code_clear: Option<u64>,
    /// Stores to a line that take that together. What follows them is fetched again, the next stores among it, which
    /// then find fetched code, too. Without it, all in flight do.
    #[serde(default)]
    pub code_clear_stores: Option<u64>,
    /// Cycles more if there are several stores to a line: a later one finds code again that was fetched behind an earlier
    /// one.
    #[serde(default)]
    pub code_clear_again: Option<u64>,
}

fn one() -> u16 {
    1
}

fn alone() -> u32 {
    1
}

fn within_page() -> i64 {
    63
}

fn twice() -> u32 {
    2
}

/// Caches and memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// First-level instruction cache; its latency is part of `fetch.depth`.
    pub instructions: CacheRecord,
    /// First-level data cache.
    pub data: CacheRecord,
    /// Second level; without it, first-level caches miss to the last.
    pub second: Option<CacheRecord>,
    /// Last level.
    pub last: CacheRecord,
    /// Cycles from load to use from memory, without waiting for others.
    pub latency: u64,
    /// Cycles between lines from memory.
    pub line_cycles: f64,
    /// Cycles between lines to memory, where they do not wait for those that come from it.
    #[serde(default)]
    pub written_line_cycles: Option<f64>,
}

impl Memory {
    /// The caches with their names.
    pub fn caches(&self) -> impl Iterator<Item = (&'static str, &CacheRecord)> {
        let first = [("instructions", &self.instructions), ("data", &self.data), ("last", &self.last)];
        first.into_iter().chain(self.second.as_ref().map(|second| ("second", second)))
    }
}

/// A cache, with lines of 64 bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheRecord {
    /// Size in KiB.
    pub kib: usize,
    /// Ways.
    pub ways: usize,
    /// Whether the set of a line follows from the bits of its address above the lowest that tell sets apart, too, so that
    /// lines at distances of a power of two are spread over all sets.
    #[serde(default)]
    pub hashed: bool,
    /// Cycles from load to use.
    pub latency: u64,
    /// Misses in flight.
    pub misses: usize,
    /// Cycles between lines from the next level.
    pub line_cycles: f64,
    /// What is fetched before it is asked for.
    #[serde(default)]
    pub prefetch: Vec<Prefetch>,
}

impl CacheRecord {
    /// Sets.
    pub fn sets(&self) -> usize {
        self.lines() / self.ways
    }

    fn lines(&self) -> usize {
        self.kib * 1024 / 64
    }

    fn check(&self) -> Result<(), String> {
        fields!(self,
            kib in 1..=1 << 20,
            ways in WAYS,
            latency in CYCLES,
            misses in 1..=1024,
            line_cycles in LINE_CYCLES,
        );
        if !self.lines().is_multiple_of(self.ways) {
            return Err(format!("kib is {}, which does not divide into {} ways", self.kib, self.ways));
        }
        self.prefetch.iter().try_for_each(|prefetch| part("prefetch", prefetch.check()))
    }
}

/// A prefetcher.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum Prefetch {
    /// The next line on a miss.
    NextLine,
    /// By instruction: the addresses that the same stride leads to.
    Stride {
        /// Strides from an access to what is asked for into this level.
        distance: i64,
        /// The longest stride that is followed, in lines.
        #[serde(default = "within_page")]
        longest: i64,
        /// How often a stride has to come again before it is followed.
        #[serde(default = "twice")]
        repeats: u32,
        /// Strides beyond `distance` to what is asked for into the next level alone.
        #[serde(default)]
        below: i64,
        /// Lines that are asked for at an access, one after another, until they reach so far; 0 for the one at `distance`
        /// alone, whatever is before it.
        #[serde(default)]
        degree: i64,
        /// Whether a line of another page is asked for only when its translation is known, which stays in the second level
        /// of TLB.
        #[serde(default)]
        translates: bool,
    },
    /// By page: lines ahead of accesses that go up or down through it.
    Stream {
        /// The farthest line ahead.
        distance: i64,
        /// Lines that are asked for at an access.
        degree: i64,
        /// Whether lines of the next page are asked for before it is entered.
        #[serde(default)]
        crosses: bool,
    },
}

/// Address translation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// First-level TLB of instructions.
    pub instructions: Tlb,
    /// First-level TLB of data.
    pub data: Tlb,
    /// Second level.
    pub second: Tlb,
    /// Cycles of a page walk beside its accesses to memory.
    pub walk: u64,
    /// Walks at a time.
    pub walkers: usize,
    /// Directory entries (each for 2 MiB) that the walker keeps.
    pub directory: usize,
    /// Bytes of a page.
    pub page: u64,
}

/// A TLB.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// Pages.
    pub entries: usize,
    /// Ways; as many as entries for a fully associative one.
    pub ways: usize,
    /// Cycles that a hit costs; 0 at the first level, where it is part of the access.
    pub latency: u64,
}

impl Loads {
    pub(super) fn check(&self) -> Result<(), String> {
        fields!(self,
            queue in QUEUE,
            vector_extra in CYCLES,
            split_extra in CYCLES,
            complex_extra in CYCLES,
            forward in CYCLES,
            vector_forward_extra in CYCLES,
            blocked in CYCLES,
            page_split in 1..=10_000,
        );
        if self.page_split > 1 && self.split_ports.is_empty() {
            return Err("page_split needs split_ports".into());
        }
        if self.foreseen > 0 && self.renamed.is_none() {
            return Err("foreseen needs renamed".into());
        }
        within("foreseen", self.foreseen, 0..=1024)?;
        within("renamed", self.renamed.unwrap_or(0), CYCLES)
    }
}

impl Stores {
    pub(super) fn check(&self) -> Result<(), String> {
        fields!(self, queue in QUEUE, drained in WIDTH, joined in WIDTH, page_split in CYCLES);
        within("code_clear_stores", self.code_clear_stores.unwrap_or(1), 1..=4096)?;
        within("code_clear_again", self.code_clear_again.unwrap_or(0), CYCLES)?;
        within("code_clear", self.code_clear.unwrap_or(0), CYCLES)
    }
}

impl Memory {
    pub(super) fn check(&self) -> Result<(), String> {
        fields!(self, latency in CYCLES, line_cycles in LINE_CYCLES);
        within("written_line_cycles", self.written_line_cycles.unwrap_or(0.0), LINE_CYCLES)?;
        self.caches().try_for_each(|(name, cache)| part(name, cache.check()))
    }
}

impl Prefetch {
    fn check(&self) -> Result<(), String> {
        let (distance, degree) = match *self {
            Prefetch::NextLine => return Ok(()),
            Prefetch::Stride { distance, longest, repeats, below, degree, .. } => {
                within("longest", longest, 1..=1 << 24)?;
                within("repeats", repeats, 0..=u32::from(Prefetch::REPEATS))?;
                within("below", below, 0..=4096)?;
                if below > 0 && degree == 0 {
                    return Err("below needs degree".into());
                }
                (distance, degree.max(1))
            }
            Prefetch::Stream { distance, degree, .. } => (distance, degree),
        };
        within("distance", distance, 1..=4096)?;
        within("degree", degree, 1..=Prefetch::MOST as i64)
    }

    /// Lines that one access can lead to.
    pub(crate) const MOST: usize = 8;

    /// The most often that a stride can have to come again.
    pub(crate) const REPEATS: u8 = 3;
}

impl Translation {
    pub(super) fn check(&self) -> Result<(), String> {
        part("instructions", self.instructions.check())?;
        part("data", self.data.check())?;
        part("second", self.second.check())?;
        fields!(self,
            walk in CYCLES,
            walkers in 1..=1024,
            directory in WAYS,
            page in 4096..=1 << 30,
        );
        match self.page.is_power_of_two() {
            true => Ok(()),
            false => Err(format!("page is {}: give a power of two", self.page)),
        }
    }
}

impl Tlb {
    fn check(&self) -> Result<(), String> {
        fields!(self, entries in 1..=1 << 20, ways in WAYS, latency in CYCLES);
        in_ways("entries", self.entries, self.ways)
    }
}
