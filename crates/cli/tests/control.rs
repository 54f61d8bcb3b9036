//! A program that switches branch tracing of itself on and off (`crates/control`), again and again: nothing is left behind.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, hint, thread};
use timewise_control::{timewise_branches_start, timewise_branches_stop};
use timewise_profile::Profile;

/// How often, unless the environment says so: `STARTS=1000`.
const STARTS: u32 = 10;

/// What a process has open, its threads, the signals that it handles, and what lies where only tracers put something. A
/// breakpoint that is left has an event that is open, or is missing the next time: the processor has four, and all are
/// used.
fn state() -> [Vec<String>; 4] {
    let names = |folder: &str, link: bool| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: std::path::PathBuf| {
            let to = if link { fs::read_link(&path).ok() } else { Some(path) };
            to.map(|to| to.display().to_string())
        };
        // One is the folder that is read.
        let mut names: Vec<String> = entries.filter_map(name).filter(|name| !name.contains("/fd")).collect();
        names.sort();
        names
    };
    let lines = |file: &str, is_wanted: fn(&str) -> bool| {
        let text = fs::read_to_string(file).unwrap();
        text.lines().filter(|line| is_wanted(line)).map(String::from).collect()
    };
    [
        names("/proc/self/fd", true),
        names("/proc/self/task", false),
        lines("/proc/self/status", |line| line.starts_with("SigCgt")),
        lines("/proc/self/maps", |line| line.contains("timewise:") || line.starts_with('2')),
    ]
}

/// Children of ours, those included that wait to be waited for, and whatever is still attached to us.
fn processes() -> Vec<String> {
    let own = std::process::id();
    let (child, attached) = (format!("\nPPid:\t{own}\n"), format!("--pid={own}\0"));
    let folders = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let says = |folder: &Path, name: &str, word: &str| {
        fs::read(folder.join(name)).is_ok_and(|text| String::from_utf8_lossy(&text).contains(word))
    };
    let ours = folders.filter(|one| says(one, "status", &child) || says(one, "cmdline", &attached));
    ours.map(|one| one.display().to_string()).collect()
}

/// Works for some milliseconds of the calling thread's CPU time.
fn work(ms: i64) {
    let now_ms = || {
        // SAFETY: all zeros are a valid value.
        let mut time: libc::timespec = unsafe { std::mem::zeroed() };
        // SAFETY: the system fills it.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    };
    let end = now_ms() + ms;
    while now_ms() < end {
        // Far longer than it takes to ask for the time: what falls into the kernel starts no trace.
        hint::black_box((0..100_000).map(hint::black_box).sum::<i64>());
    }
}

#[test]
fn whoever_switches_tracing_on_and_off_is_left_as_it_was() {
    const RATE: u32 = 2000;
    let times = std::env::var("STARTS").map_or(STARTS, |times| times.parse().unwrap());
    // SAFETY: the only test in this process; nobody else reads the environment meanwhile.
    unsafe { std::env::set_var("TIMEWISE", env!("CARGO_BIN_EXE_timewise")) };
    // As of programs in the background of a script.
    // SAFETY: no handler of ours.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    let path = CString::new(file.as_os_str().as_bytes()).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&over);
    let other = thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            work(1);
            thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    let before = state();
    for (rate, length) in [(50_001, 16), (RATE, 16_381)] {
        // SAFETY: a C string.
        assert_eq!(unsafe { timewise_branches_start(path.as_ptr(), rate, length) }, libc::EINVAL);
    }
    let mut seen = 0;
    for time in 0..times {
        // SAFETY: a C string.
        let started = unsafe { timewise_branches_start(path.as_ptr(), RATE, 16) };
        if time == 0 && started == libc::EPERM {
            over.store(true, Ordering::Relaxed);
            return eprintln!("skipped: the system does not let us attach, or refuses events");
        }
        assert_eq!(started, 0, "start {time}");
        work(30);
        // On a busy machine there may be no time to see anything.
        match timewise_branches_stop() {
            0 => assert!(!Profile::load(&file).unwrap().taken_branches.is_empty(), "{time}"),
            stopped => assert_eq!((stopped, file.exists()), (libc::EIO, false), "stop {time}"),
        }
        seen += u32::from(fs::remove_file(&file).is_ok());
        assert_eq!(state(), before, "{time}");
        assert_eq!(processes(), [""; 0], "{time}");
    }
    assert!(2 * seen > times, "{seen} of {times}");
    over.store(true, Ordering::Relaxed);
    other.join().unwrap();
}
