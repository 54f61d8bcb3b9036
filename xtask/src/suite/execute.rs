//! Running one workload, under a command or alone, and what came of it.

use super::{Size, Workload};
use crate::usage::wait_with_usage;
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How a workload ended.
#[derive(Debug)]
pub struct Executed {
    /// Its exit status; 124 if it was killed for lasting too long.
    pub status: ExitStatus,
    /// MD5 of its filtered standard output.
    pub output: String,
    /// What it wrote to standard error.
    pub errors: String,
    /// From start to end.
    pub elapsed: Duration,
    /// User CPU time, of processes that it waited for too.
    pub user: Duration,
    /// Kernel CPU time, likewise.
    pub kernel: Duration,
}

impl Executed {
    /// User and kernel CPU time.
    pub fn cpu(&self) -> Duration {
        self.user + self.kernel
    }

    /// The last lines of standard error, indented.
    pub fn last_words(&self) -> String {
        let lines: Vec<&str> = self.errors.lines().collect();
        lines[lines.len().saturating_sub(8)..].iter().map(|l| format!("    {l}\n")).collect()
    }
}

/// A folder for one execution's files, gone with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(work: &Path, name: &str) -> Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Always as long: the program finds it in its environment, so its stack begins behind it.
        let folder = work.join("out").join(format!("{name}.{:010}.{number:06}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        // The program may run as another user.
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777))?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a workload with `prefix` before its program, for at most `limit_s` seconds.
///
/// # Errors
/// If it cannot be started or its output cannot be read; not if it fails.
pub fn execute(
    workload: &Workload,
    size: Size,
    work: &Path,
    prefix: &[String],
    limit_s: u32,
) -> Result<Executed> {
    let scratch = Scratch::new(work, &workload.name)?;
    let [output, errors] = ["stdout", "stderr"].map(|name| scratch.0.join(name));
    // "$@" is the prefix; empty, it vanishes, and the program itself is what env executes.
    let script = format!("exec env \"$@\" {}", workload.command(size));
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &limit_s.to_string(), "bash", "-c", &script, "workload"]).args(prefix);
    environment(&mut command, workload, work, &scratch);
    command.stdin(Stdio::null()).stdout(File::create(&output)?).stderr(File::create(&errors)?);
    let started = Instant::now();
    let ended = wait_with_usage(command.spawn().context("timeout, of Debian's coreutils")?)?;
    let elapsed = started.elapsed();

    let mut filter = Command::new("bash");
    filter.args(["-o", "pipefail", "-c", &format!("{{ {}; }} | md5sum", workload.filter)]);
    environment(&mut filter, workload, work, &scratch);
    let filtered = filter.stdin(File::open(&output)?).output().context("md5sum")?;
    let digest = String::from_utf8_lossy(&filtered.stdout).split(' ').next().unwrap_or_default().to_string();
    ensure!(digest.len() == 32, "{}: md5sum printed {digest:?}", workload.name);
    Ok(Executed {
        status: ended.status,
        output: digest,
        errors: String::from_utf8_lossy(&std::fs::read(&errors)?).into_owned(),
        elapsed,
        user: ended.user,
        kernel: ended.kernel,
    })
}

fn environment(command: &mut Command, workload: &Workload, work: &Path, scratch: &Scratch) {
    command.current_dir(work).env("OUT", &scratch.0).env("LC_ALL", "C").env("TZ", "UTC");
    if std::env::var_os("SERVER_PREFIX").is_none() {
        command.env("SERVER_PREFIX", "");
    }
    command.envs(workload.environment.iter().map(|(name, value)| (name, value)));
}
