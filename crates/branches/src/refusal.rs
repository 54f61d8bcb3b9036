//! Programs that would not bear being traced.

use std::fs;
use std::io;

/// Why process `pid`, which stands before its first instruction, is not to be traced; `None` if nothing speaks
/// against it.
///
/// # Errors
/// The system's, if its executable cannot be read.
pub fn why_not(pid: i32) -> io::Result<Option<&'static str>> {
    // What `go version` looks for.
    const BUILD_INFORMATION: &[u8] = b"\xff Go buildinf:";
    let program = fs::read(format!("/proc/{pid}/exe"))?;
    let go = program.windows(BUILD_INFORMATION.len()).any(|window| window == BUILD_INFORMATION);
    Ok(go.then_some("Go programs handle SIGTRAP, by which branches are traced, themselves"))
}
