//! From what a user calls a function to the function.

use std::collections::BTreeSet;
use timewise_flow::naming::{named, similar, to_type};
use timewise_flow::place_name::Form;
use timewise_flow::{Analysis, RoutineId};

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

/// Finds a function by what [`timewise_flow::naming`] takes for its name.
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
    Err(AnnotateError::Unknown { name: name.into(), similar: similar(analysis, name) })
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
