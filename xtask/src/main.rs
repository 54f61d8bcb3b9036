//! Project chores: `cargo xtask COMMAND`. One folder or file a chore; `--help` lists them.

mod tidy;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};

/// Chores of the timewise project.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Checks that the sources keep the rules of the house
    Tidy,
}

/// The workspace's root folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Tidy => tidy::run(&root()),
    }
}
