//! Names of functions by place, where nothing but places is known.

use crate::labels;
use std::collections::BTreeMap;
use timewise_profile::{CodeVersion, Function, ModuleId, Offset, Place, Profile};

/// Functions by their first instruction.
pub struct Names<'a> {
    profile: &'a Profile,
    by_start: BTreeMap<(ModuleId, CodeVersion, Offset), &'a Function>,
}

impl Names<'_> {
    /// Those of a profile.
    pub fn of(profile: &Profile) -> Names<'_> {
        let start = |function: &Function| {
            let Place { module, version, offset } = function.place;
            (module, version, offset)
        };
        Names { profile, by_start: profile.functions.iter().map(|f| (start(f), f)).collect() }
    }

    /// The function that holds a place, or module and offset where none is known to.
    pub fn of_place(&self, place: Place) -> String {
        self.named(place).map_or_else(|| labels::offset(self.profile, place), str::to_string)
    }

    /// The function that holds a place, if one is known to.
    pub fn named(&self, place: Place) -> Option<&str> {
        let Place { module, version, offset } = place;
        let before = self.by_start.range(..=(module, version, offset)).next_back();
        let holds =
            |&(&(other, of_version, start), function): &(&(ModuleId, CodeVersion, Offset), &&Function)| {
                other == module && of_version == version && offset.0 - start.0 < function.size
            };
        before.filter(holds).map(|(_, function)| &function.name[..])
    }
}
