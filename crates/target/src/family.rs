//! A process and those that descend from it.

use std::collections::BTreeMap;
use std::fs;

/// CPU time that each process of a family has used, by process id, in the system's clock ticks: that of
/// `root`, of those `known`, and of all their descendants, as far as they still live. Whoever is known is
/// found again when its parent has died.
pub fn cpu_ticks(root: i32, known: &BTreeMap<i32, u64>) -> BTreeMap<i32, u64> {
    let all: Vec<Status> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Status::of)
        .collect();
    let mut family = BTreeMap::new();
    loop {
        let before = family.len();
        for status in &all {
            let belongs = |pid: i32| pid == root || known.contains_key(&pid) || family.contains_key(&pid);
            if belongs(status.pid) || belongs(status.parent) {
                family.insert(status.pid, status.cpu_ticks);
            }
        }
        if family.len() == before {
            return family;
        }
    }
}

struct Status {
    pid: i32,
    parent: i32,
    cpu_ticks: u64,
}

impl Status {
    /// `None` if the process is gone.
    fn of(pid: i32) -> Option<Status> {
        Status::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name, in parentheses, may hold anything.
    fn parse(pid: i32, line: &str) -> Option<Status> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        // By proc(5), counted from the state, the third field.
        let (user, kernel) = (number(11)?, number(12)?);
        Some(Status { pid, parent: fields.get(1)?.parse().ok()?, cpu_ticks: user + kernel })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn a_status_is_read_whatever_the_name() {
        let line = "7 (a) b) S 3 7 7 0 -1 4194560 91 0 0 0 12 30 0 0 20 0 1 0 5 6 7";
        let status = Status::parse(7, line).unwrap();
        assert_eq!((status.parent, status.cpu_ticks), (3, 42));
    }

    #[test]
    fn work_of_a_grandchild_shows_also_when_its_parent_is_gone() {
        let script = "sh -c 'while :; do :; done' & echo; read gone";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let root = shell.id() as i32;
        let mut output = shell.stdout.take().unwrap();
        std::io::Read::read_exact(&mut output, &mut [0]).unwrap();
        let family = cpu_ticks(root, &BTreeMap::new());
        let busy = *family.keys().find(|&&pid| pid != root).expect("the grandchild is found");
        drop(shell.stdin.take());
        shell.wait().unwrap();
        let begun = Instant::now();
        let mut later = cpu_ticks(root, &family);
        while later.get(&busy) == family.get(&busy) && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
            later = cpu_ticks(root, &family);
        }
        // SAFETY: takes no memory; the process is the one that the shell started.
        unsafe { libc::kill(busy, libc::SIGKILL) };
        assert!(later.get(&busy) > family.get(&busy), "{family:?} {later:?}");
    }
}
