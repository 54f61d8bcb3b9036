//! When saving fails, the error says why and the former file is whole.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use timewise_profile::store::save::SaveCause;
use timewise_profile::{Module, ModuleKind, Profile};

fn profile(modules: usize) -> Profile {
    let module = Module { kind: ModuleKind::File, path: vec![b'p'; 1000], build_id: Vec::new() };
    Profile { modules: vec![module; modules], ..Profile::default() }
}

/// Saves a small profile, fails to save a large one, and finds the small one unchanged and alone.
fn large_after_small(directory: &Path) -> SaveCause {
    let path = directory.join("profile.tw");
    profile(3).save(&path).unwrap();
    let error = profile(4000).save(&path).unwrap_err();
    let message = error.to_string();
    assert!(message.ends_with("; the former file there is unchanged"), "{message}");
    assert!(!message.contains('\n'), "{message}");
    assert_eq!(Profile::load(&path).unwrap(), profile(3));
    assert_eq!(fs::read_dir(directory).unwrap().count(), 1, "a temporary file was left behind");
    error.cause
}

/// Nobody else may read what was kept to its owner, whatever new files are open to.
#[test]
fn permissions_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profile.tw");
    profile(3).save(&path).unwrap();
    for mode in [0o600, 0o666] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        profile(4).save(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
}

/// A file system of 1 MiB, gone when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` without the right to mount.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "timewise-test"])
            .arg(directory.path())
            .stderr(Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then_some(Self(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn full_disk() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("not checked: no right to mount a small file system");
        return;
    };
    assert!(matches!(large_after_small(disk.0.path()), SaveCause::Full(_)));
}

#[test]
fn file_size_limit() {
    // The limit holds for the whole process, so this test runs itself under a shell that sets it.
    let child = "TIMEWISE_TEST_FILE_SIZE_LIMIT";
    if std::env::var_os(child).is_some() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(large_after_small(directory.path()), SaveCause::Limit));
        return;
    }
    let status = Command::new("bash")
        .args(["-c", "ulimit -f 1024; trap '' XFSZ; exec \"$0\" --exact file_size_limit"])
        .arg(std::env::current_exe().unwrap())
        .env(child, "1")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn missing_directory() {
    let directory = tempfile::tempdir().unwrap();
    let error = profile(1).save(&directory.path().join("no/profile.tw")).unwrap_err();
    assert!(matches!(error.cause, SaveCause::NoDirectory(_)));
    assert!(!error.former_kept);
}

#[test]
fn places_that_are_no_files() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path(), Path::new("/dev/null")] {
        assert!(matches!(profile(1).save(path).unwrap_err().cause, SaveCause::NotAFile));
        assert!(matches!(Profile::check_place(path).unwrap_err().cause, SaveCause::NotAFile));
        let below = profile(1).save(&path.join("no/profile.tw")).unwrap_err();
        assert!(matches!(below.cause, SaveCause::NoDirectory(_) | SaveCause::NotADirectory(_)), "{below}");
    }
    Profile::check_place(&directory.path().join("profile.tw")).unwrap();
    assert_eq!(directory.path().read_dir().unwrap().count(), 0, "the check leaves nothing behind");
    assert!(!Path::new("/dev/null").is_file());
}

#[test]
fn read_only_directory() {
    // procfs refuses new files even to root.
    let error = profile(1).save(Path::new("/proc/self/profile.tw")).unwrap_err();
    assert!(matches!(error.cause, SaveCause::Permission(_) | SaveCause::NoFiles(_)), "{error}");
}

#[test]
fn what_is_inconsistent_is_refused_before_anything_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    let mut odd = profile(0);
    odd.lines.push(timewise_profile::Line {
        place: timewise_profile::Place {
            module: timewise_profile::ModuleId(0),
            version: timewise_profile::CodeVersion(0),
            offset: timewise_profile::Offset(0),
        },
        file: None,
        line: 0,
    });
    let error = odd.save(&directory.path().join("profile.tw")).unwrap_err();
    assert!(matches!(error.cause, SaveCause::Inconsistent(_)));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
