//! A process and those that descend from it.

use crate::status::{Status, field};
use std::collections::BTreeMap;
use std::fs;

/// CPU time that each process of a family has used, by process id, in the system's clock ticks: that of
/// `root`, of those `known`, and of all their descendants, as far as they still live. Whoever is known is
/// found again when its parent has died.
pub fn cpu_ticks(root: i32, known: &BTreeMap<i32, u64>) -> BTreeMap<i32, u64> {
    let all: Vec<(i32, Status)> = everybody();
    let mut family = BTreeMap::new();
    loop {
        let before = family.len();
        for (pid, status) in &all {
            let belongs = |pid: i32| pid == root || known.contains_key(&pid) || family.contains_key(&pid);
            if belongs(*pid) || belongs(status.parent) {
                family.insert(*pid, status.cpu_ticks);
            }
        }
        if family.len() == before {
            return family;
        }
    }
}

/// Whether a thread of these processes runs, or would if a processor were free.
pub fn runs(mut pids: impl Iterator<Item = i32>) -> bool {
    let runs = |pid, tid| Status::of_thread(pid, tid).is_some_and(|status| status.running);
    pids.any(|pid| threads(pid).into_iter().any(|tid| runs(pid, tid)))
}

/// Ids of the processes that `pid` started and that live.
pub fn children(pid: i32) -> Vec<i32> {
    let mut all = Vec::new();
    for tid in threads(pid) {
        match fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")) {
            Ok(list) => all.extend(list.split_whitespace().filter_map(|id| id.parse::<i32>().ok())),
            // The thread is gone, or this kernel does not keep such lists.
            Err(_) if fs::exists(format!("/proc/{pid}/task/{tid}/stat")).is_ok_and(|there| there) => {
                let of_it = |(child, status): (i32, Status)| (status.parent == pid).then_some(child);
                return everybody().into_iter().filter_map(of_it).collect();
            }
            Err(_) => {}
        }
    }
    all
}

/// Process `root` and all that descend from it, parents first.
pub fn descendants(root: i32) -> Vec<i32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(&pid) = all.get(next) {
        all.extend(children(pid));
        next += 1;
    }
    all
}

/// All processes, each with the number by which it knows itself.
pub fn own_numbers() -> Vec<(i32, i32)> {
    numbered("/proc").into_iter().filter_map(|pid| Some((pid, own_number(pid)?))).collect()
}

/// The number by which process `pid` knows itself: in another PID namespace than ours that is another one. `None` if the
/// process is gone.
pub fn own_number(pid: i32) -> Option<i32> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    Some(innermost(&String::from_utf8_lossy(&status)).unwrap_or(pid))
}

/// The last of a process's numbers, of which there is one for each namespace that it is in, the innermost behind the others.
fn innermost(status: &str) -> Option<i32> {
    field(status, "NSpid").split_whitespace().next_back()?.parse().ok()
}

/// Whether process `pid` is a child of ours.
pub fn is_own_child(pid: i32) -> bool {
    Status::of_process(pid).is_some_and(|status| status.parent == std::process::id() as i32)
}

/// Ids of the threads of a process; none if it is gone.
pub fn threads(pid: i32) -> Vec<i32> {
    numbered(&format!("/proc/{pid}/task"))
}

/// Descriptors that a process has open; none if that is hidden.
pub fn descriptors(pid: i32) -> Vec<i32> {
    numbered(&format!("/proc/{pid}/fd"))
}

/// The id that the system gave last to a process or thread, where it tells: while it stays the same, there
/// is none that is new.
pub fn latest_id() -> Option<i32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next_back()?.parse().ok()
}

fn everybody() -> Vec<(i32, Status)> {
    numbered("/proc").into_iter().filter_map(|pid| Some((pid, Status::of_process(pid)?))).collect()
}

fn numbered(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn processes_know_themselves_by_their_innermost_number() {
        assert_eq!(innermost("Name:\ta\nNSpid:\t1234\t17\t1\nVmSize:\t 9 kB\n"), Some(1));
        assert_eq!(innermost("Name:\ta\n"), None);
        let own = std::process::id() as i32;
        assert!(own_numbers().contains(&(own, own)));
    }

    #[test]
    fn work_of_a_grandchild_shows_also_when_its_parent_is_gone() {
        let script = "sh -c 'while :; do :; done' & echo; read gone";
        let before = latest_id();
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let root = shell.id() as i32;
        let mut output = shell.stdout.take().unwrap();
        std::io::Read::read_exact(&mut output, &mut [0]).unwrap();
        assert!(before.is_none() || latest_id() != before);
        while runs([root].into_iter()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let family = cpu_ticks(root, &BTreeMap::new());
        let busy = *family.keys().find(|&&pid| pid != root).expect("the grandchild is found");
        assert_eq!((children(root), threads(root)), (vec![busy], vec![root]));
        assert_eq!(descendants(root), [root, busy]);
        assert!(descriptors(root).contains(&1));
        drop(shell.stdin.take());
        shell.wait().unwrap();
        let begun = Instant::now();
        let mut later = cpu_ticks(root, &family);
        while later.get(&busy) == family.get(&busy) && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
            later = cpu_ticks(root, &family);
        }
        let still_runs = runs([root, busy].into_iter());
        // SAFETY: takes no memory; the process is the one that the shell started.
        unsafe { libc::kill(busy, libc::SIGKILL) };
        assert!(still_runs && later.get(&busy) > family.get(&busy), "{family:?} {later:?}");
    }
}
