//! From what a user calls a function to the function.

use crate::labels;
use crate::short_name::answers_to;
use std::collections::BTreeSet;
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::{BlockId, Offset};

/// Why a function cannot be annotated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnnotateError {
    /// No function has this name.
    #[error("no function '{name}' was executed or sampled{}", suggestion(.similar))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Names that resemble it.
        similar: Vec<String>,
    },
    /// Several have.
    #[error("'{name}' names {} functions: say which, as {}", .places.len(), some(.places))]
    Ambiguous {
        /// The name that was asked for.
        name: String,
        /// How to name each.
        places: Vec<String>,
    },
    /// The function was sampled, but none of its code is known.
    #[error(
        "'{name}' was sampled but not counted, so its instructions are unknown; profile it with timewise run"
    )]
    NotCounted {
        /// The name that was asked for.
        name: String,
    },
}

/// Many overloads would fill a screen.
fn some(places: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = if places.len() > SHOWN { " or others" } else { "" };
    places[..places.len().min(SHOWN)].join(" or ") + more
}

fn suggestion(names: &[String]) -> String {
    match names {
        [] => "; timewise report --by function lists all".into(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}

/// Finds a function by its name, by the end of its name without parameters (`f` for `ns::f(int)`), or by module
/// and offset (`libc.so.6+0x1a2b0`, also in its middle).
///
/// # Errors
/// See [`AnnotateError`].
pub fn find(analysis: &Analysis, name: &str) -> Result<RoutineId, AnnotateError> {
    let found = find_any(analysis, name)?;
    match analysis.routines[found.index()].blocks.is_empty() {
        true => Err(AnnotateError::NotCounted { name: name.into() }),
        false => Ok(found),
    }
}

/// Likewise, also a function that was sampled only.
///
/// # Errors
/// See [`AnnotateError`].
pub fn find_any(analysis: &Analysis, name: &str) -> Result<RoutineId, AnnotateError> {
    // Functions that nothing names have it.
    if name.is_empty() {
        return Err(AnnotateError::Unknown { name: name.into(), similar: Vec::new() });
    }
    let all = || (0..analysis.routines.len() as u32).map(RoutineId);
    let place = |id: RoutineId| labels::offset(analysis.profile, analysis.routines[id.index()].place);
    let is_named = |id: &RoutineId| {
        let function = analysis.function_of(*id).map(|id| &analysis.profile.functions[id.index()]);
        analysis.name_of(*id) == name || place(*id) == name || function.is_some_and(|f| f.symbol == name)
    };
    let mut found: Vec<RoutineId> = all().filter(is_named).collect();
    let block = block_named(analysis, name);
    if found.is_empty() && block.is_none() {
        found = all().filter(|id| answers_to(&analysis.name_of(*id), name)).collect();
    }
    match &found[..] {
        [] => {}
        [only] => return Ok(*only),
        several => {
            let counted: Vec<RoutineId> = several
                .iter()
                .copied()
                .filter(|id| !analysis.routines[id.index()].blocks.is_empty())
                .collect();
            return match &counted[..] {
                [only] => Ok(*only),
                _ => Err(AnnotateError::Ambiguous {
                    name: name.into(),
                    places: told_apart(several, |id| to_type(analysis, id), place),
                }),
            };
        }
    }
    if let Some(block) = block {
        return Ok(analysis.owner[block.index()]);
    }
    let wanted = name.to_lowercase();
    let resembles = |known: &String| {
        let known = known.to_lowercase();
        known.contains(&wanted) || (known.len() > 3 && wanted.contains(&known))
    };
    let similar = all().filter(|&id| resembles(&analysis.name_of(id))).take(3);
    let mut similar: Vec<String> = similar.map(|id| to_type(analysis, id)).collect();
    similar.dedup();
    Err(AnnotateError::Unknown { name: name.into(), similar })
}

/// What a user types to name a function: its name, or module and offset if that is too long to be typed or read.
pub fn to_type(analysis: &Analysis, id: RoutineId) -> String {
    const LONGEST: usize = 200;
    let name = analysis.name_of(id);
    match name.len() <= LONGEST {
        true => name,
        false => labels::offset(analysis.profile, analysis.routines[id.index()].place),
    }
}

/// How to name each of `several`: by its name, or by its place where names are the same.
fn told_apart(
    several: &[RoutineId],
    name: impl Fn(RoutineId) -> String,
    place: impl Fn(RoutineId) -> String,
) -> Vec<String> {
    let names: BTreeSet<String> = several.iter().map(|id| name(*id)).collect();
    if names.len() == several.len() {
        return names.into_iter().collect();
    }
    several.iter().map(|id| place(*id)).collect()
}

fn block_named(analysis: &Analysis, name: &str) -> Option<BlockId> {
    let (module, offset) = name.rsplit_once('+')?;
    let offset = Offset(u64::from_str_radix(offset.strip_prefix("0x")?, 16).ok()?);
    let holds = |block: &timewise_flow::code::ExecutedBlock| {
        let path = labels::module_path(analysis.profile, block.place.module);
        let inside = block.place.offset <= offset && offset < block.end;
        inside && (path == module || labels::file_name(&path) == module)
    };
    analysis.code.blocks.iter().position(holds).map(|at| BlockId(at as u32))
}
