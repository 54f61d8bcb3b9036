//! What a program was written in, where that matters to who follows it.

use crate::image::Image;
use object::Object;
use std::path::Path;

/// Whether the program or library in a file was built by Go's compiler, whose run-time system moves stacks in memory and
/// from thread to thread.
pub fn is_go(path: &Path) -> bool {
    let is_so = |image: Image| Some(image.elf()?.section_by_name(".go.buildinfo").is_some());
    Image::open(path).ok().and_then(is_so).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn go_is_known_by_what_it_says_of_its_build() {
        let folder = tempfile::tempdir().unwrap();
        let (source, built) = (folder.path().join("a.c"), folder.path().join("a"));
        let note = "__attribute__((section(\".go.buildinfo\"))) char note[32];";
        for (more, expected) in [("", false), (note, true)] {
            std::fs::write(&source, format!("{more}\nint main(void) {{ return 0; }}")).unwrap();
            let compiled = Command::new("cc").arg(&source).arg("-o").arg(&built).status();
            assert!(compiled.unwrap().success());
            assert_eq!(is_go(&built), expected);
        }
        assert!(!is_go(&source));
    }
}
