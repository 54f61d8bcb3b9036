//! What a process has mapped that is memory and nothing else, which the tracer may read by itself: where a device is
//! mapped, reading may do something.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;
use timewise_abi::plain::{PlainMemory, RANGES};
use timewise_target::maps::{self, Mapped};

/// What a mapping is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Memory and nothing else.
    Plain,
    /// Memory of which the file is not known for certain, or pages of the kernel's own: left to the kernel.
    Other,
    /// A device, for all that is known.
    Device,
}

/// How many times as long as reading the list took it is left alone: some processes have tens of thousands of mappings.
const REST: u32 = 50;

/// The mappings of one process, which is looked at now and then.
#[derive(Debug)]
pub struct Plain {
    pid: i32,
    rests_until: Instant,
    /// By path and number.
    files: HashMap<(Vec<u8>, u64), Kind>,
    latest: Vec<Range<u64>>,
}

impl Plain {
    /// Of process `pid`, of which nothing is known.
    pub fn of(pid: i32) -> Plain {
        Plain { pid, rests_until: Instant::now(), files: HashMap::new(), latest: Vec::new() }
    }

    /// Tells the tracer what is mapped now. A process with devices may have the next one where something else was a moment
    /// ago, and gets none.
    pub fn look(&mut self, memory: &PlainMemory) {
        let began = Instant::now();
        if began < self.rests_until {
            return;
        }
        let mapped = maps::all(self.pid).unwrap_or_default();
        let kinds: Vec<Kind> = mapped.iter().map(|(mapped, _)| self.kind(mapped)).collect();
        let mut ranges = Vec::new();
        if !kinds.contains(&Kind::Device) {
            let is_plain =
                |((_, is_readable), kind): &(&(Mapped, bool), Kind)| *is_readable && *kind == Kind::Plain;
            let plain = mapped.iter().zip(kinds).filter(is_plain);
            ranges = joined(plain.map(|((mapped, _), _)| mapped.start..mapped.end));
            keep_widest(&mut ranges);
        }
        if ranges != self.latest {
            memory.replace(&ranges);
            self.latest = ranges;
        }
        self.rests_until = began + REST * began.elapsed();
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
    /// The kernel's own, in each process.
    const KERNELS: [&[u8]; 3] = [b"[vvar", b"[vsyscall]", b"[uprobes]"];
    match name {
        b"" | b"[heap]" | b"[stack]" | b"[vdso]" => Kind::Plain,
        _ if name.starts_with(b"[anon:") => Kind::Plain,
        _ if KERNELS.iter().any(|start| name.starts_with(start)) => Kind::Other,
        _ => Kind::Device,
    }
}

/// Of a file with such a number that process `pid` has mapped.
fn kind_of_file(pid: i32, path: &[u8], inode: u64) -> Kind {
    /// Memory that processes share with one another or with the kernel, which has no place.
    const NOWHERE: [&[u8]; 7] = [
        b"/memfd:",
        b"/SYSV",
        b"/dev/zero",
        b"/anon_hugepage",
        b"[anon_shmem:",
        b"anon_inode:[perf_event]",
        b"anon_inode:[io_uring]",
    ];
    if NOWHERE.iter().any(|start| path.starts_with(start)) {
        return Kind::Other;
    }
    if !path.starts_with(b"/") {
        return Kind::Device;
    }
    // The process may have a root of its own, or see another part of the file system.
    let from_root = [format!("/proc/{pid}/root").as_bytes(), path].concat();
    let kind = kind_at(&from_root, inode);
    if kind == Kind::Device { kind_at(path, inode) } else { kind }
}

/// Of what is at a path now. Where file systems lie one over the other, the kernel may have another number for a file.
fn kind_at(path: &[u8], inode: u64) -> Kind {
    let path = Path::new(OsStr::from_bytes(path));
    let Ok(file) = std::fs::metadata(path) else { return Kind::Device };
    let is_memory = rustix::fs::statfs(path).is_ok_and(|system| !shows_devices(system.f_type as u64));
    match file.is_file() && is_memory {
        true if file.ino() == inode => Kind::Plain,
        true => Kind::Other,
        false => Kind::Device,
    }
}

/// Whether files of such a file system are no memory: those of buses' devices can be mapped, for one.
fn shows_devices(system: u64) -> bool {
    const SYSFS: u64 = 0x6265_6572;
    const PROC: u64 = 0x9fa0;
    const DEBUGFS: u64 = 0x6462_6720;
    const TRACEFS: u64 = 0x7472_6163;
    const XENFS: u64 = 0xabba_1974;
    [SYSFS, PROC, DEBUGFS, TRACEFS, XENFS].contains(&system)
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
    use std::os::fd::AsRawFd;

    #[test]
    fn memory_is_told_from_devices() {
        let own = std::env::current_exe().unwrap();
        let inode = std::fs::metadata(&own).unwrap().ino();
        let own = own.as_os_str().as_bytes();
        let files = [
            (own, inode, Kind::Plain),
            // Another is there now.
            (own, inode + 1, Kind::Other),
            (b"/dev/null", std::fs::metadata("/dev/null").unwrap().ino(), Kind::Device),
            (b"/proc/self/maps", std::fs::metadata("/proc/self/maps").unwrap().ino(), Kind::Device),
            (b"/memfd:a (deleted)", 5, Kind::Other),
            (b"anon_inode:[perf_event]", 7, Kind::Other),
            (b"anon_inode:[vfio-device]", 7, Kind::Device),
            (b"/no/such/file (deleted)", 7, Kind::Device),
        ];
        let mut plain = Plain::of(std::process::id() as i32);
        for (path, inode, kind) in files {
            let mapped = Mapped { start: 0, end: 1, file_offset: 0, device: 0, inode, path: path.to_vec() };
            assert_eq!(plain.kind(&mapped), kind, "{}", String::from_utf8_lossy(path));
        }
        let names = ["", "[heap]", "[anon:a]", "[vvar]", "[vvar_vclock]", "[vsyscall]", "[something]"];
        let kinds = names.map(|name| kind_by_name(name.as_bytes()));
        assert_eq!(kinds[..3], [Kind::Plain; 3]);
        assert_eq!(kinds[3..6], [Kind::Other; 3]);
        assert_eq!(kinds[6], Kind::Device);
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

    /// A page that may be read, of a file, or of none.
    fn map(file: Option<&std::fs::File>) -> u64 {
        let (flags, fd) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: a new mapping, which nobody else knows.
        let got = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, fd, 0) };
        assert_ne!(got, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        got as u64
    }

    fn is_held(plain: &mut Plain, address: u64) -> bool {
        // SAFETY: all zeros is a value of it.
        let memory = unsafe { Box::<PlainMemory>::new_zeroed().assume_init() };
        (plain.rests_until, plain.latest) = (Instant::now(), Vec::new());
        plain.look(&memory);
        memory.holds(address)
    }

    #[test]
    fn nothing_is_plain_beside_what_may_be_a_device() {
        let page = map(None);
        let mut plain = Plain::of(std::process::id() as i32);
        assert!(is_held(&mut plain, page));
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        // It has no name any more: it might have been anything.
        let strange = map(Some(&file));
        assert!(!is_held(&mut plain, page));
        // SAFETY: mapped just now, and known to nobody else.
        unsafe { libc::munmap(strange as *mut libc::c_void, 4096) };
        assert!(is_held(&mut plain, page));
    }
}
