//! Arguments that several commands share, and what they mean.

use crate::call_graph::CallGraphArgument;
use crate::numbers::parse_interval;
use crate::talk;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;
use timewise_profile::Profile;
use timewise_sampler::{Means, Options};
use timewise_target::launch::Launch;

/// Parses one of `all` by its name.
pub fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|&value| name(value))).try_map(move |word| {
        all.iter().copied().find(|&value| name(value) == word).ok_or("there is no such choice")
    })
}

/// The program to run.
#[derive(clap::Args)]
pub struct Program {
    /// Load the program and its libraries at the same addresses each time
    #[arg(long)]
    deterministic: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

impl Program {
    /// How to launch it.
    pub fn launch(&self) -> Launch {
        let mut command = self.command.iter().cloned();
        let mut launch = Launch::new(command.next().unwrap_or_default());
        launch.arguments = command.collect();
        launch.randomise_addresses = !self.deterministic;
        launch
    }
}

/// How to sample.
#[derive(clap::Args)]
pub struct Sampling {
    /// Samples per second of CPU time [default: 4000, or fewer where a sample costs so much that
    /// they would slow the program by more than 0.5 %]
    #[arg(short = 'F', long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    frequency: Option<u32>,
    /// Sample the kernel as well, when it works for the program
    #[arg(long)]
    kernel: bool,
    /// How to find who called: auto (unwind tables, and frame pointers through code without), fp (frame
    /// pointers), dwarf (unwind tables), dwarf,BYTES (copying so much of the stack), or none
    #[arg(short = 'g', long, value_name = "HOW", default_value = "auto")]
    call_graph: CallGraphArgument,
    /// What interrupts the program: performance events, or ptrace, which needs no permission
    #[arg(long, value_enum, default_value_t, value_name = "MEANS")]
    sampler: Sampler,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Sampler {
    /// Performance events where they are permitted, else ptrace
    #[default]
    Auto,
    Perf,
    Ptrace,
}

impl Sampling {
    /// What the sampler is told.
    pub fn options(&self) -> Options {
        let means = match self.sampler {
            Sampler::Auto => Means::Automatic,
            Sampler::Perf => Means::Events,
            Sampler::Ptrace => Means::Stops,
        };
        let mut common = Options { kernel: self.kernel, means, ..Options::default() };
        self.call_graph.put_into(&mut common);
        match self.frequency {
            Some(frequency_hz) => Options { frequency_hz, cost_limit: None, ..common },
            None => common,
        }
    }
}

/// How to count.
#[derive(clap::Args)]
pub struct Counting {
    /// Do not find out what calls cost; counting takes less time then
    #[arg(long)]
    no_calls: bool,
    /// Also keep how much of each block was executed in every N instructions of each thread (basic block
    /// vectors)
    #[arg(long, value_name = "N", value_parser = parse_interval, conflicts_with = "pid")]
    intervals: Option<u64>,
}

impl Counting {
    /// What the engine is told.
    pub fn options(&self) -> timewise_engine::Options {
        timewise_engine::Options {
            calls: !self.no_calls,
            intervals: self.intervals,
            ..timewise_engine::Options::default()
        }
    }
}

/// Where profiles go and are looked for unless something else is said.
pub const DEFAULT_FILE: &str = "profile.tw";

/// Where a profile goes.
#[derive(clap::Args)]
pub struct Output {
    /// Where to save the profile; a former file is kept with .old added
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = DEFAULT_FILE)]
    pub path: PathBuf,
    /// Say nothing but what is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    /// When this command began.
    #[arg(skip = SystemTime::now())]
    begun: SystemTime,
}

impl Output {
    /// A profile that goes there.
    pub fn new(path: PathBuf, quiet: bool) -> Output {
        Output { path, quiet, begun: SystemTime::now() }
    }

    /// Where to save: where the user said or, where another recording has saved since this one began, beside that with our
    /// process id in the name, or the next number that is free.
    pub fn place(&self) -> PathBuf {
        let written = self.path.metadata().and_then(|about| about.modified());
        // A time to come is none at which something was written.
        if !written.is_ok_and(|written| (self.begun..=SystemTime::now()).contains(&written)) {
            return self.path.clone();
        }
        let named = |number: u32| {
            let mut name = self.path.file_stem().unwrap_or_default().to_owned();
            name.push(format!("-{number}"));
            if let Some(extension) = self.path.extension() {
                name.push(".");
                name.push(extension);
            }
            self.path.with_file_name(name)
        };
        // In PID namespaces of their own several have one number.
        (std::process::id()..).map(named).find(|path| !path.exists()).unwrap_or_else(|| self.path.clone())
    }

    /// From now on we are as quiet as asked. Fails where saving would surely fail, before the program runs.
    ///
    /// # Errors
    /// What speaks against the path.
    pub fn begin(&self) -> anyhow::Result<()> {
        if self.quiet {
            talk::be_quiet();
        }
        if self.path.as_os_str() == "-" {
            anyhow::bail!(
                "a profile is a database, which cannot be written to standard output; \
                 choose a file, or ./- if that is its name"
            );
        }
        Ok(Profile::check_place(&self.path)?)
    }
}
