//! Running a program of LLVM's.

use crate::fault::FdoError;
use std::process::Command;

/// Runs it to its end: all that it wrote.
///
/// # Errors
/// If it cannot be started, or fails: with its last lines.
pub fn run(command: &mut Command) -> Result<String, FdoError> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| FdoError::Failed { tool: tool.clone(), why };
    let output = command.output().map_err(|cause| failed(cause.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(text.into_owned());
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = match &lines[lines.len().saturating_sub(2)..] {
        [] => "it did not say why".into(),
        last => last.join("; "),
    };
    Err(failed(format!("{}: {last}", output.status)))
}
