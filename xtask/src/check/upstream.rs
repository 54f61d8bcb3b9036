//! The test suites of other programs under count: the same tests pass as natively, and counts are complete.
//!
//! `suite/upstream` builds them. Each test program runs natively and counted; of what it prints, the lines that tell a
//! test's outcome must be the same. Where two native runs differ as well, nothing is said.

use super::executions;
use crate::counter::Counter;
use crate::folder::Folder;
use crate::suite;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Which.
#[derive(Args)]
pub struct Options {
    /// Only test programs whose names hold one of these: `perl op/`, `pcre2`, `double-conversion`
    names: Vec<String>,
}

/// Folders of perl's tests.
const PERL: [&str; 6] = ["base", "cmd", "mro", "op", "re", "uni"];

/// Seconds after which a native run is cut off, and the test left out; counted, it may take some times as long.
const LIMIT_SECONDS: u32 = 20;

/// One program that tests something.
struct Test {
    name: String,
    folder: PathBuf,
    command: Vec<String>,
}

/// What became of one.
enum Verdict {
    Same,
    /// Too slow, or not the same natively.
    LeftOut,
    Different(String),
}

/// Says how many ran as natively, and what did not.
///
/// # Errors
/// If something did not.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let built = Command::new(root.join("suite/upstream")).status().context("suite/upstream")?;
    ensure!(built.success(), "suite/upstream fails");
    let counter = Counter::build(root)?;
    let scratch = Folder::of(root, "upstream")?;
    super::fix_addresses()?;
    let sources = suite::work_folder(root)?.join("build");
    let mut tests = tests(&sources)?;
    let is_meant = |test: &Test| options.names.iter().any(|name| test.name.contains(name.as_str()));
    tests.retain(|test| options.names.is_empty() || is_meant(test));
    ensure!(!tests.is_empty(), "no such test; ls {} names some", sources.join("perl-5.36.0/t/op").display());
    let (mut same, mut left_out, mut bad) = (0, 0, 0);
    for test in &tests {
        match test.compare(&counter, &scratch.join("counts"))? {
            Verdict::Same => same += 1,
            Verdict::LeftOut => left_out += 1,
            Verdict::Different(how) => {
                println!("{}: {how}", test.name);
                bad += 1;
            }
        }
    }
    println!(
        "{same} test programs as natively, {bad} not; {left_out} left out: slow, or not the same natively"
    );
    ensure!(bad == 0, "{bad} test programs are changed by counting");
    Ok(())
}

fn tests(build: &Path) -> Result<Vec<Test>> {
    let single = |name: &str, folder: &str, program: &str| Test {
        name: name.into(),
        folder: build.join(folder),
        command: vec![program.into()],
    };
    let mut tests = vec![
        single("double-conversion", "double-conversion-3.2.1", "./tests"),
        single("pcre2", "pcre2-10.42", "./pcre2_jit_test"),
    ];
    let folder = build.join("perl-5.36.0/t");
    for part in PERL {
        let files = std::fs::read_dir(folder.join(part)).with_context(|| folder.display().to_string())?;
        let names = files.map(|file| Ok(file?.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<String> = names.collect::<Result<_>>()?;
        names.retain(|name| name.ends_with(".t"));
        names.sort();
        tests.extend(names.iter().map(|name| Test {
            name: format!("perl {part}/{name}"),
            folder: folder.clone(),
            command: vec!["./perl".into(), format!("{part}/{name}")],
        }));
    }
    Ok(tests)
}

impl Test {
    fn compare(&self, counter: &Counter, counts: &Path) -> Result<Verdict> {
        let native = self.output(&[], LIMIT_SECONDS)?;
        if native.status.code() == Some(124) {
            return Ok(Verdict::LeftOut);
        }
        // The counts of an earlier program must not stand for this one's.
        let _ = std::fs::remove_file(counts);
        let counted = self.output(&counter.prefix(counts), 10 * LIMIT_SECONDS)?;
        let text = std::fs::read_to_string(counts).unwrap_or_default();
        if text.is_empty() || executions::imbalance(&text)? != 0 {
            return Ok(Verdict::Different("no counts, or some that do not balance".into()));
        }
        if outcomes(&native) == outcomes(&counted) {
            return Ok(Verdict::Same);
        }
        if outcomes(&native) != outcomes(&self.output(&[], LIMIT_SECONDS)?) {
            return Ok(Verdict::LeftOut);
        }
        let (before, after) = (outcomes(&native), outcomes(&counted));
        let at = before.1.iter().zip(&after.1).take_while(|(one, other)| one == other).count();
        let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "nothing".into());
        Ok(Verdict::Different(format!(
            "natively {} after {:?}, counted {} after {:?}",
            native.status,
            line(&before.1),
            counted.status,
            line(&after.1)
        )))
    }

    fn output(&self, prefix: &[String], seconds: u32) -> Result<Output> {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &seconds.to_string()]).args(prefix).args(&self.command);
        // Perl's order of hashes, and so of some tests, is another one each time otherwise.
        command.current_dir(&self.folder).env("PERL_HASH_SEED", "0").output().context("timeout")
    }
}

/// How a program ended, and the lines that tell a test's outcome.
fn outcomes(output: &Output) -> (Option<i32>, Vec<String>) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let tells =
        |line: &&str| ["ok", "not ok", "1..", "All ", "Ran "].iter().any(|begin| line.starts_with(begin));
    (output.status.code(), text.lines().filter(tells).map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn outcomes_are_told_from_talk() {
        let text = "1..2\nok 1 - adds\n# A=HASH(0x56453c7844b8)\nnot ok 2\n";
        let output = |stdout: &str, status| Output {
            status: ExitStatus::from_raw(status),
            stdout: stdout.into(),
            stderr: Vec::new(),
        };
        let lines = ["1..2", "ok 1 - adds", "not ok 2"].map(String::from).to_vec();
        assert_eq!(outcomes(&output(text, 0)), (Some(0), lines));
        assert_ne!(outcomes(&output(text, 0)), outcomes(&output(text, 1 << 8)));
    }
}
