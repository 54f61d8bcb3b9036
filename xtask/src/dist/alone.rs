//! The executable where there is nothing else: no libraries, and a kernel that knows no newer calls.

use crate::confine::{answer_as_unknown_from, install};
use anyhow::{Context, Result, ensure};
use std::ffi::CString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::ptr::null;
use timewise_profile::{Exactness, Profile};

/// What the executable finds below it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// The machine's own.
    Own,
    /// One that has the calls of 2016 and no others.
    OfVersion4_9,
}

impl fmt::Display for Kernel {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Kernel::Own => "this kernel",
            Kernel::OfVersion4_9 => "the calls of Linux 4.9",
        })
    }
}

/// The first call that Linux 4.9 has not: `statx`.
const FIRST_AFTER_4_9: u32 = 332;

/// What is profiled: a second of work in a few processes.
const PROGRAM: [&str; 3] =
    ["/bin/sh", "-c", "for round in 1 2 3 4 5 6 7 8; do sha512sum /tmp/timewise /tmp/timewise; done"];

/// Profiles a static program in a folder that holds the two, `/proc` and `/dev/null`, and says what came out.
pub fn run_alone(folder: &Path, kernel: Kernel) -> Result<String> {
    let mut place = folder.as_os_str().to_owned();
    place.push(".alone");
    let place = PathBuf::from(place);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    for part in ["bin", "dev", "proc", "tmp"] {
        fs::create_dir_all(place.join(part))?;
    }
    make_null(&place.join("dev/null")).context("a device: needs root")?;
    for name in ["sh", "sha512sum"] {
        fs::copy("/bin/busybox", place.join("bin").join(name))
            .context("/bin/busybox, of Debian's busybox-static")?;
    }
    let found = run_in(folder, &place, kernel);
    fs::remove_dir_all(&place)?;
    found
}

fn make_null(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name is a C string.
    match unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(1, 3)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Profiles a program in the root folder of another system, likewise.
pub fn run_in(folder: &Path, place: &Path, kernel: Kernel) -> Result<String> {
    let (program, file) = (place.join("tmp/timewise"), place.join("tmp/alone.tw"));
    fs::copy(folder.join("timewise"), &program)?;
    let run = ["/tmp/timewise", "run", "-o", "/tmp/alone.tw", "--"];
    let outputs = output(place, kernel, &PROGRAM)
        .and_then(|native| Ok((native, output(place, kernel, &[&run[..], &PROGRAM[..]].concat())?)));
    let found = outputs.and_then(|(native, profiled)| {
        let said = String::from_utf8_lossy(&profiled.stderr);
        ensure!(native.status.success() && profiled.status.success(), "does not run: {said}");
        ensure!(native.stdout == profiled.stdout, "another output than natively: {said}");
        examine(&program, &file).with_context(|| said.into_owned())
    });
    for left in [program, file] {
        // Not there if something went wrong, which is told below.
        let _ = fs::remove_file(left);
    }
    found
}

/// What a command does there, without any variables but the path.
fn output(place: &Path, kernel: Kernel, words: &[&str]) -> Result<Output> {
    let move_in = Move::to(place, kernel)?;
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env_clear().env("PATH", "/usr/bin:/bin");
    // SAFETY: the closure makes system calls with memory that was made before, and allocates only for errors.
    unsafe { command.pre_exec(move || move_in.make()) };
    command.output().with_context(|| format!("{} in {}: needs root", words[0], place.display()))
}

/// A process's way into another root folder.
struct Move {
    place: CString,
    proc: CString,
    filter: Option<Vec<libc::sock_filter>>,
}

impl Move {
    fn to(place: &Path, kernel: Kernel) -> Result<Move> {
        let name = |path: PathBuf| CString::new(path.as_os_str().as_bytes());
        let filter = (kernel == Kernel::OfVersion4_9).then(|| answer_as_unknown_from(FIRST_AFTER_4_9));
        Ok(Move { place: name(place.into())?, proc: name(place.join("proc"))?, filter })
    }

    fn make(&self) -> io::Result<()> {
        let done = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        // SAFETY: all names are C strings that live on; what is mounted goes with the last process that sees it.
        unsafe {
            done(libc::unshare(libc::CLONE_NEWNS))?;
            let private = libc::MS_REC | libc::MS_PRIVATE;
            done(libc::mount(null(), c"/".as_ptr(), null(), private, null()))?;
            let kind = c"proc".as_ptr();
            done(libc::mount(kind, self.proc.as_ptr(), kind, 0, null()))?;
            done(libc::chroot(self.place.as_ptr()))?;
            done(libc::chdir(c"/".as_ptr()))?;
        }
        self.filter.as_ref().map_or(Ok(()), |filter| install(filter))
    }
}

/// Whether a profile holds what it holds elsewhere.
fn examine(program: &Path, file: &Path) -> Result<String> {
    let profile = Profile::load(file)?;
    ensure!(profile.exactness() == Exactness::Exact, "the counts are not exact");
    let clock = profile.runs.first().and_then(|run| run.clock.as_ref()).context("no clock")?;
    let report = Command::new(program).arg("report").arg(file).args(["--format", "json"]).output()?;
    let report: serde_json::Value = serde_json::from_slice(&report.stdout)?;
    let joined = report["measurement"]["joined_share"].as_f64().context("no samples, or no counts")?;
    ensure!(joined > 0.9, "only {joined} of the time met counts");
    let instructions: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    let samples = profile.samples.len();
    Ok(format!(
        "{samples} samples by {}, {instructions} instructions, {:.1} % joined",
        clock.event,
        100.0 * joined
    ))
}
