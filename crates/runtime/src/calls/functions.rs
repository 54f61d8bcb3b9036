//! Where functions begin, as far as the unwind tables of mapped files say so.

use crate::address_space::{AddressSpace, Mapping};
use crate::sys::memory::read;
use alloc::vec;
use alloc::vec::Vec;

/// How far below its code a file's header is looked for, in pages.
const PAGES: u64 = 16;

/// Most entries of a table that is taken for one.
const MOST: usize = 1 << 22;

/// A function that an unwind table tells of.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// Its first address.
    start: u64,
    /// Address of what the table tells of it.
    entry: u64,
}

/// The functions of each mapping that was asked about, in order.
#[derive(Debug, Default)]
pub struct Functions(Vec<(Mapping, Vec<Told>)>);

impl Functions {
    /// Where the function begins that holds `address`; none if nothing says so.
    pub fn start(&mut self, space: &AddressSpace, address: u64) -> Option<u64> {
        let mapping = space.mapping(address)?;
        let known = self.0.iter().position(|(known, _)| *known == mapping);
        let known = known.unwrap_or_else(|| {
            let image = space.file_at(address).and_then(|(start, offset)| starts(start, offset));
            self.0.push((mapping, image.unwrap_or_default()));
            self.0.len() - 1
        });
        let starts = &self.0[known].1;
        let after = starts.partition_point(|told| told.start <= address);
        let told = starts[..after].last()?;
        // What lies between two functions is of neither: assembly often goes without an entry.
        told.length().is_none_or(|length| address - told.start < length).then_some(told.start)
    }
}

impl Told {
    /// Its length in bytes; none if it is encoded in another way than nearly all compilers do.
    fn length(self) -> Option<u64> {
        // Behind the entry's own length and its reference to what many share.
        let begin = self.entry + 8;
        let start = begin.wrapping_add_signed((field(begin, 4)? as u32 as i32).into());
        if start == self.start { field(begin + 4, 4) } else { None }
    }
}

/// A number of the program's memory, if it can be read.
fn field(at: u64, bytes: usize) -> Option<u64> {
    let mut buffer = [0; 8];
    (read(at, &mut buffer[..bytes]) == bytes).then(|| u64::from_le_bytes(buffer))
}

/// Reads the sorted table (`.eh_frame_hdr`) of the file whose code is mapped at `start` from `offset` on.
fn starts(start: u64, offset: u64) -> Option<Vec<Told>> {
    const HEADER: u32 = 0x6474_e550;
    // With most linkers the file's beginning lies as far below as its offset says, with some further.
    let first = start.checked_sub(offset)?;
    let base = (0..PAGES).map(|page| first.wrapping_sub(page << 12)).find(|&at| {
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
    let mut bytes = vec![0; entries.min(MOST) * 8];
    if read(header + 12, &mut bytes) != bytes.len() {
        return None;
    }
    let starts = bytes.chunks_exact(8).map(|pair| {
        let at = |n: usize| {
            let distance = i32::from_le_bytes([pair[n], pair[n + 1], pair[n + 2], pair[n + 3]]);
            header.wrapping_add_signed(distance.into())
        };
        Told { start: at(0), entry: at(4) }
    });
    Some(starts.collect())
}
