//! Whether both sides are builds of one program, which may be called by what they are.

use crate::comparison::Comparison;
use crate::modules::executable;
use std::collections::HashSet;
use timewise_flow::{Analysis, InstructionId};
use timewise_profile::{ModuleId, Profile};

/// Functions that nearly every program has.
const EVERYWHERE: [&str; 8] =
    ["", "main", "_start", "_init", "_fini", "frame_dummy", "register_tm_clones", "deregister_tm_clones"];

/// The share of their instructions that builds without names have in common. Tools of one package share half.
const ENOUGH_COMMON: f64 = 2.0 / 3.0;

impl Comparison<'_> {
    /// Whether one side's program is, as far as can be told, another build of the other's, or the same: half of the functions
    /// of the one with fewer are functions of the other by name, or, where one has no names, two thirds of its executed
    /// instructions are instructions of the other.
    pub fn is_of_one_program(&self) -> bool {
        let (base, test) = (self.base.profile, self.test.profile);
        let (Some(ours), Some(theirs)) = (executable(base), executable(test)) else { return false };
        let build_id = &base.modules[ours.index()].build_id;
        let is_one_build = !build_id.is_empty() && *build_id == test.modules[theirs.index()].build_id;
        is_one_build
            || have_names_in_common((base, ours), (test, theirs))
                .unwrap_or_else(|| self.share_code(ours, theirs))
    }

    fn share_code(&self, ours: ModuleId, theirs: ModuleId) -> bool {
        let base = instructions_of(self.base, ours).count();
        let test = instructions_of(self.test, theirs).count();
        let pairs = &self.matching.instructions;
        let common = instructions_of(self.base, ours).filter(|id| pairs.of_base(id.0).is_some()).count();
        common > 0 && common as f64 >= ENOUGH_COMMON * base.min(test) as f64
    }
}

fn instructions_of<'a>(analysis: &'a Analysis, module: ModuleId) -> impl Iterator<Item = InstructionId> + 'a {
    let all = (0..analysis.code.instructions.len() as u32).map(InstructionId);
    all.filter(move |id| analysis.code.place(*id).module == module)
}

/// `None` where one side has no names that tell.
fn have_names_in_common(base: (&Profile, ModuleId), test: (&Profile, ModuleId)) -> Option<bool> {
    let [base, test] = [base, test].map(|(profile, module)| {
        let own = profile.functions.iter().filter(|function| function.place.module == module);
        let symbols = own.map(|function| function.symbol.as_str());
        symbols.filter(|symbol| tells(symbol)).collect::<HashSet<&str>>()
    });
    let fewer = base.len().min(test.len());
    (fewer > 0).then(|| 2 * base.intersection(&test).count() >= fewer)
}

/// Whether a function's symbol tells of which program it is: neither stubs of libraries' functions do, nor what compilers
/// put in.
fn tells(symbol: &str) -> bool {
    !symbol.ends_with("@plt") && !symbol.starts_with("__") && !EVERYWHERE.contains(&symbol)
}
