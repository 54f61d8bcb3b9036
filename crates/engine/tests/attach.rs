//! A program that is attached to again and again has all that it had, and one that cannot be runs on.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use timewise_engine::{Options, attach};

/// Of the crowd that stay.
const THREADS: usize = 16;

/// What a process has: its mappings without their sizes, how many descriptors, and how many threads that stay.
fn belongings(pid: i32) -> (BTreeSet<String>, usize, usize) {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let of_files = maps.lines().filter_map(|line| line.split_whitespace().nth(5).map(str::to_string));
    let count = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).unwrap().count();
    (of_files.collect(), count("fd"), count("task"))
}

/// The same when it has all of it.
fn belongings_when_begun(pid: i32) -> (BTreeSet<String>, usize, usize) {
    let mut before = belongings(pid);
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = belongings(pid);
        if now.2 >= THREADS && (&now.0, now.1) == (&before.0, before.1) {
            return now;
        }
        before = now;
    }
}

/// A child that is not left behind, whatever becomes of the test.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        // One that has ended was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A parent waits by `vfork` until its child has read a byte, and does not stop meanwhile.
#[test]
fn a_thread_that_does_not_stop_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["waits.c", "waits"].map(|name| folder.path().join(name));
    let code = "#include <unistd.h>\n\
                int main(void) { char byte; if (!vfork()) { read(0, &byte, 1); _exit(0); } return 7; }";
    fs::write(&source, code).unwrap();
    let built = Command::new("cc").arg(&source).arg("-o").arg(&program).status().unwrap();
    assert!(built.success());
    let mut waits = Kept(Command::new(&program).stdin(Stdio::piped()).spawn().unwrap());
    let pid = waits.0.id() as i32;
    let is_in = |state: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.contains(&format!("\nState:\t{state}"))
    };
    while !is_in("D") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let refused = attach(pid, Duration::from_millis(5), &Options::default(), |_| false).unwrap_err();
    assert!(refused.to_string().contains("does not stop"), "{refused}");
    drop(waits.0.stdin.take());
    while !is_in("Z") {
        assert!(!is_in("t"), "it is stopped still");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(waits.0.wait().unwrap().code(), Some(7));
}

#[test]
fn twenty_times_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("crowd");
    let source = format!("{}/../../suite/torture/crowd.c", env!("CARGO_MANIFEST_DIR"));
    let built = Command::new("cc").args(["-O1", "-pthread", &source, "-o"]).arg(&program).status().unwrap();
    assert!(built.success());
    let complaints = folder.path().join("complaints");
    let crowd = Command::new(&program)
        .args(["600", "quiet"])
        .stdout(Stdio::null())
        .stderr(fs::File::create(&complaints).unwrap())
        .spawn()
        .unwrap();
    let mut crowd = Kept(crowd);
    let pid = crowd.0.id() as i32;
    let (mappings, descriptors, threads) = belongings_when_begun(pid);
    for round in 0..20 {
        let attached = attach(pid, Duration::from_millis(5), &Options::default(), |_| false).unwrap();
        let profile = attached.profile;
        assert_eq!(profile.runs[0].warnings, [""; 0], "round {round}");
        assert_eq!(profile.imbalances(), [], "round {round}");
        profile.check().unwrap();
    }
    let (later, descriptors_later, threads_later) = belongings(pid);
    assert_eq!((later, descriptors_later), (mappings, descriptors));
    // One thread makes others, each of which ends at once.
    assert!(threads_later.abs_diff(threads) <= 1, "{threads_later} threads, {threads} before");
    // SAFETY: takes no memory; the process is our child.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    let ended = crowd.0.wait().unwrap();
    let said = fs::read_to_string(&complaints).unwrap();
    assert!(ended.success() && !said.contains("wrong"), "{ended:?}: {said}");
}
