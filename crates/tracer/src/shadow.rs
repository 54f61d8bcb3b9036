//! The program's memory as evaluated code sees it: read through the kernel, with what it writes kept aside.

use timewise_isa::Memory;

/// Bytes read at once: asking the kernel costs more than copying. A line lies within a page.
pub const LINE: usize = 128;

/// Lines that there is room for: what needs more is evaluated no further.
const LINES: usize = 2048;

/// Places that are looked at for a line.
const PROBES: usize = 8;

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
        let start = address & !(LINE as u64 - 1);
        let first = (start / LINE as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let lines = &mut *self.lines;
        for probe in 0..PROBES {
            let place = (first as usize + probe) % LINES;
            if lines.stamps[place] != lines.stamp {
                self.fetched += 1;
                if !self.source.fetch(start, &mut lines.bytes[place]) {
                    return None;
                }
                (lines.stamps[place], lines.addresses[place]) = (lines.stamp, start);
                return Some(&mut lines.bytes[place]);
            }
            if lines.addresses[place] == start {
                return Some(&mut lines.bytes[place]);
            }
        }
        self.is_full = true;
        None
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
        self.parts(address, bytes.len(), |done, part| part.copy_from_slice(&bytes[done..done + part.len()]))
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

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
    fn when_there_is_no_more_room_reading_fails() {
        let mut lines = lines();
        let mut shadow = Shadow { lines: &mut lines, source: Ramp(u64::MAX), fetched: 0, is_full: false };
        let read = (0..64 * 0x1_0000_u64).step_by(LINE).filter(|&at| shadow.read(at, &mut [0])).count();
        assert!((LINES / 2..=LINES).contains(&read) && shadow.is_full, "{read}");
    }
}
