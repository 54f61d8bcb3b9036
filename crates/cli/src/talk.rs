//! What we say on standard error: standard output belongs to the program or is data.

use crate::progress;
use std::fmt::Display;
use std::io::{Write, stderr};

/// Writes `text` and a line's end. Whoever closed our standard error, or filled the disk behind it, does
/// not want to know.
pub fn say(text: impl Display) {
    progress::erase();
    let _ = writeln!(stderr(), "{text}");
}
