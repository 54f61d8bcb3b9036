//! How much memory a process may use at most: that of the machine, or what the control groups that it belongs to allow,
//! as those of a container do.

use std::fs;
use std::path::Path;

/// Bytes that process `pid` may use, with all that share its limits. What is not told limits nothing.
pub fn of_process(pid: i32) -> u64 {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().filter_map(|mount| least(mount, &groups)).fold(of_the_machine(), u64::min)
}

fn of_the_machine() -> u64 {
    // SAFETY: these pass no memory.
    let [pages, size] =
        [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|n| unsafe { libc::sysconf(n) } as u64);
    pages * size
}

/// The least limit on memory in a hierarchy of control groups that is mounted, of the process's own group and those above
/// it that can be seen. `mount` is a line of `/proc/PID/mountinfo`, `groups` is `/proc/PID/cgroup`.
fn least(mount: &str, groups: &str) -> Option<u64> {
    let (place, what) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, Path::new(place.next()?));
    let mut what = what.split(' ');
    let (kind, options) = (what.next()?, what.nth(1).unwrap_or_default());
    let has_memory = |list: &str| list.split(',').any(|controller| controller == "memory");
    let (file, is_it): (_, &dyn Fn(&str) -> bool) = match kind {
        "cgroup2" => ("memory.max", &str::is_empty),
        "cgroup" if has_memory(options) => ("memory.limit_in_bytes", &has_memory),
        _ => return None,
    };
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        is_it(controllers).then_some(path)
    })?;
    // Where another part of the hierarchy is mounted than the process is in, what limits it cannot be seen but at the top.
    let own = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    let own = point.join(own);
    let limits = own.ancestors().take_while(|folder| folder.starts_with(point));
    limits.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()).min()
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
        assert!(of_process(std::process::id() as i32) <= of_the_machine());
    }
}
