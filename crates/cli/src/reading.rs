//! What the commands that read a profile have in common.

use crate::pager;
use crate::screen::{self, Colour};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use timewise_diff::share_a_run;
use timewise_flow::Policy;
use timewise_profile::Profile;
use timewise_report::Style;

/// How to read samples.
#[derive(clap::Args)]
pub struct Charging {
    /// Which instruction a sample is charged to [default: predecessor, or sampled if the samples are
    /// precise]
    #[arg(long, value_enum, value_name = "WHICH")]
    attribution: Option<Attribution>,
}

/// How to read samples, and how to show what follows.
#[derive(clap::Args)]
pub struct Reading {
    #[command(flatten)]
    charging: Charging,
    #[command(flatten)]
    shown: Shown,
}

/// How to show text.
#[derive(clap::Args)]
struct Shown {
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
    /// Do not use a pager, even if the text is longer than the terminal
    #[arg(long)]
    no_pager: bool,
}

impl Shown {
    fn style(&self) -> Style {
        screen::style(&std::io::stdout(), self.color)
    }

    fn show(&self, text: &str) -> anyhow::Result<()> {
        pager::show(text, !self.no_pager)
    }
}

/// Which instruction a sample is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Attribution {
    /// The instruction that the sample names
    Sampled,
    /// The one executed before it, which held the processor up
    Predecessor,
}

/// Up to so many rows; all if it is none, which 0 says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit(pub Option<usize>);

impl FromStr for Limit {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Limit, ParseIntError> {
        text.parse().map(|rows| Limit(Some(rows).filter(|&rows| rows > 0)))
    }
}

/// In which form to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Format {
    /// Tables for people
    #[default]
    Text,
    /// JSON
    Json,
    /// CSV, one header line
    Csv,
}

impl Charging {
    /// The policy that was asked for.
    pub fn policy(&self) -> Option<Policy> {
        self.attribution.map(|attribution| match attribution {
            Attribution::Sampled => Policy::Sampled,
            Attribution::Predecessor => Policy::Predecessor,
        })
    }
}

impl Reading {
    /// The policy that was asked for.
    pub fn policy(&self) -> Option<Policy> {
        self.charging.policy()
    }

    /// Shows a text as it was asked for.
    ///
    /// # Errors
    /// What writing met with.
    pub fn show(&self, text: &str) -> anyhow::Result<()> {
        self.shown.show(text)
    }

    /// How text looks in a file.
    pub fn file_style(&self) -> Style {
        screen::file_style(self.shown.color)
    }

    /// How text looks on standard output.
    pub fn style(&self) -> Style {
        self.shown.style()
    }
}

/// In which form to print, and how.
#[derive(clap::Args)]
pub struct Printed {
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    shown: Shown,
}

impl Printed {
    /// Prints what was asked for: text by the pager if there is more than a screen.
    ///
    /// # Errors
    /// What making it or writing it met with.
    pub fn print<J, C>(
        &self,
        text: impl FnOnce(Style) -> String,
        json: impl FnOnce() -> Result<String, J>,
        csv: impl FnOnce() -> Result<String, C>,
    ) -> anyhow::Result<()>
    where
        J: std::error::Error + Send + Sync + 'static,
        C: std::error::Error + Send + Sync + 'static,
    {
        match self.format {
            Format::Text => self.shown.show(&text(self.shown.style())),
            Format::Json => screen::show(&json()?),
            Format::Csv => screen::show(&csv()?),
        }
    }
}

/// Two profiles that are compared, each perhaps of several runs.
#[derive(clap::Args)]
pub struct Sides {
    /// The old profile
    base: PathBuf,
    /// The new profile
    test: PathBuf,
    /// A profile of a further run of the old program: several tell how much runs differ by themselves
    #[arg(long = "base", value_name = "FILE")]
    more_base: Vec<PathBuf>,
    /// Likewise of the new one
    #[arg(long = "test", value_name = "FILE")]
    more_test: Vec<PathBuf>,
}

impl Sides {
    /// Loads all of both.
    ///
    /// # Errors
    /// One cannot be loaded, or is of the same run as another of its side.
    pub fn load(
        &self,
        load: impl Fn(&Path) -> anyhow::Result<Profile>,
    ) -> anyhow::Result<(Profile, Profile)> {
        Ok((load_side(&self.base, &self.more_base, &load)?, load_side(&self.test, &self.more_test, &load)?))
    }
}

/// Loads a profile with counts; of one without, it says `how` to make some.
///
/// # Errors
/// It cannot be read, or there are none in it.
pub fn load_counted(path: &Path, how: &str) -> anyhow::Result<Profile> {
    let profile = load(path)?;
    anyhow::ensure!(
        !profile.blocks.is_empty(),
        "'{}' holds no counts of instructions; make some: {how} -- PROGRAM",
        path.display()
    );
    Ok(profile)
}

/// Loads the profile at `path`.
///
/// # Errors
/// It cannot be read, or neither samples nor counts are in it.
pub fn load(path: &Path) -> anyhow::Result<Profile> {
    load_if(path, |_| false)
}

/// Loads the profile at `path`, which may be of a program that did nothing but wait.
///
/// # Errors
/// It cannot be read, or there is nothing in it.
pub fn load_with_waits(path: &Path) -> anyhow::Result<Profile> {
    load_if(path, |profile| !profile.waits.is_empty())
}

/// Likewise, or which holds nothing but traced branches.
///
/// # Errors
/// Likewise.
pub fn load_to_report(path: &Path) -> anyhow::Result<Profile> {
    load_if(path, |profile| !profile.waits.is_empty() || !profile.taken_branches.is_empty())
}

/// Likewise, or which holds nothing but what the operating system did.
///
/// # Errors
/// Likewise.
pub fn load_to_verify(path: &Path) -> anyhow::Result<Profile> {
    let has_other = |profile: &Profile| {
        !(profile.waits.is_empty() && profile.taken_branches.is_empty() && profile.os_events.is_empty())
    };
    load_if(path, has_other)
}

/// Loads a profile with samples or counts, or something else that there is a use for.
fn load_if(path: &Path, has_other: impl Fn(&Profile) -> bool) -> anyhow::Result<Profile> {
    let profile = Profile::load(path)?;
    let is_nothing = profile.samples.is_empty() && profile.blocks.is_empty() && !has_other(&profile);
    if is_nothing { Err(nothing_in(path, &profile)) } else { Ok(profile) }
}

/// A profile, with the runs of further ones, none of them twice.
fn load_side(
    path: &Path,
    more: &[PathBuf],
    load: impl Fn(&Path) -> anyhow::Result<Profile>,
) -> anyhow::Result<Profile> {
    let mut profile = load(path)?;
    let mut further: Vec<(&Path, Profile)> = Vec::with_capacity(more.len());
    for path_of_more in more {
        let next = load(path_of_more)?;
        let earlier = further.iter().map(|(path, earlier)| (*path, earlier)).chain([(path, &profile)]);
        refuse_repeated(earlier, path_of_more, &next)?;
        further.push((path_of_more, next));
    }
    further.into_iter().for_each(|(_, next)| profile.append(next));
    Ok(profile)
}

/// The same run twice would make noise look smaller than it is.
fn refuse_repeated<'a>(
    mut earlier: impl Iterator<Item = (&'a Path, &'a Profile)>,
    path: &Path,
    profile: &Profile,
) -> anyhow::Result<()> {
    let Some((other, _)) = earlier.find(|(_, earlier)| share_a_run(earlier, profile)) else {
        return Ok(());
    };
    anyhow::bail!(
        "'{}' and '{}' are of the same run, which tells nothing of how much runs differ: give each run once, and \
         record more of them",
        other.display(),
        path.display()
    )
}

fn nothing_in(path: &Path, profile: &Profile) -> anyhow::Error {
    let path = path.display();
    if !profile.os_events.is_empty() {
        return anyhow::anyhow!(
            "'{path}' holds what the operating system did, and neither samples nor counts: timewise ostrace report shows it"
        );
    }
    if !profile.taken_branches.is_empty() {
        return anyhow::anyhow!(
            "'{path}' holds traced branches, and neither samples nor counts: timewise report shows them, and timewise export \
             writes them for optimisers"
        );
    }
    anyhow::anyhow!(
        "'{path}' holds neither samples nor counts: the program ended before any were taken, or only waited: see \
         timewise report --by waiting, or profile a longer run"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rows_are_all_rows() {
        let limits = ["0", "1", "25"].map(|text| text.parse::<Limit>().unwrap().0);
        assert_eq!(limits, [None, Some(1), Some(25)]);
        assert!("all".parse::<Limit>().is_err() && "-1".parse::<Limit>().is_err());
    }
}
