//! What a workload's output must be: what the list says, or, for workloads whose output depends on
//! the processor's vector units, what the first native run on this machine gave.

use super::{Executed, Size, Workload};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Expected outputs, with those recorded for this machine.
pub struct Expected {
    file: PathBuf,
    recorded: BTreeMap<(String, String), String>,
}

/// The judgement of one execution.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Output and exit status are right.
    Good,
    /// Right, and the output is this machine's, not the list's.
    GoodHere,
    /// Another output.
    Different {
        /// MD5 of what it wrote.
        found: String,
        /// MD5 of what it should have written.
        expected: String,
    },
    /// Another exit status.
    Failed(String),
}

impl Verdict {
    /// Whether the workload did what it should.
    pub fn is_good(&self) -> bool {
        matches!(self, Verdict::Good | Verdict::GoodHere)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Good => write!(f, "ok"),
            Verdict::GoodHere => write!(f, "ok (this machine's output)"),
            Verdict::Different { found, expected } => write!(f, "DIFFERENT output {found}, not {expected}"),
            Verdict::Failed(status) => write!(f, "FAILED with {status}"),
        }
    }
}

impl Expected {
    /// Reads what is recorded in the work folder.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn open(work: &Path) -> Result<Expected> {
        let file = work.join("outputs.tsv");
        let text = if file.exists() {
            std::fs::read_to_string(&file).with_context(|| file.display().to_string())?
        } else {
            String::new()
        };
        let row = |line: &str| {
            let mut fields = line.split('\t').map(str::to_string);
            Some(((fields.next()?, fields.next()?), fields.next()?))
        };
        Ok(Expected { file, recorded: text.lines().filter_map(row).collect() })
    }

    /// Whether the output on this machine is known without a native run.
    pub fn is_known(&self, workload: &Workload, size: Size) -> bool {
        !workload.depends_on_vector_units() || self.recorded.contains_key(&key(workload, size))
    }

    /// Judges an execution; a first native one of a workload that depends on vector units sets
    /// what later ones must give.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn judge(
        &mut self,
        workload: &Workload,
        size: Size,
        run: &Executed,
        native: bool,
    ) -> Result<Verdict> {
        let succeeded = run.status.code().is_some_and(|code| workload.is_success(code));
        if !succeeded {
            return Ok(Verdict::Failed(run.status.to_string()));
        }
        if native && !self.is_known(workload, size) {
            self.recorded.insert(key(workload, size), run.output.clone());
            let lines: String =
                self.recorded.iter().map(|((name, size), md5)| format!("{name}\t{size}\t{md5}\n")).collect();
            std::fs::write(&self.file, lines).with_context(|| self.file.display().to_string())?;
        }
        let listed = workload.output(size);
        let here = self.recorded.get(&key(workload, size)).map_or(listed, String::as_str);
        Ok(match run.output == here {
            true if here == listed => Verdict::Good,
            true => Verdict::GoodHere,
            false => Verdict::Different { found: run.output.clone(), expected: here.to_string() },
        })
    }
}

fn key(workload: &Workload, size: Size) -> (String, String) {
    (workload.name.clone(), size.word().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    fn executed(output: &str, code: i32) -> Executed {
        let none = Duration::ZERO;
        let status = ExitStatus::from_raw(code << 8);
        Executed {
            status,
            output: output.into(),
            errors: String::new(),
            elapsed: none,
            user: none,
            kernel: none,
        }
    }

    #[test]
    fn a_vector_units_first_native_output_counts_and_an_exact_workloads_does_not() {
        let folder = std::env::temp_dir().join(format!("timewise-expected-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let all = super::super::load(&crate::root().join("suite/workloads.tsv")).unwrap();
        let find = |name: &str| all.iter().find(|w| w.name == name).unwrap();
        let (x264, gzip) = (find("x264"), find("gzip"));
        let mut expected = Expected::open(&folder).unwrap();
        let other = executed("0123", 0);
        assert_eq!(expected.judge(x264, Size::Test, &other, true).unwrap(), Verdict::GoodHere);
        assert!(!expected.judge(gzip, Size::Test, &other, true).unwrap().is_good());
        let mut reopened = Expected::open(&folder).unwrap();
        assert_eq!(reopened.judge(x264, Size::Test, &other, false).unwrap(), Verdict::GoodHere);
        assert!(!reopened.judge(x264, Size::Test, &executed("4567", 0), true).unwrap().is_good());
        assert!(!reopened.judge(x264, Size::Test, &executed("0123", 3), false).unwrap().is_good());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
