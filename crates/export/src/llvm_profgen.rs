//! Branches as `llvm-profgen --unsymbolized-profile` reads them: the number of stretches of straight code and a line
//! `START-END:COUNT` for each, then the same of branches, `FROM->TO:COUNT`. Addresses are link-time ones in
//! hexadecimal, for which it wants `--use-offset=0`.

use crate::traced::Traced;
use timewise_profile::{ModuleId, Profile};

/// The branches within a module; nothing if there is none.
pub fn export(profile: &Profile, module: Option<ModuleId>) -> String {
    let traced = Traced::within(profile, module);
    traced.ranges() + &traced.taken()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_begin_with_their_number_of_lines() {
        let text = export(&crate::traced::tests::profile(), Some(ModuleId(1)));
        assert_eq!(text, "2\n1d6b-1d7f:3\n1d84-1d90:5\n1\n1c84->1d6b:5\n");
        assert_eq!(export(&Profile::default(), None), "0\n0\n");
    }
}
