//! What a process has mapped now, as the kernel lists it.

use std::io;
use std::ops::Range;

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// First address.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// Offset in the file of the first byte.
    pub file_offset: u64,
    /// Device of the file, as `stat` gives it; 0 for memory without a file.
    pub device: u64,
    /// File number; 0 for memory without a file.
    pub inode: u64,
    /// Path of the file, a name in brackets, or nothing.
    pub path: Vec<u8>,
}

/// The executable mappings of process `pid`, in order.
///
/// # Errors
/// The system's, if the process is gone or hidden.
pub fn executable(pid: i32) -> io::Result<Vec<Mapped>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(parse_executable).collect())
}

/// Where the executable mappings of process `pid` begin whose contents may change without a system call of its own: it,
/// or others, may write to them.
///
/// # Errors
/// As for [`executable`].
pub fn changing(pid: i32) -> io::Result<Vec<u64>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    let lines = text.split(|&byte| byte == b'\n');
    let changing = lines.filter(|line| has_right(b'w', line) || has_right(b's', line));
    Ok(changing.filter_map(parse_executable).map(|mapped| mapped.start).collect())
}

/// All mappings of process `pid`, in order, with whether it may read there.
///
/// # Errors
/// As for [`executable`].
pub fn all(pid: i32) -> io::Result<Vec<(Mapped, bool)>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    let lines = text.split(|&byte| byte == b'\n');
    Ok(lines.filter_map(|line| Some((parse(line)?, has_right(b'r', line)))).collect())
}

/// The file that process `pid` has mapped at an address: its device and number, 0 for memory without a file. `None` if
/// nothing begins there.
///
/// # Errors
/// As for [`executable`].
pub fn file_at(pid: i32, address: u64) -> io::Result<Option<(u64, u64)>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    let mut all = text.split(|&byte| byte == b'\n').filter_map(parse);
    Ok(all.find(|mapped| mapped.start == address).map(|mapped| (mapped.device, mapped.inode)))
}

/// Whether process `pid` has mapped a file, by its device and number.
///
/// # Errors
/// As for [`executable`].
pub fn has_mapped(pid: i32, file: (u64, u64)) -> io::Result<bool> {
    Ok(!ranges_of_file(pid, file)?.is_empty())
}

/// The ranges of addresses at which process `pid` has mapped a file, by its device and number, in order.
///
/// # Errors
/// As for [`executable`].
pub fn ranges_of_file(pid: i32, file: (u64, u64)) -> io::Result<Vec<Range<u64>>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    let all = text.split(|&byte| byte == b'\n').filter_map(parse);
    let of_file = all.filter(|mapped| (mapped.device, mapped.inode) == file);
    Ok(of_file.map(|mapped| mapped.start..mapped.end).collect())
}

/// All ranges of addresses that process `pid` has mapped, in order.
///
/// # Errors
/// As for [`executable`].
pub fn ranges(pid: i32) -> io::Result<Vec<Range<u64>>> {
    // Paths may be of any bytes.
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    let text = String::from_utf8_lossy(&text);
    let range = |line: &str| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
    };
    Ok(text.lines().filter_map(range).collect())
}

fn parse_executable(line: &[u8]) -> Option<Mapped> {
    has_right(b'x', line).then(|| parse(line)).flatten()
}

fn has_right(right: u8, line: &[u8]) -> bool {
    line.split(|&byte| byte == b' ').nth(1).is_some_and(|rights| rights.contains(&right))
}

/// `7f1c…-7f1d… r-xp 00028000 fe:01 1234      /lib/libc.so.6`; the path may be of any bytes.
fn parse(line: &[u8]) -> Option<Mapped> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut field = || fields.next().and_then(|field| str::from_utf8(field).ok());
    let (start, end) = field()?.split_once('-')?;
    field()?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let file_offset = hex(field()?)?;
    let (major, minor) = field()?.split_once(':')?;
    let inode = field()?.parse().ok()?;
    Some(Mapped {
        start: hex(start)?,
        end: hex(end)?,
        file_offset,
        device: libc::makedev(hex(major)? as u32, hex(minor)? as u32),
        inode,
        path: path(fields.next().unwrap_or_default()),
    })
}

/// The path at the end of a line, in which the kernel writes the end of a line as `\012`, and nothing else in
/// another way.
pub fn path(field: &[u8]) -> Vec<u8> {
    let mut rest = field.trim_ascii_start();
    let mut path = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = rest.strip_prefix(br"\012");
        path.push(if escaped.is_some() { b'\n' } else { byte });
        rest = escaped.unwrap_or(after);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_data_is_left_out() {
        let line =
            b"555555558000-555555559000 r-xp 00004000 fe:01 1234                       /usr/bin/a \xff";
        let mapped = parse_executable(line).unwrap();
        assert_eq!((mapped.start, mapped.end), (0x5555_5555_8000, 0x5555_5555_9000));
        assert_eq!((mapped.file_offset, mapped.device, mapped.inode), (0x4000, 0xfe01, 1234));
        assert_eq!(mapped.path, b"/usr/bin/a \xff");
        assert_eq!(parse_executable(b"7ffff7fc1000-7ffff7fc3000 rwxp 00000000 00:00 0 ").unwrap().path, b"");
        assert_eq!(parse_executable(b"555555558000-555555559000 rw-p 00004000 fe:01 1234 /usr/bin/a"), None);
        assert_eq!(parse_executable(b""), None);
        assert_eq!(path(br"  /a\012b\013\"), b"/a\nb\\013\\");
    }

    #[test]
    fn our_own_code_is_mapped() {
        let here = our_own_code_is_mapped as *const () as u64;
        let all = executable(std::process::id() as i32).unwrap();
        let holding = all.iter().find(|mapped| (mapped.start..mapped.end).contains(&here)).unwrap();
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(holding.path, std::env::current_exe().unwrap().as_os_str().as_bytes());
        let own = std::process::id() as i32;
        let file = file_at(own, holding.start).unwrap().unwrap();
        assert_eq!(file, (holding.device, holding.inode));
        assert!(has_mapped(own, file).unwrap());
        assert!(!has_mapped(own, (file.0, u64::MAX)).unwrap());
        assert_eq!(file_at(own, holding.start + 1).unwrap(), None);
    }
}
