//! What a process has mapped that is memory and nothing else, which the tracer may read by itself: where a device is
//! mapped, reading may do something.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use timewise_abi::plain::{PlainMemory, RANGES};
use timewise_target::maps::{self, Mapped};

/// What a mapping is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Memory and nothing else.
    Plain,
    /// Memory with a file that cannot be looked at, or pages of the kernel's own: left to the kernel.
    Other,
    /// A device, for all that is known.
    Device,
}

/// The mappings of one process, which is looked at now and then.
#[derive(Debug)]
pub struct Plain {
    pid: i32,
    /// By path and number.
    files: HashMap<(Vec<u8>, u64), Kind>,
    latest: Vec<Range<u64>>,
}

impl Plain {
    /// Of process `pid`, of which nothing is known.
    pub fn of(pid: i32) -> Plain {
        Plain { pid, files: HashMap::new(), latest: Vec::new() }
    }

    /// Tells the tracer what is mapped now. A process with devices may have the next one where something else was a moment
    /// ago, and gets none.
    pub fn look(&mut self, memory: &PlainMemory) {
        let mapped = maps::readable(self.pid).unwrap_or_default();
        let kinds: Vec<Kind> = mapped.iter().map(|mapped| self.kind(mapped)).collect();
        let mut ranges = Vec::new();
        if !kinds.contains(&Kind::Device) {
            let plain = mapped.iter().zip(kinds).filter(|(_, kind)| *kind == Kind::Plain);
            ranges = joined(plain.map(|(mapped, _)| mapped.start..mapped.end));
            keep_widest(&mut ranges);
        }
        if ranges != self.latest {
            memory.replace(&ranges);
            self.latest = ranges;
        }
    }

    fn kind(&mut self, mapped: &Mapped) -> Kind {
        if mapped.inode == 0 {
            return kind_by_name(&mapped.path);
        }
        // Where file systems lie one over the other, the kernel has two numbers for a device.
        let key = (mapped.path.clone(), mapped.inode);
        let pid = self.pid;
        *self.files.entry(key).or_insert_with(|| kind_of_file(pid, &mapped.path, mapped.inode))
    }
}

/// Of what has no file.
fn kind_by_name(name: &[u8]) -> Kind {
    match name {
        b"" | b"[heap]" | b"[stack]" | b"[vdso]" => Kind::Plain,
        _ if name.starts_with(b"[anon:") => Kind::Plain,
        _ if name.starts_with(b"[vvar") => Kind::Other,
        _ => Kind::Device,
    }
}

/// Of a file with such a number that process `pid` has mapped, unless another is there now.
fn kind_of_file(pid: i32, path: &[u8], inode: u64) -> Kind {
    /// Files of memory that processes share, which have no place.
    const NOWHERE: [&[u8]; 3] = [b"/memfd:", b"/SYSV", b"/dev/zero (deleted)"];
    if NOWHERE.iter().any(|start| path.starts_with(start)) {
        return Kind::Other;
    }
    // The process may have a root of its own.
    let from_root = [format!("/proc/{pid}/root").as_bytes(), path].concat();
    let is_plain = [path, &from_root].map(|path| is_plain_file(Path::new(OsStr::from_bytes(path)), inode));
    if is_plain.contains(&true) { Kind::Plain } else { Kind::Device }
}

fn is_plain_file(path: &Path, inode: u64) -> bool {
    let is_it = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.ino() == inode);
    is_it && rustix::fs::statfs(path).is_ok_and(|system| !shows_devices(system.f_type as u64))
}

/// Whether files of such a file system are no memory: those of buses' devices can be mapped, for one.
fn shows_devices(system: u64) -> bool {
    const SYSFS: u64 = 0x6265_6572;
    const PROC: u64 = 0x9fa0;
    const DEBUGFS: u64 = 0x6462_6720;
    const TRACEFS: u64 = 0x7472_6163;
    [SYSFS, PROC, DEBUGFS, TRACEFS].contains(&system)
}

/// Ranges in order, of which those that touch are one.
fn joined(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| last.end == range.start) {
            Some(last) => last.end = range.end,
            None => joined.push(range),
        }
    }
    joined
}

/// Leaves as many as there is room for, in order.
fn keep_widest(ranges: &mut Vec<Range<u64>>) {
    let width = |range: &Range<u64>| range.end - range.start;
    ranges.sort_by_key(|range| std::cmp::Reverse(width(range)));
    ranges.truncate(RANGES);
    ranges.sort_by_key(|range| range.start);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_from_devices() {
        let own = std::env::current_exe().unwrap();
        let inode = std::fs::metadata(&own).unwrap().ino();
        let own = own.as_os_str().as_bytes();
        let files = [
            (own, inode, Kind::Plain),
            // Another is there now.
            (own, inode + 1, Kind::Device),
            (b"/dev/null", std::fs::metadata("/dev/null").unwrap().ino(), Kind::Device),
            (b"/proc/self/maps", std::fs::metadata("/proc/self/maps").unwrap().ino(), Kind::Device),
            (b"/memfd:a (deleted)", 5, Kind::Other),
            (b"anon_inode:[perf_event]", 7, Kind::Device),
        ];
        let mut plain = Plain::of(0);
        for (path, inode, kind) in files {
            let mapped = Mapped { start: 0, end: 1, file_offset: 0, device: 0, inode, path: path.to_vec() };
            assert_eq!(plain.kind(&mapped), kind, "{}", String::from_utf8_lossy(path));
        }
        let names = ["", "[heap]", "[anon:a]", "[vvar]", "[vvar_vclock]", "[something]"];
        let kinds = [Kind::Plain, Kind::Plain, Kind::Plain, Kind::Other, Kind::Other, Kind::Device];
        assert_eq!(names.map(|name| kind_by_name(name.as_bytes())), kinds);
    }

    #[test]
    fn ranges_are_joined_and_the_widest_kept() {
        let pieces = [0..4, 4..5, 8..9];
        assert_eq!(joined(pieces.into_iter()), [0..5, 8..9]);
        let mut many: Vec<_> = (0..2 * RANGES as u64).map(|at| 10 * at..10 * at + 1 + at % 2).collect();
        keep_widest(&mut many);
        assert_eq!(many.len(), RANGES);
        assert!(
            many.is_sorted_by_key(|range| range.start)
                && many.iter().all(|range| range.end - range.start == 2)
        );
    }

    #[test]
    fn our_own_memory_is_plain_but_not_the_kernels_pages() {
        // SAFETY: all zeros is a value of it.
        let memory = unsafe { Box::<PlainMemory>::new_zeroed().assume_init() };
        let own = std::process::id() as i32;
        Plain::of(own).look(&memory);
        let (on_heap, on_stack) = (Box::new(0_u8), 0_u8);
        let code = Plain::of as *const () as u64;
        let at = [code, &raw const *on_heap as u64, &raw const on_stack as u64];
        assert_eq!(at.map(|at| memory.holds(at)), [true; 3]);
        let kernels = maps::readable(own).unwrap();
        let kernels = kernels.iter().find(|mapped| mapped.path == b"[vvar]").unwrap();
        assert!(!memory.holds(kernels.start));
    }
}
