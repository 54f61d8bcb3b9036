//! Names of functions by place, where nothing but places is known.

use crate::place_name;
use crate::routine::FunctionMap;
use timewise_profile::{FunctionId, Place, Profile};

/// What code is called at any place of a profile.
pub struct Names<'a> {
    profile: &'a Profile,
    functions: FunctionMap<'a>,
}

impl Names<'_> {
    /// Those of a profile.
    pub fn of(profile: &Profile) -> Names<'_> {
        Names { profile, functions: FunctionMap::new(profile) }
    }

    /// The function that holds a place, or module and offset where none is known to.
    pub fn of_place(&self, place: Place) -> String {
        self.named(place).map_or_else(|| place_name::offset(self.profile, place), str::to_string)
    }

    /// The function that holds a place, if one is known to.
    pub fn named(&self, place: Place) -> Option<&str> {
        self.function(place).map(|id| &self.profile.functions[id.index()].name[..])
    }

    /// Its row, likewise.
    pub fn function(&self, place: Place) -> Option<FunctionId> {
        self.functions.at(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;

    #[test]
    fn places_have_the_names_of_rows_of_functions() {
        let profile = sketch(
            "function outer at 0x1000 size 0x100
             function inner at 0x1020 size 0x10
             function outer.cold at 0x3000 size 0x10",
        )
        .unwrap();
        let names = Names::of(&profile);
        let at =
            |offset| names.of_place(Place { offset: timewise_profile::Offset(offset), ..Place::default() });
        let told = [0x1000, 0x1024, 0x1050, 0x3005, 0x3010].map(at);
        assert_eq!(told, ["outer", "inner", "outer", "outer", "sketch+0x3010"]);
    }
}
