//! What the reader sees through: width and colours of the terminal, and a pipe that may be closed.

use anyhow::{anyhow, bail};
use rustix::termios;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use timewise_report::Style;
use timewise_target::inherited::Inherited;

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless the variable NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Wider lines are hard to follow with the eye.
const WIDEST: usize = 160;

/// Narrower ones hold no table.
const NARROWEST: usize = 40;

/// How to write to `stream`: as wide as its terminal, or as the variable `COLUMNS` says.
pub fn style(stream: &(impl AsFd + IsTerminal), colour: Colour) -> Style {
    let variable = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let plain = Style::default();
    // Where nobody knows, both are 0.
    let known = |width: &usize| *width > 0;
    let width = terminal()
        .filter(known)
        .or_else(|| variable().filter(known))
        .unwrap_or(plain.width)
        .clamp(NARROWEST, WIDEST);
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let colour = match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => stream.is_terminal() && !refused && !dumb,
    };
    Style { width, colour }
}

/// How to write to a file: the variables of a terminal do not concern it.
pub fn file_style(colour: Colour) -> Style {
    Style { colour: colour == Colour::Always, ..Style::default() }
}

/// Writes `text` to standard output. A reader who has seen enough is no error.
///
/// # Errors
/// What writing met with, such as a full disk.
pub fn show(text: &str) -> anyhow::Result<()> {
    write(text.as_bytes())
}

/// Likewise for what is not text.
///
/// # Errors
/// What writing met with, such as a full disk.
pub fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    judge(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Whether what was written to standard output arrived, or nobody wanted it.
///
/// # Errors
/// What writing met with.
pub fn judge(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Ok(()) if Inherited::at_start().lacked_output() => {
            bail!(
                "cannot write to standard output: it is closed; leave it open, or name a file where there is --output"
            )
        }
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => {
            result.map_err(|error| anyhow!("cannot write to standard output: {error}; send it elsewhere"))
        }
    }
}
