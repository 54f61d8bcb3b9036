//! `cargo xtask fuzz`: random inputs for what must hold for any.

mod translator;

use anyhow::Result;
use clap::Subcommand;
use std::path::Path;

/// What to fuzz.
#[derive(Subcommand)]
pub enum Command {
    /// Random instruction sequences natively and translated: the same registers, flags and memory
    Translator(translator::Options),
}

/// Carries it out.
///
/// # Errors
/// If something was found.
pub fn run(root: &Path, command: &Command) -> Result<()> {
    match command {
        Command::Translator(options) => translator::run(root, options),
    }
}
