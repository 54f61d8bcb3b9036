//! Joining what two profiles know of functions, source lines and inlined calls.

use super::Renumbering;
use crate::model::{CodeVersion, Function, InlinedCall, Line, ModuleId, Place, Profile};
use std::collections::{HashMap, HashSet};

/// Adds the functions that are not known yet. Of two at one place the one with a symbol stays.
pub fn join_functions(profile: &mut Profile, other: Vec<Function>, ids: &Renumbering) {
    let mut known = HashMap::new();
    for (row, function) in profile.functions.iter().enumerate() {
        known.entry(function.place).or_insert(row);
    }
    for mut function in other {
        function.place = ids.place(function.place);
        function.file = function.file.map(|file| ids.file(file));
        match known.get(&function.place) {
            None => {
                known.insert(function.place, profile.functions.len());
                profile.functions.push(function);
            }
            Some(&row) => {
                if profile.functions[row].symbol.is_empty() && !function.symbol.is_empty() {
                    profile.functions[row] = function;
                }
            }
        }
    }
}

/// Adds the inlined calls at places of which none is known yet.
pub fn join_inlined_calls(profile: &mut Profile, other: Vec<InlinedCall>, ids: &Renumbering) {
    let known: HashSet<Place> = profile.inlined_calls.iter().map(|call| call.place).collect();
    let renumbered = other.into_iter().map(|call| InlinedCall {
        place: ids.place(call.place),
        file: call.file.map(|file| ids.file(file)),
        ..call
    });
    profile.inlined_calls.extend(renumbered.filter(|call| !known.contains(&call.place)));
    profile.inlined_calls.sort_by_key(|call| (call.place, call.depth));
}

/// Adds the lines of code of which none is known yet.
pub fn join_lines(profile: &mut Profile, mut other: Vec<Line>, ids: &Renumbering) {
    for line in &mut other {
        line.place = ids.place(line.place);
        line.file = line.file.map(|file| ids.file(file));
    }
    other.sort_by_key(|line| line.place);
    let ours = std::mem::take(&mut profile.lines);
    let (mut ours, mut theirs) = (ours.as_slice(), other.as_slice());
    while let Some(first) = ours.first().into_iter().chain(theirs.first()).min_by_key(|line| line.place) {
        let code = (first.place.module, first.place.version);
        let (a, b);
        (a, ours) = ours.split_at(ours.iter().take_while(|line| of(line) == code).count());
        (b, theirs) = theirs.split_at(theirs.iter().take_while(|line| of(line) == code).count());
        join_code(&mut profile.lines, a, b);
    }
}

fn of(line: &Line) -> (ModuleId, CodeVersion) {
    (line.place.module, line.place.version)
}

/// Joins the rows of one module and version.
fn join_code(joined: &mut Vec<Line>, mut ours: &[Line], mut theirs: &[Line]) {
    if ours.is_empty() || theirs.is_empty() {
        joined.extend_from_slice(ours);
        joined.extend_from_slice(theirs);
        return;
    }
    // The row of each that holds at present, and what was said last.
    let (mut our, mut their) = (None, None);
    let mut said = (None, 0);
    while let Some(next) = ours.first().into_iter().chain(theirs.first()).map(|line| line.place).min() {
        while ours.first().is_some_and(|line| line.place == next) {
            our = ours.split_off_first();
        }
        while theirs.first().is_some_and(|line| line.place == next) {
            their = theirs.split_off_first();
        }
        let known = our.filter(|line| line.file.is_some()).or(their).or(our);
        let now = known.map_or((None, 0), |line| (line.file, line.line));
        if now != said {
            joined.push(Line { place: next, file: now.0, line: now.1 });
            said = now;
        }
    }
}
