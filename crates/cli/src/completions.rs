//! `timewise completions`: what a shell needs to complete our options.

use crate::screen;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise completions bash > ~/.local/share/bash-completion/completions/timewise
  timewise completions zsh > ~/.zfunc/_timewise         ~/.zfunc being in fpath
  timewise completions fish > ~/.config/fish/completions/timewise.fish")]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints them.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "timewise", &mut text);
    screen::show(&String::from_utf8_lossy(&text))
}
