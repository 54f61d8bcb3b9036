//! Branches as `perf2bolt -pa` reads them: `B FROM TO COUNT MISPREDICTED` for a branch that was taken, and
//! `F START END COUNT` for straight code from where one led to the next branch. Addresses are link-time ones, in
//! hexadecimal.

use crate::traced::Traced;
use std::fmt::Write;
use std::ops::Range;
use timewise_profile::{ModuleId, Profile};

/// The branches within a module; nothing if there is none. Whether they were predicted is not known. What runs straight
/// within `linkage`, its procedure linkage tables, is left out: BOLT takes it for a contradiction, because it has no
/// functions there.
pub fn export(profile: &Profile, module: Option<ModuleId>, linkage: &[Range<u64>]) -> String {
    let traced = Traced::within(profile, module);
    let mut text = String::new();
    // Writing to a string does not fail.
    for ((from, to), count) in traced.branches {
        let _ = writeln!(text, "B {from:x} {to:x} {count} 0");
    }
    // A single instruction tells nothing of what follows it.
    let tells = |start: u64, end: u64| start != end && !linkage.iter().any(|stubs| stubs.contains(&start));
    let ranges = traced.straight.into_iter().chain(traced.joints);
    for ((start, end), count) in ranges.filter(|&((start, end), _)| tells(start, end)) {
        let _ = writeln!(text, "F {start:x} {end:x} {count}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_and_what_lies_between_them_are_told_for_one_module() {
        let profile = crate::traced::tests::profile();
        let text = export(&profile, Some(ModuleId(1)), &[]);
        assert_eq!(text, "B 1c84 1d6b 5 0\nF 1d6b 1d7f 3\nF 1d84 1d90 5\n");
        let without = export(&profile, Some(ModuleId(1)), &[0x1000..0x1d00, 0x1d84..0x1da0]);
        assert_eq!(without, "B 1c84 1d6b 5 0\nF 1d6b 1d7f 3\n");
        assert_eq!(export(&Profile::default(), None, &[]), "");
    }
}
