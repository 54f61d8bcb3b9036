//! Settings of a project (`timewise.toml`) and of a user (`timewise/config.toml`): they take the place of
//! defaults, and options win over them.

use anyhow::{Context, anyhow, bail};
use clap::{Arg, ArgAction, Command};
use etcetera::{BaseStrategy, choose_base_strategy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The project's settings, in the working directory or above it.
const OF_PROJECT: &str = "timewise.toml";

/// The user's, below the folder for settings (`~/.config`).
const OF_USER: &str = "timewise/config.toml";

/// What may be set: long options that are a matter of taste or of the machine. That a project has commands
/// executed, or files written, without a word on the command line is not among them.
const KEYS: [&str; 12] = [
    "attribution",
    "call-graph",
    "color",
    "deterministic",
    "frequency",
    "kernel",
    "limit",
    "no-calls",
    "no-pager",
    "once",
    "quiet",
    "sampler",
];

/// A value and the file that it is from.
struct Setting {
    value: String,
    file: PathBuf,
}

/// `command` with the settings as its defaults.
///
/// # Errors
/// What is wrong with them, and where.
pub fn apply(command: Command) -> anyhow::Result<Command> {
    let mut settings = BTreeMap::new();
    // What is read later wins.
    for file in files() {
        read(&file, &mut settings)?;
    }
    check(&command, &settings)?;
    Ok(below(command, &settings))
}

/// A command whose own have the settings as their defaults, and so on.
fn below(command: Command, settings: &BTreeMap<&'static str, Setting>) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_string()).collect();
    let with_defaults = |command: Command| below(settings.iter().fold(command, set), settings);
    names.iter().fold(command, |command, name| command.mut_subcommand(name, with_defaults))
}

fn set(command: Command, (key, setting): (&&'static str, &Setting)) -> Command {
    let Some(id) = option(&command, key).map(|arg| arg.get_id().clone()) else { return command };
    command.mut_arg(id, |arg| {
        let value = setting.value.clone();
        match arg.get_action() {
            // `--kernel=false` undoes what is set.
            ArgAction::SetTrue if value == "true" => arg
                .action(ArgAction::Set)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .default_value(value),
            ArgAction::SetTrue => arg,
            _ => arg.default_value(value),
        }
    })
}

/// Commands in which an option of that name says another thing than elsewhere: traces per second rather than samples.
const OTHERWISE: [(&str, &str); 2] = [("branches", "frequency"), ("fdo", "frequency")];

/// What a setting is the default of in a command.
fn option<'a>(command: &'a Command, key: &str) -> Option<&'a Arg> {
    if OTHERWISE.contains(&(command.get_name(), key)) {
        return None;
    }
    command.get_arguments().find(|arg| arg.get_long() == Some(key))
}

/// The files that there are, the project's last. A user's that lies out of reach is none: who works as somebody
/// else may have kept the variable `HOME`.
fn files() -> Vec<PathBuf> {
    let of_user = choose_base_strategy().ok().map(|folders| folders.config_dir().join(OF_USER));
    let here = std::env::current_dir().ok();
    let above = here.iter().flat_map(|here| here.ancestors());
    let of_project = above.map(|folder| folder.join(OF_PROJECT)).find(|file| file.is_file());
    of_user.into_iter().filter(|file| file.is_file()).chain(of_project).collect()
}

fn read(file: &Path, settings: &mut BTreeMap<&'static str, Setting>) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read '{}'", file.display()))?;
    let table = DeTable::parse(&text).map_err(|error| faulty(file, &text, &error))?;
    for (key, value) in table.into_inner() {
        let key = key.get_ref();
        let Some(known) = KEYS.into_iter().find(|known| known == key) else {
            bail!("'{}': unknown key '{key}'; there are {}", file.display(), KEYS.join(", "));
        };
        let value = match value.into_inner() {
            DeValue::String(text) => text.into_owned(),
            // One that is too large is one that no option takes.
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| number.to_string(), |number| number.to_string()),
            // No option takes one: it is told as a value that is wrong.
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            _ => bail!("'{}': {key} is neither a text nor a number nor true or false", file.display()),
        };
        settings.insert(known, Setting { value, file: file.to_path_buf() });
    }
    Ok(())
}

/// What is no TOML, in one line.
fn faulty(file: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = 1 + before.matches('\n').count();
    anyhow!("'{}', line {line}: {}", file.display(), error.message().replace('\n', ", "))
}

/// Each value must be one that its option takes, in whichever command.
fn check(command: &Command, settings: &BTreeMap<&'static str, Setting>) -> anyhow::Result<()> {
    for (key, setting) in settings {
        for command in command.get_subcommands() {
            let Some(arg) = option(command, key) else { continue };
            let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
            let word = if is_flag && setting.value == "false" { None } else { Some(&setting.value) };
            let Some(value) = word else { continue };
            let trial = Command::new("timewise").no_binary_name(true).arg(match is_flag {
                true => Arg::new("value").long("value").action(ArgAction::Set).value_parser(["true"]),
                false => Arg::new("value").long("value").value_parser(arg.get_value_parser().clone()),
            });
            if trial.try_get_matches_from([format!("--value={value}")]).is_err() {
                bail!(
                    "'{}': {key} cannot be '{value}'; see timewise {} --help",
                    setting.file.display(),
                    command.get_name()
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The table says of each key which commands have it; of colours, that it is all.
    #[test]
    fn the_documentation_names_the_commands_of_each_key() {
        const TABLE: &str = include_str!("../../../docs/settings.md");
        let command = crate::Arguments::command();
        for key in KEYS.into_iter().filter(|&key| key != "color") {
            let has_it = command.get_subcommands().filter(|command| option(command, key).is_some());
            let names: Vec<String> = has_it.map(|command| format!("`{}`", command.get_name())).collect();
            let row = TABLE.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap();
            let mut told: Vec<&str> = row.split('|').nth(2).unwrap().trim().split(", ").collect();
            let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
            told.sort_unstable();
            names.sort_unstable();
            assert_eq!(told, names, "{key}");
        }
    }

    #[test]
    fn a_line_is_told_by_its_number() {
        for (text, number) in [("= 3", 1), ("limit = 5\n\n\n= 3\n", 4), ("limit = 5\nlimit = 6\n", 2)] {
            let error = DeTable::parse(text).unwrap_err();
            let told = faulty(Path::new("timewise.toml"), text, &error).to_string();
            assert!(told.starts_with(&format!("'timewise.toml', line {number}: ")), "{told}");
        }
    }
}
