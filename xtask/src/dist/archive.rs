//! The archive: the executable, manual pages, completions, documents and licences, and a checksum beside it.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
const SHELLS: [(&str, &str); 3] = [("bash", "timewise"), ("zsh", "_timewise"), ("fish", "timewise.fish")];

/// Puts everything into a new folder.
pub fn fill(root: &Path, program: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for part in ["docs", "man/man1", "completions"] {
        fs::create_dir_all(folder.join(part))?;
    }
    fs::copy(program, folder.join("timewise"))?;
    for page in PAGES {
        fs::copy(root.join(page), folder.join(page))?;
    }
    for page in fs::read_dir(root.join("docs"))? {
        let page = page?;
        fs::copy(page.path(), folder.join("docs").join(page.file_name()))?;
    }
    let made = Command::new(program).arg("manual").arg(folder.join("man/man1")).status()?;
    ensure!(made.success(), "the manual pages cannot be made");
    for (shell, file) in SHELLS {
        let output = Command::new(program).args(["completions", shell]).output()?;
        ensure!(output.status.success(), "there are no completions for {shell}");
        fs::write(folder.join("completions").join(file), output.stdout)?;
    }
    Ok(())
}

/// Packs a folder, the same into the same bytes, and writes its checksum.
pub fn pack(root: &Path, folder: &Path) -> Result<PathBuf> {
    let (parent, name) = folder.parent().zip(folder.file_name()).context("a folder in a folder")?;
    let name = name.to_string_lossy();
    let archive = format!("{name}.tar.gz");
    let time = Command::new("git").args(["log", "-1", "--format=@%ct"]).current_dir(root).output()?;
    ensure!(time.status.success(), "git: {}", String::from_utf8_lossy(&time.stderr));
    let time = String::from_utf8_lossy(&time.stdout).trim().to_string();
    let script =
        "tar --owner=0 --group=0 --numeric-owner --sort=name --mode=go-w --mtime=\"$2\" -cf - \"$1\" |
                  gzip -9 -n > \"$1.tar.gz\" && sha256sum \"$1.tar.gz\" > \"$1.tar.gz.sha256\"";
    let packed = Command::new("bash")
        .args(["-o", "pipefail", "-c", script, "pack", &name, &time])
        .current_dir(parent)
        .status()
        .context("bash")?;
    ensure!(packed.success(), "{archive} cannot be packed");
    Ok(parent.join(archive))
}
