//! The program's memory as evaluated code sees it: read through the kernel, with what it writes kept aside.

use timewise_isa::Memory;

/// Bytes read at once: asking the kernel costs more than copying. A line lies within a page.
pub const LINE: usize = 128;

/// Lines that there is room for: where more are written than that, nothing is evaluated any further.
const LINES: usize = 2048;

/// Places that are looked at for a line.
const PROBES: usize = 8;

/// Marks the address of a line that was written to: it cannot be fetched again.
const WRITTEN: u64 = 1;

/// The address of no line.
const NOWHERE: u64 = 2;

/// Where lines come from.
pub trait Source {
    /// Fills a line with what is at `address`, a multiple of [`LINE`]: false if not all of it can be read.
    fn fetch(&mut self, address: u64, line: &mut [u8; LINE]) -> bool;
}

/// Lines of memory; all zeros is one without any.
#[repr(C)]
pub struct Lines {
    /// Lines with another stamp are of an earlier signal.
    stamp: u64,
    stamps: [u64; LINES],
    addresses: [u64; LINES],
    bytes: [[u8; LINE]; LINES],
}

impl Lines {
    /// Forgets all that was read and written.
    pub fn forget(&mut self) {
        self.stamp += 1;
    }
}

/// Lines, and where they come from.
pub struct Shadow<'a, S> {
    /// What was read and written.
    pub lines: &'a mut Lines,
    /// Where the rest is.
    pub source: S,
    /// Lines that were fetched.
    pub fetched: u32,
    /// Whether there was no room for another.
    pub is_full: bool,
}

impl<S: Source> Shadow<'_, S> {
    /// The line that holds an address.
    #[inline]
    fn line(&mut self, address: u64) -> Option<&mut [u8; LINE]> {
        let place = self.place(address & !(LINE as u64 - 1))?;
        Some(&mut self.lines.bytes[place])
    }

    /// Where the line is that begins at an address.
    #[inline]
    fn place(&mut self, start: u64) -> Option<usize> {
        let first = (start / LINE as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let mut unwritten = None;
        for probe in 0..PROBES {
            let place = (first as usize + probe) % LINES;
            if self.lines.stamps[place] != self.lines.stamp {
                return self.fetch(place, start);
            }
            let address = self.lines.addresses[place];
            if address & !WRITTEN == start {
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

    /// Fetches a line to a place.
    fn fetch(&mut self, place: usize, start: u64) -> Option<usize> {
        self.fetched += 1;
        // A place that is used stays so: others were put behind it.
        let is_used = self.lines.stamps[place] == self.lines.stamp;
        let is_there = self.source.fetch(start, &mut self.lines.bytes[place]);
        if is_there || is_used {
            self.lines.stamps[place] = self.lines.stamp;
            self.lines.addresses[place] = if is_there { start } else { NOWHERE };
        }
        is_there.then_some(place)
    }

    /// Has the lines stay that so many bytes at an address lie in: false if not all are there.
    fn keep(&mut self, address: u64, length: usize) -> bool {
        let last = address.wrapping_add(length.max(1) as u64 - 1) & !(LINE as u64 - 1);
        let mut start = address & !(LINE as u64 - 1);
        loop {
            let Some(place) = self.place(start) else { return false };
            self.lines.addresses[place] |= WRITTEN;
            if start == last {
                return true;
            }
            start = start.wrapping_add(LINE as u64);
        }
    }

    /// As many bytes of code at an address as can be read, up to 16: their number.
    pub fn code(&mut self, address: u64, bytes: &mut [u8; 16]) -> usize {
        let within = address as usize % LINE;
        let Some(line) = self.line(address) else { return 0 };
        if let Some(all) = line[within..].first_chunk::<16>() {
            *bytes = *all;
            return bytes.len();
        }
        let first = LINE - within;
        bytes[..first].copy_from_slice(&line[within..]);
        let Some(line) = self.line(address.wrapping_add(first as u64)) else { return first };
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
        let length = bytes.len();
        self.keep(address, length)
            && self.parts(address, length, |done, part| part.copy_from_slice(&bytes[done..done + part.len()]))
    }
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
        fn fetch(&mut self, address: u64, line: &mut [u8; LINE]) -> bool {
            for (at, byte) in (address..).zip(line.iter_mut()) {
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
        let mut shadow = Shadow { lines: &mut lines, source: Ramp(0x1_0000), fetched: 0, is_full: false };
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
        let mut shadow = Shadow { lines: &mut lines, source: Ramp(0x1_0000), fetched: 0, is_full: false };
        assert!(!shadow.write(0xfffe, &[1, 2, 3, 4]) && !shadow.read(0xfffe, &mut [0; 4]));
        let mut bytes = [0; 2];
        assert!(shadow.read(0xfffe, &mut bytes));
        assert_eq!(bytes, [1, 0]);
        assert_eq!(shadow.code(0xfffe, &mut [0; 16]), 2);
    }

    #[test]
    fn there_is_room_for_all_that_is_read_but_not_for_all_that_is_written() {
        let mut lines = lines();
        let mut shadow = Shadow { lines: &mut lines, source: Ramp(u64::MAX), fetched: 0, is_full: false };
        let all = || (0..64 * 0x1_0000_u64).step_by(LINE);
        assert!(all().all(|at| shadow.read(at, &mut [0])) && !shadow.is_full);
        let written: Vec<u64> = all().filter(|&at| shadow.write(at, &[0x55])).collect();
        assert!((LINES / 2..=LINES).contains(&written.len()) && shadow.is_full, "{}", written.len());
        let mut byte = [0];
        assert!(written.iter().all(|&at| shadow.read(at, &mut byte) && byte == [0x55]));
    }

    #[test]
    fn what_cannot_be_read_hides_nothing_that_was_written() {
        let mut lines = lines();
        let mut shadow = Shadow { lines: &mut lines, source: Ramp(0x20_0000), fetched: 0, is_full: false };
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
