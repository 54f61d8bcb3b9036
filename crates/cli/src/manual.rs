//! `timewise manual`, which packagers call: a manual page for each command.

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::path::{Path, PathBuf};

/// Write manual pages, in section 1
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder for them
    folder: PathBuf,
}

/// Writes them.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make '{}'", folder.display()))?;
    let mut command = crate::Arguments::command().disable_help_subcommand(true);
    command.build();
    write(&command, folder)
}

/// A page for a command, and for each of its own.
fn write(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let file = folder.join(format!("{name}.1"));
    let page =
        page(command.clone().name(name)).with_context(|| format!("cannot write '{}'", file.display()))?;
    std::fs::write(&file, page).with_context(|| format!("cannot write '{}'", file.display()))?;
    let mut own = command.get_subcommands().filter(|command| !command.is_hide_set());
    own.try_for_each(|command| write(command, folder))
}

/// The page as roff. What stands below the options on the screen has lines of its own here, too.
fn page(command: Command) -> std::io::Result<Vec<u8>> {
    let notes = command.get_after_help().map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let version = concat!("timewise ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).source(version);
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if has_commands {
        man.render_subcommands_section(&mut out)?;
    }
    if let Some(notes) = notes {
        out.extend(notes_section(&notes));
    }
    Ok(out)
}

fn notes_section(notes: &str) -> Vec<u8> {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]).control("nf", []);
    for line in notes.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff.to_roff().into_bytes()
}
