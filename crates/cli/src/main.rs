//! The `timewise` command: arguments, progress, wiring and exit codes; no analysis of its own.
use clap::Parser;

/// Tells where a program's cycles go and why, on unmodified Linux binaries.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {}

fn main() {
    Arguments::parse();
}
