//! Branches of traces within one module, by link-time address: what optimisers by profile read, because they
//! optimise one file at a time.

use std::collections::BTreeMap;
use std::fmt::Write;
use timewise_profile::{ModuleId, Place, Profile};

/// Times seen by address.
pub struct Traced {
    /// Branches that were taken: from where, and where to.
    pub branches: BTreeMap<(u64, u64), u64>,
    /// Straight code: from where a branch led to the next branch that was taken, both included.
    pub straight: BTreeMap<(u64, u64), u64>,
}

impl Traced {
    /// Within the executable of the first process.
    pub fn of_executable(profile: &Profile) -> Traced {
        let mut traced = Traced { branches: BTreeMap::new(), straight: BTreeMap::new() };
        let Some(module) = executable(profile) else { return traced };
        let inside = |place: Place| (place.module == module).then_some(place.offset.0);
        for branch in &profile.taken_branches {
            let Some(to) = inside(branch.to) else { continue };
            if let Some(from) = inside(branch.from) {
                *traced.branches.entry((from, to)).or_default() += branch.count;
            }
            if let Some(next) = branch.next.and_then(inside) {
                *traced.straight.entry((to, next)).or_default() += branch.count;
            }
        }
        traced
    }

    /// The section of straight code that LLVM's and AutoFDO's text formats begin with.
    pub fn ranges(&self) -> String {
        section(&self.straight, "-")
    }

    /// The section of branches that they end with.
    pub fn taken(&self) -> String {
        section(&self.branches, "->")
    }
}

/// The number of lines, and a line for each pair.
fn section(pairs: &BTreeMap<(u64, u64), u64>, between: &str) -> String {
    let mut text = format!("{}\n", pairs.len());
    for ((start, end), count) in pairs {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{start:x}{between}{end:x}:{count}");
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
pub mod tests {
    use super::*;
    use timewise_profile::{
        CodeVersion, Exit, Module, ModuleKind, Offset, Process, ProcessId, RunId, TakenBranch,
    };

    /// Branches within a program, out of it and back.
    pub fn profile() -> Profile {
        let module = |path: &str| Module { kind: ModuleKind::File, path: path.into(), build_id: Vec::new() };
        let at = |module, offset| Place {
            module: ModuleId(module),
            version: CodeVersion(0),
            offset: Offset(offset),
        };
        let seen =
            |from, to, next, count| TakenBranch { process: ProcessId(0), from, to, next, count, weight: 1 };
        Profile {
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
        }
    }
}
