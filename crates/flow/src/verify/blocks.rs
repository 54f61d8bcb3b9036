//! Whether blocks and samples lie on real instructions.

use super::{Check, FileCode, Kind};
use crate::code::Code;
use std::collections::{BTreeMap, BTreeSet};
use timewise_isa::{Control, boundaries};
use timewise_profile::{Block, CodeVersion, ModuleId, ModuleKind, Place, Profile};

/// Each block's code is as many whole instructions as it says, of which only the last leads elsewhere.
pub fn decoding(profile: &Profile) -> Check {
    let mut check = Check::new(Kind::Decoding);
    for block in &profile.blocks {
        check.checked += 1;
        if let Some(what) = misread(block) {
            check.find(Some(block.place), None, what);
        }
    }
    check
}

fn misread(block: &Block) -> Option<String> {
    let (mut bytes, mut instructions, mut leaves_at) = (0, 0u32, None);
    for (length, control) in boundaries(&block.code, block.place.offset.0) {
        if let Some(at) = leaves_at {
            return Some(format!("its instruction at +{at:#x} leads elsewhere, but is not its last"));
        }
        leaves_at = (control != Control::Next).then_some(bytes);
        bytes += usize::from(length);
        instructions += 1;
    }
    if bytes != block.code.len() {
        return Some(format!("its bytes from +{bytes:#x} on are no instruction"));
    }
    (instructions != block.instructions)
        .then(|| format!("has {instructions} instructions, but says {}", block.instructions))
}

/// Each block of a file stands there byte for byte.
pub fn files(profile: &Profile, files: &BTreeMap<ModuleId, Box<dyn FileCode>>) -> Check {
    let mut check = Check::new(Kind::Files);
    for block in profile.blocks.iter().filter(|block| block.place.version == CodeVersion::default()) {
        let Some(file) = files.get(&block.place.module) else { continue };
        check.checked += 1;
        let what = match file.code(block.place.offset.0, block.code.len()) {
            Some(code) if code == block.code => continue,
            Some(_) => "other code than was executed stands there in the file",
            None => "the file has no code there",
        };
        check.find(Some(block.place), None, what.into());
    }
    check
}

/// Each sample that lies in a counted block lies at the start of an instruction. Code that was written at run
/// time is left out: its versions are those of one run.
pub fn samples(profile: &Profile, code: &Code) -> Check {
    let mut check = Check::new(Kind::Samples);
    let of_file = |place: &Place| {
        let kind = profile.modules[place.module.index()].kind;
        place.version == CodeVersion::default() && matches!(kind, ModuleKind::File | ModuleKind::Vdso)
    };
    let places: BTreeSet<Place> = profile.samples.iter().filter_map(|sample| sample.place).collect();
    for place in places.into_iter().filter(of_file).filter(|place| code.block_at(*place).is_some()) {
        check.checked += 1;
        if code.instruction_at(place).is_none() {
            check.find(Some(place), None, "was sampled, but lies within an instruction".into());
        }
    }
    check
}
