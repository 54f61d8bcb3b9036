//! The program's memory as evaluated code sees it: read from where its source has it, with what it writes kept aside.

use crate::been::beside;
use timewise_isa::Memory;

/// Bytes of a line.
pub const LINE: usize = 128;

/// Lines that are read at once: asking the kernel costs more than copying. They lie within a page.
pub const GROUP: usize = 4;

/// Lines that there is room for: where more are written than that, nothing is evaluated any further.
const LINES: usize = 8192;

/// Places that are looked at for a line.
const PROBES: usize = 8;

/// Marks the address of a line that was written to: it cannot be fetched again.
const WRITTEN: u64 = 1;

/// Marks the address of a line that was read as code.
const CODE: u64 = 2;

/// All marks, which are less than a line.
const MARKS: u64 = WRITTEN | CODE;

/// The address of no line.
const NOWHERE: u64 = 4;

/// Parts of a trace after which a line counts as not used lately.
const LONG_AGO: u8 = 2;

/// Where lines come from.
pub trait Source {
    /// Fills a line with what is at `address`, a multiple of its size, if that is cheap: false if it is not, or not there;
    /// then what was in the line may be lost.
    fn line(&mut self, address: u64, line: &mut [u8; LINE]) -> bool;
    /// Fills lines with what is at `address`, a multiple of their size: false if not all of it can be read.
    fn fetch(&mut self, address: u64, lines: &mut [[u8; LINE]; GROUP]) -> bool;
}

/// What is known of a place for a line.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    /// The address of the line there, with marks.
    address: u64,
    /// Lines with another stamp are of an earlier signal.
    stamp: u32,
    /// Where its bytes are.
    line: u16,
    /// In which part of the trace it was used last, as data.
    used: u8,
}

/// Lines of memory; all zeros is one without any.
#[repr(C)]
pub struct Lines {
    stamp: u32,
    /// How many hold bytes: those of one signal lie side by side, so that few pages are touched, and the same ones again.
    held: u32,
    heads: [Head; LINES],
    bytes: [[u8; LINE]; LINES],
}

const _: () = assert!(LINES <= 1 << u16::BITS, "a head can say where its line's bytes are");

impl Lines {
    /// Forgets all that was read and written.
    pub fn forget(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            // Those of long ago have stamps that come again.
            self.heads.fill(Head { address: 0, stamp: 0, line: 0, used: 0 });
            self.stamp = 1;
        }
        self.held = 0;
    }

    /// Where the bytes are, or will be, of a line at a place.
    fn number(&self, place: usize) -> u16 {
        let head = self.heads[place];
        if head.stamp == self.stamp { head.line } else { self.held as u16 }
    }

    /// Room for the bytes of another line at a place.
    fn next(&mut self, place: usize) -> &mut [u8; LINE] {
        &mut self.bytes[usize::from(self.number(place))]
    }

    /// The bytes of the line at a place.
    #[inline]
    fn at(&mut self, place: usize) -> &mut [u8; LINE] {
        &mut self.bytes[usize::from(self.heads[place].line)]
    }
}

/// Lines, and where they come from.
pub struct Shadow<'a, S> {
    /// What was read and written.
    pub lines: &'a mut Lines,
    /// Where the rest is.
    pub source: S,
    /// How often lines were fetched.
    pub fetched: u32,
    /// How often not at little cost.
    pub asked: u32,
    /// Which part of the trace it is: one as long as lines are taken to stay in a processor's nearest cache.
    pub part: u8,
    /// Lines of data that were used and not lately, from the trace's second part on.
    pub missed: u32,
    /// Whether something was written; whoever asks puts it back.
    pub has_written: bool,
    /// Whether there was no room for another.
    pub is_full: bool,
    /// Whether code that was read may be another now.
    pub has_code_changed: bool,
}

impl<'a, S> Shadow<'a, S> {
    /// Those lines, of which none has been used in this trace, and where the rest comes from.
    pub fn new(lines: &'a mut Lines, source: S) -> Shadow<'a, S> {
        Shadow {
            lines,
            source,
            fetched: 0,
            asked: 0,
            part: 0,
            missed: 0,
            has_written: false,
            is_full: false,
            has_code_changed: false,
        }
    }
}

impl<S: Source> Shadow<'_, S> {
    /// The line of code that holds an address.
    fn code_line(&mut self, address: u64) -> Option<&[u8; LINE]> {
        let place = self.place(address & !(LINE as u64 - 1))?;
        self.lines.heads[place].address |= CODE;
        Some(self.lines.at(place))
    }

    /// The line of data that holds an address.
    #[inline]
    fn line(&mut self, address: u64) -> Option<&mut [u8; LINE]> {
        let start = address & !(LINE as u64 - 1);
        let place = self.place(start)?;
        self.note_use(place, start);
        Some(self.lines.at(place))
    }

    /// Where the line is that begins at an address.
    #[inline]
    fn place(&mut self, start: u64) -> Option<usize> {
        let mut unwritten = None;
        for (probe, place) in places(start).enumerate() {
            let Head { address, stamp, .. } = self.lines.heads[place];
            if stamp != self.lines.stamp {
                return self.fetch(place, start);
            }
            if address & !MARKS == start {
                return Some(place);
            }
            if address & WRITTEN == 0 && (unwritten.is_none() || probe == self.fetched as usize % PROBES) {
                unwritten = Some(place);
            }
        }
        // What was only read can be read again.
        self.is_full = unwritten.is_none();
        self.fetch(unwritten?, start)
    }

    /// Fetches a line to a place; where that is not cheap, those beside it as well, to places that nothing lies at.
    #[cold]
    #[inline(never)]
    fn fetch(&mut self, place: usize, start: u64) -> Option<usize> {
        self.fetched += 1;
        if self.source.line(start, self.lines.next(place)) {
            self.put(place, start);
            return Some(place);
        }
        self.asked += 1;
        let first = start & !((LINE * GROUP) as u64 - 1);
        let mut group = [[0; LINE]; GROUP];
        // A place that is used stays so: others were put behind it.
        if !self.source.fetch(first, &mut group) {
            if self.lines.heads[place].stamp == self.lines.stamp {
                self.put(place, NOWHERE);
            }
            return None;
        }
        for (address, line) in (first..).step_by(LINE).zip(&group) {
            let Some(to) = (if address == start { Some(place) } else { self.free_place(address) }) else {
                continue;
            };
            *self.lines.next(to) = *line;
            self.put(to, address);
        }
        Some(place)
    }

    /// A place for a line at which nothing lies, unless the line is there.
    fn free_place(&self, start: u64) -> Option<usize> {
        for place in places(start) {
            let Head { address, stamp, .. } = self.lines.heads[place];
            if stamp != self.lines.stamp {
                return Some(place);
            }
            if address & !MARKS == start {
                return None;
            }
        }
        None
    }

    /// Notes that the line at `address` lies at a place, where its bytes are already.
    fn put(&mut self, place: usize, address: u64) {
        let number = self.lines.number(place);
        let Lines { stamp, ref mut held, ref mut heads, .. } = *self.lines;
        let head = &mut heads[place];
        let is_new = head.stamp != stamp;
        self.has_code_changed |= !is_new && head.address & CODE != 0;
        *held += u32::from(is_new);
        *head = Head { address, stamp, line: number, used: self.part.wrapping_sub(LONG_AGO) };
    }

    /// The line is used that begins at an address and lies at a place.
    #[inline]
    fn note_use(&mut self, place: usize, start: u64) {
        let part = self.part;
        let head = &mut self.lines.heads[place];
        if head.used == part {
            return;
        }
        let is_recent = part.wrapping_sub(head.used) < LONG_AGO;
        head.used = part;
        if part > 0 && !is_recent {
            // A line behind another is fetched ahead by the processor.
            let beside = [start.wrapping_sub(LINE as u64), start.wrapping_add(LINE as u64)];
            self.missed += u32::from(!beside.into_iter().any(|line| self.was_used_lately(line)));
        }
    }

    fn was_used_lately(&self, start: u64) -> bool {
        let mut heads = places(start).map(|place| self.lines.heads[place]);
        heads.find(|head| head.stamp != self.lines.stamp || head.address & !MARKS == start).is_some_and(
            |head| head.stamp == self.lines.stamp && self.part.wrapping_sub(head.used) < LONG_AGO,
        )
    }

    #[inline]
    fn note_write(&mut self, place: usize) {
        let head = &mut self.lines.heads[place];
        self.has_code_changed |= head.address & CODE != 0;
        head.address |= WRITTEN;
    }

    /// Has the lines stay that so many bytes at an address lie in: false if not all are there.
    fn keep(&mut self, address: u64, length: usize) -> bool {
        let last = address.wrapping_add(length.max(1) as u64 - 1) & !(LINE as u64 - 1);
        let mut start = address & !(LINE as u64 - 1);
        loop {
            let Some(place) = self.place(start) else { return false };
            self.note_write(place);
            if start == last {
                return true;
            }
            start = start.wrapping_add(LINE as u64);
        }
    }

    /// As many bytes of code at an address as can be read, up to 16: their number.
    pub fn code(&mut self, address: u64, bytes: &mut [u8; 16]) -> usize {
        let within = address as usize % LINE;
        let Some(line) = self.code_line(address) else { return 0 };
        if let Some(all) = line[within..].first_chunk::<16>() {
            *bytes = *all;
            return bytes.len();
        }
        let first = LINE - within;
        bytes[..first].copy_from_slice(&line[within..]);
        let Some(line) = self.code_line(address.wrapping_add(first as u64)) else { return first };
        bytes[first..].copy_from_slice(&line[..16 - first]);
        bytes.len()
    }

    /// Calls `each` with the parts of the lines that so many bytes at an address lie in, and how many come before:
    /// false, without any call, if not all are there.
    fn parts(&mut self, address: u64, length: usize, mut each: impl FnMut(usize, &mut [u8])) -> bool {
        let last = address.wrapping_add(length.max(1) as u64 - 1);
        if self.line(address).is_none() || self.line(last).is_none() {
            return false;
        }
        let mut done = 0;
        while done < length {
            let at = address.wrapping_add(done as u64);
            let within = at as usize % LINE;
            let count = (LINE - within).min(length - done);
            let Some(line) = self.line(at) else { return false };
            each(done, &mut line[within..within + count]);
            done += count;
        }
        true
    }
}

impl<S: Source> Memory for Shadow<'_, S> {
    #[inline]
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        let within = address as usize % LINE;
        if bytes.len() <= 8 && within + 8 <= LINE {
            let Some(line) = self.line(address) else { return false };
            for (to, from) in bytes.iter_mut().zip(&line[within..within + 8]) {
                *to = *from;
            }
            return true;
        }
        self.parts(address, bytes.len(), |done, part| bytes[done..done + part.len()].copy_from_slice(part))
    }

    #[inline]
    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.has_written = true;
        let (length, within) = (bytes.len(), address as usize % LINE);
        if within + length <= LINE {
            let start = address & !(LINE as u64 - 1);
            let Some(place) = self.place(start) else { return false };
            self.note_write(place);
            self.note_use(place, start);
            self.lines.at(place)[within..within + length].copy_from_slice(bytes);
            return true;
        }
        self.keep(address, length)
            && self.parts(address, length, |done, part| part.copy_from_slice(&bytes[done..done + part.len()]))
    }
}

/// Where a line may be that begins at an address. Lines that are fetched together lie together, if there is room.
#[inline]
fn places(start: u64) -> impl Iterator<Item = usize> {
    let first = first_place(start) + (start / LINE as u64) as usize % GROUP;
    (0..PROBES).map(move |probe| (first + probe * GROUP) % LINES)
}

/// The first place of the lines that are fetched together with one.
#[inline]
fn first_place(start: u64) -> usize {
    const BITS: u32 = (LINES / GROUP).ilog2();
    beside(start / (LINE * GROUP) as u64, BITS) * GROUP
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    /// Bytes that are made of their address, up to one.
    struct Ramp(u64);

    impl Source for Ramp {
        fn line(&mut self, _: u64, _: &mut [u8; LINE]) -> bool {
            false
        }

        fn fetch(&mut self, address: u64, lines: &mut [[u8; LINE]; GROUP]) -> bool {
            for (at, byte) in (address..).zip(lines.as_flattened_mut()) {
                *byte = (at >> 8) as u8 ^ at as u8;
            }
            address < self.0
        }
    }

    fn lines() -> Box<Lines> {
        // SAFETY: all zeros is a value of it.
        let mut lines = unsafe { Box::<Lines>::new_zeroed().assume_init() };
        lines.forget();
        lines
    }

    #[test]
    fn what_is_written_is_read_across_lines_and_forgotten() {
        let mut lines = lines();
        let mut shadow = Shadow::new(&mut lines, Ramp(0x1_0000));
        assert!(shadow.write(0x1fe, &[1, 2, 3, 4]));
        let mut bytes = [0; 6];
        assert!(shadow.read(0x1fd, &mut bytes));
        assert_eq!(bytes, [1 ^ 0xfd, 1, 2, 3, 4, 2 ^ 2]);
        let mut code = [0; 16];
        assert_eq!(shadow.code(0x1ff, &mut code), 16);
        assert_eq!(code[..4], [2, 3, 4, 2 ^ 2]);
        shadow.lines.forget();
        assert!(shadow.read(0x1fd, &mut bytes));
        assert_eq!(bytes, [1 ^ 0xfd, 1 ^ 0xfe, 1 ^ 0xff, 2, 2 ^ 1, 2 ^ 2]);
    }

    #[test]
    fn what_cannot_be_read_changes_nothing() {
        let mut lines = lines();
        let mut shadow = Shadow::new(&mut lines, Ramp(0x1_0000));
        assert!(!shadow.write(0xfffe, &[1, 2, 3, 4]) && !shadow.read(0xfffe, &mut [0; 4]));
        let mut bytes = [0; 2];
        assert!(shadow.read(0xfffe, &mut bytes));
        assert_eq!(bytes, [1, 0]);
        assert_eq!(shadow.code(0xfffe, &mut [0; 16]), 2);
    }

    #[test]
    fn there_is_room_for_all_that_is_read_but_not_for_all_that_is_written() {
        let mut lines = lines();
        let mut shadow = Shadow::new(&mut lines, Ramp(u64::MAX));
        let all = || (0..64 * 0x1_0000_u64).step_by(LINE);
        assert!(all().all(|at| shadow.read(at, &mut [0])) && !shadow.is_full);
        let written: Vec<u64> = all().filter(|&at| shadow.write(at, &[0x55])).collect();
        assert!((LINES / 2..=LINES).contains(&written.len()) && shadow.is_full, "{}", written.len());
        let mut byte = [0];
        assert!(written.iter().all(|&at| shadow.read(at, &mut byte) && byte == [0x55]));
    }

    #[test]
    fn lines_used_lately_or_beside_such_are_not_missed() {
        let mut lines = lines();
        let mut shadow = Shadow::new(&mut lines, Ramp(0x20_0000));
        let mut missed = |part, at: u64| {
            let before = shadow.missed;
            shadow.part = part;
            assert!(shadow.read(at, &mut [0]));
            shadow.missed - before
        };
        // What the nearest cache had before the trace is not known.
        assert_eq!(missed(0, 0x1000), 0);
        assert_eq!([missed(1, 0x1000), missed(1, 0x8000), missed(1, 0x8008)], [0, 1, 0]);
        // A stream goes either way.
        assert_eq!([missed(1, 0x8080), missed(2, 0x8100), missed(2, 0x7f80)], [0; 3]);
        assert_eq!([missed(2, 0x1000), missed(4, 0x1000), missed(4, 0x8100)], [0, 1, 1]);
    }

    #[test]
    fn what_cannot_be_read_hides_nothing_that_was_written() {
        let mut lines = lines();
        let mut shadow = Shadow::new(&mut lines, Ramp(0x20_0000));
        let written: Vec<u64> =
            (0..0x2_0000_u64).step_by(LINE).filter(|&at| shadow.write(at, &[0x55])).collect();
        for at in (0x2_0000..0x40_0000_u64).step_by(LINE) {
            assert_eq!(shadow.read(at, &mut [0]), at < 0x20_0000 && !shadow.is_full, "{at:#x}");
            shadow.is_full = false;
        }
        let mut byte = [0];
        assert!(written.iter().all(|&at| shadow.read(at, &mut byte) && byte == [0x55]));
    }
}
