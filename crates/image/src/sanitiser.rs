//! Compilers' runtimes that have all addresses of a program but those where its code and its heap usually lie.

use crate::image::Image;
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::Path;

/// A function that whatever was compiled for one takes from it, or has in it, and what it is called.
const SANITISERS: [(&str, &str); 2] =
    [("__tsan_init", "ThreadSanitizer"), ("__msan_init", "MemorySanitizer")];

/// The runtime that the program in a file was compiled for, if there is one: it leaves no room for anything else.
pub fn sanitiser(path: &Path) -> Option<&'static str> {
    let image = Image::open(path).ok()?;
    let elf = image.elf()?;
    // Read as a whole: programs that others may extend name tens of thousands of functions, each of them far from others.
    let strings = elf.section_by_name(".dynstr")?;
    let all = strings.data().ok()?;
    // Names may share their ends.
    let may_be =
        |function: &str| all.split(|&byte| byte == 0).any(|name| name.ends_with(function.as_bytes()));
    let is = |function| elf.dynamic_symbols().any(|symbol| symbol.name() == Ok(function));
    SANITISERS.iter().find(|(function, _)| may_be(function) && is(function)).map(|&(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_sanitiser_is_known_by_what_a_program_shares_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (source, built) = (folder.path().join("a.c"), folder.path().join("a"));
        for (function, expected) in [("none", None), ("__tsan_init", Some("ThreadSanitizer"))] {
            std::fs::write(&source, format!("void {function}(void) {{}}\nint main(void) {{ return 0; }}"))
                .unwrap();
            let compiled = Command::new("cc").arg(&source).args(["-rdynamic", "-o"]).arg(&built).status();
            assert!(compiled.unwrap().success());
            assert_eq!(sanitiser(&built), expected);
        }
        assert_eq!(sanitiser(&source), None);
    }
}
