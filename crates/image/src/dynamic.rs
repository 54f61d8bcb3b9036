//! What a file tells the dynamic linker that it takes from others or gives them.

use crate::image::Image;
use object::{Object, ObjectSymbol};

/// Compilers' runtimes that take all addresses for themselves but those where programs usually lie, by a function that
/// whatever was compiled for them calls.
const SANITISERS: [(&str, &str); 2] =
    [("__tsan_init", "ThreadSanitizer"), ("__msan_init", "MemorySanitizer")];

impl Image {
    /// The first of these symbols that it takes from other files or gives them.
    pub fn shares<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        let elf = self.elf()?;
        let mut shared = elf.dynamic_symbols().filter_map(|symbol| symbol.name().ok());
        shared.find_map(|shared| names.iter().find(|&&name| name == shared)).copied()
    }

    /// The runtime that it is compiled for, if that leaves no room for anything else in the program.
    pub fn sanitiser(&self) -> Option<&'static str> {
        let found = self.shares(&SANITISERS.map(|(function, _)| function))?;
        SANITISERS.iter().find(|(function, _)| *function == found).map(|&(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_a_program_takes_from_its_libraries_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let (source, built) = (folder.path().join("a.c"), folder.path().join("a"));
        std::fs::write(&source, "#include <stdlib.h>\nint main(void) { return abs(rand()) > 0; }").unwrap();
        assert!(Command::new("cc").arg(&source).arg("-o").arg(&built).status().unwrap().success());
        let image = Image::open(&built).unwrap();
        assert_eq!(image.shares(&["sigwait", "rand"]), Some("rand"));
        assert_eq!((image.shares(&["main"]), image.sanitiser()), (None, None));
        std::fs::write(&source, "void __tsan_init(void) {}\nint main(void) { return 0; }").unwrap();
        let exported = ["-rdynamic", "-o"];
        assert!(Command::new("cc").arg(&source).args(exported).arg(&built).status().unwrap().success());
        assert_eq!(Image::open(&built).unwrap().sanitiser(), Some("ThreadSanitizer"));
    }
}
