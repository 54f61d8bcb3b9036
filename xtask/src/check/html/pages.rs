//! The pages to look at, and the profiles behind them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_profile::{
    Block, BlockCount, BlockId, Clock, CodeVersion, EdgeCount, EdgeKind, Exit, Function, Module, ModuleId,
    ModuleKind, Offset, Place, Process, ProcessId, Profile, Run, RunId, RunKind, Sample, Thread, ThreadId,
};

/// A page and the profile that it shows.
pub struct Page {
    /// The page.
    pub file: PathBuf,
    timewise: PathBuf,
    profile: PathBuf,
}

impl Page {
    /// Writes the page of a profile.
    ///
    /// # Errors
    /// If timewise does.
    pub fn of(timewise: &Path, profile: &Path, file: &Path) -> Result<Page> {
        let page = Page {
            file: file.to_path_buf(),
            timewise: timewise.to_path_buf(),
            profile: profile.to_path_buf(),
        };
        succeed(page.report().args(["--format", "html", "-o"]).arg(file))?;
        Ok(page)
    }

    /// Rows of the JSON report of the same profile.
    ///
    /// # Errors
    /// If timewise fails.
    pub fn rows(&self, by: &str) -> Result<Vec<Value>> {
        let printed = succeed(self.report().args(["--format", "json", "--by", by]))?;
        let document: Value = serde_json::from_slice(&printed)?;
        Ok(document["rows"].as_array().context("a report without rows")?.clone())
    }

    fn report(&self) -> Command {
        let mut command = Command::new(&self.timewise);
        command.arg("report").arg(&self.profile);
        command
    }
}

fn succeed(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {said}", output.status);
    Ok(output.stdout)
}

/// The page of timewise while it reads a profile of bzip2: a real program, with source and generic names.
pub fn of_timewise_itself(root: &Path, timewise: &Path, scratch: &Path) -> Result<Page> {
    let (read, profile) = (scratch.join("bzip2.tw"), scratch.join("real.tw"));
    let record = |profile: &Path| {
        let mut command = Command::new(timewise);
        command.current_dir(root).args(["run", "-F", "10000", "-o"]).arg(profile).arg("--");
        command
    };
    succeed(record(&read).args(["bzip2", "-k", "-c", "Cargo.lock"]))?;
    succeed(
        record(&profile).arg(timewise).args(["report", "--by", "instruction", "--format", "json"]).arg(&read),
    )?;
    Page::of(timewise, &profile, &scratch.join("real.html"))
}

/// The page of a shell that waits and of a program that has the kernel copy.
pub fn of_the_kernel(timewise: &Path, scratch: &Path) -> Result<Page> {
    let profile = scratch.join("kernel.tw");
    let script = "dd if=/dev/zero of=/dev/null bs=64k count=60000 2>&1; sleep 0.3";
    succeed(
        Command::new(timewise).args(["run", "--kernel", "-o"]).arg(&profile).args(["--", "sh", "-c", script]),
    )?;
    Page::of(timewise, &profile, &scratch.join("kernel.html"))
}

/// Functions of the page of many functions.
pub const MANY: usize = 100_000;

/// Names that a careless page takes for markup or script.
pub const HOSTILE: [&str; 7] = [
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    "operator<< <char, std::char_traits<char> >(std::ostream&, char const*)",
    "<!-- --><!--<script>",
    "\"quoted\" 'twice' `thrice` ${window.harmed = 1}",
    "&lt;b&gt; &amp;amp; {{ 1 + 1 }}",
    "line\u{2028}separator \\u003c \u{202e}turned",
];

/// The page of a hundred thousand functions that each were called once more than the one before.
pub fn of_many_functions(timewise: &Path, scratch: &Path) -> Result<Page> {
    let file = scratch.join("many.tw");
    many_functions().save(&file)?;
    Page::of(timewise, &file, &scratch.join("many.html"))
}

fn many_functions() -> Profile {
    let mut profile = Profile::default();
    for kind in [RunKind::Sampling, RunKind::Counting] {
        let run = RunId(profile.runs.len() as u32);
        let mut row = Run::new(kind);
        row.command = vec![b"</title><script>window.harmed = 1</script>".to_vec()];
        row.exit = Exit::Code(0);
        profile.runs.push(row);
        profile.processes.push(Process {
            run,
            pid: 1,
            parent: None,
            executable: b"/bin/many".to_vec(),
            exit: Exit::Code(0),
            count_uncertainty: 0,
        });
        profile.threads.push(Thread {
            process: ProcessId(run.0),
            tid: 1,
            name: "many".into(),
            instructions: None,
        });
    }
    profile.runs[0].clock = Some(Clock {
        event: "cpu-clock:u".into(),
        counts_cycles: false,
        precise_level: 0,
        frequency_hz: 4000,
        scope: None,
        core_hz: 3e9,
        core_hz_low: 3e9,
        core_hz_high: 3e9,
    });
    profile.modules.push(Module {
        kind: ModuleKind::File,
        path: b"/bin/many".to_vec(),
        build_id: Vec::new(),
    });
    for nth in 0..MANY {
        let place = Place {
            module: ModuleId(0),
            version: CodeVersion::default(),
            offset: Offset(0x1000 + 16 * nth as u64),
        };
        let name = HOSTILE.get(nth).map_or_else(|| format!("function_{nth:06}"), |name| name.to_string());
        let symbol = name.clone();
        profile.functions.push(Function { place, size: 16, name, symbol, file: None, line: 0 });
        // One `nop` and a `ret`.
        profile.blocks.push(Block { place, instructions: 2, code: vec![0x90, 0xc3] });
        let block = BlockId(nth as u32);
        let executions = nth as u64 + 1;
        profile.block_counts.push(BlockCount { block, process: ProcessId(1), executions });
        for (from, to, kind) in [(None, Some(block), EdgeKind::Call), (Some(block), None, EdgeKind::Return)] {
            profile.edge_counts.push(EdgeCount { from, to, kind, process: ProcessId(1), count: executions });
        }
        // Those with the worst names are the hottest.
        let samples = if nth < HOSTILE.len() { 40 - nth } else { usize::from(nth % 10 == 0) };
        let sample = Sample {
            thread: ThreadId(0),
            time_ns: 0,
            weight_ns: 250_000,
            weight_cycles: None,
            place: Some(Place { offset: Offset(place.offset.0 + 1), ..place }),
            kernel: false,
            stack: None,
        };
        profile.samples.extend(std::iter::repeat_n(sample, samples));
    }
    profile
}
