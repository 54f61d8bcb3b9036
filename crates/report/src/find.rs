//! From what a user calls a function to the function.

use crate::labels;
use crate::short_name::answers_to;
use std::collections::BTreeSet;
use timewise_flow::place_name::{Form, PlaceName};
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::ModuleId;

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
    #[error("'{name}' names {functions} functions: say which, as {}", some(.names, *.functions))]
    Ambiguous {
        /// The name that was asked for.
        name: String,
        /// How many have it.
        functions: usize,
        /// How to name each, of a few.
        names: Vec<String>,
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

fn some(names: &[String], of: usize) -> String {
    let more = if of > names.len() { " or others" } else { "" };
    names.join(" or ") + more
}

fn suggestion(names: &[String]) -> String {
    match names {
        [] => "; timewise report --by function lists all".into(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}

/// Finds a function by its name, by the end of its name without parameters (`f` for `ns::f(int)`), or by module
/// and offset (`libc.so.6+0x1a2b0`, also in its middle; [`timewise_flow::place_name`] has all forms).
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
    match &named(analysis, name)[..] {
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
                    functions: several.len(),
                    names: told_apart(analysis, several),
                }),
            };
        }
    }
    let wanted = name.to_lowercase();
    let resembles = |known: &String| {
        let known = known.to_lowercase();
        known.contains(&wanted) || (known.len() > 3 && wanted.contains(&known))
    };
    let similar = all(analysis).filter(|&id| resembles(&analysis.name_of(id))).take(3);
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

fn all(analysis: &Analysis) -> impl Iterator<Item = RoutineId> {
    (0..analysis.routines.len() as u32).map(RoutineId)
}

/// The functions that a name means: those that have it or begin at the place, else those that hold the place, else
/// those of which it is the short name.
fn named(analysis: &Analysis, name: &str) -> Vec<RoutineId> {
    let place = PlaceName::read(name);
    let is_named = |id: &RoutineId| {
        let function = analysis.function_of(*id).map(|id| &analysis.profile.functions[id.index()]);
        let begins = analysis.routines[id.index()].place;
        analysis.name_of(*id) == name
            || place.is_some_and(|place| place.is(analysis.profile, begins))
            || function.is_some_and(|f| f.symbol == name)
    };
    let found: Vec<RoutineId> = all(analysis).filter(is_named).collect();
    if !found.is_empty() {
        return found;
    }
    match place.map(|place| holders(analysis, place)) {
        Some(found) if !found.is_empty() => found,
        _ => all(analysis).filter(|id| answers_to(&analysis.name_of(*id), name)).collect(),
    }
}

/// The function of each module that executed code at a place, the first if several codes stood there.
fn holders(analysis: &Analysis, named: PlaceName) -> Vec<RoutineId> {
    let mut found: Vec<(ModuleId, RoutineId)> = Vec::new();
    for (block, owner) in analysis.code.blocks.iter().zip(&analysis.owner) {
        let module = block.place.module;
        let inside = block.place.offset <= named.offset && named.offset < block.end;
        if inside
            && named.is_of_code(analysis.profile, block.place)
            && found.iter().all(|(known, _)| *known != module)
        {
            found.push((module, *owner));
        }
    }
    found.into_iter().map(|(_, owner)| owner).collect()
}

/// How to name each of `several`, or of a few of them, as many overloads would fill a screen: by its name, or by its
/// place, in the shortest form that finds each alone.
fn told_apart(analysis: &Analysis, several: &[RoutineId]) -> Vec<String> {
    const SHOWN: usize = 5;
    let sorted: BTreeSet<(String, RoutineId)> =
        several.iter().map(|id| (to_type(analysis, *id), *id)).collect();
    let shown: Vec<(String, RoutineId)> = sorted.into_iter().take(SHOWN).collect();
    let by_place = |form: Form| -> Vec<String> {
        let place = |id: &RoutineId| analysis.routines[id.index()].place;
        shown.iter().map(|(_, id)| form.write(analysis.profile, place(id))).collect()
    };
    let by_name = shown.iter().map(|(name, _)| name.clone()).collect();
    let find_each_alone =
        |names: &Vec<String>| names.iter().zip(&shown).all(|(name, (_, id))| named(analysis, name) == [*id]);
    let mut ways = std::iter::once(by_name).chain(Form::ALL.into_iter().map(by_place));
    ways.find(find_each_alone).unwrap_or_else(|| by_place(Form::LONGEST))
}
