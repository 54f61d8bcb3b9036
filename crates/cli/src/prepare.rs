//! The user's command that puts things back before a run.

use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use timewise_target::inherited::Inherited;

/// Has the shell run `command`, if there is one. What it writes goes to standard error: standard output
/// belongs to the program.
pub fn run(command: Option<&OsStr>) -> anyhow::Result<()> {
    let Some(command) = command else { return Ok(()) };
    let shown = command.to_string_lossy();
    let output = io::stderr().as_fd().try_clone_to_owned().context("cannot pass on standard error")?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(output);
    let inherited = Inherited::at_start();
    // SAFETY: the closure makes system calls only.
    unsafe {
        shell.pre_exec(move || {
            inherited.restore_signals();
            Ok(())
        })
    };
    let status = shell.status().with_context(|| format!("cannot run /bin/sh for --prepare '{shown}'"))?;
    if !status.success() {
        bail!("--prepare '{shown}' failed ({status}); the program was not run after it");
    }
    Ok(())
}
