//! Where functions begin, and whether they make calls, as far as the unwind tables of mapped files and the symbols of
//! the program say so.

use crate::address_space::{AddressSpace, Mapping};
use crate::state::AddressHasher;
use crate::sys::memory::read;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use core::ops::Range;
use core::sync::atomic::Ordering;
use hashbrown::HashMap;
use timewise_abi::process::{ProcessRecord, Row, Rows};
use timewise_abi::view::Shared;
use timewise_isa::depths;

/// How far below its code a file's header is looked for, in pages.
const PAGES: u64 = 16;

/// Most entries of a table that is taken for one.
const MOST: usize = 1 << 22;

/// A function that something tells of.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// Its first address.
    start: u64,
    /// Its length in bytes, if it is known.
    length: Option<u32>,
    /// Whether it is a part of a function, with more on the stack than a function has that was called.
    is_part: bool,
    /// Its number among those of its image.
    number: usize,
}

/// What is told of an address.
#[derive(Clone, Copy, Debug)]
struct Found {
    told: Told,
    /// The number of its image.
    image: usize,
    /// Where the function begins, or the one that it is a part of.
    whole: u64,
}

/// How much is remembered of what was found: a call is of one function by another, and a jump may lead to a third.
const REMEMBERED: usize = 4;

/// What was found last, in turn.
#[derive(Debug, Default)]
struct Recent {
    /// Addresses of which the same is told: the first, and how many. Together, as all are looked at.
    ranges: [(u64, u64); REMEMBERED],
    found: [Option<Found>; REMEMBERED],
    /// Which is to be replaced next.
    oldest: usize,
}

impl Recent {
    /// What was found of an address.
    fn get(&self, address: u64) -> Option<Found> {
        let holds = |&(begin, length): &(u64, u64)| address.wrapping_sub(begin) < length;
        self.found[self.ranges.iter().position(holds)?]
    }

    /// Notes what was found of all addresses of a range, which is not empty.
    fn add(&mut self, range: Range<u64>, found: Found) {
        self.ranges[self.oldest] = (range.start, range.end - range.start);
        self.found[self.oldest] = Some(found);
        self.oldest = (self.oldest + 1) % REMEMBERED;
    }
}

/// A length that was not asked for.
const UNASKED: i32 = i32::MAX;

/// A length that is encoded in another way than nearly all compilers do.
const UNKNOWN: i32 = i32::MIN;

/// Longest code of a function that is looked through.
const LOOKED_THROUGH: u64 = 4096;

/// Bytes of code of which it is known which function is the last that begins before them: as many as are looked
/// through for those after it.
const PART: u64 = 512;

/// Bytes of entries of an unwind table that are read at once.
const ENTRIES: usize = 2048;

/// How many images are kept before it is looked which of them are mapped no more.
const KEPT: usize = 64;

/// A function of an unwind table.
#[derive(Clone, Copy, Debug)]
struct Described {
    /// How far from the table it and its entry lie.
    start: i32,
    entry: i32,
    /// Its length in bytes, negative if it is a part of another function; or one of the two above.
    length: i32,
}

/// The functions of a mapping of a file.
#[derive(Debug)]
struct Image {
    /// The address that the table counts from.
    origin: u64,
    /// How far it lies behind the table itself, which tells of code that was mapped elsewhere first.
    moved: u64,
    /// Those that it tells of, in order.
    told: Vec<Described>,
    /// Those that only symbols tell of, and the address that their rows count from.
    named: (u64, &'static [Row]),
    /// How many of them begin before each part of the code.
    parts: Vec<u32>,
    /// Parts of functions that lie elsewhere, as compilers put code that is rarely executed: where the whole begins,
    /// by where the part does.
    wholes: HashMap<u64, u64, BuildHasherDefault<AddressHasher>>,
    /// Whether they are leaves, by number, as far as it was asked.
    leaves: Vec<Option<bool>>,
    /// Whether they are all the entries that a linker made, by where they begin, as far as it was asked.
    linkers: HashMap<u64, bool, BuildHasherDefault<AddressHasher>>,
    /// What is known of the leaves in which a thread was found.
    depths: HashMap<u64, Vec<Option<u32>>, BuildHasherDefault<AddressHasher>>,
}

/// The functions of each mapping of a file that was asked about.
#[derive(Debug, Default)]
pub struct Functions {
    /// Those of the program's own file that no table in memory tells of: described ones, and named ones.
    described: Listed,
    named: &'static [Row],
    /// Images, and what each is mapped by.
    images: Vec<Image>,
    mappings: Vec<Mapping>,
    /// The one that was asked about last.
    latest: usize,
    /// What was found last.
    recent: Recent,
    /// What the address space had gone through when it was found.
    changes: u64,
    /// Images that were mapped when that was looked at last.
    mapped: usize,
}

impl Functions {
    /// Nothing asked yet, of a process.
    pub fn new(shared: Shared, record: &ProcessRecord) -> Functions {
        let rows = |list: &Rows| -> &'static [Row] {
            let [offset, count] = [&list.offset, &list.count].map(|field| field.load(Ordering::Relaxed));
            // SAFETY: the host laid them down, for good.
            if count == 0 { &[] } else { unsafe { shared.items([offset, count]) } }
        };
        let (described, named) = (rows(&record.unlisted.described), rows(&record.unlisted.named));
        let origin = record.unlisted.origin.load(Ordering::Relaxed);
        let described = Listed { origin, told: described.iter().copied().map(Described::new).collect() };
        Functions { described, named, ..Functions::default() }
    }

    /// Where the function begins that holds `address`; none if nothing says so.
    pub fn start(&mut self, space: &AddressSpace, address: u64) -> Option<u64> {
        Some(self.find(space, address)?.whole)
    }

    /// The function that begins at `whole` leads on to `address`, not by a call: if what is told of that place is
    /// only a part of a function, it is a part of this one.
    pub fn join(&mut self, space: &AddressSpace, whole: u64, address: u64) {
        let Some(Found { told, image, .. }) = self.find(space, address) else { return };
        let wholes = &mut self.images[image].wholes;
        if told.is_part && told.start != whole && !wholes.contains_key(&told.start) {
            wholes.insert(told.start, whole);
            self.recent = Recent::default();
        }
    }

    /// Whether `code`, at `address`, is all of a function or of a linker's entry for one, and only jumps on.
    pub fn is_stub(&mut self, space: &AddressSpace, address: u64, code: &[u8]) -> bool {
        let by_memory = match behind_marks(code) {
            [0xe9, _, _, _, _] => false,
            [0xff, 0x25, _, _, _, _] => true,
            _ => return false,
        };
        let Some(Found { told, image, .. }) = self.find(space, address) else { return by_memory };
        let is_all = told.length == Some(code.len() as u32);
        let linkers = &mut self.images[image].linkers;
        is_all || by_memory && *linkers.entry(told.start).or_insert_with(|| told.is_linkers())
    }

    /// Where the function begins that holds `address`, if it is a leaf: it is known to call nothing, and to do
    /// nothing but return to where it was called.
    pub fn leaf(&mut self, space: &AddressSpace, address: u64) -> Option<u64> {
        let Found { told, image, .. } = self.find(space, address)?;
        let is_leaf = &mut self.images[image].leaves[told.number];
        is_leaf.get_or_insert_with(|| told.depths(space).is_some()).then_some(told.start)
    }

    /// Straight from its first instruction on, the code at an address comes to a call: if a function begins there it is
    /// no leaf, which then need not be found out.
    pub fn comes_to_call(&mut self, space: &AddressSpace, address: u64) {
        if let Some(Found { told, image, .. }) = self.find(space, address)
            && told.start == address
        {
            self.images[image].leaves[told.number].get_or_insert(false);
        }
    }

    /// The leaf at whose instruction at `address` a thread is, by where it begins, and the bytes that it has on
    /// the stack there.
    pub fn in_leaf(&mut self, space: &AddressSpace, address: u64) -> Option<(u64, u32)> {
        let start = self.leaf(space, address)?;
        let Found { told, image, .. } = self.find(space, address)?;
        let depths = &mut self.images[image].depths;
        let depths = depths.entry(start).or_insert_with(|| told.depths(space).unwrap_or_default());
        Some((start, (*depths.get((address - start) as usize)?)?))
    }

    /// What is told of `address`: it is asked about the same few functions many times in a row.
    fn find(&mut self, space: &AddressSpace, address: u64) -> Option<Found> {
        if self.changes != space.changes() {
            (self.recent, self.changes) = (Recent::default(), space.changes());
        }
        if let Some(found) = self.recent.get(address) {
            return Some(found);
        }
        let image = self.image(space, address)?;
        let its = &mut self.images[image];
        let (told, same) = its.told(address)?;
        let mapped = space.mapped_at(address);
        let same = same.start.max(mapped.start)..same.end.min(mapped.end);
        let whole = its.wholes.get(&told.start).filter(|_| told.is_part).copied().unwrap_or(told.start);
        let found = Found { told, image, whole };
        self.recent.add(same, found);
        Some(found)
    }

    /// The number of the image that `address` is in.
    fn image(&mut self, space: &AddressSpace, address: u64) -> Option<usize> {
        let mapping = space.mapping(address)?;
        if self.mappings.get(self.latest) == Some(&mapping) {
            return Some(self.latest);
        }
        // Of other code nothing is told.
        let (start, offset) = space.file_at(address)?;
        if let Some(known) = self.mappings.iter().position(|&known| known == mapping) {
            self.latest = known;
            return Some(known);
        }
        if self.images.len() >= KEPT + 2 * self.mapped {
            self.forget_unmapped(space);
        }
        let base = start.wrapping_sub(offset);
        // JIT compilers map code of theirs once more, near what they write: all else of the file is where it was.
        let home = |at: u64| Some((base.wrapping_sub(at), self.listed(at)?));
        let found = home(base).or_else(|| space.others_of_file(address).find_map(home));
        let (moved, (Listed { origin, told }, named)) = found.unwrap_or_default();
        let origin = origin.wrapping_add(moved);
        let named = (self.described.origin.wrapping_add(moved), named);
        let parts = parts(&told);
        let leaves = vec![None; told.len() + named.1.len()];
        // Of a file that comes back, so does code that was made by what was known of it.
        let before = self.mappings.iter().rposition(|&known| space.same(known, mapping));
        let wholes = before.map_or_else(HashMap::default, |number| self.images[number].wholes.clone());
        let (linkers, depths) = (HashMap::default(), HashMap::default());
        self.images.push(Image { origin, moved, told, named, parts, wholes, leaves, linkers, depths });
        self.mappings.push(mapping);
        self.latest = self.images.len() - 1;
        Some(self.latest)
    }

    /// The functions of the file that begins at `base` as far as its code is concerned: described ones, and named ones.
    fn listed(&self, base: u64) -> Option<(Listed, &'static [Row])> {
        let is_program = self.described.origin == base;
        let described = starts(base).or_else(|| is_program.then(|| self.described.clone()))?;
        Some((described, if is_program { self.named } else { &[] }))
    }

    /// Forgets images that are mapped no more.
    fn forget_unmapped(&mut self, space: &AddressSpace) {
        for number in (0..self.images.len()).rev() {
            if !space.holds(self.mappings[number]) {
                self.images.swap_remove(number);
                self.mappings.swap_remove(number);
                self.recent = Recent::default();
            }
        }
        self.mapped = self.images.len();
    }
}

impl Image {
    /// The function that holds `address`, and addresses about it of which the same is told.
    fn told(&mut self, address: u64) -> Option<(Told, Range<u64>)> {
        self.described(address).or_else(|| self.named(address))
    }

    /// The same, if the table tells of it.
    fn described(&mut self, address: u64) -> Option<(Told, Range<u64>)> {
        let origin = self.origin;
        let place = |distance: i32| origin.wrapping_add_signed(distance.into());
        let begins = |told: &Described| place(told.start) <= address;
        let part = (address.wrapping_sub(place(self.told.first()?.start)) / PART) as usize;
        let from = *self.parts.get(part).or(self.parts.last())? as usize;
        let to = self.parts.get(part + 1).map_or(self.told.len(), |&to| to as usize);
        let number = (from + self.told[from..to].partition_point(begins)).checked_sub(1)?;
        if self.told[number].length == UNASKED {
            read_lengths(origin.wrapping_sub(self.moved), &mut self.told[number..]);
        }
        let Described { start, length, .. } = self.told[number];
        let start = place(start);
        let (length, is_part) = match length {
            UNASKED | UNKNOWN => (None, false),
            length => (Some(length.unsigned_abs()), length < 0),
        };
        let next = self.told.get(number + 1).map_or(u64::MAX, |next| place(next.start));
        let end = length.map_or(next, |length| next.min(start + u64::from(length)));
        // What lies between two functions is of neither: assembly often goes without an entry. Below the first, the part
        // that is looked at is the last.
        (start..end).contains(&address).then_some((Told { start, length, is_part, number }, start..end))
    }

    /// The same, if a symbol tells of it.
    fn named(&self, address: u64) -> Option<(Told, Range<u64>)> {
        let (origin, rows) = self.named;
        let place = |start: i32| origin.wrapping_add_signed(start.into());
        let number = rows.partition_point(|&[start, _]| place(start) <= address).checked_sub(1)?;
        let [start, length] = rows[number];
        let (start, length, is_part) = (place(start), length.unsigned_abs(), length < 0);
        let number = self.told.len() + number;
        let end = start + u64::from(length);
        // The table goes before it, of whatever addresses it tells.
        let same = if self.told.is_empty() { start..end } else { address..address + 1 };
        (address < end).then_some((Told { start, length: Some(length), is_part, number }, same))
    }
}

impl Described {
    fn new([start, entry]: Row) -> Described {
        Described { start, entry, length: UNASKED }
    }
}

impl Told {
    /// Whether it is all the entries that a linker made for functions of other files.
    fn is_linkers(self) -> bool {
        let mut code = [0; 12];
        let known = read(self.start, &mut code);
        matches!(behind_marks(&code[..known]), [0xff, 0x25 | 0x35, ..])
    }

    /// See [`timewise_isa::depths`].
    fn depths(self, space: &AddressSpace) -> Option<Vec<Option<u32>>> {
        let length = u64::from(self.length?);
        if length > LOOKED_THROUGH {
            return None;
        }
        if let Some(code) = space.settled_code(self.start, length) {
            return depths(code);
        }
        let mut code = vec![0; length as usize];
        (read(self.start, &mut code) == code.len()).then(|| depths(&code))?
    }
}

/// Reads the length of the first of some functions, and of those after it whose entries lie right behind: to ask the
/// kernel for the memory takes longer than all else. `origin` is what they count from.
fn read_lengths(origin: u64, told: &mut [Described]) {
    let place = |distance: i32| origin.wrapping_add_signed(distance.into());
    let Some(&Described { entry: first, .. }) = told.first() else { return };
    let mut bytes = [0; ENTRIES];
    let known = read(place(first), &mut bytes);
    for (number, told) in told.iter_mut().enumerate() {
        let entry = told.entry.wrapping_sub(first) as u32 as usize;
        let length = bytes[..known]
            .get(entry..)
            .and_then(|bytes| length_in(bytes, place(told.entry), place(told.start)));
        match length {
            Some(length) => told.length = length,
            // Why it cannot be told of the others is found out when they are asked about.
            None if number > 0 => return,
            None => told.length = UNKNOWN,
        }
    }
}

/// The length of the function that begins at `start`, as in [`Described`], by its entry at an address.
fn length_in(bytes: &[u8], entry: u64, start: u64) -> Option<i32> {
    // The entry's own length, its reference to what many share, where the code begins, and its length.
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let begins = (entry + 8).wrapping_add_signed((number(8)? as i32).into());
    let length = i32::try_from(number(12)?).ok().filter(|&length| length < UNASKED)?;
    // As compilers write it: more data by its length, if that is a byte, and rules. Before its first instruction, a part
    // of a function has more on the stack than a function that was called.
    let (end, more) = (4 + number(0)? as usize, *bytes.get(16)?);
    let rules = 17 + usize::from(more);
    let first = if more < 0x80 && rules < end { *bytes.get(rules)? } else { 0 };
    let is_part = matches!(first, 0x0c..=0x0e); // DW_CFA_def_cfa, _register, _offset
    (begins == start).then_some(if is_part { -length } else { length })
}

/// How many of some functions begin before each part of their code, whose first begins where the first of them does.
fn parts(told: &[Described]) -> Vec<u32> {
    let Some(first) = told.first().map(|first| i64::from(first.start)) else { return Vec::new() };
    let mut parts = Vec::new();
    for (number, told) in told.iter().enumerate() {
        let part = (i64::from(told.start) - first) as u64 / PART;
        while parts.len() as u64 <= part {
            parts.push(number as u32);
        }
    }
    parts
}

/// Code behind what only says that it may be branched to.
fn behind_marks(code: &[u8]) -> &[u8] {
    let code = if let [0xf3, 0x0f, 0x1e, 0xfa, rest @ ..] = code { rest } else { code }; // endbr64
    if let [0xf2, rest @ ..] = code { rest } else { code } // bnd
}

/// A number of the program's memory, if it can be read.
fn field(at: u64, bytes: usize) -> Option<u64> {
    let mut buffer = [0; 8];
    (read(at, &mut buffer[..bytes]) == bytes).then(|| u64::from_le_bytes(buffer))
}

/// Where the rows of a table begin, and the bytes of one: how far from the table a function and what is told of it lie.
const ROWS: u64 = 12;
const ROW: u64 = 8;

/// A table of functions.
#[derive(Clone, Debug, Default)]
struct Listed {
    /// The address that it counts from.
    origin: u64,
    /// Its functions, with lengths that were not asked for.
    told: Vec<Described>,
}

/// Reads the sorted table (`.eh_frame_hdr`) of the file that begins at `base` as far as its code is concerned.
fn starts(base: u64) -> Option<Listed> {
    const HEADER: u32 = 0x6474_e550;
    // With most linkers its beginning lies there, with some further below.
    let base = (0..PAGES).map(|page| base.wrapping_sub(page << 12)).find(|&at| {
        let mut magic = [0; 4];
        read(at, &mut magic) == 4 && magic == *b"\x7fELF"
    })?;
    let (table, size, count) = (field(base + 0x20, 8)?, field(base + 0x36, 2)?, field(base + 0x38, 2)?);
    let segment =
        |kind: u32| (0..count).map(|n| base + table + n * size).find(|&at| field(at, 4) == Some(kind.into()));
    let loads = (0..count).map(|n| base + table + n * size).find(|&at| field(at, 4) == Some(1))?;
    let bias = base.wrapping_sub(field(loads + 0x10, 8)?.wrapping_sub(field(loads + 0x08, 8)?));
    let header = bias.wrapping_add(field(segment(HEADER)? + 0x10, 8)?);
    // Version 1; the count as 4 bytes; a table of pairs of 4 bytes, relative to the header.
    let kinds = field(header, 4)?.to_le_bytes();
    if kinds[0] != 1 || kinds[2] != 0x03 || kinds[3] != 0x3b {
        return None;
    }
    let entries = field(header + 8, 4)? as usize;
    let mut bytes = vec![0; entries.min(MOST) * ROW as usize];
    if read(header + ROWS, &mut bytes) != bytes.len() {
        return None;
    }
    let numbers =
        |row: &[u8]| [0, 4].map(|at| i32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]));
    let told = bytes.chunks_exact(ROW as usize).map(|row| Described::new(numbers(row)));
    Some(Listed { origin: header, told: told.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the table of the tests lies: between its functions.
    const TABLE: u64 = 0x50_0000;

    /// Two functions of which lengths are known, with room between them, one of which none is, and one far behind.
    fn image() -> Image {
        let described = |start, length| Described { start, entry: 0, length };
        let told = vec![
            described(-0x1000, 0x40),
            described(-0xf00, -0x20),
            described(-0xe00, UNKNOWN),
            described(0x20_0000, 8),
        ];
        let parts = parts(&told);
        let leaves = vec![None; told.len()];
        let (wholes, linkers, depths) = (HashMap::default(), HashMap::default(), HashMap::default());
        Image { origin: TABLE, moved: 0, told, named: (0, &[]), parts, wholes, leaves, linkers, depths }
    }

    #[test]
    fn each_address_is_of_the_function_that_holds_it_or_of_none() {
        let mut image = image();
        let mut told = |address: i64| {
            let (told, same) = image.told(TABLE.wrapping_add_signed(address))?;
            let place = |address: u64| address.wrapping_sub(TABLE) as i64;
            Some((told.number, told.is_part, place(same.start)..place(same.end)))
        };
        let ends = [-0x1000, -0xfff, -0xfc1].map(&mut told);
        assert!(ends.into_iter().all(|found| found == Some((0, false, -0x1000..-0xfc0))));
        assert_eq!(told(-0xf00), Some((1, true, -0xf00..-0xee0)));
        assert_eq!(told(-0x400), Some((2, false, -0xe00..0x20_0000)));
        assert_eq!(told(0x20_0007), Some((3, false, 0x20_0000..0x20_0008)));
        // Below the first, between two, behind the last.
        for nowhere in [-0x1001, -0x1200, -0x20_0000, -0xfc0, -0xee0, 0x20_0008, 0x4000_0000] {
            assert_eq!(told(nowhere), None, "{nowhere:#x}");
        }
    }

    #[test]
    fn what_was_found_last_is_remembered_of_its_addresses_only() {
        let mut recent = Recent::default();
        let ranges = [0x10..0x20, 0x20..0x21, 0x1000..0x2000, u64::MAX - 8..u64::MAX, 0x40..0x50];
        for (number, range) in ranges.clone().into_iter().enumerate() {
            let told = Told { start: range.start, length: None, is_part: false, number };
            recent.add(range, Found { told, image: 0, whole: 0 });
        }
        let number = |address| recent.get(address).map(|found| found.told.number);
        assert_eq!(number(0x10), None, "the oldest made room");
        assert_eq!([0x20, 0x1000, 0x1fff, u64::MAX - 1, 0x4f].map(number), [1, 2, 2, 3, 4].map(Some));
        assert_eq!([0, 0x21, 0xfff, 0x2000, u64::MAX, 0x50].map(number), [None; 6]);
    }

    #[test]
    fn an_entry_tells_a_length_and_whether_a_function_begins_deep_in_its_stack() {
        const ENTRY: u64 = 0x1000;
        const START: u64 = 0x2000;
        let entry = |length: u32, more: &[u8], rules: &[u8]| {
            let rest = [&[more.len() as u8], more, rules].concat();
            let words = [12 + rest.len() as u32, 20, (START - ENTRY - 8) as u32, length];
            [words.map(u32::to_le_bytes).concat(), rest].concat()
        };
        let told = |bytes: &[u8]| length_in(bytes, ENTRY, START);
        assert_eq!(told(&entry(0x123, &[], &[0x41, 0x0e, 0x10])), Some(0x123));
        assert_eq!(told(&entry(0x123, &[], &[0x0e, 0x10])), Some(-0x123));
        assert_eq!(told(&entry(0x123, &[1, 2, 3, 4], &[0x0c, 7, 8])), Some(-0x123));
        // Without rules, what lies behind is the next entry's.
        assert_eq!(told(&[entry(0x123, &[], &[]), vec![0x0e]].concat()), Some(0x123));
        // A long entry of which only the beginning was read.
        assert_eq!(told(&entry(0x123, &[], &[0x0e; 200])[..20]), Some(-0x123));
        assert_eq!(told(&entry(0x123, &[0; 0x80], &[0x0e])), Some(0x123));
        assert_eq!(told(&entry(u32::MAX, &[], &[0])), None);
        assert_eq!(length_in(&entry(0x123, &[], &[0]), ENTRY, START + 1), None, "of another function");
        assert!((0..17).all(|cut| told(&entry(0x123, &[], &[0x0e])[..cut]).is_none()));
    }
}
