//! What the system says of a program that stands before its first instruction.

use crate::environment::without_identities;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;

/// The program as it was started.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Program and arguments.
    pub command: Vec<Vec<u8>>,
    /// Working directory.
    pub directory: Vec<u8>,
    /// Variables, in the order that the program finds them, but for those that say that something is meant for its
    /// process alone: another one that is given the others is to find none.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether the kernel chose its addresses at random.
    pub randomised_addresses: bool,
}

impl Subject {
    /// Asks the system about the stopped process `pid`.
    ///
    /// # Errors
    /// The system's, if the process is gone or hidden from us.
    pub fn of(pid: u32) -> io::Result<Subject> {
        let file = |name: &str| format!("/proc/{pid}/{name}");
        Ok(Subject {
            command: zero_ended(&fs::read(file("cmdline"))?),
            directory: fs::read_link(file("cwd"))?.into_os_string().into_vec(),
            environment: without_identities(
                zero_ended(&fs::read(file("environ"))?).iter().map(|entry| split_variable(entry)).collect(),
            ),
            randomised_addresses: randomises(&fs::read_to_string(file("personality"))?),
        })
    }
}

/// Where process `pid`'s program begins, once its loader has done its work.
///
/// # Errors
/// The system's, if the process is gone or hidden from us, or does not say.
pub fn entry_point(pid: i32) -> io::Result<u64> {
    const ENTRY: u64 = 9;
    auxiliary(pid, ENTRY)?.ok_or_else(|| io::Error::other("its auxiliary vector has no entry"))
}

/// Where the loader of process `pid`'s program lies; 0 if it has none.
///
/// # Errors
/// The system's, if the process is gone or hidden from us.
pub fn loader_base(pid: i32) -> io::Result<u64> {
    const BASE: u64 = 7;
    Ok(auxiliary(pid, BASE)?.unwrap_or(0))
}

/// What the kernel told a program when it was executed, by its key.
fn auxiliary(pid: i32, key: u64) -> io::Result<Option<u64>> {
    let vector = fs::read(format!("/proc/{pid}/auxv"))?;
    let word = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_ne_bytes);
    let mut pairs = vector.chunks_exact(16).filter_map(|pair| Some((word(&pair[..8])?, word(&pair[8..])?)));
    Ok(pairs.find(|&(found, _)| found == key).map(|(_, value)| value))
}

fn zero_ended(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .split_inclusive(|&byte| byte == 0)
        .map(|part| part.strip_suffix(b"\0").unwrap_or(part).to_vec())
        .collect()
}

/// A variable without `=` is a name without a value.
fn split_variable(entry: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let at = entry.iter().position(|&byte| byte == b'=').unwrap_or(entry.len());
    (entry[..at].to_vec(), entry.get(at + 1..).unwrap_or_default().to_vec())
}

/// By the process's personality, in hexadecimal, and the setting for the whole system.
fn randomises(personality: &str) -> bool {
    let fixed =
        u64::from_str_radix(personality.trim(), 16).unwrap_or(0) & libc::ADDR_NO_RANDOMIZE as u64 != 0;
    let system = fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap_or_default();
    !fixed && system.trim() != "0"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Launch;

    #[test]
    fn a_stopped_program_is_described_as_it_was_launched() {
        let mut launch = Launch::new("true");
        launch.arguments = vec!["0".into(), "".into()];
        launch.environment = vec![("TIMEWISE_TEST".into(), "a=b".into())];
        launch.randomise_addresses = false;
        let stopped = launch.stopped().unwrap();
        let subject = Subject::of(stopped.pid() as u32).unwrap();
        let _ended = stopped.release().unwrap().wait().unwrap();
        assert_eq!(subject.command, [&b"true"[..], b"0", b""]);
        assert!(subject.environment.contains(&(b"TIMEWISE_TEST".to_vec(), b"a=b".to_vec())));
        assert!(!subject.randomised_addresses);
    }
}
