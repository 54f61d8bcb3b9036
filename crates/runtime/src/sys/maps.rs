//! What the kernel says of the process's address space.

use super::{Errno, call, number};
use alloc::vec::Vec;
use core::ops::Range;

/// One line of the kernel's table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    /// Addresses.
    pub range: Range<u64>,
    /// Whether it may be written to.
    pub writable: bool,
    /// Whether what others write to it elsewhere shows here.
    pub shared: bool,
    /// Whether it may be executed.
    pub executable: bool,
    /// Offset of its first byte in the file.
    pub file_offset: u64,
    /// Device as `stat` gives it, 0 for no file.
    pub device: u64,
    /// File number, 0 for no file.
    pub inode: u64,
    /// Path, or a name in brackets, or nothing.
    pub path: &'a [u8],
}

/// The table's text.
///
/// # Errors
/// The kernel's, where the table is not to be had: no `/proc`, no descriptor left.
pub fn text() -> Result<Vec<u8>, Errno> {
    const READ_ONLY_CLOSE_ON_EXEC: u64 = 0o2_000_000;
    // The thread's own: a process whose first thread has ended shows an empty one.
    let path = c"/proc/thread-self/maps";
    // SAFETY: opens a file for reading.
    let file = unsafe { call(number::OPENAT, [0, path.as_ptr() as u64, READ_ONLY_CLOSE_ON_EXEC, 0, 0, 0]) }?;
    let mut text = Vec::with_capacity(16 << 10);
    let result = loop {
        if text.capacity() - text.len() < 4096 {
            text.reserve(text.capacity());
        }
        let room = text.capacity() - text.len();
        let to = text.as_ptr() as u64 + text.len() as u64;
        // SAFETY: writes to the vector's unused room at most.
        match unsafe { call(number::READ, [file, to, room as u64, 0, 0, 0]) } {
            Ok(0) => break Ok(text),
            // SAFETY: so many bytes were just written.
            Ok(read) => unsafe { text.set_len(text.len() + read as usize) },
            Err(error) => break Err(error),
        }
    };
    // SAFETY: the file was opened above.
    let _ = unsafe { call(number::CLOSE, [file, 0, 0, 0, 0, 0]) };
    result
}

/// The lines of the table.
pub fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    text.split(|&byte| byte == b'\n').filter_map(line)
}

fn line(text: &[u8]) -> Option<Line<'_>> {
    let mut fields = text.splitn(6, |&byte| byte == b' ');
    let (start, end) = pair(fields.next()?, b'-')?;
    let permissions = fields.next()?;
    let file_offset = number(fields.next()?, 16)?;
    let (major, minor) = pair(fields.next()?, b':')?;
    let inode = number(fields.next()?, 10)?;
    Some(Line {
        range: start..end,
        writable: permissions.get(1) == Some(&b'w'),
        shared: permissions.get(3) == Some(&b's'),
        executable: permissions.get(2) == Some(&b'x'),
        file_offset,
        device: device(major, minor),
        inode,
        path: fields.next().unwrap_or_default().trim_ascii_start(),
    })
}

fn pair(text: &[u8], between: u8) -> Option<(u64, u64)> {
    let at = text.iter().position(|&byte| byte == between)?;
    Some((number(&text[..at], 16)?, number(&text[at + 1..], 16)?))
}

fn number(text: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(text).ok()?, radix).ok()
}

/// A device number as the C library packs it.
fn device(major: u64, minor: u64) -> u64 {
    (major & 0xfff) << 8 | (major & !0xfff) << 32 | (minor & 0xff) | (minor & !0xff) << 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let text = b"555555558000-555555559000 r-xp 00004000 fe:01 1234                       /usr/bin/a b\n\
                     7ffff7fc1000-7ffff7fc3000 rwxp 00000000 00:00 0 \n";
        let got: Vec<Line> = lines(text).collect();
        assert_eq!(got.len(), 2);
        assert_eq!(got[0].range, 0x5555_5555_8000..0x5555_5555_9000);
        assert!(got[0].executable && !got[0].writable);
        assert_eq!((got[0].file_offset, got[0].inode, got[0].device), (0x4000, 1234, 0xfe01));
        assert_eq!(got[0].path, b"/usr/bin/a b");
        assert!(got[1].executable && got[1].writable && got[1].path.is_empty());
    }
}
