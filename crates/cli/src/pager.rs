//! Long text on a terminal goes through a pager, as `git` and `man` do.

use crate::{screen, signals};
use rustix::termios;
use std::ffi::OsString;
use std::io::{IsTerminal, Write, stdout};
use std::process::{Child, Command, Stdio};

/// For `less`, unless the user has said how it is to behave: leave at once if all fits (F), show colours (R),
/// leave the text on the screen (X).
const LESS: &str = "FRX";

/// Shows `text`: by the pager if it is longer than the terminal that standard output is, and the reader wants
/// one.
///
/// # Errors
/// What writing met with.
pub fn show(text: &str, is_wanted: bool) -> anyhow::Result<()> {
    match start().filter(|_| is_wanted && is_longer_than_terminal(text)) {
        Some(command) => page(text, command),
        None => screen::show(text),
    }
}

fn is_longer_than_terminal(text: &str) -> bool {
    let rows = termios::tcgetwinsize(stdout()).map_or(0, |size| usize::from(size.ws_row));
    // The shell's prompt takes a line as well.
    stdout().is_terminal() && rows > 0 && text.lines().count() >= rows
}

/// The command of the variable `PAGER`, or `less` where there is one; `None` if the user wants none.
fn start() -> Option<Command> {
    let chosen = match std::env::var_os("PAGER") {
        Some(chosen) => chosen,
        None if is_installed("less") => OsString::from("less"),
        None => return None,
    };
    if chosen.is_empty() || chosen == "cat" {
        return None;
    }
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(chosen).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    Some(command)
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// What a shell says of a command that it cannot find or execute.
const NOT_RUN: [Option<i32>; 2] = [Some(126), Some(127)];

fn page(text: &str, mut command: Command) -> anyhow::Result<()> {
    let Ok(mut child) = command.spawn() else { return screen::show(text) };
    // An interrupt is for the pager, which has the terminal.
    signals::ignore_interrupts();
    feed(&mut child, text);
    match child.wait() {
        Ok(status) if NOT_RUN.contains(&status.code()) => screen::show(text),
        _ => Ok(()),
    }
}

/// Gives the pager what it shows; a reader who has seen enough closes it.
fn feed(child: &mut Child, text: &str) {
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
}
