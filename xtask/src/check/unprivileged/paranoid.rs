//! The setting that refuses performance events to users, where the kernel has such a level, raised for a while.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const SETTING: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Puts back what it is given once its input ends, which it does however we end. Signals for us are none for it.
const PUT_BACK: &str = r#"trap '' INT TERM HUP; read -r _; echo "$2" > "$1""#;

/// It is raised until this is dropped, or we end, be it killed.
pub struct Paranoid(Option<Child>);

impl Paranoid {
    /// Raises it if we may.
    ///
    /// # Errors
    /// If nobody can be charged with putting it back.
    pub fn raise() -> Result<Paranoid> {
        let Ok(before) = fs::read_to_string(SETTING) else { return Ok(Paranoid(None)) };
        let mut shell = Command::new("sh");
        shell.args(["-c", PUT_BACK, "sh", SETTING, before.trim()]).process_group(0);
        let keeper = shell.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().context("sh")?;
        let raised = Paranoid(Some(keeper));
        // Who may not raise it has no need to.
        let _ = fs::write(SETTING, "3");
        Ok(raised)
    }
}

impl Drop for Paranoid {
    fn drop(&mut self) {
        if let Some(keeper) = &mut self.0 {
            // Ends its input first. Nobody is left to be told of a failure.
            let _ = keeper.wait();
        }
    }
}
