//! From a program's name to a file that this system executes and we can profile, or to one line
//! that says why not. Asked before launching: afterwards all that is left is an error number.

use crate::launch::LaunchError;
use std::ffi::CString;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// As many interpreters of interpreters as the kernel follows.
const MOST_INTERPRETERS: usize = 5;
/// The kernel reads this much of a `#!` line.
const FIRST_LINE_BYTES: u64 = 256;

/// Finds the file that a program's name means, as `execvp` would, and checks it.
///
/// # Errors
/// [`LaunchError::NotFound`] if there is none; [`LaunchError::NotExecutable`] if it is a directory,
/// lacks the permission, may not be read, gains rights that we lack, is neither a script nor a 64-bit program for this
/// processor, or if its interpreter or loader is any of that.
pub fn resolve(program: &OsStr) -> Result<PathBuf, LaunchError> {
    let file = find(program).ok_or_else(|| LaunchError::NotFound(program.to_string_lossy().into_owned()))?;
    match unfit(&file, MOST_INTERPRETERS) {
        Some(why) => Err(LaunchError::NotExecutable { path: program.to_string_lossy().into_owned(), why }),
        None => Ok(file),
    }
}

fn find(program: &OsStr) -> Option<PathBuf> {
    if program.is_empty() {
        return None;
    }
    let candidate = Path::new(program);
    if program.as_bytes().contains(&b'/') {
        return candidate.exists().then(|| candidate.to_path_buf());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let all: Vec<PathBuf> = std::env::split_paths(&path).map(|directory| directory.join(candidate)).collect();
    let fit = all.iter().find(|file| file.metadata().is_ok_and(|m| m.is_file() && is_executable(&m)));
    fit.or_else(|| all.iter().find(|file| file.is_file())).cloned()
}

fn is_executable(metadata: &Metadata) -> bool {
    metadata.mode() & 0o111 != 0
}

/// Why a file cannot be profiled; `None` if it can, or if we cannot tell.
fn unfit(file: &Path, interpreters: usize) -> Option<String> {
    let metadata = file.metadata().ok()?;
    if metadata.is_dir() {
        return Some("is a directory; name a program".into());
    }
    if !metadata.is_file() {
        return Some("is not a regular file; name a program".into());
    }
    if !is_executable(&metadata) {
        return Some(format!("not executable; run: chmod +x {}", file.display()));
    }
    if let Some(why) = gains_rights(file, &metadata) {
        return Some(why);
    }
    let mut content = match File::open(file) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::PermissionDenied && may_execute(file) => {
            return Some(unreadable(file));
        }
        Err(_) => return None,
    };
    let mut head = Vec::new();
    content.by_ref().take(FIRST_LINE_BYTES).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        return unfit_script(file, line, interpreters);
    }
    if !head.starts_with(b"\x7fELF") {
        let what =
            if head.is_empty() { "is empty" } else { "neither an ELF program nor a script with a #! line" };
        return Some(format!("{what}; if it is a shell script, run: timewise … -- sh {}", file.display()));
    }
    unfit_elf(&head).or_else(|| missing_loader(&mut content, &head))
}

/// Whether the system would let us execute the file, as far as its permissions go.
fn may_execute(file: &Path) -> bool {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path is a live string that ends with a zero.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) == 0 }
}

/// What nobody may read, nobody may look at while it runs: the system refuses both samples and `ptrace`.
fn unreadable(file: &Path) -> String {
    format!(
        "may be executed but not read, so that it cannot be profiled; make it readable: chmod +r {}",
        file.display()
    )
}

/// Whether a file gives rights to whoever executes it that the system denies to what we observe.
pub fn loses_rights(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| gains_rights(file, &metadata).is_some())
}

/// The system ignores what gives rights to a program that somebody without such rights observes, so that it
/// would not run as it does otherwise.
fn gains_rights(file: &Path, metadata: &Metadata) -> Option<String> {
    // SAFETY: these take no memory and cannot fail.
    let (we, gains_none) = unsafe {
        ((libc::geteuid(), libc::getegid()), libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
    };
    if gains_none {
        return None;
    }
    let what = if rights_denied(metadata.mode(), (metadata.uid(), metadata.gid()), we) {
        "runs with another user's rights (setuid)"
    } else if we.0 != ROOT && has_capabilities(file) {
        "runs with capabilities of its file (setcap)"
    } else {
        return None;
    };
    Some(format!(
        "{what}, which the system denies to a program under observation; run: sudo timewise … -- {}",
        file.display()
    ))
}

const ROOT: u32 = 0;

/// Whether `we`, a user and a group, would run a file without the rights that its mode promises.
fn rights_denied(mode: u32, owner: (u32, u32), we: (u32, u32)) -> bool {
    let other_user = mode & libc::S_ISUID != 0 && owner.0 != we.0;
    let other_group = mode & libc::S_ISGID != 0 && owner.1 != we.1;
    we.0 != ROOT && (other_user || other_group)
}

/// Whether a file gives capabilities to whoever executes it.
pub fn has_capabilities(file: &Path) -> bool {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else { return false };
    let mut value = [0_u8; 24];
    // SAFETY: both names are C strings, and the value is written to, which is as long as it says.
    let size = unsafe {
        let name = c"security.capability".as_ptr();
        libc::getxattr(path.as_ptr(), name, value.as_mut_ptr().cast(), value.len())
    };
    // Behind its version two sets of 64 bits, which may be empty, and whose user they are for.
    size > 0 && value[4..20].iter().any(|&byte| byte != 0)
}

const ENDLESS: &str =
    "its interpreter is a script whose interpreter is a script, and so on; name a program in its #! line";

/// `line` is what follows `#!` in `script`.
fn unfit_script(script: &Path, line: &[u8], interpreters: usize) -> Option<String> {
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    // To the kernel a carriage return is as good a letter of a name as any.
    let interpreter = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty());
    let Some(interpreter) = interpreter.filter(|name| !name.trim_ascii().is_empty()) else {
        return Some("its #! line names no interpreter".into());
    };
    let file = Path::new(OsStr::from_bytes(interpreter));
    let shown = file.display();
    if !file.exists() {
        let name = interpreter.strip_suffix(b"\r").map(String::from_utf8_lossy);
        return Some(match name {
            Some(name) => format!(
                "its interpreter {name}\\r is not there, as its lines end in carriage returns; run: \
                 sed -i 's/\\r$//' {}",
                script.display()
            ),
            None => format!("its interpreter {shown} is not there; install it or correct the #! line"),
        });
    }
    let why = match interpreters.checked_sub(1) {
        Some(left) => unfit(file, left)?,
        None => ENDLESS.into(),
    };
    // Of a script that is its own interpreter it would be said again and again.
    Some(if why == ENDLESS { why } else { format!("its interpreter {shown}: {why}") })
}

const CLASS_64_BIT: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const X86_64: u16 = 62;
const EXECUTABLE: u16 = 2;
const SHARED: u16 = 3;
const INTERPRETER_SEGMENT: u32 = 3;

const HEADER_BYTES: usize = 64;
/// The kernel executes nothing with another size of them.
const PROGRAM_HEADER_BYTES: usize = 56;
const TRUNCATED: &str = "is a truncated ELF file; build or install it again";

fn unfit_elf(head: &[u8]) -> Option<String> {
    let (Some(&class), Some(&order)) = (head.get(4), head.get(5)) else {
        return Some(TRUNCATED.into());
    };
    let read =
        |at| if order == LITTLE_ENDIAN { u16_at(head, at) } else { u16_at(head, at).map(u16::swap_bytes) };
    let (Some(kind), Some(machine)) = (read(16), read(18)) else {
        return Some(TRUNCATED.into());
    };
    if machine == X86_64 && class != CLASS_64_BIT {
        return Some("is an x32 program; only 64-bit x86-64 programs can be profiled".into());
    }
    if machine != X86_64 {
        let name = machine_name(machine);
        return Some(format!("is a program for {name}; only 64-bit x86-64 programs can be profiled"));
    }
    match kind {
        EXECUTABLE | SHARED if head.len() < HEADER_BYTES => Some(TRUNCATED.into()),
        EXECUTABLE | SHARED => None,
        _ => Some("is an ELF file but no program (an object or core file); link it first".into()),
    }
}

fn machine_name(machine: u16) -> String {
    match machine {
        3 => "32-bit x86".into(),
        8 => "MIPS".into(),
        20 | 21 => "PowerPC".into(),
        22 => "s390".into(),
        40 => "32-bit Arm".into(),
        183 => "AArch64".into(),
        243 => "RISC-V".into(),
        258 => "LoongArch".into(),
        other => format!("another processor (ELF machine {other})"),
    }
}

/// A dynamic program whose loader is missing fails to start with "no such file", as if it were
/// missing itself.
fn missing_loader(content: &mut File, head: &[u8]) -> Option<String> {
    let table = u64_at(head, 32)?;
    let (entry_size, entries) = (u16_at(head, 54)?, u16_at(head, 56)?);
    if usize::from(entry_size) != PROGRAM_HEADER_BYTES {
        return Some(TRUNCATED.into());
    }
    let mut headers = vec![0; PROGRAM_HEADER_BYTES * usize::from(entries)];
    content.seek(SeekFrom::Start(table)).ok()?;
    if content.read_exact(&mut headers).is_err() {
        return Some(TRUNCATED.into());
    }
    let interpreter = headers
        .chunks_exact(PROGRAM_HEADER_BYTES)
        .find(|header| u32_at(header, 0) == Some(INTERPRETER_SEGMENT))?;
    let (offset, size) = (u64_at(interpreter, 8)?, u64_at(interpreter, 32)?);
    let mut path = Vec::new();
    content.seek(SeekFrom::Start(offset)).ok()?;
    content.take(size.min(libc::PATH_MAX as u64)).read_to_end(&mut path).ok()?;
    let path = path.split(|&byte| byte == 0).next().unwrap_or_default();
    let loader = Path::new(OsStr::from_bytes(path));
    (!loader.exists()).then(|| {
        format!("its loader {} is not there; install the C library that it was built for", loader.display())
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Writes an executable file and says why it cannot be profiled.
    fn why(content: &[u8]) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("program");
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        match resolve(file.as_os_str()) {
            Ok(_) => None,
            Err(LaunchError::NotExecutable { why, .. }) => Some(why),
            Err(other) => panic!("{other}"),
        }
    }

    /// A working program with some bytes changed.
    fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut program = fs::read("/bin/true").unwrap();
        program[at..at + bytes.len()].copy_from_slice(bytes);
        program
    }

    #[test]
    fn what_is_not_there_or_not_a_program_is_told_apart() {
        assert!(matches!(resolve("no-such-program".as_ref()), Err(LaunchError::NotFound(_))));
        assert!(matches!(resolve("./no/such".as_ref()), Err(LaunchError::NotFound(_))));
        assert!(matches!(resolve("".as_ref()), Err(LaunchError::NotFound(_))));
        let refused = |path: &str| resolve(path.as_ref()).unwrap_err().to_string();
        assert!(refused("/etc").contains("is a directory"));
        assert!(refused("/etc/passwd").contains("chmod +x"));
        assert!(resolve("sh".as_ref()).is_ok());
    }

    #[test]
    fn programs_for_other_processors_are_named() {
        assert_eq!(why(&changed(0, b"\x7fELF")), None);
        assert!(why(&changed(4, &[1, 1, 1, 0])).unwrap().contains("x32"));
        let mut x86 = changed(4, &[1]);
        x86[18] = 3;
        assert!(why(&x86).unwrap().contains("32-bit x86"));
        assert!(why(&changed(18, &183_u16.to_le_bytes())).unwrap().contains("AArch64"));
        // A big-endian one: s390.
        let mut s390 = changed(5, &[2]);
        s390[16..20].copy_from_slice(&[0, 2, 0, 22]);
        assert!(why(&s390).unwrap().contains("s390"));
        assert!(why(&changed(16, &1_u16.to_le_bytes())).unwrap().contains("link it first"));
        for length in 4..20 {
            assert!(why(&changed(0, b"\x7fELF")[..length]).unwrap().contains("truncated"));
        }
    }

    #[test]
    fn scripts_are_as_good_as_their_interpreter() {
        assert_eq!(why(b"#!/bin/sh\nexit 0\n"), None);
        assert_eq!(why(b"#! /usr/bin/env sh\n"), None);
        assert!(why(b"#!/no/such -x\n").unwrap().contains("/no/such is not there"));
        assert!(why(b"#!/etc\n").unwrap().contains("is a directory"));
        for nothing in [&b"#!\n"[..], b"#! \t\n", b"#!\r\n"] {
            assert!(why(nothing).unwrap().contains("no interpreter"));
        }
        let said = why(b"#!/bin/sh\r\nexit 0\r\n").unwrap();
        assert!(said.contains("/bin/sh\\r is not there") && said.contains("sed -i 's/\\r$//' /"), "{said}");
        // That is an argument's, and of no concern to the system.
        assert_eq!(why(b"#!/bin/sh -e\r\n"), None);
        assert!(why(b"exit 0\n").unwrap().contains("-- sh"));
        assert!(why(b"").unwrap().contains("is empty"));
    }

    #[test]
    fn setuid_matters_only_where_it_changes_something() {
        let (plain, setuid, setgid) = (0o755, 0o4755, 0o2755);
        assert!(rights_denied(setuid, (0, 0), (1000, 1000)));
        assert!(rights_denied(setgid, (1000, 5), (1000, 1000)));
        assert!(!rights_denied(plain, (0, 0), (1000, 1000)));
        assert!(!rights_denied(setuid, (1000, 5), (1000, 1000)));
        assert!(!rights_denied(setuid, (0, 0), (0, 0)));
    }

    #[test]
    fn a_missing_loader_is_named() {
        let mut program = fs::read("/bin/true").unwrap();
        let loader = b"/lib64/ld-linux";
        let at = program.windows(loader.len()).position(|window| window == loader).unwrap();
        program[at..at + 4].copy_from_slice(b"/xyz");
        assert!(why(&program).unwrap().contains("/xyz64/ld-linux"));
    }

    #[test]
    fn damaged_headers_give_an_answer() {
        let program = fs::read("/bin/true").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("program");
        let byte = prop_oneof![any::<u8>(), select(vec![0, 1, 0x7f, 0x80, 0xff])];
        let changes = vec((0..1024usize, byte), 1..20);
        let mut runner = TestRunner::deterministic();
        for _ in 0..2000 {
            let mut damaged = program[..4096].to_vec();
            for (at, byte) in changes.new_tree(&mut runner).unwrap().current() {
                damaged[at] = byte;
            }
            fs::write(&file, damaged).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            match resolve(file.as_os_str()) {
                Ok(_) | Err(LaunchError::NotExecutable { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
}
