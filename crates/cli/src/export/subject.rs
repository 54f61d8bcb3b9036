//! The file whose branches an optimiser is told of: it must be the one that ran.

use super::Format;
use crate::symbolise;
use crate::talk::say;
use anyhow::bail;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use timewise_export as export;
use timewise_export::traced::Traced;
use timewise_image::{ImageError, Symboliser};
use timewise_profile::{ModuleId, ModuleKind, Profile};
use timewise_report::visible::visible;

/// A module, and its file as far as that is there.
pub struct Subject {
    /// Which.
    pub module: ModuleId,
    file: Option<Symboliser>,
}

impl Subject {
    /// What `binary` names, or else the executable with the most branches.
    ///
    /// # Errors
    /// If nothing can be made of it, or its file changed after it ran.
    pub fn of(profile: &Profile, binary: Option<&Path>, format: Format) -> anyhow::Result<Subject> {
        Subject::that_ran(profile, module_with_branches(profile, binary, format)?, binary)
    }

    /// A module whose file is at `binary`, or still where it was. If it is gone, a warning tells.
    ///
    /// # Errors
    /// If the file changed after it ran: an optimiser would take its branches for those of other code.
    pub fn that_ran(profile: &Profile, module: ModuleId, binary: Option<&Path>) -> anyhow::Result<Subject> {
        let path = Path::new(OsStr::from_bytes(&profile.modules[module.index()].path));
        let path = binary.filter(|binary| binary.exists()).unwrap_or(path);
        let shown = path.display();
        let file = match open_same(profile, module, path) {
            Ok(file) => file,
            Err(ImageError::Missing(_) | ImageError::Unreadable { .. }) => {
                say(visible(&format!(
                    "warning: '{shown}' cannot be read, so nobody knows whether it is still what ran: name a copy of it by \
                     --binary FILE"
                )));
                None
            }
            Err(ImageError::Changed { .. } | ImageError::Foreign { .. } | ImageError::Damaged { .. }) => {
                bail!(
                    "'{shown}' changed after it ran, and an optimiser would take the branches of the former file for those of \
                 this one; restore it, name a copy of the former by --binary FILE, or profile again"
                )
            }
        };
        Ok(Subject { module, file })
    }

    /// Its procedure linkage tables; none if its file is not there any more.
    pub fn linkage(&self) -> Vec<Range<u64>> {
        self.file.as_ref().map(|file| file.image().linkage()).unwrap_or_default()
    }
}

/// A profile with branches, whatever else it holds.
pub fn load(file: &Path) -> anyhow::Result<Profile> {
    let profile = Profile::load(file)?;
    if profile.taken_branches.is_empty() && profile.edge_counts.is_empty() {
        bail!(
            "'{}' holds no branches; trace them: timewise branches -- PROGRAM, or count them: timewise count -- \
             PROGRAM",
            file.display()
        );
    }
    Ok(profile)
}

/// The module that a file is, was when the program ran, or is a copy of; else the executable with the most branches.
fn module_with_branches(
    profile: &Profile,
    binary: Option<&Path>,
    format: Format,
) -> anyhow::Result<ModuleId> {
    let found = match binary {
        None => export::traced::busiest_executable(profile),
        Some(binary) => {
            let whole = binary.canonicalize().unwrap_or_else(|_| binary.to_path_buf());
            let at = |path: &Path| export::traced::module_at(profile, path.as_os_str().as_bytes());
            at(&whole).or_else(|| at(binary)).or_else(|| module_like(profile, binary))
        }
    };
    let traced = Traced::within(profile, found);
    if let Some(module) = found.filter(|_| !traced.branches.is_empty()) {
        return Ok(module);
    }
    let file = match (binary, found) {
        (Some(binary), _) => format!("'{}'", binary.display()),
        (None, Some(module)) => {
            let path = String::from_utf8_lossy(&profile.modules[module.index()].path);
            format!("the program itself, '{path}'")
        }
        (None, None) => "the program itself".into(),
    };
    let remedy = remedy(profile);
    match found.filter(|_| format.can_do_without_branches() && !traced.is_empty()) {
        Some(module) => {
            say(visible(&format!(
                "warning: no branches were taken within {file}, so what is written tells how often its code ran, but not \
                 by which ways; {remedy}"
            )));
            Ok(module)
        }
        None => bail!("no branches were taken within {file}, which this format consists of; {remedy}"),
    }
}

/// The module with branches of which a file is a copy.
fn module_like(profile: &Profile, binary: &Path) -> Option<ModuleId> {
    let taken = export::traced::within_by_module(profile);
    let has_branches =
        |id: &ModuleId| taken[id.index()] > 0 && profile.modules[id.index()].kind == ModuleKind::File;
    let all = (0..profile.modules.len() as u32).map(ModuleId);
    all.filter(has_branches).find(|&id| open_same(profile, id, binary).is_ok())
}

/// A module's file: one without a build id must hold all of the code that the profile tells of.
fn open_same(profile: &Profile, id: ModuleId, path: &Path) -> Result<Option<Symboliser>, ImageError> {
    let file = symbolise::open_at(profile, id, path)?;
    let expected = &profile.modules[id.index()].build_id;
    match &file {
        Some(file) if expected.is_empty() && !symbolise::holds_all_code(profile, id, file.image()) => {
            let found = file.image().build_id().to_vec();
            Err(ImageError::Changed { path: path.to_owned(), expected: Vec::new(), found })
        }
        _ => Ok(file),
    }
}

/// What may give branches where a file has none.
fn remedy(profile: &Profile) -> String {
    let taken = export::traced::within_by_module(profile);
    let mut others: Vec<_> = taken.iter().zip(&profile.modules).filter(|(taken, _)| **taken > 0).collect();
    others.sort_by_key(|&(taken, _)| Reverse(taken));
    let names = others.iter().take(5).map(|(_, module)| String::from_utf8_lossy(&module.path));
    let other = match names.collect::<Vec<_>>().join(", ") {
        names if names.is_empty() => "profile a longer run".into(),
        names => format!("choose another by --binary FILE: those with the most are {names}"),
    };
    match profile.taken_branches.is_empty() {
        true => other,
        false => format!("trace more (timewise branches -F 4000 --length 1000), or {other}"),
    }
}
