//! Branches as `perf2bolt -pa` reads them: `B FROM TO COUNT MISPREDICTED` for a branch that was taken, and
//! `F START END COUNT` for straight code from where one led to the next branch. Addresses are link-time ones, in
//! hexadecimal; of one module, because BOLT optimises one at a time.

use std::collections::BTreeMap;
use std::fmt::Write;
use timewise_profile::{ModuleId, Place, Profile};

/// The branches of traces within the executable of the first process. Whether they were predicted is not known.
pub fn export(profile: &Profile) -> String {
    let Some(module) = executable(profile) else { return String::new() };
    let inside = |place: Place| (place.module == module).then_some(place.offset.0);
    let (mut branches, mut straight) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    for branch in &profile.taken_branches {
        let Some(to) = inside(branch.to) else { continue };
        if let Some(from) = inside(branch.from) {
            *branches.entry((from, to)).or_default() += branch.count;
        }
        if let Some(next) = branch.next.and_then(inside) {
            *straight.entry((to, next)).or_default() += branch.count;
        }
    }
    let mut text = String::new();
    // Writing to a string does not fail.
    for ((from, to), count) in branches {
        let _ = writeln!(text, "B {from:x} {to:x} {count} 0");
    }
    for ((start, end), count) in straight {
        let _ = writeln!(text, "F {start:x} {end:x} {count}");
    }
    text
}

/// The module that the first process executes.
fn executable(profile: &Profile) -> Option<ModuleId> {
    let path = &profile.processes.first()?.executable;
    let found = profile.modules.iter().position(|module| module.path == *path)?;
    Some(ModuleId(found as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{
        CodeVersion, Exit, Module, ModuleKind, Offset, Process, ProcessId, RunId, TakenBranch,
    };

    #[test]
    fn branches_and_what_lies_between_them_are_told_for_one_module() {
        let module = |path: &str| Module { kind: ModuleKind::File, path: path.into(), build_id: Vec::new() };
        let at = |module, offset| Place {
            module: ModuleId(module),
            version: CodeVersion(0),
            offset: Offset(offset),
        };
        let seen = |from, to, next, count| TakenBranch { process: ProcessId(0), from, to, next, count };
        let profile = Profile {
            modules: vec![module("/lib"), module("/app")],
            processes: vec![Process {
                run: RunId(0),
                pid: 1,
                parent: None,
                executable: b"/app".to_vec(),
                exit: Exit::Code(0),
                count_uncertainty: 0,
            }],
            taken_branches: vec![
                seen(at(1, 0x1c84), at(1, 0x1d6b), Some(at(1, 0x1d7f)), 3),
                seen(at(1, 0x1c84), at(1, 0x1d6b), None, 2),
                seen(at(1, 0x1d7f), at(0, 0x10), Some(at(0, 0x20)), 4),
                seen(at(0, 0x20), at(1, 0x1d84), Some(at(1, 0x1d90)), 5),
            ],
            ..Profile::default()
        };
        assert_eq!(export(&profile), "B 1c84 1d6b 5 0\nF 1d6b 1d7f 3\nF 1d84 1d90 5\n");
        assert_eq!(export(&Profile::default()), "");
    }
}
