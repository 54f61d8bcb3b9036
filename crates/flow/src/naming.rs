//! From what somebody calls a function to the functions that may be meant.

use crate::analysis::Analysis;
use crate::place_name::{self, PlaceName};
use crate::routine::RoutineId;
use crate::short_name::{answers_to, without_clones};
use std::collections::BTreeSet;
use timewise_profile::ModuleId;

/// The functions that a name means in one way of naming them.
pub type Way = fn(&Analysis, &str) -> Vec<RoutineId>;

/// All ways, the strictest first. Where one finds any, those behind it are not asked: a function that is called just
/// so is meant, not one of which it is the short name.
pub const WAYS: [Way; 4] = [called, holding, answering, cloned];

/// The functions that a name means.
pub fn named(analysis: &Analysis, name: &str) -> Vec<RoutineId> {
    WAYS.iter().map(|way| way(analysis, name)).find(|found| !found.is_empty()).unwrap_or_default()
}

fn all(analysis: &Analysis) -> impl Iterator<Item = RoutineId> {
    (0..analysis.routines.len() as u32).map(RoutineId)
}

/// Those that have the name or symbol, or begin at the place.
fn called(analysis: &Analysis, name: &str) -> Vec<RoutineId> {
    let place = PlaceName::read(name);
    let is_called = |id: &RoutineId| {
        let function = analysis.function_of(*id).map(|id| &analysis.profile.functions[id.index()]);
        let begins = analysis.routines[id.index()].place;
        analysis.name_of(*id) == name
            || place.is_some_and(|place| place.is(analysis.profile, begins))
            || function.is_some_and(|function| function.symbol == name)
    };
    all(analysis).filter(is_called).collect()
}

/// The function of each module that executed code at the place, the first if several codes stood there.
fn holding(analysis: &Analysis, name: &str) -> Vec<RoutineId> {
    let Some(place) = PlaceName::read(name) else { return Vec::new() };
    let mut found: Vec<(ModuleId, RoutineId)> = Vec::new();
    for (block, owner) in analysis.code.blocks.iter().zip(&analysis.owner) {
        let module = block.place.module;
        let inside = block.place.offset <= place.offset && place.offset < block.end;
        if inside
            && place.is_of_code(analysis.profile, block.place)
            && found.iter().all(|(known, _)| *known != module)
        {
            found.push((module, *owner));
        }
    }
    found.into_iter().map(|(_, owner)| owner).collect()
}

/// Those of which it is the end of the name without parameters: `f` of `ns::f(int)`.
fn answering(analysis: &Analysis, name: &str) -> Vec<RoutineId> {
    all(analysis).filter(|id| answers_to(&analysis.name_of(*id), name)).collect()
}

/// Clones that compilers made of such functions: `f.part.0`, `ns::f(int) [clone .constprop.0]`. Parts of them that lie
/// elsewhere because they seldom run are not meant.
fn cloned(analysis: &Analysis, name: &str) -> Vec<RoutineId> {
    const SELDOM: &str = ".cold";
    let is_cloned = |id: &RoutineId| {
        let full = analysis.name_of(*id);
        let plain = without_clones(&full);
        plain != full && !full.contains(SELDOM) && (plain == name || answers_to(plain, name))
    };
    all(analysis).filter(is_cloned).collect()
}

/// A few names that resemble one that means no function, as they are to be typed: those of which one holds the other, the
/// closest in length first. Of one or two letters half a program's names hold them.
pub fn similar(analysis: &Analysis, name: &str) -> Vec<String> {
    const FEW: usize = 3;
    const SHORTEST: usize = 3;
    let wanted = name.to_lowercase();
    let holds = |long: &str, short: &str| short.len() >= SHORTEST && long.contains(short);
    let resembling = |id: RoutineId| {
        let known = analysis.name_of(id).to_lowercase();
        let is_alike = holds(&known, &wanted) || holds(&wanted, &known);
        is_alike.then(|| (known.len().abs_diff(wanted.len()), to_type(analysis, id)))
    };
    let similar: BTreeSet<(usize, String)> = all(analysis).filter_map(resembling).collect();
    similar.into_iter().take(FEW).map(|(_, name)| name).collect()
}

/// What a user types to name a function: its name, or module and offset if that is too long to be typed or read.
pub fn to_type(analysis: &Analysis, id: RoutineId) -> String {
    const LONGEST: usize = 200;
    let name = analysis.name_of(id);
    match name.len() <= LONGEST {
        true => name,
        false => place_name::offset(analysis.profile, analysis.routines[id.index()].place),
    }
}
