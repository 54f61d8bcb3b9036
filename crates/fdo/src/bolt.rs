//! Laying out a binary anew with BOLT.

use crate::fault::FdoError;
use crate::run::run;
use crate::tools::find;
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
}

/// How code is laid out: what helps without a second program to measure with.
const LAYOUT: [&str; 5] =
    ["-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions", "-split-all-cold", "-icf=1"];

/// Makes `output` of `binary` by branches as `perf2bolt -pa` reads them. For all that BOLT can do the binary must have
/// been linked with `--emit-relocs`.
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
    let laid_out =
        run(Command::new(bolt).arg(binary).arg("-o").arg(output).arg("-data").arg(&profile).args(LAYOUT))?;
    Ok(Said {
        mismatching: number_behind(&converted, "mismatching disassembled function contents:"),
        stale: number_before(&laid_out, "(possibly stale) profile"),
        laid_out: number_behind(&laid_out, "basic block reordering modified layout of"),
    })
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
}
