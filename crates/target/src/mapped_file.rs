//! Where the file lies that a process has mapped: at its path as we see it or, with a root or a mount namespace of its
//! own, as the process sees it.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file as the kernel tells of it where it is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Its device, as `stat` gives it; 0 where it is not told.
    pub device: u64,
    /// Its number; 0 where it is not told.
    pub inode: u64,
}

/// The file at `path` that process `pid` has mapped; none if what stands there is surely another.
pub fn find(path: &[u8], pid: u32, identity: Identity) -> Option<PathBuf> {
    let [seen, inside] = candidates(path, pid)?;
    match (identity.likeness(&seen), || identity.likeness(&inside)) {
        (Some(Likeness::Same), _) => Some(seen),
        // What we see stays when the process has ended.
        (likeness, inner) if inner() > likeness => Some(inside),
        (likeness, _) => likeness.map(|_| seen),
    }
}

/// Where a file of process `pid` may lie: at its path as we see it, and as the process does.
pub fn candidates(path: &[u8], pid: u32) -> Option<[PathBuf; 2]> {
    let seen = Path::new(OsStr::from_bytes(path));
    let inside = Path::new("/proc").join(pid.to_string()).join("root").join(seen.strip_prefix("/").ok()?);
    Some([seen.to_path_buf(), inside])
}

/// The path by which to name a file that was found there, or not at all: where another stands at its path, and no build id
/// would tell them apart, that is not to be taken for it.
pub fn name(path: &[u8], build_id: &[u8], found: Option<&Path>) -> Vec<u8> {
    let seen = Path::new(OsStr::from_bytes(path));
    let is_mistaken = build_id.is_empty() && found != Some(seen) && seen.exists();
    if is_mistaken { [path, b" (another file)"].concat() } else { path.into() }
}

/// How sure it is that a file is the one that was mapped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Likeness {
    /// Its file system may show it with other numbers than where it is mapped.
    Possible,
    /// It has its number, of a device that goes by several.
    Number,
    Same,
}

impl Identity {
    /// None if it is another.
    fn likeness(self, path: &Path) -> Option<Likeness> {
        let found = path.metadata().ok()?;
        match (found.dev() == self.device, found.ino() == self.inode) {
            (true, true) => Some(Likeness::Same),
            (_, true) => (self.device == 0 || !self.is_told(path, &found)).then_some(Likeness::Number),
            (_, false) => (self.inode == 0 || !self.is_told(path, &found)).then_some(Likeness::Possible),
        }
    }

    /// Whether a file's numbers are the ones that it would be mapped with.
    fn is_told(self, path: &Path, found: &Metadata) -> bool {
        found.dev() == self.device || is_plain(path)
    }
}

fn is_plain(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|system| PLAIN.contains(&system.f_type))
}

/// File systems that show their files with the numbers that these are mapped with: ext2 to 4, XFS, F2FS, tmpfs, SquashFS.
/// Those that lie over others do not always.
const PLAIN: [i64; 5] = [0xef53, 0x5846_5342, 0xf2f5_2010, 0x0102_1994, 0x7371_7368];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_is_mapped_is_found_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&other, "2").unwrap();
        let identity = |path: &Path| {
            let found = path.metadata().unwrap();
            Identity { device: found.dev(), inode: found.ino() }
        };
        let find = |path: &Path, identity| find(path.as_os_str().as_bytes(), std::process::id(), identity);
        assert_eq!(find(&one, identity(&one)), Some(one.clone()));
        assert_eq!(find(&one, identity(&other)), None, "of the same device, another number");
        let untold = Identity { device: 0, ..identity(&one) };
        assert_eq!(find(&one, untold), Some(one.clone()));
        let elsewhere = Identity { device: !0, ..identity(&one) };
        let is_another = is_plain(&one);
        assert_eq!(find(&one, elsewhere).is_none(), is_another, "of the same number, on another device");
        assert_eq!(find(&one, Identity { device: 0, inode: 0 }), Some(one.clone()), "nothing is told");
        let none = folder.path().join("none");
        assert_eq!(find(&none, identity(&one)), None);
        let name = |path: &Path, found| name(path.as_os_str().as_bytes(), &[], found);
        assert_eq!(name(&one, Some(&one)), one.as_os_str().as_bytes());
        assert!(name(&one, None).ends_with(b"one (another file)"));
        assert_eq!(name(&none, None), none.as_os_str().as_bytes());
        assert_eq!(super::name(b"/", &[1], None), b"/", "a build id tells them apart");
    }
}
