//! Branches as AutoFDO's tools read them with `--profiler=text`: straight code, addresses of samples, of which there
//! are none, and branches.

use crate::traced::Traced;
use timewise_profile::{ModuleId, Profile};

/// The branches within a module; nothing if there is none.
pub fn export(profile: &Profile, module: Option<ModuleId>) -> String {
    let traced = Traced::within(profile, module);
    format!("{}0\n{}", traced.ranges(), traced.taken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_straight_code_and_branches_stand_no_addresses() {
        let text = export(&crate::traced::tests::profile(), Some(ModuleId(1)));
        assert_eq!(text, "2\n1d6b-1d7f:3\n1d84-1d90:5\n0\n1\n1c84->1d6b:5\n");
    }
}
