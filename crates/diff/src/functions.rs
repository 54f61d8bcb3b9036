//! Which function of one profile is which of another.

use crate::pairing::Pairing;
use crate::similar;
use timewise_flow::{Analysis, Routine};
use timewise_profile::{Function, ModuleId, Place};

/// Pairs the routines of two analyses whose modules are paired: by symbol and file, by symbol, by the name
/// without what compilers add to it; without symbols by offset where the files are the same, else by the
/// sequence of instructions.
pub fn pair(base: &Analysis, test: &Analysis, modules: &Pairing) -> Pairing {
    let mut pairing = Pairing::new(base.routines.len(), test.routines.len());
    let sides = Sides { base, test, modules };
    pairing.by_key(|id| sides.ours(id, with_file), |id| sides.theirs(id, with_file));
    pairing.by_key(|id| sides.ours(id, symbol), |id| sides.theirs(id, symbol));
    pairing.by_key(|id| sides.ours(id, plain_name), |id| sides.theirs(id, plain_name));
    // A function that moved into another module, such as from a library that is now linked statically.
    let anywhere = |analysis: &Analysis, id: u32| symbol(analysis, &analysis.routines[id as usize]);
    pairing.by_key(|id| anywhere(base, id), |id| anywhere(test, id));
    let theirs = |id: u32| &test.routines[id as usize];
    pairing.by_key(|id| sides.place_in_same_file(id), |id| Some(theirs(id).place));
    pairing
        .by_key(|id| sides.rest_of_module(id), |id| is_rest(theirs(id)).then_some(theirs(id).place.module.0));
    similar::pair(base, test, modules, &mut pairing);
    pairing
}

struct Sides<'a> {
    base: &'a Analysis<'a>,
    test: &'a Analysis<'a>,
    modules: &'a Pairing,
}

/// A name, and the name of the source file where that matters.
type Name = (String, Option<String>);

impl<'a> Sides<'a> {
    /// What `name` gives for a routine of BASE, within the module of TEST that is its module's partner.
    fn ours(&self, id: u32, name: Naming) -> Option<(u32, Name)> {
        let routine = &self.base.routines[id as usize];
        let module = self.modules.of_base(routine.place.module.0)?;
        Some((module, name(self.base, routine)?))
    }

    fn theirs(&self, id: u32, name: Naming) -> Option<(u32, Name)> {
        let routine = &self.test.routines[id as usize];
        Some((routine.place.module.0, name(self.test, routine)?))
    }

    /// Of code that lies in the same file on both sides; a file without a build id is the same if its path is.
    fn place_in_same_file(&self, id: u32) -> Option<Place> {
        let place = self.base.routines[id as usize].place;
        let partner = ModuleId(self.modules.of_base(place.module.0)?);
        let ours = &self.base.profile.modules[place.module.index()];
        let theirs = &self.test.profile.modules[partner.index()];
        let is_same =
            ours.build_id == theirs.build_id && (!ours.build_id.is_empty() || ours.path == theirs.path);
        is_same.then_some(Place { module: partner, ..place })
    }

    /// Code of a module that belongs to no function and was not counted.
    fn rest_of_module(&self, id: u32) -> Option<u32> {
        let routine = &self.base.routines[id as usize];
        is_rest(routine).then(|| self.modules.of_base(routine.place.module.0)).flatten()
    }
}

type Naming = fn(&Analysis, &Routine) -> Option<Name>;

fn is_rest(routine: &Routine) -> bool {
    routine.function.is_none() && routine.blocks.is_empty()
}

fn named<'a>(analysis: &'a Analysis, routine: &Routine) -> Option<&'a Function> {
    let function = &analysis.profile.functions[routine.function?.index()];
    (!function.symbol.is_empty()).then_some(function)
}

fn with_file(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    let function = named(analysis, routine)?;
    let path = &analysis.profile.files[function.file?.index()].path;
    Some((function.symbol.clone(), path.rsplit('/').next().map(str::to_string)))
}

fn symbol(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    Some((named(analysis, routine)?.symbol.clone(), None))
}

/// The demangled name, which has no hash of Rust's, without the suffixes of GCC's and LLVM's clones
/// (`.constprop.0`, `.isra.0`, `.llvm.1234`).
fn plain_name(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    Some((without_clone_suffix(&named(analysis, routine)?.name).to_string(), None))
}

fn without_clone_suffix(name: &str) -> &str {
    const CLONES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".llvm.", ".lto_priv.", ".localalias"];
    let begins = CLONES.iter().filter_map(|clone| name.find(clone)).min();
    begins.map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_mark_clones_behind_the_name() {
        assert_eq!(without_clone_suffix("sort.constprop.0.isra.1"), "sort");
        assert_eq!(without_clone_suffix("operator.part"), "operator.part");
        assert_eq!(without_clone_suffix(".part.2"), "");
    }
}
