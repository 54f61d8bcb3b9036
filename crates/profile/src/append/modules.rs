//! Which modules of two profiles are the same.

use crate::model::{Block, CodeVersion, Module, ModuleId, ModuleKind, Profile};
use std::collections::HashMap;

/// Adds the modules of `other` that `profile` has not, and gives the new id of each of `other`'s.
pub fn join(profile: &mut Profile, other: &Profile) -> Vec<ModuleId> {
    let mut candidates: HashMap<Module, Vec<ModuleId>> = HashMap::new();
    for (id, module) in profile.modules.iter().enumerate() {
        candidates.entry(module.clone()).or_default().push(ModuleId(id as u32));
    }
    let ours = by_module(profile);
    let theirs = by_module(other);
    let mut ids = Vec::with_capacity(other.modules.len());
    let mut new = Vec::new();
    for (id, module) in other.modules.iter().enumerate() {
        // Each of ours stands for one of theirs at most: two equal ones of theirs are kept apart because
        // their code differs.
        let equal = candidates.get_mut(module).and_then(|candidates| {
            let agrees = |candidate: &ModuleId| {
                let (ours, theirs) = (&ours[candidate.index()], &theirs[id]);
                let unclear =
                    module.kind == ModuleKind::Jit && (was_rewritten(ours) || was_rewritten(theirs));
                !unclear && !contradict(ours, theirs)
            };
            let position = candidates.iter().position(agrees)?;
            Some(candidates.remove(position))
        });
        ids.push(equal.unwrap_or_else(|| {
            new.push(module.clone());
            ModuleId((profile.modules.len() + new.len()) as u32 - 1)
        }));
    }
    profile.modules.extend(new);
    ids
}

/// The blocks of each module, in order of version and offset.
fn by_module(profile: &Profile) -> Vec<Vec<&Block>> {
    let mut blocks = vec![Vec::new(); profile.modules.len()];
    for block in &profile.blocks {
        blocks[block.place.module.index()].push(block);
    }
    for blocks in &mut blocks {
        blocks.sort_by_key(|block| (block.place.version, block.place.offset));
    }
    blocks
}

/// True if different code stood at one address in turn: nothing tells which of another run's it was.
fn was_rewritten(blocks: &[&Block]) -> bool {
    blocks.iter().any(|block| block.place.version != CodeVersion::default())
}

/// True if some byte of code differs: a file was replaced by another without a build id, or different
/// code was written at run time.
fn contradict(ours: &[&Block], theirs: &[&Block]) -> bool {
    // Blocks of ours that may reach into the present one of theirs.
    let mut reaching: Vec<&Block> = Vec::new();
    let mut next = 0;
    for block in theirs {
        let end = (block.place.version, end(block));
        while let Some(candidate) = ours.get(next) {
            if (candidate.place.version, candidate.place.offset.0) >= end {
                break;
            }
            reaching.push(candidate);
            next += 1;
        }
        let start = (block.place.version, block.place.offset.0);
        reaching.retain(|candidate| (candidate.place.version, self::end(candidate)) > start);
        if reaching.iter().any(|candidate| differ(candidate, block)) {
            return true;
        }
    }
    false
}

/// True if the bytes that two blocks of one version share are not the same.
fn differ(one: &Block, other: &Block) -> bool {
    if one.place.version != other.place.version {
        return false;
    }
    let start = one.place.offset.0.max(other.place.offset.0);
    let end = end(one).min(end(other));
    start < end && bytes(one, start, end) != bytes(other, start, end)
}

fn bytes(block: &Block, start: u64, end: u64) -> &[u8] {
    let base = block.place.offset.0;
    block.code.get((start - base) as usize..(end - base) as usize).unwrap_or_default()
}

fn end(block: &Block) -> u64 {
    block.place.offset.0.saturating_add(block.code.len() as u64)
}
