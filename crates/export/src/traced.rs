//! Branches within one module, from traces or counted, by link-time address: what optimisers by profile read, because
//! they optimise one file at a time.

use std::collections::BTreeMap;
use std::fmt::Write;
use timewise_isa::{Control, walk};
use timewise_profile::{Block, BlockId, EdgeKind, ModuleId, Place, Profile};

/// How often by address: as weights of traces, or times counted.
pub struct Traced {
    /// Branches that were taken: from where, and where to.
    pub branches: BTreeMap<(u64, u64), u64>,
    /// Straight code: from where a branch led to the next branch that was taken, both included.
    pub straight: BTreeMap<(u64, u64), u64>,
    /// From the last instruction of a block to the first of the next in a straight line, where that is not told by
    /// `straight`, because what was counted is blocks.
    pub joints: BTreeMap<(u64, u64), u64>,
}

impl Traced {
    /// Within a module, if there is one: from traces if there are any, else from counts.
    pub fn within(profile: &Profile, module: Option<ModuleId>) -> Traced {
        let mut traced =
            Traced { branches: BTreeMap::new(), straight: BTreeMap::new(), joints: BTreeMap::new() };
        if let Some(module) = module {
            let inside = |place: Place| (place.module == module).then_some(place.offset.0);
            match profile.taken_branches.is_empty() {
                true => traced.add_counts(profile, inside),
                false => traced.add_traces(profile, inside),
            }
        }
        traced
    }

    fn add_traces(&mut self, profile: &Profile, inside: impl Fn(Place) -> Option<u64>) {
        // By weight, which agrees better with what is executed.
        for branch in &profile.taken_branches {
            let Some(to) = inside(branch.to) else { continue };
            if let Some(from) = inside(branch.from) {
                *self.branches.entry((from, to)).or_default() += branch.weight;
            }
            if let Some(next) = branch.next.and_then(&inside) {
                *self.straight.entry((to, next)).or_default() += branch.weight;
            }
        }
    }

    fn add_counts(&mut self, profile: &Profile, inside: impl Fn(Place) -> Option<u64>) {
        let blocks = &profile.blocks;
        let ends: Vec<Option<(u64, Control)>> = blocks.iter().map(last_instruction).collect();
        for count in profile.block_counts.iter().filter(|count| count.executions > 0) {
            let block = count.block.index();
            if let (Some(start), Some((end, _))) = (inside(blocks[block].place), ends[block]) {
                *self.straight.entry((start, end)).or_default() += count.executions;
            }
        }
        for edge in profile.edge_counts.iter().filter(|edge| edge.count > 0) {
            let (Some(from), Some(to)) = (edge.from, edge.to) else { continue };
            let (Some(_), Some(start)) =
                (inside(blocks[from.index()].place), inside(blocks[to.index()].place))
            else {
                continue;
            };
            let Some((end, control)) = ends[from.index()] else { continue };
            let pairs = match edge.kind {
                EdgeKind::Fallthrough | EdgeKind::SystemCall => &mut self.joints,
                EdgeKind::External => continue,
                _ if control == Control::Next => continue,
                _ => &mut self.branches,
            };
            *pairs.entry((end, start)).or_default() += edge.count;
        }
    }

    /// Whether there are none, nor straight code that was executed.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty() && self.straight.is_empty()
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

/// Where the last instruction of a block stands, and what it is.
fn last_instruction(block: &Block) -> Option<(u64, Control)> {
    walk(&block.code, block.place.offset.0).last().map(|step| (step.offset, step.control))
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

/// How often branches were taken from one place in each module to another, by weight if there are traces, else counted.
pub fn within_by_module(profile: &Profile) -> Vec<u64> {
    by_module(profile, |from, to| to == Some(from))
}

/// How often branches were taken from each module to wherever it was, likewise.
fn taken_by_module(profile: &Profile) -> Vec<u64> {
    by_module(profile, |_, _| true)
}

/// Likewise of branches whose module, and the one that they led to, are `wanted`.
fn by_module(profile: &Profile, wanted: impl Fn(ModuleId, Option<ModuleId>) -> bool) -> Vec<u64> {
    let mut taken = vec![0; profile.modules.len()];
    let mut add = |from: ModuleId, to: Option<ModuleId>, count: u64| {
        if wanted(from, to) {
            taken[from.index()] += count;
        }
    };
    profile
        .taken_branches
        .iter()
        .for_each(|branch| add(branch.from.module, Some(branch.to.module), branch.weight));
    if profile.taken_branches.is_empty() {
        let module = |block: BlockId| profile.blocks[block.index()].place.module;
        for edge in profile.edge_counts.iter().filter(|edge| is_taken(edge.kind)) {
            if let Some(from) = edge.from {
                add(module(from), edge.to.map(module), edge.count);
            }
        }
    }
    taken
}

/// Whether a branch led along edges of a kind, as far as is known.
fn is_taken(kind: EdgeKind) -> bool {
    !matches!(kind, EdgeKind::Fallthrough | EdgeKind::SystemCall | EdgeKind::External)
}

/// The module that the first process executes.
pub fn first_executable(profile: &Profile) -> Option<ModuleId> {
    module_at(profile, &profile.processes.first()?.executable)
}

/// Of the modules that processes execute, the one with the most branches.
pub fn busiest_executable(profile: &Profile) -> Option<ModuleId> {
    let taken = taken_by_module(profile);
    let executables = profile.processes.iter().filter_map(|process| module_at(profile, &process.executable));
    // Of equal ones the first.
    executables.rev().max_by_key(|module| taken[module.index()])
}

/// The module of a path.
pub fn module_at(profile: &Profile, path: &[u8]) -> Option<ModuleId> {
    let found = profile.modules.iter().position(|module| module.path == *path)?;
    Some(ModuleId(found as u32))
}

#[cfg(test)]
pub(crate) mod tests {
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
        let seen = |from, to, next, count| TakenBranch {
            process: ProcessId(0),
            from,
            to,
            next,
            count,
            weight: count,
        };
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

    #[test]
    fn the_executable_with_the_most_branches_is_chosen() {
        let mut profile = profile();
        assert_eq!(taken_by_module(&profile), [5, 9]);
        assert_eq!(within_by_module(&profile), [0, 5]);
        let exported =
            |module| Traced::within(&profile, Some(ModuleId(module))).branches.values().sum::<u64>();
        assert_eq!(within_by_module(&profile), [exported(0), exported(1)]);
        assert_eq!(busiest_executable(&profile), Some(ModuleId(1)));
        // A shell that launched it.
        profile.modules.push(Module { kind: ModuleKind::File, path: b"/sh".to_vec(), build_id: Vec::new() });
        profile.processes.insert(0, Process { executable: b"/sh".to_vec(), ..profile.processes[0].clone() });
        assert_eq!(first_executable(&profile), Some(ModuleId(2)));
        assert_eq!(busiest_executable(&profile), Some(ModuleId(1)));
        assert_eq!(busiest_executable(&Profile::default()), None);
    }
}
