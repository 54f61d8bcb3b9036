//! Code of functions, from the files that were mapped, if they are still there.

use crate::symbolise;
use std::cell::RefCell;
use std::collections::HashMap;
use timewise_image::Symboliser;
use timewise_profile::{CodeVersion, Function, ModuleId, Profile};

/// Files of several profiles, by where those lie, opened when first asked for.
#[derive(Default)]
pub struct Code {
    files: RefCell<HashMap<(usize, ModuleId), Option<Symboliser>>>,
}

impl Code {
    /// The code of a function; `None` if its file is gone or another one, or none holds it.
    pub fn of(&self, profile: &Profile, function: &Function) -> Option<Vec<u8>> {
        let place = function.place;
        if place.version != CodeVersion::default() {
            return None;
        }
        let mut files = self.files.borrow_mut();
        let key = (std::ptr::from_ref(profile).addr(), place.module);
        let file = files.entry(key).or_insert_with(|| symbolise::open(profile, place.module).ok().flatten());
        let range = place.offset.0..place.offset.0.checked_add(function.size)?;
        file.as_ref()?.image().code(range).map(<[u8]>::to_vec)
    }
}
