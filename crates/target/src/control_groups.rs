//! What the control groups that a process belongs to, as those of a container, allow it.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that process `pid` may use, with all that share its limits: those of the machine, or fewer. What is not told
/// limits nothing.
pub fn memory_limit(pid: i32) -> u64 {
    in_hierarchies(pid, least).fold(of_the_machine(), u64::min)
}

/// Whether all processes of a group that process `pid` belongs to stand still, as by `docker pause`.
pub fn is_frozen(pid: i32) -> bool {
    in_hierarchies(pid, frozen).any(|is_frozen| is_frozen)
}

/// Whether two processes belong to the same groups; not if that is not told.
pub fn are_same(one: i32, other: i32) -> bool {
    let [one, other] = [one, other].map(|pid| fs::read(format!("/proc/{pid}/cgroup")).unwrap_or_default());
    !one.is_empty() && one == other
}

fn of_the_machine() -> u64 {
    // SAFETY: these pass no memory.
    let [pages, size] =
        [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|n| unsafe { libc::sysconf(n) } as u64);
    pages * size
}

/// What `look` finds in each hierarchy of control groups that is mounted, by the line for it of
/// `/proc/self/mountinfo` and the process's `/proc/PID/cgroup`.
fn in_hierarchies<T>(pid: i32, look: impl Fn(&str, &str) -> Option<T>) -> impl Iterator<Item = T> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let found: Vec<T> = mounts.lines().filter_map(|mount| look(mount, &groups)).collect();
    found.into_iter()
}

/// A process's group in a hierarchy.
struct Group {
    /// Where the hierarchy is mounted.
    point: PathBuf,
    /// The group's folder.
    own: PathBuf,
    /// Whether it is the hierarchy of all controllers, the second version.
    is_unified: bool,
}

/// The group in a hierarchy in which `controller` does its work.
fn group(mount: &str, groups: &str, controller: &str) -> Option<Group> {
    let (place, what) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, Path::new(place.next()?));
    let mut what = what.split(' ');
    let (kind, options) = (what.next()?, what.nth(1).unwrap_or_default());
    let has_it = |list: &str| list.split(',').any(|each| each == controller);
    let (is_unified, is_it): (_, &dyn Fn(&str) -> bool) = match kind {
        "cgroup2" => (true, &str::is_empty),
        "cgroup" if has_it(options) => (false, &has_it),
        _ => return None,
    };
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        is_it(controllers).then_some(path)
    })?;
    // Where another part of the hierarchy is mounted than the process is in, its group cannot be seen, but the top.
    let own = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    Some(Group { point: point.into(), own: point.join(own), is_unified })
}

/// The least limit on memory in a hierarchy, of the process's own group and those above it that can be seen.
fn least(mount: &str, groups: &str) -> Option<u64> {
    let Group { point, own, is_unified } = group(mount, groups, "memory")?;
    let file = if is_unified { "memory.max" } else { "memory.limit_in_bytes" };
    let limits = own.ancestors().take_while(|folder| folder.starts_with(&point));
    limits.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()).min()
}

/// Whether a hierarchy says that the process's group, or one above it, is frozen.
fn frozen(mount: &str, groups: &str) -> Option<bool> {
    let Group { own, is_unified, .. } = group(mount, groups, "freezer")?;
    let (file, said): (_, &[&str]) = match is_unified {
        true => ("cgroup.events", &["frozen 1"]),
        false => ("freezer.state", &["FREEZING", "FROZEN"]),
    };
    Some(fs::read_to_string(own.join(file)).ok()?.lines().any(|line| said.contains(&line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_a_group_and_those_above_counts() {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().display();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        let write = |name: &str, limit: &str| fs::write(folder.path().join(name), limit).unwrap();
        write("a/memory.max", "4096\n");
        write("a/b/memory.max", "max\n");
        let both = format!("30 24 0:26 / {point} rw,nosuid - cgroup2 cgroup2 rw");
        assert_eq!(least(&both, "1:name=systemd:/a\n0::/a/b\n"), Some(4096));
        assert_eq!(least(&both, "0::/\n"), None);
        // As a container sees it: its own group is the root of what is mounted.
        let inner = format!("30 24 0:26 /host/a {point}/a rw - cgroup2 cgroup2 rw");
        assert_eq!(least(&inner, "0::/host/a/b\n"), Some(4096));
        assert_eq!(least(&inner, "0::/../elsewhere\n"), Some(4096));
        write("memory.limit_in_bytes", "8192\n");
        let old = |options| format!("30 24 0:26 / {point} rw shared:1 - cgroup cgroup {options}");
        assert_eq!(least(&old("rw,memory"), "4:cpu,memory:/a/b\n0::/\n"), Some(8192));
        assert_eq!(least(&old("rw,cpu"), "4:cpu,memory:/a/b\n"), None);
        assert!(memory_limit(std::process::id() as i32) <= of_the_machine());
    }

    #[test]
    fn a_frozen_group_is_known_in_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().display();
        fs::create_dir_all(folder.path().join("a")).unwrap();
        let write = |name: &str, state: &str| fs::write(folder.path().join(name), state).unwrap();
        let unified = format!("30 24 0:26 / {point} rw - cgroup2 cgroup2 rw");
        let freezer = format!("30 24 0:26 / {point} rw - cgroup cgroup rw,freezer");
        let groups = "3:freezer:/a\n0::/a\n";
        assert_eq!(frozen(&unified, groups), None);
        for is_frozen in [true, false] {
            write(
                "a/cgroup.events",
                if is_frozen { "populated 1\nfrozen 1\n" } else { "populated 1\nfrozen 0\n" },
            );
            write("a/freezer.state", if is_frozen { "FROZEN\n" } else { "THAWED\n" });
            assert_eq!(
                (frozen(&unified, groups), frozen(&freezer, groups)),
                (Some(is_frozen), Some(is_frozen))
            );
        }
        assert!(!super::is_frozen(std::process::id() as i32));
    }
}
