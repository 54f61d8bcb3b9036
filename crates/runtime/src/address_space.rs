//! What is executable in the program's memory, and which file it comes from.
//!
//! Learned from the kernel when code is first translated from a place, and forgotten when a system call
//! changes the place: so nothing has to be followed that no code comes from, and what a call really did
//! need not be guessed.
//!
//! Code that the program can write to, there or through another mapping of the same memory, is checked
//! whenever it is entered. Not seen are changes that come neither by a store of the program nor by a
//! system call of it that changes its mappings or memory: a debugger's, and those to a file that is mapped privately.

use crate::range_map::RangeMap;
use crate::state::AddressHasher;
use crate::sys::filter::is_confined;
use crate::sys::maps::{self, Line};
use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};
use core::ops::Range;
use core::sync::atomic::Ordering;
use hashbrown::HashSet;
use timewise_abi::Failure;
use timewise_abi::log::{Log, MAPPED_CHANGING, MappingRecord};
use timewise_abi::paths::name;
use timewise_abi::view::Shared;

/// A mapping, by its position among those of the log that this process has seen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mapping(u32);

/// Executable memory and what is mapped there.
#[derive(Default, Debug)]
pub struct AddressSpace {
    /// Whether its contents may change without a system call, for as long as what the kernel said holds.
    seen: RangeMap<bool>,
    /// What the log says is mapped.
    recorded: RangeMap<Mapping>,
    records: Vec<MappingRecord>,
    /// Of the file of each, its [`name`].
    files: Vec<u64>,
    /// See [`AddressSpace::changes`].
    changes: u64,
    /// Pages, by number, that were found executable and readable.
    readable: HashSet<u64, BuildHasherDefault<AddressHasher>>,
}

impl AddressSpace {
    /// Of a program that is about to run under count, by what the host noted in its log.
    pub fn new(shared: Shared, log: &Log) -> AddressSpace {
        let mut space = AddressSpace::default();
        shared.each_mapping(log, |record, path| {
            space.recorded.insert(record.start..record.end, Mapping(space.records.len() as u32));
            space.records.push(*record);
            space.files.push(name(path));
        });
        space
    }

    /// Whether `address` is executable for all that is known without asking the kernel.
    pub fn is_executable(&self, address: u64) -> bool {
        self.seen.get(address).is_some()
    }

    /// Whether code at `address` may change without a system call: the program can write to it, there or
    /// through another mapping of the same memory.
    pub fn may_change(&self, address: u64) -> bool {
        self.seen.get(address).is_some_and(|(_, changes)| changes)
    }

    /// Whether a page, by its number, was found readable.
    pub fn is_readable(&self, page: u64) -> bool {
        self.readable.contains(&page)
    }

    /// Notes that a page of executable memory is readable.
    pub fn add_readable(&mut self, page: u64) {
        self.readable.insert(page);
    }

    /// Forgets that the pages of `range` are readable.
    pub fn forget_readable(&mut self, range: Range<u64>) {
        let pages = range.start >> 12..range.end.div_ceil(0x1000);
        if pages.end.saturating_sub(pages.start) < self.readable.len() as u64 {
            pages.for_each(|page| _ = self.readable.remove(&page));
        } else {
            self.readable.retain(|page| !pages.contains(page));
        }
    }

    /// The `length` bytes of code at `address`, if they are settled and were found readable.
    pub fn settled_code(&self, address: u64, length: u64) -> Option<&[u8]> {
        let last = address.checked_add(length.checked_sub(1)?)?;
        let is_one = self.mapped_at(address).contains(&last);
        let is_settled = [address, last].iter().all(|&end| self.is_settled(end));
        let mut pages = address >> 12..=last >> 12;
        let is_known = is_one && is_settled && pages.all(|page| self.is_readable(page));
        // SAFETY: nothing writes to settled code, and the program's own unmapping forgets its pages first.
        is_known.then(|| unsafe { core::slice::from_raw_parts(address as *const u8, length as usize) })
    }

    /// A number that is another whenever [`AddressSpace::mapping`] may say something else than before.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What is mapped at `address`.
    pub fn mapping(&self, address: u64) -> Option<Mapping> {
        self.recorded.get(address).map(|(_, mapping)| mapping)
    }

    /// Whether some of a mapping is there still.
    pub fn holds(&self, mapping: Mapping) -> bool {
        self.recorded.within(0..u64::MAX).any(|(_, known)| known == mapping)
    }

    /// Whether code may have been translated from `range`.
    pub fn concerns(&self, range: Range<u64>) -> bool {
        self.seen.overlaps(range.clone()) || self.recorded.overlaps(range)
    }

    /// Whether the code at `address` is its file's, and stays unless a system call says otherwise.
    pub fn is_settled(&self, address: u64) -> bool {
        let from_file = self.mapping(address).is_some_and(|mapping| self.has_file(mapping));
        from_file && self.seen.get(address).is_some_and(|(_, changes)| !changes)
    }

    /// The range of the mapping at `address`, as far as code came from it, or an empty range.
    pub fn mapped_at(&self, address: u64) -> Range<u64> {
        self.recorded.get(address).map_or(address..address, |(range, _)| range)
    }

    /// The range of the settled mapping that overlaps `range`, or an empty range.
    pub fn settled_around(&self, range: Range<u64>) -> Range<u64> {
        let inside = self.seen.within(range.clone()).find(|(part, _)| self.is_settled(part.start));
        let found = inside.and_then(|(part, _)| self.recorded.get(part.start));
        found.map_or(range.start..range.start, |(whole, _)| whole)
    }

    /// Where the mapping of a file at `address` begins, and where in the file.
    pub fn file_at(&self, address: u64) -> Option<(u64, u64)> {
        let Mapping(number) = self.mapping(address)?;
        let record = &self.records[number as usize];
        (record.inode != 0).then_some((record.start, record.file_offset))
    }

    /// Where else the code at `address` is mapped from its file: for each such mapping, where the file would begin.
    pub fn others_of_file(&self, address: u64) -> impl Iterator<Item = u64> {
        let own = self.mapping(address).map(|Mapping(number)| &self.records[number as usize]);
        let base = |record: &MappingRecord| record.start.wrapping_sub(record.file_offset);
        self.recorded.within(0..u64::MAX).filter_map(move |(range, Mapping(number))| {
            let other = &self.records[number as usize];
            let own =
                own.filter(|own| own.inode != 0 && (own.inode, own.device) == (other.inode, other.device))?;
            let there = address.wrapping_sub(base(own)).wrapping_add(base(other));
            (there != address && range.contains(&there)).then(|| base(other))
        })
    }

    /// Which file the code at `address` comes from, by its [`name`], and from where in it.
    pub fn place_in_file(&self, address: u64) -> Option<(u64, u64)> {
        let Mapping(number) = self.mapping(address)?;
        let record = &self.records[number as usize];
        let offset = address.wrapping_sub(record.start).wrapping_add(record.file_offset);
        (record.inode != 0).then(|| (self.files[number as usize], offset))
    }

    /// Whether two mappings put the same bytes of the same file at the same addresses, or are the same
    /// memory without a file.
    pub fn same(&self, one: Mapping, other: Mapping) -> bool {
        let [a, b] = [one, other].map(|Mapping(n)| &self.records[n as usize]);
        let base = |r: &MappingRecord| r.start.wrapping_sub(r.file_offset);
        one == other || (a.inode != 0 && (a.inode, a.device, base(a)) == (b.inode, b.device, base(b)))
    }

    /// What tells a mapping of a file from another at the same address: the same for [`AddressSpace::same`] ones.
    pub fn identity(&self, address: u64) -> u64 {
        let Some(Mapping(number)) = self.mapping(address) else { return 0 };
        let MappingRecord { inode, device, start, file_offset, .. } = self.records[number as usize];
        let mut hasher = AddressHasher::default();
        [inode, device, start.wrapping_sub(file_offset)].into_iter().for_each(|part| hasher.write_u64(part));
        if inode == 0 { 0 } else { hasher.finish() }
    }

    fn has_file(&self, Mapping(number): Mapping) -> bool {
        self.records[number as usize].inode != 0
    }

    /// Asks the kernel what is executable, and adds what is new to the log.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn learn(&mut self, address: u64, shared: Shared, log: &Log) -> Result<(), Failure> {
        let Ok(text) = maps::text() else {
            // Then what becomes executable is seen when it does.
            if is_confined() {
                return Ok(());
            }
            // Without the table: what was there at the start has stayed unless a system call said otherwise, and any
            // other page is taken to be from nowhere, and may be written to for all that is known.
            let page = address & !0xfff;
            let page = page..page.saturating_add(0x1000);
            if let Some(Mapping(number)) = self.mapping(address) {
                let record = &self.records[number as usize];
                self.seen.insert(page, record.inode == 0 || record.mapped == MAPPED_CHANGING);
                return Ok(());
            }
            shared.header().unnamed_pages.fetch_add(1, Ordering::Relaxed);
            return self.made(page, true, shared, log);
        };
        for line in maps::lines(&text).filter(|line| line.executable) {
            self.see(&line, shared, log)?;
        }
        Ok(())
    }

    /// A system call made memory executable that is not known to come from a file.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn made(
        &mut self,
        range: Range<u64>,
        changes: bool,
        shared: Shared,
        log: &Log,
    ) -> Result<(), Failure> {
        let line = Line {
            range,
            writable: changes,
            shared: false,
            executable: true,
            file_offset: 0,
            device: 0,
            inode: 0,
            path: &[],
        };
        self.see(&line, shared, log)
    }

    fn see(&mut self, line: &Line, shared: Shared, log: &Log) -> Result<(), Failure> {
        let record = MappingRecord {
            start: line.range.start,
            end: line.range.end,
            file_offset: line.file_offset,
            device: line.device,
            inode: line.inode,
            mapped: 1,
            path_length: line.path.len() as u32,
        };
        let fresh = Mapping(self.records.len() as u32);
        self.records.push(record);
        let known = self.recorded.covers(line.range.clone(), |old| {
            self.same(old, fresh) || (line.inode == 0 && !self.has_file(old))
        });
        if known {
            self.records.pop();
        } else {
            shared.append(log, &record, line.path)?;
            self.files.push(name(line.path));
            self.recorded.insert(line.range.clone(), fresh);
            self.changes += 1;
        }
        self.seen.insert(line.range.clone(), line.writable || line.shared);
        Ok(())
    }

    /// Forgets what the kernel said of `range`.
    pub fn forget(&mut self, range: Range<u64>) {
        self.seen.remove(range);
    }

    /// `range` is no longer mapped, or mapped anew: the log is to say so.
    ///
    /// # Errors
    /// [`Failure::SharedFull`].
    pub fn unmap(&mut self, range: Range<u64>, shared: Shared, log: &Log) -> Result<(), Failure> {
        self.forget(range.clone());
        for (part, Mapping(number)) in self.recorded.within(range.clone()) {
            let old = self.records[number as usize];
            let gone = MappingRecord {
                start: part.start,
                end: part.end,
                file_offset: old.file_offset + (part.start - old.start),
                mapped: 0,
                path_length: 0,
                ..old
            };
            shared.append(log, &gone, &[])?;
        }
        self.recorded.remove(range);
        self.changes += 1;
        Ok(())
    }
}
