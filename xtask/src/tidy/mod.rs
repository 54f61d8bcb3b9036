//! `cargo xtask tidy`: the rules of the house that a machine can check. Also a test (`xtask/tests/tidy.rs`).

mod layering;
mod sources;
mod testing;

use anyhow::{Result, bail};
use std::path::Path;

/// Prints the longest files, then fails with every broken rule.
///
/// # Errors
/// If a rule is broken or a file cannot be read.
pub fn run(root: &Path) -> Result<()> {
    let files = sources::tracked(root)?;
    for (lines, path) in sources::longest(root, &files)? {
        println!("{lines:5} {path}");
    }
    let broken = faults(root, &files)?;
    if !broken.is_empty() {
        bail!("the house is not tidy:\n{}", broken.join("\n"));
    }
    Ok(())
}

fn faults(root: &Path, files: &[String]) -> Result<Vec<String>> {
    let mut faults = layering::faults(root)?;
    faults.extend(sources::faults(root, files)?);
    faults.extend(testing::faults(root, files)?);
    Ok(faults)
}
