//! What can go wrong on the way to a faster program.

use std::io;
use std::path::PathBuf;

/// Why there is no faster program.
#[derive(Debug, thiserror::Error)]
pub enum FdoError {
    /// A program of LLVM's is not installed.
    #[error("there is no {tool}; install it, on Debian: apt-get install {package}")]
    Missing {
        /// Its name.
        tool: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// A program failed.
    #[error("{tool} failed: {why}")]
    Failed {
        /// Which.
        tool: String,
        /// Its last words.
        why: String,
    },
    /// The system refused something.
    #[error("cannot {what} {}: {cause}", path.display())]
    System {
        /// The operation.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// Whoever asked for it stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The profile had no say in what was built.
    #[error(
        "the build makes the same program with a profile as without: its command must give $FDO_FLAGS to clang for all \
         that matters, and compile it again"
    )]
    Unchanged,
    /// The program does not do the same twice.
    #[error(
        "{} does not do the same each time: {what}; nothing can be compared with it: have it do the same, as by a fixed \
         seed, one thread, or an output without times",
        program.display()
    )]
    Unsteady {
        /// The program.
        program: PathBuf,
        /// What is different.
        what: String,
    },
    /// The optimised program does something else than the one before.
    #[error("{} does not do what {} does: {what}", test.display(), base.display())]
    Differs {
        /// The program before.
        base: PathBuf,
        /// The optimised program.
        test: PathBuf,
        /// What is different.
        what: String,
    },
}
