//! `timewise annotate`: one function, instruction by instruction, between its source lines.

use crate::arguments::DEFAULT_FILE;
use crate::reading::{self, Format, Reading};
use crate::sources::Sources;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use timewise_flow::Analysis;
use timewise_report::annotate;

/// Show a function's instructions with their source, executions and cost
#[derive(clap::Args)]
#[command(
    override_usage = "timewise annotate [OPTIONS] [FILE] FUNCTION",
    after_help = "\
Examples:
  timewise annotate hash_lookup
  timewise annotate old.tw libc.so.6+0x9d5c0
  timewise annotate main --format json"
)]
pub struct Arguments {
    /// The profile, if it is not profile.tw, and the function: its name, or module and offset
    #[arg(num_args = 1..=2, required = true, value_names = ["[FILE] FUNCTION"])]
    words: Vec<OsString>,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    reading: Reading,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_profile = |word: &OsStr| Path::new(word).extension() == Path::new(DEFAULT_FILE).extension();
    let (file, name) = match &arguments.words[..] {
        [name, file] if is_profile(file) && Path::new(file).exists() && !Path::new(name).exists() => {
            let [file, name] = [file, name].map(|word| word.to_string_lossy());
            anyhow::bail!("the profile comes before the function: timewise annotate {file} {name}")
        }
        [file, name] => (file.as_os_str(), name),
        [file] if is_profile(file) => {
            let file = file.to_string_lossy();
            anyhow::bail!(
                "{file} is a profile: say which of its functions: timewise annotate {file} FUNCTION"
            )
        }
        [name] => (OsStr::new(DEFAULT_FILE), name),
        _ => anyhow::bail!("say which function: timewise annotate FUNCTION"),
    };
    let profile = reading::load(Path::new(file))?;
    let analysis = Analysis::new(&profile, arguments.reading.policy());
    let routine = annotate::find(&analysis, &name.to_string_lossy())?;
    let text = match arguments.format {
        Format::Text => {
            let style = arguments.reading.style();
            let sources = Sources::of(&profile);
            annotate::text(&analysis, routine, &|file, line| sources.line(file, line), style)
        }
        Format::Json => annotate::json(&analysis, routine)?,
        Format::Csv => annotate::csv(&analysis, routine)?,
    };
    arguments.reading.show(&text)
}
