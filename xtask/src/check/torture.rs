//! The programs of `suite/torture`: building them and running one case of one.
//!
//! The comment at a program's top may hold lines that say how to build it and how it must end:
//! `build: FLAGS`, `ends: exit N` (0 if unsaid) or `ends: signal N`; and for a program with several cases,
//! each named by its argument, `case: ARGUMENT exit N` or `case: ARGUMENT signal N`. `open: WHY` says that
//! counting is known to change the program so far, `warns: WORDS` which words the warnings hold that counting
//! is to give; it must give no others.

use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// One way to run one torture program.
#[derive(Debug)]
pub struct Case {
    /// The program's name, with the argument if it has several cases.
    pub name: String,
    /// How it must end, as [`describe`] says it.
    pub ends: String,
    /// Why counting is known to change it, if it is.
    pub open: Option<String>,
    /// What its counts come with a warning of, if they do.
    pub warns: Option<String>,
    source: PathBuf,
    flags: Vec<String>,
    argument: Option<String>,
}

/// What came of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ended: String,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub errors: Vec<u8>,
}

/// All cases, by name.
///
/// # Errors
/// If a source cannot be read.
pub fn load(root: &Path) -> Result<Vec<Case>> {
    let folder = root.join("suite/torture");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "c" || e == "cc") {
            let text = std::fs::read_to_string(&path)?;
            cases.extend(parse(&path, &text).with_context(|| path.display().to_string())?);
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

fn parse(source: &Path, text: &str) -> Result<Vec<Case>> {
    let comment = text.split("*/").next().unwrap_or_default();
    let said = |word: &'static str| {
        comment
            .lines()
            .filter_map(move |l| l.trim_start_matches([' ', '*', '/']).strip_prefix(word))
            .map(str::trim)
    };
    let stem = source.file_stem().context("a source without a name")?.to_string_lossy().into_owned();
    let flags: Vec<String> = said("build:").flat_map(str::split_whitespace).map(str::to_string).collect();
    let case = |argument: Option<&str>, ends: &str| {
        let (how, number) =
            ends.split_once(' ').with_context(|| format!("{ends}: not `exit N` or `signal N`"))?;
        ensure!(matches!(how, "exit" | "signal") && number.parse::<u8>().is_ok(), "{ends}: unknown end");
        Ok(Case {
            name: argument.map_or_else(|| stem.clone(), |argument| format!("{stem}:{argument}")),
            ends: ends.to_string(),
            open: said("open:").next().map(str::to_string),
            warns: said("warns:").next().map(str::to_string),
            source: source.to_path_buf(),
            flags: flags.clone(),
            argument: argument.map(str::to_string),
        })
    };
    let several: Vec<&str> = said("case:").collect();
    if several.is_empty() {
        return Ok(vec![case(None, said("ends:").next().unwrap_or("exit 0"))?]);
    }
    let split = |line: &str| {
        let (argument, ends) =
            line.split_once(' ').with_context(|| format!("{line}: a case without an end"))?;
        case(Some(argument), ends.trim())
    };
    several.into_iter().map(split).collect()
}

impl Case {
    /// Builds the program into `folder` unless it is there and newer than its sources.
    ///
    /// # Errors
    /// If the compiler complains.
    pub fn build(&self, folder: &Path) -> Result<PathBuf> {
        let program = folder.join(self.source.file_stem().context("a source without a name")?);
        let changed = |path: &Path| path.metadata().and_then(|m| m.modified());
        let header = self.source.with_file_name("torture.h");
        let newest = changed(&self.source)?.max(changed(&header)?);
        if changed(&program).is_ok_and(|built| built > newest) {
            return Ok(program);
        }
        let compiler = if self.source.extension().is_some_and(|e| e == "cc") { "g++" } else { "gcc" };
        let mut command = Command::new(compiler);
        command
            .args(["-O1", "-g", "-Wall", "-Werror", "-o"])
            .arg(&program)
            .arg(&self.source)
            .args(&self.flags);
        let compiled = command.output().with_context(|| compiler.to_string())?;
        let complaint = String::from_utf8_lossy(&compiled.stderr);
        ensure!(compiled.status.success(), "{}: does not compile:\n{complaint}", self.source.display());
        Ok(program)
    }

    /// Runs a built program behind `prefix`, killing it when `limit` has passed.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(&self, program: &Path, prefix: &[String], scratch: &Path, limit: Duration) -> Result<Outcome> {
        let [output, errors] = ["stdout", "stderr"].map(|name| scratch.join(name));
        // Signals that whoever runs this ignores would be ignored by the program.
        let mut command = Command::new("env");
        command.arg("--default-signal").args(prefix).arg(program).args(&self.argument);
        command.stdin(Stdio::null()).process_group(0);
        command.stdout(File::create(&output)?).stderr(File::create(&errors)?);
        let child = command.spawn().context("env")?;
        let ended = wait_at_most(child, limit)?.map_or_else(|| format!("hung {limit:?}"), describe);
        Ok(Outcome { ended, output: std::fs::read(&output)?, errors: std::fs::read(&errors)? })
    }
}

/// `exit N` or `signal N`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (_, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

/// Waits for a child that leads a process group; kills the group and gives `None` if it takes too long.
fn wait_at_most(mut child: Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // SAFETY: takes no memory; the group is the child's own, which has not been waited for.
    if unsafe { libc::killpg(child.id() as libc::pid_t, libc::SIGKILL) } < 0 {
        bail!("cannot kill a program that hangs: {}", std::io::Error::last_os_error());
    }
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_says_how_to_build_and_how_it_ends() {
        let text =
            "/* Ends.\n * build: -pthread -O2\n * case: kill signal 9\n * case: quit exit 3 */\nint x;";
        let cases = parse(Path::new("a/ends.c"), text).unwrap();
        assert_eq!(cases.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["ends:kill", "ends:quit"]);
        assert_eq!(cases[0].flags, ["-pthread", "-O2"]);
        assert_eq!((cases[0].ends.as_str(), cases[1].ends.as_str()), ("signal 9", "exit 3"));
        assert_eq!(parse(Path::new("plain.c"), "/* Plain. */").unwrap()[0].ends, "exit 0");
        assert!(parse(Path::new("odd.c"), "/* ends: well */").is_err());
    }

    #[test]
    fn what_hangs_is_killed_and_said() {
        let sleeper = Command::new("sleep").arg("100").process_group(0).spawn().unwrap();
        assert!(wait_at_most(sleeper, Duration::from_millis(50)).unwrap().is_none());
        let quick = Command::new("sh").args(["-c", "kill -ABRT $$"]).process_group(0).spawn().unwrap();
        let status = wait_at_most(quick, Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!(describe(status), "signal 6");
    }
}
