//! `cargo xtask check paths`: of every function of a workload, the paths that PP counts are those that were taken,
//! along the stream and by counters in the program, where TPP's counts are also those along the stream; and what TPP
//! finds out of them, and what both would execute for that (TPP, tables 1 to 4, figures 3 and 9).

use crate::bench::table::Destination;
use crate::counter::build_example;
use crate::folder::Folder;
use crate::suite::{self, Expected, Size, execute};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::Path;

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Workloads; all of one thread that are neither servers nor process trees if none is named
    names: Vec<String>,
    /// Size of the input
    #[arg(long, value_enum, default_value_t = Size::Test)]
    size: Size,
    /// Seconds after which a program counts as hung
    #[arg(long, default_value_t = 600)]
    limit: u32,
    /// Fail if TPP(5,15) attributes less of the flow to the paths that it took, on average of all workloads
    #[arg(long, default_value_t = 0.988)]
    least_definite: f64,
    #[command(flatten)]
    into: Destination,
}

/// The table's name in a Markdown file.
const TABLE: &str = "paths told";

/// As the examples name them, which have them from `timewise_paths::Method::COMPARED`.
pub const METHODS: [&str; 5] = ["PP", "TPP(1,1)", "TPP(5,5)", "TPP(10,10)", "TPP(5,15)"];

/// Paths counted wrongly that are shown of a workload.
const EXAMPLES: usize = 10;

/// What the example reported.
struct Report(String);

impl Report {
    fn number(&self, name: &str) -> Result<f64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let line = line.with_context(|| format!("no {name} in the report"))?;
        line.parse().with_context(|| format!("{name} {line}"))
    }

    fn of(&self, method: &str, name: &str) -> Result<f64> {
        self.number(&format!("{method} {name}"))
    }

    /// Paths that were counted otherwise in the program than along the stream.
    fn examples(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(|line| line.strip_prefix("# ")).take(EXAMPLES)
    }

    /// A number for each method.
    fn each(&self, name: impl Fn(&str) -> Result<f64>) -> Result<Vec<f64>> {
        METHODS.iter().map(|method| name(method)).collect()
    }

    /// About how many instructions a method executes for each that the program does: counting takes 3, in a hash
    /// table 5.2 times that (table 1).
    fn overhead(&self, method: &str) -> Result<f64> {
        let of = |name| self.of(method, name);
        let counts = of("array_counts")? + of("cold_counts")? + 5.2 * of("hash_counts")?;
        Ok((of("adds")? + of("sets")? + 3.0 * counts) / self.number("instructions")?.max(1.0))
    }

    fn faults(&self) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        for (name, wanted) in [("whole", 1.0), ("PP wrong", 0.0)] {
            let found = self.number(name)?;
            if found != wanted {
                faults.push(format!("{name}: {found}"));
            }
        }
        for method in METHODS {
            let senseless = self.of(method, "senseless")?;
            if senseless != 0.0 {
                faults.push(format!("{method} counted {senseless} paths that there are none of"));
            }
            for (name, wanted) in [("whole", 1.0), ("wrong", 0.0), ("senseless", 0.0), ("lost", 0.0)] {
                let found = self.of(method, &format!("inside {name}"))?;
                if found != wanted {
                    faults.push(format!("{method} in the program, {name}: {found}"));
                }
            }
        }
        Ok(faults)
    }
}

/// Prints tables with a row for each workload; what is wrong stands below.
///
/// # Errors
/// If PP counts other paths than were taken, or TPP finds out too little.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    // Before the hour of work that it would be for.
    options.into.check(TABLE)?;
    let scratch = Folder::of(root, "paths")?;
    let program = build_example(root, "paths")?;
    let file = scratch.join("report");
    let prefix = [&program, &file].map(|path| path.to_string_lossy().into_owned());
    let work = suite::work_folder(root)?;
    let mut expected = Expected::open(&work)?;
    let workloads = suite::select_single_threaded(root, &options.names)?;
    let (mut reports, mut faults) = (Vec::new(), Vec::new());
    for workload in &workloads {
        std::fs::write(&file, "")?;
        let executed = execute(workload, options.size, &work, &prefix, options.limit)?;
        let verdict = expected.judge(workload, options.size, &executed, false)?;
        let report = Report(std::fs::read_to_string(&file)?);
        let found = report.faults().unwrap_or_else(|error| vec![error.to_string()]);
        println!("{:16} {verdict}", workload.name);
        found.iter().map(String::as_str).chain(report.examples()).for_each(|line| println!("    {line}"));
        if !verdict.is_good() || !found.is_empty() {
            faults.push(format!("{}: {verdict} {}", workload.name, found.join("; ")));
        }
        if found.is_empty() {
            reports.push((workload.name.as_str(), report));
        }
    }
    tables(&reports)?;
    let caption = format!("What PP and TPP count, at size {}", options.size.word());
    options.into.put(TABLE, &caption, &in_one(&reports)?)?;
    let definite: Result<Vec<f64>> =
        reports.iter().map(|(_, report)| report.of("TPP(5,15)", "definite")).collect();
    let definite = mean(&definite?);
    println!(
        "\n{} workloads. Paths that strayed from the edges of the run before are in no table; blocks are unequal that \
         the two runs executed unequally often, or that strayed paths have",
        reports.len()
    );
    ensure!(faults.is_empty(), "{} of the workloads went wrong:\n{}", faults.len(), faults.join("\n"));
    // Of single workloads it may be less.
    ensure!(
        !options.names.is_empty() || definite >= options.least_definite,
        "TPP(5,15) attributes {definite:.4} of the flow to the paths that it took, not {}",
        options.least_definite
    );
    Ok(())
}

/// A figure of a method.
type Figure = fn(&Report, &str) -> Result<f64>;

/// How a figure is printed.
type Shown = fn(f64) -> String;

/// What is told of each method.
struct Part {
    title: &'static str,
    /// In the one table of a Markdown file, which has those methods only that differ in it.
    heading: &'static str,
    methods: &'static [&'static str],
    figure: Figure,
    shown: Shown,
}

/// The baseline, and what is compared with it most.
const BOTH: &[&str] = &[METHODS[0], METHODS[4]];

const PARTS: [Part; 6] = [
    Part {
        title: "attribution of definite flow (tables 2 and 3)",
        heading: "flow",
        methods: &[METHODS[4]],
        figure: |report, method| report.of(method, "definite"),
        shown: percent,
    },
    Part {
        title: "instructions for it, about, of those of the program",
        heading: "operations",
        methods: BOTH,
        figure: |report, method| report.overhead(method),
        shown: percent,
    },
    Part {
        title: "of paths taken, those counted in a hash table (table 1)",
        heading: "hashed",
        methods: BOTH,
        figure: |report, method| share(report, method, "hash_counts"),
        shown: percent,
    },
    Part {
        title: "of paths taken, those that edges tell (figure 3)",
        heading: "obvious",
        methods: &METHODS,
        figure: |report, method| share(report, method, "obvious"),
        shown: percent,
    },
    Part {
        title: "paths with a number (table 4)",
        heading: "numbered",
        methods: BOTH,
        figure: |report, method| report.of(method, "numbered"),
        shown: whole,
    },
    Part {
        title: "functions that count in a hash table (figure 9)",
        heading: "hashing functions",
        methods: BOTH,
        figure: |report, method| report.of(method, "hashed_routines"),
        shown: whole,
    },
];

fn percent(value: f64) -> String {
    format!("{:.2} %", 100.0 * value)
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// The rows of one table with a column for each part and method, and means below.
fn in_one(reports: &[(&str, Report)]) -> Result<Vec<Vec<String>>> {
    let columns = || PARTS.iter().flat_map(|part| part.methods.iter().map(move |&method| (part, method)));
    let mut rows = vec![vec!["workload".to_string(), "paths taken".to_string()]];
    rows[0].extend(columns().map(|(part, method)| format!("{}, {method}", part.heading)));
    rows.extend(reports.iter().map(|(name, _)| vec![name.to_string()]));
    rows.push(vec!["mean".to_string(), "–".to_string()]);
    for (row, (_, report)) in rows[1..].iter_mut().zip(reports) {
        row.push(whole(report.number("paths")?));
    }
    for (part, method) in columns() {
        let figures: Vec<f64> =
            reports.iter().map(|(_, report)| (part.figure)(report, method)).collect::<Result<_>>()?;
        for (row, figure) in rows[1..].iter_mut().zip(figures.iter().chain([&mean(&figures)])) {
            row.push((part.shown)(*figure));
        }
    }
    Ok(rows)
}

fn tables(reports: &[(&str, Report)]) -> Result<()> {
    for Part { title, figure, shown, .. } in PARTS {
        println!("\n{title}");
        let row = |name: &str, cells: &[f64]| {
            let cells: Vec<String> = cells.iter().map(|&cell| format!("{:>12}", shown(cell))).collect();
            println!("{name:16}{}", cells.concat());
        };
        println!("{:16}{}", "", METHODS.map(|method| format!("{method:>12}")).concat());
        let mut all = vec![Vec::new(); METHODS.len()];
        for (name, report) in reports {
            let cells = report.each(|method| figure(report, method))?;
            row(name, &cells);
            all.iter_mut().zip(cells).for_each(|(all, cell)| all.push(cell));
        }
        row("mean", &all.iter().map(|cells| mean(cells)).collect::<Vec<_>>());
    }
    println!(
        "\n{:16}{:>16}{:>16}{:>10}{:>10}{:>10}{:>10}{:>8}",
        "", "instructions", "paths taken", "strayed", "unequal", "compared", "apart", "M/s"
    );
    for (name, report) in reports {
        let number = |name| report.number(name);
        let (instructions, paths, strayed) = (number("instructions")?, number("paths")?, number("strayed")?);
        let unequal = number("unequal")?;
        let (compared, apart) = (number("PP inside compared")?, number("PP inside apart")?);
        let speed = instructions / number("microseconds")?.max(1.0);
        println!(
            "{name:16}{instructions:16.0}{paths:16.0}{strayed:10.0}{unequal:10.0}{compared:10.0}{apart:10.0}{speed:8.1}"
        );
    }
    Ok(())
}

/// Part of the paths that a method sees, of which there are more where it cuts more.
fn share(report: &Report, method: &str, name: &str) -> Result<f64> {
    let of = |name| report.of(method, name);
    Ok(of(name)? / (of("counted")? + of("obvious")? + of("cold_counts")?).max(1.0))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
