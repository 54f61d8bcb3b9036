//! Readers that are not packages of the system: installed below the target folder, once.

use super::printed;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Python packages: a reader of Parquet, and a checker of JSON schemas.
const PYTHON: [&str; 2] = ["duckdb==1.4.4", "jsonschema==4.25.1"];

/// The package that holds speedscope's schema.
const SPEEDSCOPE: &str = "speedscope@1.25.0";

/// What was installed.
pub struct Needs {
    python: PathBuf,
    /// The script that opens files.
    script: PathBuf,
    /// Speedscope's schema.
    pub schema: PathBuf,
}

impl Needs {
    /// Installs what is missing.
    ///
    /// # Errors
    /// If something cannot be installed.
    pub fn install(root: &Path, folder: &Path) -> Result<Needs> {
        printed(Command::new(root.join("scripts/setup-debian")).args(["test", "exports"]))?;
        let environment = folder.join("python");
        let python = environment.join("bin/python");
        let installed = environment.join(PYTHON.join("+"));
        if !installed.exists() {
            printed(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
            printed(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PYTHON))?;
            std::fs::write(&installed, "").with_context(|| installed.display().to_string())?;
        }
        let packages = folder.join("node");
        let schema = packages.join(SPEEDSCOPE).join("package/dist/release/file-format-schema.json");
        if !schema.exists() {
            let packed = packages.join(SPEEDSCOPE);
            std::fs::create_dir_all(&packed).with_context(|| packed.display().to_string())?;
            printed(Command::new("npm").args(["pack", "--silent", SPEEDSCOPE]).current_dir(&packed))?;
            let unpack = "tar -xzf speedscope-*.tgz";
            printed(Command::new("sh").args(["-c", unpack]).current_dir(&packed))?;
        }
        Ok(Needs { python, script: root.join("xtask/src/check/exports/open.py"), schema })
    }

    /// Opens files as a reader does; gives what the script prints.
    ///
    /// # Errors
    /// If the reader finds a fault.
    pub fn open(&self, reader: &str, files: &[&Path]) -> Result<String> {
        let output = printed(Command::new(&self.python).arg(&self.script).arg(reader).args(files))?;
        Ok(String::from_utf8(output)?)
    }
}
