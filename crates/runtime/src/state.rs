//! What the runtime knows of its process: blocks, exits, indirect branches, and the memory it lives in.

use crate::address_space::{AddressSpace, Mapping};
use crate::beginnings::Beginnings;
use crate::cache::{self, Cache};
use crate::calls::{self, Calls};
use crate::emit::{Toll, name_by_distance};
use crate::forest::Vertex;
use crate::indirect::{Switch, check_by_loop};
use crate::kinds::{Kinds, Mode};
use crate::lessons::Lessons;
use crate::marks::Marks;
use crate::paths::Paths;
use crate::placing::Placing;
use crate::retire::CodePage;
use crate::sites::Sites;
use crate::starts::Starts;
use crate::sys::filter::is_confined;
use crate::sys::lock::Lock;
use crate::sys::memory;
use crate::unit::World;
use crate::vsyscall;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};
use core::ops::Range;
use core::sync::atomic::Ordering;
use hashbrown::HashMap;
use timewise_abi::process::ProcessRecord;
use timewise_abi::thread::{ThreadArea, state};
use timewise_abi::view::Shared;
use timewise_abi::{Failure, NONE};
use timewise_isa::{FlagSet, Instruction, MAX_LENGTH};

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
    /// Bytes of its code.
    pub length: u16,
    /// What it does beside counting.
    pub mode: Mode,
    /// Its fragment.
    pub fragment: u32,
    /// If it has a counter of its own: before which of its instructions, else [`NO_COUNTER`].
    pub counter_at: u16,
    /// Bytes of the check that it is what it was, at its entry.
    pub check: u16,
    /// Whether it ends in a direct jump.
    pub jumps: bool,
    /// Where its code was copied to, in the log.
    pub copy: u64,
    /// First of the exits that are linked to it, `NONE` for none.
    pub exits: u32,
    /// First of the indirect branches' targets that lead to it, `NONE` for none.
    pub targets: u32,
}

/// No instruction of a block.
pub const NO_COUNTER: u16 = u16::MAX;

impl Block {
    /// The name of where it begins, for code of its mode.
    pub fn key(&self) -> u64 {
        self.mode.key(self.address)
    }

    /// Its code in the program, as it was when it was translated.
    pub fn code(&self) -> &'static [u8] {
        // SAFETY: the copy in the log stays, and is as long as the block.
        unsafe { core::slice::from_raw_parts(self.copy as *const u8, self.length.into()) }
    }

    /// By how much more than 8 bytes the return that ends it moves the stack pointer.
    pub fn discards(&self) -> u16 {
        timewise_isa::discards(self.code())
    }

    /// Whether it ends in a return to an address that it puts on the stack.
    pub fn returns_to_pushed(&self) -> bool {
        timewise_isa::returns_to_pushed(self.code())
    }

    /// Whether it ends in a return.
    pub fn returns(&self) -> bool {
        timewise_isa::returns(self.code())
    }

    /// Where its code goes on after the check that it is what it was.
    pub fn checked(&self) -> u64 {
        self.entry + u64::from(self.check)
    }

    /// Address of the last byte of its code, which is of the same function as what control leaves it by.
    pub fn end(&self) -> u64 {
        self.address + u64::from(self.length) - 1
    }

    /// The point at which control leaves block number `number`, this one, after so many instructions, and how
    /// many further than that point it is then.
    pub fn point(&self, number: u32, executed: u16) -> (Vertex, i64) {
        // A block's own counter separates its start from its end.
        if self.counter_at != NO_COUNTER && executed < self.counter_at {
            return (Vertex::start(number), i64::from(executed));
        }
        (Vertex::end(number), i64::from(executed) - i64::from(self.instructions))
    }
}

/// A unit in the cache.
#[derive(Debug)]
pub struct Fragment {
    /// Its blocks, by number.
    pub blocks: Range<u32>,
    /// Where its marks begin.
    pub marks: u32,
    /// What was mapped where its source begins.
    pub mapping: Option<Mapping>,
    /// Whether control may come to it: its source is what it was.
    pub live: bool,
    /// Whether its source is compared with what it was whenever it is entered, because it could change unseen.
    pub is_checked: bool,
    /// What few of them have.
    pub special: Option<Box<Special>>,
}

/// What there may be to know of a unit.
#[derive(Debug, Default, PartialEq)]
pub struct Special {
    /// Jumps back within it, which alone could keep a thread in it for ever.
    pub loops: Vec<Loop>,
    /// System calls that it goes on after.
    pub system_calls: Vec<SystemCall>,
    /// Bytes of the source, from its start, that may be any: the code reads them when it needs them.
    pub free: Vec<Range<usize>>,
}

impl Fragment {
    /// The program's code that it was translated from.
    pub fn source(&self, blocks: &[Block]) -> Range<u64> {
        let [first, last] = [self.blocks.start, self.blocks.end - 1].map(|block| &blocks[block as usize]);
        first.address..last.address + u64::from(last.length)
    }

    /// Jumps back within it.
    pub fn loops(&self) -> &[Loop] {
        self.special.as_ref().map_or(&[], |special| &special.loops)
    }

    /// System calls that it goes on after.
    pub fn system_calls(&self) -> &[SystemCall] {
        self.special.as_ref().map_or(&[], |special| &special.system_calls)
    }

    /// Bytes of the source that may be any.
    pub fn free(&self) -> &[Range<usize>] {
        self.special.as_ref().map_or(&[], |special| &special.free)
    }
}

/// A jump back within a fragment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loop {
    /// Its displacement.
    pub place: u64,
    /// Where it leads while the fragment lives.
    pub entry: u64,
    /// Where it leads otherwise: out.
    pub stub: u64,
}

/// A system call that a fragment goes on after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemCall {
    /// Where it goes on.
    pub after: u64,
    /// Where a thread goes instead that finds the fragment no longer live.
    pub stub: u64,
}

/// A way out of translated code to a known address, by a stub at first.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Block that it leaves.
    pub from: u32,
    /// An [`timewise_abi::log::edge_kind`].
    pub kind: u16,
    /// Instructions of that block that were executed.
    pub executed: u16,
    /// Where it leads in the program.
    pub target: u64,
    /// How far behind `stub`, in the same region, the displacement to patch lies; 0 for none.
    pub distance: i32,
    /// Where it leads in the code cache while it is not linked.
    pub stub: u64,
    /// The block that it led to last, `NONE` before.
    pub to: u32,
    /// Where it leads in the code cache when linked to that block, its counter included; for a system call, where the
    /// code goes on after it.
    pub goal: u64,
    /// Whether it is linked.
    pub linked: bool,
    /// Whether what it leads to stands right behind the branch that ends its block: then there is no displacement.
    pub behind: bool,
    /// Whether that was so while `goal` was where it leads, and will be again if it can.
    pub parted: bool,
    /// The next exit that is linked to the same block, `NONE` for none.
    pub next: u32,
}

impl Exit {
    /// A way out that was never taken.
    pub fn new(from: u32, kind: u16, executed: u16, target: u64) -> Exit {
        let (to, next) = (NONE, NONE);
        let (linked, behind, parted) = (false, false, false);
        Exit { from, kind, executed, target, distance: 0, stub: 0, to, goal: 0, linked, behind, parted, next }
    }

    /// The displacement to patch, if there is one.
    pub fn place(&self) -> Option<u64> {
        (self.distance != 0).then(|| self.stub.wrapping_add_signed(self.distance.into()))
    }
}

/// What is noted of an edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// When it is taken.
    pub toll: Toll,
    /// If it is a call and the costs of calls are asked for: its number among them, else `NONE`.
    pub call: u32,
}

/// What an indirect branch's table knows of one target: the stub that checks for it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The table's entry.
    pub place: u64,
    /// The block.
    pub to: u32,
    /// What is noted of it.
    pub edge: Edge,
    /// The stub.
    pub code: u64,
    /// The byte by which the stub is switched off, so that it never finds its target.
    pub switch: Switch,
    /// How far into the stub it goes on when it finds its target.
    pub found_at: u16,
    /// Target whose stub comes after this one's in the entry's chain, `NONE` for none.
    pub after: u32,
    /// The next target that leads to the same block, `NONE` for none.
    pub next: u32,
    /// Whether the stub finds its target.
    pub live: bool,
    /// Whether another stub is to be made in its place.
    pub outdated: bool,
}

impl Target {
    /// Whether the stub is to find its target.
    pub fn turn(&self, on: bool) {
        let Switch { at, on: found, off } = self.switch;
        cache::write(self.code + u64::from(at), &[if on { found } else { off }]);
    }

    /// Where the stub goes on when it finds its target.
    pub fn found(&self) -> u64 {
        self.code + u64::from(self.found_at)
    }
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
    /// What is noted by a block's own counter, if that stands before its first instruction.
    pub first: HashMap<u32, Toll, BuildHasherDefault<AddressHasher>>,
    /// Which edges need a counter.
    pub placing: Placing,
    /// Its calls, if their costs are asked for.
    pub calls: Option<Calls>,
    /// Its paths, if they are counted.
    pub paths: Option<Paths>,
    /// What else is recorded.
    pub kinds: Kinds,
    /// The mode of the thread that the runtime works for.
    pub mode: Mode,
    /// Where copies of branches stand that became jumps there.
    pub copies: BTreeSet<u64>,
    /// Whether in its memory no two threads could have executed at once yet: a parent waits for its child by `vfork`.
    pub is_alone: bool,
    /// Ways out by number.
    pub exits: Vec<Exit>,
    /// Indirect branches.
    pub sites: Sites,
    /// Their targets.
    pub targets: Vec<Target>,
    /// First target of each entry of their tables that has one, by the entry's address.
    pub heads: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// Where the instructions of fragments are done.
    pub marks: Marks,
    /// Targets that were taken out of their tables, by their entry and block.
    pub withdrawn: HashMap<(u64, u32), u32, BuildHasherDefault<AddressHasher>>,
    /// Units in the cache by number.
    pub fragments: Vec<Fragment>,
    /// Pages that code was translated from.
    pub pages: HashMap<u64, CodePage, BuildHasherDefault<AddressHasher>>,
    /// Fragments that are not live, by the [`Mode::key`] of each of their blocks.
    pub retired: HashMap<u64, Vec<u32>, BuildHasherDefault<AddressHasher>>,
    /// What is executable.
    pub space: AddressSpace,
    /// Blocks by [`Block::key`].
    pub beginnings: Beginnings,
    /// Where none is, by the same.
    pub starts: Starts,
    /// What is noted of rare edges from or to outside, by (from, executed, to).
    pub external: HashMap<(u32, u16, u32), Toll, BuildHasherDefault<AddressHasher>>,
    /// Whether it opened its memory as a file, to write to it.
    pub writes_memory: bool,
    /// What its family reports.
    pub lessons: Lessons,
    /// The readable page that was read last, or [`NO_PAGE`]: most code lies on the same page as what was read before it.
    latest: u64,
}

/// No page's number.
const NO_PAGE: u64 = u64::MAX;

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
        let with_calls = shared.header().frames != 0;
        name_by_distance(shared.header().by_distance == 1);
        check_by_loop(shared.header().quick_loop == 1);
        if with_calls {
            // Counter 0 is nobody's.
            shared.take_counter(record);
        }
        Process {
            shared,
            record,
            cache: Cache::default(),
            blocks: Vec::new(),
            first: HashMap::default(),
            placing: Placing::new(with_calls),
            calls: with_calls.then(|| Calls::new(shared, record)),
            paths: Paths::new(shared),
            kinds: Kinds::new(shared.header().plan),
            mode: Mode::Count,
            copies: BTreeSet::new(),
            is_alone: true,
            exits: Vec::new(),
            sites: Sites::default(),
            targets: Vec::new(),
            heads: HashMap::default(),
            withdrawn: HashMap::default(),
            marks: Marks::default(),
            fragments: Vec::new(),
            pages: HashMap::default(),
            retired: HashMap::default(),
            space: AddressSpace::new(shared, &record.mappings),
            beginnings: Beginnings::default(),
            starts: Starts::default(),
            external: HashMap::default(),
            writes_memory: false,
            lessons: Lessons::default(),
            latest: NO_PAGE,
        }
    }

    /// Another thread, or process, is about to execute in the same memory, made by a thread at the end of block `from`,
    /// which may be waiting for it to go.
    pub fn share(&mut self, area: &mut ThreadArea, from: u32, waits: bool) {
        self.is_alone &= waits;
        calls::share(self, area, from);
    }

    /// Calls `each` with every other thread of the process that is in a system call, and the block that made it, as the
    /// process ends. One that shares its memory with another process is not ended by that.
    pub fn each_in_system_call(&self, area: &ThreadArea, mut each: impl FnMut(&mut ThreadArea, u32)) {
        self.each_other(area, |other| {
            // SAFETY: a registered area, whose thread is in the kernel or stopped. Should it come back before the
            // process ends, both may write to what the area holds; neither leaves it by that.
            let other = unsafe { &mut *other };
            let in_call = other.state.load(Ordering::Acquire) == state::IN_SYSTEM_CALL;
            if in_call && other.sharing == 0 {
                let from = other.position.load(Ordering::Relaxed);
                each(other, from);
            }
        });
    }

    /// Calls `each` with the areas of all other threads of the process, those that ended included.
    pub fn each_other(&self, area: &ThreadArea, mut each: impl FnMut(*mut ThreadArea)) {
        let mut offset = self.record.latest_thread.load(Ordering::Acquire);
        while offset != 0 {
            let other = self.shared.thread(offset);
            if other as u64 != area.this {
                each(other);
            }
            offset = self.shared.previous_thread(offset);
        }
    }

    /// Number of mapping records so far, those of the processes that it was forked from included.
    pub fn mappings(&self) -> u32 {
        let [_, _, inherited] = &self.record.inherited;
        inherited.load(Ordering::Relaxed) + self.record.mappings.count.load(Ordering::Relaxed)
    }

    /// Makes sure that the pages that an instruction at `address` may touch are known as executable and
    /// readable, if they are.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn probe(&mut self, address: u64) -> Result<(), Failure> {
        for page in [address >> 12, address.saturating_add(MAX_LENGTH as u64 - 1) >> 12] {
            if self.space.is_readable(page) {
                continue;
            }
            let at = page << 12;
            // Once confined, what is known to be executable is taken to be readable.
            let is_readable = || is_confined() || memory::read(at, &mut [0]) == 1;
            if !self.space.is_executable(at) && is_readable() {
                self.space.learn(at, self.shared, &self.record.mappings)?;
            }
            if self.space.is_executable(at) && is_readable() {
                self.space.add_readable(page);
            }
        }
        Ok(())
    }

    /// What is noted before the first instruction of a block.
    pub fn first(&self, block: u32) -> Toll {
        self.first.get(&block).copied().unwrap_or(Toll::NONE)
    }

    /// The block in the present mode at an address.
    pub fn known_block(&self, address: u64) -> Option<u32> {
        let key = self.mode.key(address);
        self.starts.may_hold(key).then(|| self.beginnings.get(&self.blocks, key))?
    }

    /// Forgets that the pages of `range` are readable.
    pub fn forget_readable(&mut self, range: Range<u64>) {
        self.latest = NO_PAGE;
        self.space.forget_readable(range);
    }
}

impl World for Process {
    fn read(&mut self, address: u64, buffer: &mut [u8; MAX_LENGTH]) -> usize {
        if address >> 12 == self.latest && (address.wrapping_add(MAX_LENGTH as u64 - 1)) >> 12 == self.latest
        {
            // SAFETY: the page was found readable, and the program's own unmapping forgets it first.
            unsafe { core::ptr::copy_nonoverlapping(address as *const u8, buffer.as_mut_ptr(), MAX_LENGTH) };
            return MAX_LENGTH;
        }
        // Out of room for a record is noted where it happens; what is unknown is then not translated.
        let _ = self.probe(address);
        let first = address >> 12;
        if let Some(code) = vsyscall::code(address).filter(|_| self.space.is_executable(address)) {
            let readable = code.len().min(MAX_LENGTH);
            buffer[..readable].copy_from_slice(&code[..readable]);
            return readable;
        }
        if !self.space.is_readable(first) {
            return 0;
        }
        self.latest = first;
        let mut readable = MAX_LENGTH;
        let next = (first + 1) << 12;
        if !self.space.is_readable(first + 1) {
            readable = readable.min((next - address) as usize);
        }
        // SAFETY: the pages were found readable, and the program's own unmapping forgets them first.
        unsafe { core::ptr::copy_nonoverlapping(address as *const u8, buffer.as_mut_ptr(), readable) };
        readable
    }

    fn known(&self, address: u64) -> Option<FlagSet> {
        let key = self.mode.key(address);
        if !self.starts.may_hold(key) {
            return None;
        }
        let block = self.beginnings.get(&self.blocks, key)?;
        // Code that may change under the same address must not be relied on by what jumps there.
        let settled = self.space.is_settled(address);
        Some(if settled { self.blocks[block as usize].live } else { FlagSet::ALL })
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn cuts(&self, instructions: &[Instruction]) -> Vec<usize> {
        self.paths.as_ref().map_or_else(Vec::new, |paths| paths.cuts(&self.space, instructions))
    }

    fn is_settled(&self, address: u64) -> bool {
        self.space.is_settled(address)
    }

    fn may_change(&self, address: u64) -> bool {
        self.space.may_change(address)
    }
}
