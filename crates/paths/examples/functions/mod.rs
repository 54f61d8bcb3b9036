//! The functions of a profile, as the files of its modules tell them: where a switch leads is in the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use timewise_image::{Origin, Symboliser};
use timewise_profile::{CodeVersion, Function, ModuleId, ModuleKind, Offset, Place, Profile};

/// Fills in the functions of all code that was executed.
pub fn name(profile: &mut Profile) {
    let mut executed: BTreeMap<ModuleId, BTreeSet<u64>> = BTreeMap::new();
    for place in profile.blocks.iter().map(|block| block.place).filter(|place| place.version.0 == 0) {
        executed.entry(place.module).or_default().insert(place.offset.0);
    }
    for (module, offsets) in executed {
        let Some(symboliser) = open(profile, module) else { continue };
        let mut covered = 0;
        for offset in offsets {
            let function = symboliser.function(offset).filter(|_| offset >= covered);
            let Some((function, name)) = function.filter(|(function, _)| function.origin != Origin::Gap)
            else {
                continue;
            };
            covered = function.end();
            let place = Place { module, version: CodeVersion::default(), offset: Offset(function.offset) };
            let (size, symbol) = (function.size, function.symbol.clone());
            profile.functions.push(Function { place, size, name, symbol, file: None, line: 0 });
        }
    }
}

fn open(profile: &Profile, id: ModuleId) -> Option<Symboliser> {
    let module = &profile.modules[id.index()];
    match module.kind {
        ModuleKind::Vdso => Symboliser::vdso().ok(),
        ModuleKind::File => {
            Symboliser::open(Path::new(OsStr::from_bytes(&module.path)), &module.build_id).ok()
        }
        ModuleKind::Jit | ModuleKind::Kernel | ModuleKind::Unknown => None,
    }
}
