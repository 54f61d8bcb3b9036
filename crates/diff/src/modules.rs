//! Which module of one profile is which of another: builds lie in different folders and have different build
//! ids, and libraries change their version.

use crate::namesakes::MOST_COMBINATIONS;
use crate::pairing::Pairing;
use timewise_profile::{Module, ModuleId, ModuleKind, Profile};

/// Pairs the modules of two profiles: the executables first, then by ever less that is the same.
pub fn pair(base: &Profile, test: &Profile) -> Pairing {
    let mut pairing = Pairing::new(base.modules.len(), test.modules.len());
    if let (Some(base), Some(test)) = (executable(base), executable(test)) {
        pairing.pair(base.0, test.0);
    }
    let keys: [fn(&Module) -> Option<Key>; 4] = [
        |module| Some((module.kind, module.path.clone(), module.build_id.clone())),
        |module| Some((module.kind, module.path.clone(), Vec::new())),
        |module| {
            let has_build_id = !module.build_id.is_empty();
            has_build_id.then(|| (module.kind, Vec::new(), module.build_id.clone()))
        },
        |module| {
            let is_file = module.kind == ModuleKind::File;
            is_file.then(|| (module.kind, without_version(&module.path).to_vec(), Vec::new()))
        },
    ];
    for key in keys {
        let (ours, theirs) = (|id| key(&base.modules[id as usize]), |id| key(&test.modules[id as usize]));
        let groups = pairing.groups(ours, theirs);
        by_folders(base, test, &mut pairing, groups);
        pairing.by_key(ours, theirs);
    }
    pairing
}

/// Pairs those of a group that lie in folders of one name, the more of these the sooner: plugins and Python's modules have
/// names that say little.
fn by_folders(base: &Profile, test: &Profile, pairing: &mut Pairing, groups: Vec<(Vec<u32>, Vec<u32>)>) {
    for (ours, theirs) in groups {
        if ours.len().saturating_mul(theirs.len()) > MOST_COMBINATIONS {
            continue;
        }
        let mut compared = Vec::new();
        for &ours in &ours {
            let path = &base.modules[ours as usize].path;
            let with = theirs.iter().map(|&theirs| {
                (f64::from(folders_in_common(path, &test.modules[theirs as usize].path)), ours, theirs)
            });
            compared.extend(with.filter(|(common, ..)| *common > 0.0));
        }
        pairing.best_first(compared);
    }
}

/// How many of the folders that two files lie in, from the innermost on, have one name.
fn folders_in_common(ours: &[u8], theirs: &[u8]) -> u32 {
    let [ours, theirs] = [ours, theirs].map(|path| path.rsplit(|byte| *byte == b'/').skip(1));
    ours.zip(theirs).take_while(|(ours, theirs)| ours == theirs).count() as u32
}

type Key = (ModuleKind, Vec<u8>, Vec<u8>);

/// The module that holds the program itself.
pub fn executable(profile: &Profile) -> Option<ModuleId> {
    let path = &profile.processes.first()?.executable;
    let found = profile.modules.iter().position(|module| module.path == *path)?;
    Some(ModuleId(found as u32))
}

/// The file's name, for a library up to its version: `libz.so` for `/lib/libz.so.1.3`.
fn without_version(path: &[u8]) -> &[u8] {
    const SUFFIX: &[u8] = b".so";
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let versioned = name.windows(SUFFIX.len() + 1).position(|part| part == b".so.");
    versioned.map_or(name, |at| &name[..at + SUFFIX.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, build_id: &[u8]) -> Module {
        Module { kind: ModuleKind::File, path: path.into(), build_id: build_id.to_vec() }
    }

    fn partners(base: &[Module], test: &[Module]) -> Vec<Option<u32>> {
        let profile = |modules: &[Module]| Profile { modules: modules.to_vec(), ..Profile::default() };
        let pairing = pair(&profile(base), &profile(test));
        (0..base.len() as u32).map(|id| pairing.of_base(id)).collect()
    }

    #[test]
    fn libraries_are_known_by_path_then_by_build_then_by_name() {
        let base =
            [module("/old/app", &[1]), module("/lib/libz.so.1.2", &[2]), module("/lib/libc.so.6", &[3])];
        let test =
            [module("/lib/libc.so.6", &[9]), module("/lib/libz.so.1.3", &[8]), module("/new/app", &[7])];
        assert_eq!(partners(&base, &test), [Some(2), Some(1), Some(0)]);
        assert_eq!(partners(&[module("/a", &[1])], &[module("/b", &[1])]), [Some(0)]);
        assert_eq!(partners(&[module("/a", &[1])], &[module("/b", &[2])]), [None]);
    }

    #[test]
    fn libraries_of_one_name_are_known_by_their_folders() {
        let of = |version: u8, folders: &[&str]| -> Vec<Module> {
            let module = |folder: &&str| module(&format!("/v{version}/{folder}/plugin.so"), &[version]);
            folders.iter().map(module).collect()
        };
        assert_eq!(partners(&of(1, &["z", "a", "m"]), &of(2, &["a", "m", "z"])), [Some(2), Some(0), Some(1)]);
        assert_eq!(partners(&of(1, &["z", "a"]), &of(1, &["a", "z"])), [Some(1), Some(0)]);
        // The folder of one was renamed, and another is new.
        assert_eq!(partners(&of(1, &["z", "a"]), &of(2, &["a", "q"])), [Some(1), Some(0)]);
        assert_eq!(partners(&of(1, &["z", "a"]), &of(2, &["a", "q", "m"])), [None, Some(0)]);
        assert_eq!(partners(&of(1, &["a/lib", "b/lib"]), &of(2, &["b/lib", "a/lib"])), [Some(1), Some(0)]);
    }
}
