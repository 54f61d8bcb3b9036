//! `timewise verify`: whether a profile is consistent with itself and with the files that its code is from.

use crate::arguments::DEFAULT_FILE;
use crate::pager;
use crate::reading::{self, Limit};
use crate::screen::{self, Colour};
use crate::symbolise;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use timewise_flow::Analysis;
use timewise_flow::verify::{FileCode, verify};
use timewise_image::{ImageError, Symboliser};
use timewise_profile::{ModuleId, ModuleKind, Profile};
use timewise_report::verify::{self as report, Unread};

/// Check that a profile is consistent: with itself, and with the files that its code is from
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  timewise verify
  timewise verify old.tw --limit 0
  timewise verify --format json | jq '.checks[] | select(.findings != [])'

Ends with status 3 if something contradicts something else. Files that are gone or were built again are
named, and not compared; that is no contradiction.")]
pub struct Arguments {
    /// The profile
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show so many contradictions of each kind; 0 for all
    #[arg(long, value_name = "ROWS", default_value = "10")]
    limit: Limit,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
}

/// In which form to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum Format {
    /// A table for people
    #[default]
    Text,
    /// JSON
    Json,
}

/// Prints what was found. Gives whether the profile is consistent.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let profile = reading::load_to_verify(&arguments.file)?;
    let (files, unread) = open_files(&profile);
    let analysis = Analysis::new(&profile, None);
    let verdict = verify(&analysis, &files);
    match arguments.format {
        Format::Text => {
            let style = screen::style(&std::io::stdout(), arguments.color);
            pager::show(&report::text(&analysis, &verdict, &unread, arguments.limit.0, style), true)?;
        }
        Format::Json => screen::show(&report::json(&analysis, &verdict, &unread)?)?,
    }
    Ok(verdict.is_consistent())
}

/// The files of executed code that are still those that ran, and why others are not compared. Of code that no
/// file ever held nothing is said.
fn open_files(profile: &Profile) -> (BTreeMap<ModuleId, Box<dyn FileCode>>, Vec<Unread>) {
    let counted = profile.blocks.iter().map(|block| block.place.module);
    let traced = profile.taken_branches.iter().map(|branch| branch.from.module);
    let executed: BTreeSet<ModuleId> = counted.chain(traced).collect();
    let (mut files, mut unread) = (BTreeMap::new(), Vec::new());
    for module in executed {
        match symbolise::open(profile, module) {
            Ok(Some(file)) if is_other(profile, module, &file) => {
                unread.push(Unread { module, why: "this kernel has another one".into() });
            }
            Ok(Some(file)) => drop(files.insert(module, Box::new(OpenFile(file)) as Box<dyn FileCode>)),
            Ok(None) => {}
            Err(error) => unread.push(Unread { module, why: reason(&error) }),
        }
    }
    (files, unread)
}

/// Whether the code that the kernel provides is another kernel's. Files that were built again are refused when they
/// are opened.
fn is_other(profile: &Profile, module: ModuleId, file: &Symboliser) -> bool {
    let module = &profile.modules[module.index()];
    module.kind == ModuleKind::Vdso
        && !module.build_id.is_empty()
        && module.build_id != file.image().build_id()
}

fn reason(error: &ImageError) -> String {
    match error {
        ImageError::Missing(_) => "it is gone".into(),
        ImageError::Changed { .. } => "it was built again since".into(),
        ImageError::Unreadable { cause, .. } => format!("cannot read it: {cause}"),
        ImageError::Foreign { what, .. } => format!("it is {what}"),
        ImageError::Damaged { what, .. } => format!("it is damaged: {what}"),
    }
}

struct OpenFile(Symboliser);

impl FileCode for OpenFile {
    fn code(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.0.image().code(offset..offset.checked_add(length as u64)?)
    }
}
