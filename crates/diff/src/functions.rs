//! Which function of one profile is which of another.

use crate::pairing::Pairing;
use crate::{namesakes, similar};
use timewise_flow::short_name::{without_arguments, without_clones};
use timewise_flow::{Analysis, Routine};
use timewise_profile::{Function, Module, ModuleId, Place};

/// Pairs the routines of two analyses whose modules are paired: by offset in one build, else by symbol and file, by
/// symbol, by the name without what compilers add to it, among several of one name by their instructions; instances of a
/// template whose arguments changed, if they are declared on one line or resemble each other; without symbols by offset
/// where the files are the same, else by the sequence of instructions.
pub fn pair(base: &Analysis, test: &Analysis, modules: &Pairing) -> Pairing {
    let mut pairing = Pairing::new(base.routines.len(), test.routines.len());
    let sides = Sides { base, test, modules };
    let theirs = |id: u32| &test.routines[id as usize];
    pairing.by_key(|id| sides.place_in_same_build(id), |id| Some(theirs(id).place));
    let (old, new) = (namesakes::Side::new(base), namesakes::Side::new(test));
    for name in [with_path, with_file, symbol, plain_name] {
        let names = (|id| sides.ours(id, name), |id| sides.theirs(id, name));
        namesakes::pair(&old, &new, &mut pairing, names);
    }
    let names = (|id| sides.ours(id, declared_generic), |id| sides.theirs(id, declared_generic));
    namesakes::pair(&old, &new, &mut pairing, names);
    let names = (|id| sides.ours(id, generic_name), |id| sides.theirs(id, generic_name));
    namesakes::pair_resembling(&old, &new, &mut pairing, names);
    // A function that moved into another module, such as from a library that is now linked statically.
    let anywhere = |analysis: &Analysis, id: u32| symbol(analysis, &analysis.routines[id as usize]);
    namesakes::pair(&old, &new, &mut pairing, (|id| anywhere(base, id), |id| anywhere(test, id)));
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

    /// Of code that lies in the same build on both sides.
    fn place_in_same_build(&self, id: u32) -> Option<Place> {
        let (ours, theirs, place) = self.partners(id)?;
        (ours.build_id == theirs.build_id && !ours.build_id.is_empty()).then_some(place)
    }

    /// Of code that lies in the same file on both sides, as far as is known without build ids.
    fn place_in_same_file(&self, id: u32) -> Option<Place> {
        let (ours, theirs, place) = self.partners(id)?;
        (ours.build_id.is_empty() && theirs.build_id.is_empty() && ours.path == theirs.path).then_some(place)
    }

    /// The module that a routine of BASE is in, its partner in TEST, and the routine's place there if both are one.
    fn partners(&self, id: u32) -> Option<(&Module, &Module, Place)> {
        let place = self.base.routines[id as usize].place;
        let partner = ModuleId(self.modules.of_base(place.module.0)?);
        let ours = &self.base.profile.modules[place.module.index()];
        let theirs = &self.test.profile.modules[partner.index()];
        Some((ours, theirs, Place { module: partner, ..place }))
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

/// A function whose symbol says which one it is: no number in it depends on others.
fn lasting<'a>(analysis: &'a Analysis, routine: &Routine) -> Option<&'a Function> {
    named(analysis, routine).filter(|function| plain(&function.name) == function.name)
}

fn with_path(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    let function = lasting(analysis, routine)?;
    Some((function.symbol.clone(), Some(analysis.profile.files[function.file?.index()].path.clone())))
}

fn with_file(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    let (symbol, path) = with_path(analysis, routine)?;
    Some((symbol, path?.rsplit('/').next().map(str::to_string)))
}

fn symbol(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    Some((lasting(analysis, routine)?.symbol.clone(), None))
}

fn plain_name(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    Some((plain(&named(analysis, routine)?.name), None))
}

/// Of an instance of a template, and of functions of one: its name without arguments and parameters.
fn generic_name(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    Some((without_arguments(&plain(&named(analysis, routine)?.name))?, None))
}

/// The same with file and line where it is declared, by which lambdas are told apart that compilers name otherwise.
fn declared_generic(analysis: &Analysis, routine: &Routine) -> Option<Name> {
    let function = named(analysis, routine)?;
    let (name, _) = generic_name(analysis, routine)?;
    let file = analysis.profile.files[function.file?.index()].path.rsplit('/').next()?;
    Some((name, Some(format!("{file}:{}", function.line))))
}

/// A demangled name, which has no hash of Rust's, without the suffixes of GCC's and LLVM's clones (`.constprop.0`,
/// `.isra.0`, `.llvm.1234`), Go's `.abi0`, and the numbers of lambdas and closures (`{lambda()#2}`, `$_1`, `func1.2`), which
/// change with what stands before them.
fn plain(name: &str) -> String {
    const NUMBERED: [&str; 4] = ["#", "$_", ".func", ".gowrap"];
    let mut rest = without_clones(name);
    let mut plain = String::new();
    while let Some(end) = NUMBERED.iter().filter_map(|mark| Some(rest.find(mark)? + mark.len())).min() {
        plain += &rest[..end];
        rest = rest[end..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_add_numbers_to_names() {
        for (name, want) in [
            ("sort.constprop.0.isra.1", "sort"),
            ("f(int) [clone .constprop.0]", "f(int)"),
            ("a::{lambda()#3}::operator()() const [clone .isra.0]", "a::{lambda()#}::operator()() const"),
            ("main::{lambda(int)#2}::operator()(int) const", "main::{lambda(int)#}::operator()(int) const"),
            ("main::$_10::operator()() const", "main::$_::operator()() const"),
            ("app::main::{closure#0}::{closure#12}", "app::main::{closure#}::{closure#}"),
            ("main.main.func1.gowrap2", "main.main.func.gowrap"),
            ("runtime.futex.abi0", "runtime.futex"),
            ("crc32", "crc32"),
        ] {
            assert_eq!(plain(name), want);
        }
    }
}
