//! The list of workloads, `suite/workloads.tsv`.

use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use std::path::Path;

/// Whose work a workload is: averages of the two kinds are never mixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A program that people use.
    Real,
    /// A program written for one behaviour.
    Kernel,
}

/// Size of a workload's input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Size {
    /// About 0.2 s.
    Test,
    /// 1 to 5 s.
    Train,
}

/// One row of the list.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What it is called.
    pub name: String,
    /// Real program or kernel.
    pub kind: Kind,
    /// The behaviour that it stands for.
    pub category: String,
    /// The SPEC program or class of programs whose part it plays.
    pub role: String,
    threads: u32,
    traits: Vec<String>,
    /// Variables to set.
    pub environment: Vec<(String, String)>,
    commands: [String; 2],
    /// Shell command that takes what varies out of the standard output.
    pub filter: String,
    outputs: [String; 2],
    seconds: [f64; 2],
}

impl Kind {
    /// As written in the list.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Real => "real",
            Kind::Kernel => "kernel",
        }
    }
}

impl Size {
    /// As written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Size::Test => "test",
            Size::Train => "train",
        }
    }
}

impl Workload {
    /// The shell command of this size.
    pub fn command(&self, size: Size) -> &str {
        &self.commands[size as usize]
    }

    /// MD5 of the filtered standard output.
    pub fn output(&self, size: Size) -> &str {
        &self.outputs[size as usize]
    }

    /// CPU time on one machine once: a guide for planning.
    pub fn rough_seconds(&self, size: Size) -> f64 {
        self.seconds[size as usize]
    }

    /// Whether the processor's vector extensions change the output.
    pub fn depends_on_vector_units(&self) -> bool {
        self.traits.iter().any(|t| t == "vector-output")
    }

    /// Whether it is a program of one thread that is neither a server nor a process tree.
    pub fn is_single_threaded(&self) -> bool {
        self.threads == 1 && self.category != "server" && self.category != "many-processes"
    }

    /// Whether this exit status means that all is well: 0, or N of a trait `exit-N`.
    pub fn is_success(&self, status: i32) -> bool {
        status == 0 || self.traits.iter().any(|t| *t == format!("exit-{status}"))
    }
}

/// Reads the list.
///
/// # Errors
/// If the file cannot be read, or a row lacks a field or holds nonsense.
pub fn load(path: &Path) -> Result<Vec<Workload>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> Result<Vec<Workload>> {
    let mut lines = text.lines();
    let titles: Vec<&str> = lines.next().context("empty list")?.split('\t').collect();
    lines.map(|line| row(&titles, line).with_context(|| format!("row: {line}"))).collect()
}

fn row(titles: &[&str], line: &str) -> Result<Workload> {
    let fields: Vec<&str> = line.split('\t').collect();
    ensure!(fields.len() == titles.len(), "{} fields under {} titles", fields.len(), titles.len());
    let fields: HashMap<&str, &str> = titles.iter().copied().zip(fields).collect();
    let text =
        |title: &str| fields.get(title).map(|f| f.to_string()).with_context(|| format!("no column {title}"));
    let list = |title: &str, by: char| -> Result<Vec<String>> {
        Ok(text(title)?.split(by).filter(|f| *f != "-").map(str::to_string).collect())
    };
    let seconds = |title: &str| -> Result<f64> {
        text(title)?.parse().with_context(|| format!("{title} is no number"))
    };
    let assignment = |text: String| {
        let (name, value) = text.split_once('=').context("a variable without =")?;
        Ok((name.to_string(), value.to_string()))
    };
    Ok(Workload {
        name: text("name")?,
        kind: match text("kind")?.as_str() {
            "real" => Kind::Real,
            "kernel" => Kind::Kernel,
            other => anyhow::bail!("kind {other}; expected real or kernel"),
        },
        category: text("category")?,
        role: text("role")?,
        threads: text("threads")?.parse().context("threads is no number")?,
        traits: list("traits", ',')?,
        environment: list("env", ' ')?.into_iter().map(assignment).collect::<Result<_>>()?,
        commands: [text("command_test")?, text("command_train")?],
        filter: text("filter")?,
        outputs: [text("md5_test")?, text("md5_train")?],
        seconds: [seconds("cpu_s_test")?, seconds("cpu_s_train")?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_33_single_threaded_workloads_of_47() {
        let all = load(&crate::root().join("suite/workloads.tsv")).unwrap();
        assert_eq!(all.len(), 47);
        let single: Vec<_> = all.iter().filter(|w| w.is_single_threaded()).collect();
        assert_eq!(single.len(), 33);
        assert_eq!(single.iter().filter(|w| w.kind == Kind::Real).count(), 15);
        assert!(all.iter().all(|w| w.outputs.iter().all(|md5| md5.len() == 32)));
    }

    /// `-E` has a Python ignore its variables, the seed of its hashes among them: each run goes other ways then.
    #[test]
    fn what_is_set_for_a_python_is_not_ignored() {
        let all = load(&crate::root().join("suite/workloads.tsv")).unwrap();
        let is_python = |w: &&Workload| w.environment.iter().any(|(name, _)| name.starts_with("PYTHON"));
        let pythons: Vec<_> = all.iter().filter(is_python).collect();
        assert_eq!(pythons.len(), 2);
        assert!(!pythons.iter().any(|w| w.commands.iter().any(|command| command.contains(" -E "))));
    }

    #[test]
    fn a_row_with_a_field_too_few_is_refused() {
        let error = parse("name\tkind\nperl\n").unwrap_err();
        assert!(format!("{error:#}").contains("1 fields under 2 titles"));
    }
}
