//! Whether traced branches are those of the code.

use super::{Check, FileCode, Kind, edges};
use std::collections::{BTreeMap, BTreeSet};
use timewise_isa::{Control, boundaries};
use timewise_profile::{CodeVersion, ModuleId, Offset, Place, Profile};

/// Each traced branch stands in its module's file, and leads where it does there.
pub fn check(profile: &Profile, files: &BTreeMap<ModuleId, Box<dyn FileCode>>) -> Check {
    let mut check = Check::new(Kind::Branches);
    let taken: BTreeSet<(Place, Place)> =
        profile.taken_branches.iter().map(|branch| (branch.from, branch.to)).collect();
    for (from, to) in taken.into_iter().filter(|(from, _)| from.version == CodeVersion::default()) {
        let Some(file) = files.get(&from.module) else { continue };
        check.checked += 1;
        let what = match control(file.as_ref(), from.offset) {
            None => Some("was taken, but the file has no code there".into()),
            Some(Control::Next) => Some("was taken, but is no branch in the file".into()),
            Some(control) => target(control).and_then(|wanted| edges::otherwise(profile, from, to, wanted)),
        };
        what.into_iter().for_each(|what| check.find(Some(from), None, what));
    }
    check
}

/// How control leaves the instruction that stands there.
fn control(file: &dyn FileCode, at: Offset) -> Option<Control> {
    const LONGEST: usize = 15;
    // At the end of the code there are fewer bytes.
    let code = (1..=LONGEST).rev().find_map(|length| file.code(at.0, length))?;
    boundaries(code, at.0).next().map(|(_, control)| control)
}

/// Where it leads if it is taken, as far as code tells.
fn target(control: Control) -> Option<Offset> {
    match control {
        Control::Jump { target }
        | Control::Branch { target, .. }
        | Control::CountBranch { target }
        | Control::Transaction { target }
        | Control::Call { target } => Some(Offset(target)),
        _ => None,
    }
}
