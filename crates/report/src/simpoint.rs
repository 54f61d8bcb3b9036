//! `timewise simpoint`: the intervals that stand for an execution, as text, JSON and CSV.

use crate::csv;
use crate::labels::file_name;
use crate::number::{count, grouped, percent, quantity, share};
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use serde::Serialize;
use timewise_profile::{Interval, Process, Profile, ThreadId};
use timewise_simpoint::{Options, SimPoints, Vectors};

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-simpoint/1";

/// What was chosen, and from what.
#[derive(Clone, Copy)]
pub struct Chosen<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// The thread whose intervals these are.
    pub thread: ThreadId,
    /// Its intervals, of which there is one at least.
    pub vectors: &'a Vectors<'a>,
    /// How points were chosen.
    pub options: Options,
    /// What was chosen.
    pub found: &'a SimPoints,
}

impl Chosen<'_> {
    fn process(&self) -> &Process {
        &self.profile.processes[self.profile.threads[self.thread.index()].process.index()]
    }

    /// What the program of the thread is called.
    fn program(&self) -> String {
        file_name(&String::from_utf8_lossy(&self.process().executable)).to_string()
    }

    /// Instructions of all threads that ran with this one.
    fn instructions_of_run(&self) -> u64 {
        let profile = self.profile;
        let run_of = |thread: ThreadId| {
            let process = profile.threads[thread.index()].process;
            profile.processes[process.index()].run
        };
        let together =
            profile.intervals.iter().filter(|interval| run_of(interval.thread) == run_of(self.thread));
        together.map(|interval| interval.instructions).sum()
    }

    /// The length of the longest, which is what was asked for unless every thread ended before that.
    fn length(&self) -> u64 {
        self.vectors.intervals().iter().map(|interval| interval.instructions).max().unwrap_or(0)
    }

    /// Threads that follow each other in the row of the profile.
    fn threads_in_turn(&self) -> usize {
        self.vectors.intervals().iter().filter(|interval| interval.first_instruction == 0).count()
    }

    fn rows(&self) -> impl Iterator<Item = PointRow> {
        self.found.points.iter().map(|point| {
            let Interval { first_instruction, instructions, .. } = self.vectors.intervals()[point.interval];
            PointRow {
                interval: point.interval,
                first_instruction,
                instructions,
                weight: point.weight,
                intervals: point.intervals,
                differing_share: point.differing,
                spread: point.spread,
            }
        })
    }
}

/// A screen: of what, how many points, and a row for each.
pub fn text(chosen: &Chosen, style: Style) -> String {
    let Chosen { vectors, found, .. } = chosen;
    let (ours, all) = (vectors.instructions(), chosen.instructions_of_run());
    let tid = chosen.profile.threads[chosen.thread.index()].tid;
    let thread = format!("thread {} of {} (tid {tid})", chosen.thread.0, chosen.program());
    let of_all = match ours == all {
        true => format!("all {} instructions of the program", count(all)),
        false => {
            format!(
                "{} of the program's {} instructions ({})",
                count(ours),
                count(all),
                percent(share(ours, all))
            )
        }
    };
    let mut out = style.wrap(Tone::Heading, &format!("{thread}: {of_all}"));
    let intervals = vectors.intervals().len();
    let simulated = found.instructions(vectors);
    out += &style.wrap(
        Tone::Plain,
        &format!(
            "{} of {} instructions · {} · {} of at most {} · {} dimensions",
            quantity(intervals as u64, "interval"),
            grouped(chosen.length()),
            quantity(vectors.blocks_executed() as u64, "block"),
            quantity(found.points.len() as u64, "point"),
            chosen.options.most_points,
            chosen.options.dimensions,
        ),
    );
    out += &style.wrap(
        Tone::Plain,
        &format!(
            "a simulation of the points executes {} of the instructions ({}) · by their weights, {} would be in other \
             blocks than they are",
            percent(share(simulated, ours)),
            count(simulated),
            percent(found.error),
        ),
    );
    if chosen.threads_in_turn() > 1 {
        let note = format!(
            "this row of the profile stands for {} threads, one after the other: first instructions are counted from \
             the beginning of each",
            grouped(chosen.threads_in_turn() as u64)
        );
        out += &style.wrap(Tone::Warning, &note);
    }
    out += "\n";
    out + &table(chosen).render(style)
}

fn table(chosen: &Chosen) -> Table {
    let titles = ["point", "first instruction", "weight", "intervals", "other blocks", "spread"];
    let mut table = Table::new(titles.map(Column::number).into());
    for row in chosen.rows() {
        let cells = [
            grouped(row.interval as u64),
            grouped(row.first_instruction),
            percent(row.weight),
            grouped(row.intervals as u64),
            percent(row.differing_share),
            format!("{:.4}", row.spread),
        ];
        table.row(Tone::Plain, cells.into());
    }
    table
}

/// A point, as programs read it.
#[derive(Serialize, Default)]
struct PointRow {
    interval: usize,
    first_instruction: u64,
    instructions: u64,
    weight: f64,
    intervals: usize,
    differing_share: f64,
    spread: f64,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    thread: u32,
    tid: u32,
    process: u32,
    executable: String,
    threads_in_turn: usize,
    instructions: u64,
    program_instructions: u64,
    interval_instructions: u64,
    intervals: usize,
    blocks: usize,
    max_k: usize,
    dimensions: usize,
    threshold: f64,
    simulated_instructions: u64,
    error_share: f64,
    points: Vec<PointRow>,
    clusters: &'a [usize],
    distances: &'a [f64],
}

/// All of it as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(chosen: &Chosen) -> Result<String, serde_json::Error> {
    let Chosen { profile, thread, vectors, options, found } = *chosen;
    let document = Document {
        schema: SCHEMA,
        thread: thread.0,
        tid: profile.threads[thread.index()].tid,
        process: chosen.process().pid,
        executable: String::from_utf8_lossy(&chosen.process().executable).into_owned(),
        threads_in_turn: chosen.threads_in_turn(),
        instructions: vectors.instructions(),
        program_instructions: chosen.instructions_of_run(),
        interval_instructions: chosen.length(),
        intervals: vectors.intervals().len(),
        blocks: vectors.blocks_executed(),
        max_k: options.most_points,
        dimensions: options.dimensions,
        threshold: options.threshold,
        simulated_instructions: found.instructions(vectors),
        error_share: found.error,
        points: chosen.rows().collect(),
        clusters: &found.labels,
        distances: &found.distances,
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// The points as CSV.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn csv(chosen: &Chosen) -> Result<String, ::csv::Error> {
    csv::table(chosen.rows())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use timewise_profile::{
        Block, BlockId, Exit, IntervalBlock, IntervalId, Place, ProcessId, Run, RunId, RunKind, Thread,
    };
    use timewise_simpoint::choose;

    /// Two threads, of which the first one's row stands for `rows` threads of four intervals each: two in a block of their
    /// own, two in another.
    fn profile(rows: u64) -> Profile {
        let process = Process {
            run: RunId(0),
            pid: 12,
            parent: None,
            executable: b"/bin/app".to_vec(),
            exit: Exit::Code(0),
            count_uncertainty: 0,
        };
        let thread = |tid| Thread { process: ProcessId(0), tid, name: String::new(), instructions: None };
        let block = Block { place: Place::default(), instructions: 1, code: vec![0x90] };
        let mut profile = Profile {
            runs: vec![Run::new(RunKind::Counting)],
            processes: vec![process],
            threads: vec![thread(12), thread(13)],
            blocks: vec![block; 3],
            ..Profile::default()
        };
        let lives =
            (0..rows).flat_map(|_| [0, 1, 0, 1].into_iter().enumerate().map(|(at, block)| (0, at, block)));
        for (thread, at, block) in lives.chain([(1, 0, 2)]) {
            let interval = IntervalId(profile.intervals.len() as u32);
            let (thread, instructions) = (ThreadId(thread), 250_000);
            let first_instruction = instructions * at as u64;
            profile.intervals.push(Interval { thread, first_instruction, instructions });
            profile.interval_blocks.push(IntervalBlock { interval, block: BlockId(block), instructions });
        }
        profile
    }

    fn with_chosen<T>(profile: &Profile, thread: u32, use_it: impl FnOnce(&Chosen) -> T) -> T {
        let thread = ThreadId(thread);
        let (vectors, options) = (Vectors::of(profile, thread), Options::default());
        let found = choose(&vectors, &options);
        use_it(&Chosen { profile, thread, vectors: &vectors, options, found: &found })
    }

    #[test]
    fn a_screen_says_of_what_and_how_well() {
        let screen =
            |rows, thread| with_chosen(&profile(rows), thread, |chosen| text(chosen, Style::default()));
        expect![[r#"
            thread 0 of app (tid 12): 1.00 M of the program's 1.25 M instructions (80.0 %)
            4 intervals of 250,000 instructions · 2 blocks · 2 points of at most 30 · 15 dimensions
            a simulation of the points executes 50.0 % of the instructions (500.0 k)
              by their weights, 0.0 % would be in other blocks than they are

              point  first instruction  weight  intervals  other blocks  spread
                  0                  0  50.0 %          2         0.0 %  0.0000
                  1            250,000  50.0 %          2         0.0 %  0.0000
        "#]]
        .assert_eq(&screen(1, 0));
        assert!(
            screen(2, 0).contains("\nthis row of the profile stands for 2 threads, one after the other: ")
        );
        let alone = screen(1, 1);
        assert!(alone.starts_with("thread 1 of app (tid 13): 250.0 k of "), "{alone}");
    }

    #[test]
    fn programs_get_all_of_it() {
        let document = with_chosen(&profile(2), 0, |chosen| json(chosen).unwrap());
        let read: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!((&read["schema"], &read["threads_in_turn"]), (&SCHEMA.into(), &2.into()));
        assert_eq!(
            (&read["tid"], &read["process"], &read["executable"]),
            (&12.into(), &12.into(), &"/bin/app".into())
        );
        assert_eq!(read["clusters"], serde_json::json!([0, 1, 0, 1, 0, 1, 0, 1]));
        let numbers =
            ["instructions", "program_instructions", "simulated_instructions", "interval_instructions"];
        assert_eq!(
            numbers.map(|name| read[name].as_u64().unwrap()),
            [2_000_000, 2_250_000, 500_000, 250_000]
        );
        let table = with_chosen(&profile(1), 0, |chosen| csv(chosen).unwrap());
        // What is left of rounding is in the last column.
        let cells = table.lines().map(|line| line.rsplit_once(',').unwrap().0);
        let wanted = [
            "interval,first_instruction,instructions,weight,intervals,differing_share",
            "0,0,250000,0.5,2,0.0",
            "1,250000,250000,0.5,2,0.0",
        ];
        assert_eq!(cells.collect::<Vec<_>>(), wanted);
    }
}
