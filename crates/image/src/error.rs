//! Why a module's file tells us nothing.

use std::io;
use std::path::PathBuf;

/// A module cannot be read, or is not the one that ran.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// There is no such file any more.
    #[error(
        "'{}' was deleted after it ran, or only the program saw it (in a container, say): its functions and lines are \
         unknown; restore it or profile again",
        .0.display()
    )]
    Missing(PathBuf),
    /// The system refuses to read it.
    #[error("cannot read '{}': {cause}; its functions and lines are unknown", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// It is another file than the one that ran.
    #[error(
        "'{}' changed after it ran, or the program saw another there, as in a container (build id {} then, {} now): its \
         functions and lines are unknown; restore it or profile again",
        path.display(), hex(expected), hex(found)
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// Build id of what ran.
        expected: Vec<u8>,
        /// Build id of what is there.
        found: Vec<u8>,
    },
    /// It is no ELF file for x86-64.
    #[error("'{}' is {what}, not a 64-bit x86 ELF file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// Its headers contradict themselves.
    #[error("'{}' is damaged or cut short: {what}; restore it or build it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the reader stumbled over.
        what: String,
    },
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
