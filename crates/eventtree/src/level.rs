//! How coarsely events divide a run.

use timewise_profile::{OsEvent, OsEventKind, Profile};

/// The level of the tree whose siblings an event parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Programs and libraries are loaded, threads begin and end.
    Programs,
    /// Files are opened, made, renamed or removed; processes are made and waited for; connections are made.
    Files,
    /// Any event.
    Calls,
}

impl Level {
    /// The coarsest level at which an event parts siblings.
    pub fn of(profile: &Profile, event: &OsEvent) -> Level {
        match event.kind {
            OsEventKind::Begin | OsEventKind::Exec | OsEventKind::Image | OsEventKind::End => Level::Programs,
            OsEventKind::Signal => Level::Calls,
            OsEventKind::Call => {
                let name = event.name.map(|id| profile.os_name(id));
                if name.is_some_and(is_about_files) { Level::Files } else { Level::Calls }
            }
        }
    }
}

fn is_about_files(name: &[u8]) -> bool {
    const CALLS: [&str; 39] = [
        "accept",
        "accept4",
        "bind",
        "chdir",
        "clone",
        "clone3",
        "connect",
        "creat",
        "execve",
        "execveat",
        "fdatasync",
        "fork",
        "fsync",
        "ftruncate",
        "ftruncate64",
        "link",
        "linkat",
        "listen",
        "mkdir",
        "mkdirat",
        "mknod",
        "mknodat",
        "open",
        "openat",
        "openat2",
        "rename",
        "renameat",
        "renameat2",
        "rmdir",
        "symlink",
        "symlinkat",
        "truncate",
        "truncate64",
        "unlink",
        "unlinkat",
        "vfork",
        "wait4",
        "waitid",
        "waitpid",
    ];
    CALLS.binary_search_by(|call| call.as_bytes().cmp(name)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{NameId, ThreadId};

    #[test]
    fn the_sooner_sorted_is_found() {
        let profile = Profile {
            os_names: ["accept", "openat", "waitid", "read", "openat3"].map(|name| name.into()).into(),
            ..Profile::default()
        };
        let level = |name| {
            let event = OsEvent {
                thread: ThreadId(0),
                kind: OsEventKind::Call,
                name: Some(NameId(name)),
                object: None,
                begin_ns: 0,
                end_ns: None,
                cpu_ns: 0,
                result: None,
                stack: None,
            };
            Level::of(&profile, &event)
        };
        let levels: Vec<Level> = (0..5).map(level).collect();
        assert_eq!(levels[..3], [Level::Files; 3]);
        assert_eq!(levels[3..], [Level::Calls; 2]);
    }
}
