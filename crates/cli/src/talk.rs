//! What we say on standard error: standard output belongs to the program or is data.

use crate::progress;
use std::fmt::Display;
use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use timewise_report::visible::visible;

/// Whether only what is wrong is said.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on only what is wrong is said.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether only what is wrong is said.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes `text` and a line's end, unless we are to be quiet. Whoever closed our standard error, or filled the disk
/// behind it, does not want to know.
pub fn say(text: impl Display) {
    if !is_quiet() {
        write(text);
    }
}

/// Says what is wrong, in one line whatever names are in it.
pub fn complain(error: impl Display) {
    write(format_args!("timewise: {}", visible(&error.to_string())));
}

fn write(text: impl Display) {
    progress::erase();
    let _ = writeln!(stderr(), "{text}");
}
