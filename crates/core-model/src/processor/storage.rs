//! The part of the record that is about memory.

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
    /// Cycles from what is stored to a load with the same address registers, if such pairs are recognised at
    /// rename: of at least four bytes, between general-purpose registers.
    #[serde(default)]
    pub renamed: Option<u64>,
    /// Whether only one of them is recognised in a cycle.
    #[serde(default)]
    pub renamed_alone: bool,
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
    /// Stores in flight, until they are in the cache.
    pub queue: u32,
    /// Lines that stores go to in a cycle, in order.
    pub drained: u32,
    /// Stores to one line that go into the cache together.
    #[serde(default = "alone")]
    pub joined: u32,
    /// Cycles from a store's way into the cache to fetch of code that it wrote and that had been fetched before;
    /// without it, stores have nothing to do with code.
    #[serde(default)]
    pub code_clear: Option<u64>,
}

fn alone() -> u32 {
    1
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
        self.kib * 1024 / 64 / self.ways.max(1)
    }

    fn faults(&self) -> Option<String> {
        let lines = self.kib * 1024 / 64;
        (self.ways == 0 || lines == 0 || !lines.is_multiple_of(self.ways))
            .then(|| format!("{} KiB do not divide into {} ways", self.kib, self.ways))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.faults().map_or(Ok(()), Err)
    }
}

/// A prefetcher.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum Prefetch {
    /// The next line on a miss.
    NextLine,
    /// By instruction: the address that the same stride leads to.
    Stride {
        /// Accesses ahead.
        distance: i64,
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
