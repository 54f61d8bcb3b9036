//! Laying out a binary anew with BOLT.

use crate::fault::FdoError;
use crate::run::run;
use crate::tools::find;
use object::Object;
use std::path::Path;
use std::process::Command;

/// What BOLT said of the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Stretches of straight code that contradict the program.
    pub mismatching: u64,
    /// Functions whose profile it did not believe.
    pub stale: u64,
    /// Functions in which it moved blocks of code.
    pub laid_out: u64,
    /// It left out the program's debug information.
    pub stripped: bool,
}

/// How code is laid out: what helps without a second program to measure with. Folding equal functions (`-icf`) is not of
/// it: BOLT 19 folds those as well whose addresses are compared, and the program does something else. Nor is updating
/// debug information (`-update-debug-sections`): of GCC 12's DWARF 5 it gives lines to wrong files.
const LAYOUT: [&str; 3] = ["-reorder-blocks=ext-tsp", "-split-functions", "-split-all-cold"];

/// Likewise, where the linker left its relocations (`--emit-relocs`): BOLT refuses to move functions of other binaries.
const LAYOUT_OF_FUNCTIONS: &str = "-reorder-functions=hfsort";

/// Makes `output` of `binary` by branches as `perf2bolt -pa` reads them. Unless the binary was linked with
/// `--emit-relocs`, BOLT reorders within functions only.
///
/// # Errors
/// If there is no BOLT, or it fails.
pub fn optimise(binary: &Path, branches: &str, output: &Path) -> Result<Said, FdoError> {
    const PACKAGE: &str = "bolt-19";
    let (convert, bolt) = (find("perf2bolt", PACKAGE)?, find("llvm-bolt", PACKAGE)?);
    let system = |what, path: &Path| {
        let path = path.to_path_buf();
        move |cause| FdoError::System { what, path, cause }
    };
    let folder = tempfile::tempdir().map_err(system("make a folder in", &std::env::temp_dir()))?;
    let (aggregated, profile) = (folder.path().join("branches"), folder.path().join("profile.fdata"));
    std::fs::write(&aggregated, branches).map_err(system("write", &aggregated))?;
    let converted =
        run(Command::new(convert).arg("-pa").arg("-p").args([&aggregated, binary]).arg("-o").arg(&profile))?;
    let mut bolt = Command::new(bolt);
    bolt.arg(binary).arg("-o").arg(output).arg("-data").arg(&profile).args(LAYOUT);
    if has_relocations(binary).map_err(system("read", binary))? {
        bolt.arg(LAYOUT_OF_FUNCTIONS);
    }
    let laid_out = run(&mut bolt)?;
    Ok(Said {
        mismatching: number_behind(&converted, "mismatching disassembled function contents:"),
        stale: number_before(&laid_out, "(possibly stale) profile"),
        laid_out: number_behind(&laid_out, "basic block reordering modified layout of"),
        stripped: laid_out.contains("debug info will be stripped"),
    })
}

/// Whether the linker left the relocations of code in a binary. One that cannot be understood BOLT will complain of.
fn has_relocations(binary: &Path) -> std::io::Result<bool> {
    let bytes = std::fs::read(binary)?;
    let file = object::File::parse(bytes.as_slice());
    Ok(file.is_ok_and(|file| file.section_by_name(".rela.text").is_some()))
}

/// The number that follows some words, 0 if they are not said.
fn number_behind(text: &str, words: &str) -> u64 {
    let behind = text.split_once(words).map_or("", |(_, behind)| behind);
    behind.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// The first number on the line that has some words: "4 (2.0% of all profiled) functions have invalid (possibly stale)
/// profile".
fn number_before(text: &str, words: &str) -> u64 {
    let line = text.lines().find(|line| line.contains(words)).unwrap_or_default();
    let numbers = line.split_whitespace().filter_map(|word| word.trim_start_matches('(').parse().ok());
    numbers.into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bolt_complains_of_is_understood() {
        let text = "PERF2BOLT: traces mismatching disassembled function contents: 12 (0.5%)\n";
        assert_eq!(number_behind(text, "mismatching disassembled function contents:"), 12);
        let text = "BOLT-INFO: 3 functions\nBOLT-WARNING: 4 (2.0% of all profiled) functions have invalid (possibly \
                    stale) profile. Use -report-stale to see the list.\n";
        assert_eq!(number_before(text, "(possibly stale) profile"), 4);
        let text = "BOLT-INFO: basic block reordering modified layout of 2 functions (66.67% of profiled)\n";
        assert_eq!(number_behind(text, "basic block reordering modified layout of"), 2);
        assert_eq!((number_behind("", "a"), number_before("", "a")), (0, 0));
    }

    /// Two functions with equal code have two addresses, also in the program that BOLT makes, whatever it may move.
    #[test]
    fn functions_stay_apart_whose_addresses_are_compared() {
        assert_apart(&["-Wl,--emit-relocs"]);
        assert_apart(&[]);
    }

    fn assert_apart(link: &[&str]) {
        const PROGRAM: &str = "
            typedef long (*Handler)(long);
            __attribute__((noinline)) long on_read(long x) { return x * 3 + 1; }
            __attribute__((noinline)) long on_write(long x) { return x * 3 + 1; }
            volatile Handler handlers[2] = { on_read, on_write };
            int main(void) { return handlers[0](1) + handlers[1](1) != 8 || handlers[0] == on_write; }";
        let folder = tempfile::tempdir().unwrap();
        let [source, binary, output] = ["program.c", "program", "anew"].map(|name| folder.path().join(name));
        std::fs::write(&source, PROGRAM).unwrap();
        let mut compiler = Command::new("gcc");
        compiler.args(["-O2", "-g", "-fno-ipa-icf"]).args(link).arg("-o").args([&binary, &source]);
        run(&mut compiler).unwrap();
        let symbols = run(Command::new("nm").arg(&binary)).unwrap();
        let address =
            |name| symbols.lines().find_map(|line| line.strip_suffix(name)?.split(' ').next()).unwrap();
        // BOLT leaves alone what no branch goes to.
        let from = address(" main");
        let branch = |name| format!("B {from} {} 100 0\n", address(name));
        let branches = branch(" on_read") + &branch(" on_write");
        let said = match optimise(&binary, &branches, &output) {
            Err(FdoError::Missing { .. }) => return,
            said => said.unwrap(),
        };
        assert!(said.stripped, "{said:?}");
        for program in [&binary, &output] {
            assert!(Command::new(program).status().unwrap().success(), "{}", program.display());
        }
    }
}
