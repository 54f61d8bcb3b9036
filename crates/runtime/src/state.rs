//! What the runtime knows of its process: blocks, exits, indirect branches, and the memory it lives in.

use crate::cache::Cache;
use crate::forest::Forest;
use crate::sys::lock::Lock;
use crate::sys::memory;
use crate::unit::World;
use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};
use core::sync::atomic::Ordering;
use hashbrown::{HashMap, HashSet};
use timewise_abi::process::ProcessRecord;
use timewise_abi::view::Shared;
use timewise_isa::{FlagSet, MAX_LENGTH};

/// A translated block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its first instruction in the program.
    pub address: u64,
    /// Its first instruction in the code cache.
    pub entry: u64,
    /// Flags that are live at its start.
    pub live: FlagSet,
    /// Its instructions.
    pub instructions: u16,
}

/// A way out of translated code to a known address, by a stub at first.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Block that it leaves.
    pub from: u32,
    /// An [`timewise_abi::log::edge_kind`].
    pub kind: u16,
    /// Where it leads in the program.
    pub target: u64,
    /// The displacement to patch, or, for a system call, where the code goes on after it.
    pub place: u64,
    /// Where it leads in the code cache once it is linked, 0 before.
    pub linked: u64,
}

/// An indirect jump, indirect call or return.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Block that it ends.
    pub from: u32,
    /// An [`timewise_abi::log::edge_kind`].
    pub kind: u16,
}

/// Everything of one process.
pub struct Process {
    /// The shared file.
    pub shared: Shared,
    /// This process's record in it.
    pub record: &'static ProcessRecord,
    /// Translated code.
    pub cache: Cache,
    /// Blocks by number.
    pub blocks: Vec<Block>,
    /// Which edges need no counter.
    pub forest: Forest,
    /// Ways out by number.
    pub exits: Vec<Exit>,
    /// Indirect branches by number.
    pub sites: Vec<Site>,
    /// Block by address.
    pub by_address: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// Counters of rare edges from or to outside, by (from, executed, to).
    pub external: HashMap<(u32, u16, u32), u32, BuildHasherDefault<AddressHasher>>,
    /// Pages of the program known to be readable.
    pub readable: HashSet<u64, BuildHasherDefault<AddressHasher>>,
    /// Number of units translated.
    pub units: u32,
}

/// The process that this code lives in.
pub static PROCESS: Lock<Option<Process>> = Lock::new(None);

/// Hashes small keys by multiplication: addresses differ in their low bits.
#[derive(Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }
}

impl Process {
    /// The state of a process of which nothing is translated yet.
    pub fn new(shared: Shared, record: &'static ProcessRecord) -> Process {
        Process {
            shared,
            record,
            cache: Cache::default(),
            blocks: Vec::new(),
            forest: Forest::default(),
            exits: Vec::new(),
            sites: Vec::new(),
            by_address: HashMap::default(),
            external: HashMap::default(),
            readable: HashSet::default(),
            units: 0,
        }
    }

    /// Number of mapping records so far, those of the processes that it was forked from included.
    pub fn mappings(&self) -> u32 {
        let [_, _, inherited] = &self.record.inherited;
        inherited.load(Ordering::Relaxed) + self.record.mappings.count.load(Ordering::Relaxed)
    }

    /// Makes sure that the pages that an instruction at `address` may touch are known as readable, if
    /// they are.
    pub fn probe(&mut self, address: u64) {
        for page in [address >> 12, (address + MAX_LENGTH as u64 - 1) >> 12] {
            if !self.readable.contains(&page) && memory::read(page << 12, &mut [0]) == 1 {
                self.readable.insert(page);
            }
        }
    }
}

impl World for Process {
    fn read(&mut self, address: u64, buffer: &mut [u8; MAX_LENGTH]) -> usize {
        self.probe(address);
        let first = address >> 12;
        if !self.readable.contains(&first) {
            return 0;
        }
        let mut readable = MAX_LENGTH;
        let next = (first + 1) << 12;
        if !self.readable.contains(&(first + 1)) {
            readable = readable.min((next - address) as usize);
        }
        // SAFETY: the pages were found readable, and the program's own unmapping forgets them first.
        unsafe { core::ptr::copy_nonoverlapping(address as *const u8, buffer.as_mut_ptr(), readable) };
        readable
    }

    fn known(&self, address: u64) -> Option<FlagSet> {
        self.by_address.get(&address).map(|&b| self.blocks[b as usize].live)
    }
}
