//! Project chores: `cargo xtask COMMAND`.
use clap::Parser;

/// Chores of the timewise project.
#[derive(Parser)]
struct Arguments {}

fn main() {
    Arguments::parse();
}
