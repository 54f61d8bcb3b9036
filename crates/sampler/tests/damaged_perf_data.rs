//! Damaged files of `perf`: an error or a profile, never a panic, and no more memory than the file asks for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use timewise_sampler::import::perf_data;

/// Counts bytes in use, and the most there were.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all work is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory that files of a few kilobytes may take: most of it is the window of the decompressor and the
/// symbols of nothing.
const MOST_BYTES: usize = 96 << 20;

/// Numbers without end that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// A small recording; `None`, with a remark, where `perf` does not work.
fn recorded(name: &str, options: &[&str]) -> Option<Vec<u8>> {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut record = Command::new("perf");
    record.args(["record", "-q", "-e", "cpu-clock,page-faults", "-F", "1000"]).args(options);
    if options.contains(&"-") {
        record.stdout(std::fs::File::create(&data).unwrap());
    } else {
        record.arg("-o").arg(&data).stdout(Stdio::null());
    }
    let output = record.args(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]).output();
    if !output.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: perf does not work here: {output:?}");
        return None;
    }
    let mut bytes = std::fs::read(data).unwrap();
    disown(&mut bytes);
    Some(bytes)
}

/// Makes it a file of another machine, whose frequency nobody takes the time to measure.
fn disown(bytes: &mut [u8]) {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let name = text.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("?");
    let found = bytes.windows(name.len()).position(|window| window == name.as_bytes());
    if let Some(at) = found {
        bytes[at] = b'?';
    }
}

/// Changes a few bytes, a few numbers, or the length.
fn damage(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at + 1),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            // Most of what is a number of 8 bytes.
            3 => {
                let extreme = [0, 1, u64::MAX, u64::MAX / 2, 1 << 32, 1 << 40][random.below(6)];
                let at = at & !7;
                if let Some(word) = bytes.get_mut(at..at + 8) {
                    word.copy_from_slice(&extreme.to_le_bytes());
                }
            }
            // The header, in which every number counts.
            4 => {
                let at = random.below(104.min(bytes.len()));
                bytes[at] = random.below(256) as u8;
            }
            _ => {
                let from = random.below(bytes.len());
                let length = random.below(64).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + length, at);
            }
        }
    }
    bytes
}

/// Imports damaged copies of a recording; gives how many were refused.
fn refused(name: &str, whole: &[u8], times: usize) -> usize {
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("damaged-{name}"));
    let mut random = Random(whole.len() as u64);
    let mut refused = 0;
    for _ in 0..times {
        std::fs::write(&path, damage(whole, &mut random)).unwrap();
        let before = NOW.load(Relaxed);
        MOST.store(before, Relaxed);
        match perf_data(&path, 10_000) {
            Ok(profile) => profile.check().unwrap(),
            Err(error) => {
                refused += 1;
                assert_eq!(error.to_string().lines().count(), 1);
            }
        }
        let taken = MOST.load(Relaxed) - before;
        assert!(taken < MOST_BYTES, "{taken} bytes for a file of {}", whole.len());
    }
    refused
}

#[test]
fn damaged_files_are_refused_or_read() {
    let forms: [(&str, &[&str]); 4] = [
        ("plain", &[]),
        ("packed", &["-g", "-z"]),
        ("stream", &["-g", "-o", "-"]),
        ("copied", &["--call-graph", "dwarf,1024"]),
    ];
    for (name, options) in forms {
        let Some(whole) = recorded(name, options) else { return };
        assert_eq!(refused(name, &whole, 0), 0);
        let refused = refused(name, &whole, 500);
        assert!((30..500).contains(&refused), "{name}: {refused} of 500 were refused");
    }
}

#[test]
fn what_is_no_recording_is_said_so() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-recording");
    let says = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        perf_data(&path, 10).unwrap_err().to_string()
    };
    assert!(says(b"").starts_with("empty; record again"));
    assert!(says(b"SQLite format 3\0 and more").contains("not a file of perf record"));
    assert!(says(b"2ELIFREP\0\0\0\0\0\0\0\x68").contains("byte order"));
    let mut unfinished = b"PERFILE2".to_vec();
    unfinished.extend(104_u64.to_le_bytes());
    unfinished.resize(104, 0);
    assert!(says(&unfinished).contains("ended before it finished"));
}
