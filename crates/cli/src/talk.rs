//! What we say on standard error: standard output belongs to the program or is data.

use crate::progress;
use std::fmt::Display;
use std::io::{Write, stderr};
use timewise_report::visible::visible;

/// Writes `text` and a line's end. Whoever closed our standard error, or filled the disk behind it, does
/// not want to know.
pub fn say(text: impl Display) {
    progress::erase();
    let _ = writeln!(stderr(), "{text}");
}

/// Says what is wrong, in one line whatever names are in it.
pub fn complain(error: impl Display) {
    say(format_args!("timewise: {}", visible(&error.to_string())));
}
