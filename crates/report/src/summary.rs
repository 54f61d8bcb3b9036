//! The screen that `timewise run` ends with: what was measured, and where the time went.

use crate::figures::{self, Figures};
use crate::heading;
use crate::hints;
use crate::labels;
use crate::listing::{self, instructions_a_call, loop_name, ratio};
use crate::number::{self, count, duration, figure, grouped, percent, quantity, samples};
use crate::origin;
use crate::request::{By, Sort};
use crate::rows::{self, LoopRow};
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN};
use crate::visible::{command_line, visible};
use timewise_flow::hints::slow;
use timewise_flow::naming::to_type;
use timewise_flow::quality::JOINED_ENOUGH;
use timewise_flow::{Analysis, Estimate};
use timewise_profile::{Profile, RunKind};

/// Rows of each table, so that the whole fits one screen.
const ROWS: usize = 5;

/// Hints on the screen.
const HINTS: usize = 3;

/// Rows below this share of the time are not worth a line.
const WORTH_SHOWING: f64 = 0.005;

/// Loops of fewer rounds, on average, are code that hardly ever runs again: they are listed as `--by loop`.
const FEWEST_ROUNDS: f64 = 1.005;

/// With so many samples a function of half of them has an interval of 37 to 66.
const FEW_SAMPLES: u64 = 100;

/// At this frequency a run of a tenth of a second has a thousand samples.
const OFTEN_HZ: u32 = 10_000;

/// What stands in the tables, and what in the lines above them, of a program that was profiled in turns.
const OF_A_TURN: &str = "times and instructions above are those of all turns; calls, executions and waiting below those \
                         of an average turn";

/// The whole screen.
pub fn summary(analysis: &Analysis, style: Style) -> String {
    let figures = Figures::new(analysis);
    let mut out = runs(analysis, style);
    out += &origin::warnings(analysis, style);
    let functions = functions(analysis, figures);
    let tables = [
        ("Hottest functions", functions),
        ("Hottest loops", loops(analysis, figures)),
        ("Costliest instructions", instructions(analysis, figures)),
    ];
    out += &waiting(analysis, style);
    out += &kernel(analysis, style);
    let mut few = false;
    for (title, table) in tables {
        if !table.is_empty() {
            few |= figures::has_mark(&table);
            out += &format!("\n{}\n{}", style.paint(Tone::Heading, title), table.render(style));
        }
    }
    out += &hints::text(analysis, HINTS, style);
    out.push('\n');
    out += &figures.explanation(few, style);
    out + &more_samples(analysis).map_or(String::new(), |how| style.wrap(Tone::Faint, &how))
}

/// How there would be more samples, if there are few.
fn more_samples(analysis: &Analysis) -> Option<String> {
    // Why there are none at all is told otherwise.
    let is_few = (1..FEW_SAMPLES).contains(&analysis.quality.samples);
    let clock = analysis.quality.clock.as_ref().filter(|_| is_few)?;
    let often = match clock.frequency_hz < OFTEN_HZ {
        true => format!(", and so has -F {OFTEN_HZ}"),
        false => String::new(),
    };
    Some(format!("few samples: a longer run has more{often}"))
}

/// What to ask the profile next, once it is saved: as `file`, if not where all commands look for it.
pub fn next(analysis: &Analysis, file: Option<&str>) -> Option<String> {
    let is_counted = |row: &rows::FunctionRow| !analysis.routines[row.routine.index()].blocks.is_empty();
    let hottest = rows::functions(analysis, Sort::Own).next().map(|row| row.of).filter(is_counted)?;
    let file = file.map_or(String::new(), |file| quoted(file) + " ");
    Some(format!("Next: timewise annotate {file}{}", quoted(&to_type(analysis, hottest.routine))))
}

/// What ran, for how long, and how well it was measured.
fn runs(analysis: &Analysis, style: Style) -> String {
    let measured =
        [Some(native_run(analysis, style)), counting_run(analysis), cost_of_an_instruction(analysis)];
    let mut out: String = measured.iter().flatten().map(|line| style.wrap(Tone::Plain, line)).collect();
    let origins = [
        origin::clock_in_words(analysis),
        origin::call_stacks_in_words(analysis),
        (analysis.quality.counting_runs > 1).then(|| OF_A_TURN.into()),
    ];
    out.extend(origins.iter().flatten().map(|line| style.wrap(Tone::Faint, line)));
    out
}

fn native_run(analysis: &Analysis, style: Style) -> String {
    let quality = &analysis.quality;
    if quality.sampling_runs == 0 {
        let end = heading::unsuccessful_end(&analysis.profile.runs);
        return format!("{}: not sampled{end}", command(analysis.profile, style));
    }
    let busy = quality.user_ns + quality.kernel_ns;
    // What is known of an average run, as of all.
    let seconds = |ns: f64| seconds(ns * quality.sampling_runs as f64);
    let (user, kernel) = (seconds(quality.user_ns), seconds(quality.kernel_ns));
    let elapsed = seconds(quality.elapsed_ns);
    let turns = in_turns(quality.sampling_runs);
    let times = match quality.elapsed_ns - busy {
        waiting if waiting >= 0.0 => {
            format!("{elapsed} s{turns} = {user} user + {kernel} kernel + {} waiting", seconds(waiting))
        }
        _ => format!("{elapsed} s elapsed{turns}, CPU {user} s user + {kernel} s kernel"),
    };
    let threads = match (quality.processes, quality.threads) {
        (_, 1) => "1 thread".into(),
        (1, threads) => quantity(threads as u64, "thread"),
        (processes, threads) => {
            format!("{}, {}", quantity(processes as u64, "process"), quantity(threads as u64, "thread"))
        }
    };
    format!(
        "{}: {times} · {}, {} lost · {threads}{}",
        command(analysis.profile, style),
        samples(quality.samples),
        grouped(quality.lost_samples),
        heading::unsuccessful_end(&analysis.profile.runs)
    )
}

fn counting_run(analysis: &Analysis) -> Option<String> {
    let quality = &analysis.quality;
    if quality.counting_runs == 0 {
        return None;
    }
    let runs = quality.counting_runs;
    let mut facts = match runs {
        1 => format!("counting run {} s", seconds(quality.counting_elapsed_ns)),
        _ => {
            format!("counted for {} s{}", seconds(quality.counting_elapsed_ns * runs as f64), in_turns(runs))
        }
    };
    // How long turns take is for us to say.
    if runs == 1 && quality.sampling_runs > 0 && quality.elapsed_ns > 0.0 {
        facts += &format!(" ({:.2}x)", quality.counting_elapsed_ns / quality.elapsed_ns);
    }
    let executed = number::instructions(analysis.whole().instructions.saturating_mul(runs as u64));
    facts += &format!(", {executed} {}", origin::counted(analysis));
    if quality.samples > 0 {
        facts += &format!(" · samples on counted code {}", percent(quality.joined_share));
    }
    facts += match quality.same_output {
        Some(true) if !quality.has_output => "",
        Some(true) => " · outputs identical",
        Some(false) => " · outputs differ",
        None => "",
    };
    Some(facts)
}

/// That times are those of several runs together.
fn in_turns(runs: usize) -> String {
    if runs > 1 { format!(" in {runs} turns") } else { String::new() }
}

fn cost_of_an_instruction(analysis: &Analysis) -> Option<String> {
    let figures = Figures::new(analysis);
    if figures.is_doubtful() || analysis.quality.joined_share < JOINED_ENOUGH {
        return None;
    }
    let whole = analysis.whole();
    let cpi = figures.cpi(&whole).filter(|_| figures.is_counted())?;
    let Estimate { value, low, high } = cpi;
    let interval = format!("{}–{}", figure(low), figure(high));
    Some(if figures.is_time() {
        let each = analysis.ruler.each(analysis.ruler.time_ns(&whole), whole.instructions)?.value;
        format!(
            "{} an instruction: estimated CPI (cycles per instruction) {} ({interval}, the clock's drift included)",
            duration(each),
            figure(value)
        )
    } else {
        format!("CPI (cycles per instruction) {} ({interval})", figure(value))
    })
}

/// Where threads waited, if they did so for a notable part of their time.
fn waiting(analysis: &Analysis, style: Style) -> String {
    let rows = rows::waits(analysis);
    if !rows::waiting_stands_out(analysis, &rows) {
        return String::new();
    }
    let how = origin::waiting_in_words(analysis).unwrap_or_default();
    let title = format!("Waiting: {} of all threads together, {how}", duration(rows::waited_ns(&rows)));
    let (table, all) = listing::waits(analysis, rows, ROWS);
    titled(&title, table, rest(all, By::Waiting, style), style)
}

/// What the kernel did, if that was a notable part of the CPU time and sampled.
fn kernel(analysis: &Analysis, style: Style) -> String {
    let rows = rows::kernel(analysis);
    if !rows::kernel_stands_out(&rows) {
        return String::new();
    }
    let share = rows::kernel_share(&rows);
    let (table, all) = listing::kernel(rows, ROWS);
    let title =
        format!("In the kernel: {} of the CPU time, which is in none of the tables below", percent(share));
    titled(&title, table, rest(all, By::Kernel, style), style)
}

fn titled(title: &str, table: Table, rest: String, style: Style) -> String {
    format!("\n{}\n{}{rest}", style.paint(Tone::Heading, title), table.render(style))
}

/// How many stacks more there are than fit a table.
fn rest(all: usize, by: By, style: Style) -> String {
    match all.saturating_sub(ROWS) {
        0 => String::new(),
        more => {
            let more = quantity(more as u64, "more stack");
            style.wrap(Tone::Faint, &format!("… and {more}: timewise report --by {}", by.name()))
        }
    }
}

fn functions(analysis: &Analysis, figures: Figures) -> Table {
    let mut columns = vec![Column::function(""), Column::place("")];
    columns.extend([figures.share_column("self"), figures.share_column("total")]);
    if figures.is_counted() {
        columns.extend(["CPI", "calls"].map(Column::number));
        columns.push(Column::detail(&figures.per_call("instr/call")));
    }
    let mut table = Table::new(columns);
    for row in rows::functions(analysis, Sort::Own).take(ROWS) {
        if figures.is_sampled() && figures.share(&row.of.cost) < WORTH_SHOWING {
            break;
        }
        let mut cells = vec![row.of.function.clone(), labels::declared(analysis, row.of.routine)];
        cells.extend([figures.share_cell(&row.of.cost), figures.total_cell(&row.total)]);
        if figures.is_counted() {
            cells.extend([figures.cpi_cell(&row.of.cost), row.of.calls.map_or(UNKNOWN.into(), count)]);
            cells.push(instructions_a_call(figures, &row.of));
        }
        table.row(figures.tone(&row.of.cost), cells);
    }
    table
}

fn loops(analysis: &Analysis, figures: Figures) -> Table {
    let mut columns = vec![Column::place_in_function("")];
    columns.extend([figures.share_column("self"), figures.share_column("total"), Column::number("CPI")]);
    columns.extend([Column::number("entered"), Column::number("rounds each")]);
    columns.extend(figures.each_columns("a round"));
    let mut table = Table::new(columns);
    let goes_round = |of: &LoopRow| of.iterations as f64 >= FEWEST_ROUNDS * of.invocations as f64;
    for row in rows::loops(analysis, Sort::Own).filter(|row| goes_round(&row.of)).take(ROWS) {
        if figures.is_sampled() && figures.share(&row.of.own) < WORTH_SHOWING {
            break;
        }
        let total = figures.total_cell(&row.total);
        let mut cells = vec![format!("{} in {}", loop_name(analysis, &row.of), row.of.function)];
        cells.extend([figures.share_cell(&row.of.own), total, figures.cpi_cell(&row.of.own)]);
        cells.extend([count(row.of.invocations), ratio(row.of.iterations, row.of.invocations)]);
        cells.extend(figures.each_cells(&row.of.own, row.of.iterations));
        table.row(figures.tone(&row.of.own), cells);
    }
    table
}

fn instructions(analysis: &Analysis, figures: Figures) -> Table {
    let mut columns = vec![Column::place(""), Column::name("")];
    columns.push(figures.share_column("time"));
    columns.extend(figures.each_columns("each"));
    columns.extend([Column::number("executions"), Column::name("")]);
    let mut table = Table::new(columns);
    if !figures.is_sampled() || !figures.is_counted() {
        return table;
    }
    let counted = rows::instructions(analysis).filter_map(|row| Some((row.of.id?, row)));
    for (id, row) in counted.take(ROWS).take_while(|(_, row)| figures.share(&row.cost) >= WORTH_SHOWING) {
        let place = labels::place(analysis.profile, analysis.code.place(id));
        let mut cells = vec![place, row.of.text.clone(), figures.share_cell(&row.cost)];
        cells.extend(figures.each_cells(&row.cost, row.cost.instructions));
        cells
            .extend([count(row.cost.instructions), slow(analysis, id, &row.cost).unwrap_or_default().into()]);
        table.row(figures.tone(&row.cost), cells);
    }
    table
}

/// The command, so long that its figures still fit beside it or at least below it.
fn command(profile: &Profile, style: Style) -> String {
    let run = profile.runs.iter().find(|run| run.kind == RunKind::Sampling).or(profile.runs.first());
    run.map_or("?".into(), |run| command_line(run, style.width.saturating_sub(":".len())))
}

fn seconds(ns: f64) -> String {
    format!("{:.2}", ns / 1e9)
}

/// A word as a shell takes it.
fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:+-@/".contains(c));
    if plain {
        name.to_string()
    } else if name.chars().any(char::is_control) {
        let escaped = name.replace('\\', "\\\\").replace('\'', "\\'");
        format!("$'{}'", visible(&escaped))
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}
