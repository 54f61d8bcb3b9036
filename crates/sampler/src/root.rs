//! The process that a recording begins with, as it stands then.

use crate::roster::Roster;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use timewise_callers::present_mappings;
use timewise_target::cpu_time::monotonic_ns;
use timewise_target::family;
use timewise_target::perf::RawMapping;

/// The process that a recording begins with.
#[derive(Debug)]
pub struct Root {
    /// Its id.
    pub pid: u32,
    /// Path of its executable.
    pub executable: Vec<u8>,
    /// Name of its first thread, the only one of a program that stands before its first instruction.
    pub name: String,
    /// Its other threads, by id, with their names.
    pub others: Vec<(u32, String)>,
    /// What it has mapped so far.
    pub mappings: Vec<RawMapping>,
}

impl Root {
    /// Asks the system about the process `pid`.
    ///
    /// # Errors
    /// The system's, if the process is gone or hidden from us.
    pub fn of(pid: u32) -> io::Result<Root> {
        let named = |bytes: Vec<u8>| String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
        let name = named(fs::read(format!("/proc/{pid}/comm"))?);
        let others = family::threads(pid as i32).into_iter().map(|tid| tid as u32).filter(|&tid| tid != pid);
        // One without a name ended meanwhile.
        let others = others
            .filter_map(|tid| Some((tid, named(fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?))));
        Ok(Root {
            others: others.collect(),
            pid,
            executable: fs::read_link(format!("/proc/{pid}/exe"))?.into_os_string().into_vec(),
            name,
            mappings: present_mappings(pid)?,
        })
    }

    /// Its threads, of which all that was before now is of no concern.
    pub fn roster(&self) -> Roster {
        let threads = std::iter::once(self.pid).chain(self.others.iter().map(|&(tid, _)| tid));
        Roster::of(self.pid as i32, threads.map(|tid| tid as i32), monotonic_ns())
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
