//! The process that a recording begins with, as it stands before its first instruction.

use crate::modules::present_mappings;
use crate::record::RawMapping;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;

/// The process that a recording begins with.
#[derive(Debug)]
pub struct Root {
    /// Its id.
    pub pid: u32,
    /// Path of its executable.
    pub executable: Vec<u8>,
    /// Name of its only thread.
    pub name: String,
    /// What it has mapped so far.
    pub mappings: Vec<RawMapping>,
}

impl Root {
    /// Asks the system about the stopped process `pid`.
    ///
    /// # Errors
    /// The system's, if the process is gone or hidden from us.
    pub fn of(pid: u32) -> io::Result<Root> {
        let name = fs::read(format!("/proc/{pid}/comm"))?;
        Ok(Root {
            pid,
            executable: fs::read_link(format!("/proc/{pid}/exe"))?.into_os_string().into_vec(),
            name: String::from_utf8_lossy(name.trim_ascii_end()).into_owned(),
            mappings: present_mappings(pid)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use timewise_target::launch::Launch;

    #[test]
    fn a_stopped_program_has_mapped_its_executable() {
        let stopped = Launch::new("true").stopped().unwrap();
        let root = Root::of(stopped.pid() as u32).unwrap();
        let _ended = stopped.release().unwrap().wait().unwrap();
        assert_eq!(root.name, "true");
        let executable = PathBuf::from(std::ffi::OsString::from_vec(root.executable.clone()));
        assert_eq!(executable.file_name(), fs::canonicalize("/bin/true").unwrap().file_name());
        assert!(root.mappings.iter().any(|mapping| mapping.path == root.executable));
    }
}
