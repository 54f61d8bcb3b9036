//! Which command is attached, and how it is called.

use crate::Errno;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Longer than any program runs.
const FOR_EVER: &str = "100000h";

/// What is executed.
pub struct Command {
    /// Its file.
    pub program: CString,
    /// Its arguments, the name first.
    pub arguments: Vec<CString>,
    /// Its environment.
    pub environment: Vec<CString>,
}

impl Command {
    /// What traces this process into a profile, and tells through a descriptor.
    ///
    /// # Errors
    /// `ENOENT` if there is no such command.
    pub fn new(path: &CStr, rate: u32, length: u32, channel: RawFd) -> Result<Command, Errno> {
        // SAFETY: passes no memory.
        let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
        // Whoever runs a program with rights that they lack must not say what it executes.
        let [own, path_of_commands] =
            ["TIMEWISE", "PATH"].map(|name| std::env::var_os(name).filter(|_| !is_secure));
        let program = found(own, path_of_commands).and_then(string).ok_or(libc::ENOENT)?;
        let output = [b"--output=", path.to_bytes()].concat();
        let words = [
            "timewise".into(),
            "branches".into(),
            "--quiet".into(),
            format!("--frequency={rate}"),
            format!("--length={length}"),
            format!("--pid={}", std::process::id()),
            format!("--for={FOR_EVER}"),
            format!("--tell={channel}"),
        ];
        let words = words.map(OsString::from).into_iter().chain([OsString::from_vec(output)]);
        let arguments = words.filter_map(string).collect();
        Ok(Command { program, arguments, environment: environment() })
    }
}

/// Our environment, without what would load into the command as well what switches tracing on.
fn environment() -> Vec<CString> {
    let ours = std::env::vars_os().filter(|(name, _)| name != "LD_PRELOAD");
    let line = |(name, value): (OsString, OsString)| [name.as_os_str(), &value].join(OsStr::new("="));
    ours.map(line).filter_map(string).collect()
}

/// Where the environment says, or on the path.
fn found(own: Option<OsString>, path: Option<OsString>) -> Option<OsString> {
    let path = path.unwrap_or_default();
    let mut on_path = std::env::split_paths(&path).map(|folder| folder.join("timewise"));
    let file = match own {
        Some(own) => Some(PathBuf::from(own)).filter(|file| may_be_executed(file)),
        None => on_path.find(|file| may_be_executed(file)),
    };
    file.map(PathBuf::into_os_string)
}

fn may_be_executed(file: &Path) -> bool {
    let Ok(name) = CString::new(file.as_os_str().as_bytes()) else { return false };
    // SAFETY: a C string.
    file.is_file() && unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0
}

fn string(word: OsString) -> Option<CString> {
    CString::new(word.into_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_command_is_where_the_environment_says_or_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("timewise");
        let path = || Some(folder.path().into());
        assert_eq!(found(None, path()), None);
        std::fs::write(&file, "").unwrap();
        assert_eq!(found(None, path()), None, "it may not be executed");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let there = Some(file.clone().into_os_string());
        assert_eq!(found(None, path()), there);
        assert_eq!(found(Some(file.into()), None), there);
        assert_eq!(found(Some("/nonexistent".into()), path()), None);
    }
}
