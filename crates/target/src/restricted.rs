//! Whether a process has restricted its system calls (`seccomp`) further than all is restricted that runs where we do, as
//! in a container.
//!
//! Filters are inherited, and never taken off. So who has as many as we have, and descends from a process with as many
//! from which we descend as well, has the same ones. What enters a container from outside descends from nothing in it,
//! but is given the container's filters; and what is in the same control groups entered the same one.

use crate::control_groups;
use crate::family;
use crate::status::field;
use std::fs;

/// Whether calls that we may make could be forbidden to a thread of process `pid`.
pub fn is_further_than_ours(pid: i32) -> bool {
    // Of a thread that has ended nothing is told.
    let threads = family::threads(pid).into_iter().filter_map(|tid| Restriction::of_thread(pid, tid));
    let their_filters = threads.map(|thread| thread.filters).collect::<Vec<_>>();
    if their_filters.iter().all(|&filters| filters == Some(0)) {
        return false;
    }
    let ours = std::process::id() as i32;
    let of = |pid: i32| Restriction::of_thread(pid, pid);
    let filters = of(ours).and_then(|ours| ours.filters);
    filters.is_none()
        || their_filters.iter().any(|&theirs| theirs != filters)
        || !came_alike(Line::of(ours, of), Line::of(pid, of), || control_groups::are_same(ours, pid))
}

/// What restricts a process, or a thread of it.
#[derive(Clone, Copy)]
struct Restriction {
    /// The process that it descends from, or 0 if it entered from outside.
    parent: i32,
    /// How many filters it has; none if that is not told, or it may do nothing but read and write.
    filters: Option<u32>,
}

impl Restriction {
    fn of_thread(pid: i32, tid: i32) -> Option<Restriction> {
        let status = fs::read(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        Restriction::parse(&String::from_utf8_lossy(&status))
    }

    fn parse(status: &str) -> Option<Restriction> {
        let filters = match field(status, "Seccomp") {
            "" | "0" => Some(0),
            "2" => field(status, "Seccomp_filters").parse().ok(),
            _ => None,
        };
        Some(Restriction { parent: field(status, "PPid").parse().ok()?, filters })
    }
}

/// A process, and those that it descends from, as far as they have as many filters as it.
struct Line {
    pids: Vec<i32>,
    /// Whether the last of them entered from outside.
    is_whole: bool,
}

impl Line {
    fn of(pid: i32, of: impl Fn(i32) -> Option<Restriction>) -> Line {
        let mut line = Line { pids: Vec::new(), is_whole: false };
        let Some(first) = of(pid) else { return line };
        let mut next = (pid, first);
        loop {
            line.pids.push(next.0);
            let parent = next.1.parent;
            line.is_whole = parent == 0;
            match of(parent).filter(|parent| parent.filters == first.filters) {
                // What is read while processes end and begin could lead in a circle.
                Some(restriction) if !line.pids.contains(&parent) => next = (parent, restriction),
                _ => return line,
            }
        }
    }
}

/// Whether two processes that have as many filters have the same ones.
fn came_alike(ours: Line, theirs: Line, is_same_container: impl Fn() -> bool) -> bool {
    let descend_from_one = || theirs.pids.iter().any(|pid| ours.pids.contains(pid));
    descend_from_one() || ours.is_whole && theirs.is_whole && is_same_container()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes by their ids, parents, and filters.
    fn line(pid: i32, all: &[(i32, i32, u32)]) -> Line {
        let known = |asked: i32| all.iter().find(|&&(pid, ..)| pid == asked);
        Line::of(pid, |pid| {
            known(pid).map(|&(_, parent, filters)| Restriction { parent, filters: Some(filters) })
        })
    }

    #[test]
    fn filters_are_the_same_where_they_were_inherited_from_one() {
        // A container: its first process, a server with a worker, one with a sandbox, a shell, and what was entered.
        let all =
            [(1, 0, 1), (5, 1, 1), (6, 5, 1), (7, 5, 2), (8, 7, 2), (20, 1, 1), (30, 0, 1), (31, 30, 1)];
        let alike = |a: i32, b: i32, same: bool| came_alike(line(a, &all), line(b, &all), || same);
        assert!(alike(20, 6, false));
        assert!(alike(31, 6, true));
        assert!(!alike(31, 6, false), "another container of the same namespace");
        assert!(alike(7, 8, false));
        assert!(!alike(7, 20, false), "told apart by their number already");
        // Outside, where the first process has none: two sandboxes.
        let all = [(1, 0, 0), (5, 1, 1), (6, 5, 1), (7, 1, 1)];
        let alike = |a: i32, b: i32| came_alike(line(a, &all), line(b, &all), || true);
        assert!(alike(5, 6));
        assert!(!alike(6, 7));
        assert!(!alike(9, 7), "it is gone");
    }

    #[test]
    fn what_the_kernel_tells_is_read() {
        let filters =
            |text: &str| Restriction::parse(&format!("Name:\ta\nPPid:\t3\n{text}")).unwrap().filters;
        assert_eq!(filters("Seccomp:\t0\nSeccomp_filters:\t0\n"), Some(0));
        assert_eq!(filters("Seccomp:\t2\nSeccomp_filters:\t3\n"), Some(3));
        assert_eq!(filters("Seccomp:\t1\nSeccomp_filters:\t0\n"), None, "strict");
        assert_eq!(filters("Seccomp:\t2\n"), None, "before Linux 5.9");
        assert_eq!(filters(""), Some(0), "a kernel without any");
        assert!(!is_further_than_ours(std::process::id() as i32));
    }
}
