//! The comparison as text: the whole program, then what changed beyond noise.

use super::rows::Rows;
use super::shares::{counted, interval, interval_by_cost, judged, signed};
use super::verdict::uncompared;
use super::waiting::Waits;
use super::{By, Grain};
use crate::abbreviate::in_sentence;
use crate::apart::{Label, tell_apart};
use crate::labels::file_name;
use crate::listing::MUCH_WITHOUT_LINES;
use crate::number::{any, count, duration, percent, quantity, samples};
use crate::site::Site;
use crate::style::{Style, Tone};
use crate::table::{Column, Table, UNKNOWN, more};
use crate::visible::command_line;
use timewise_diff::comparison::Row;
use timewise_diff::noise::ASSUMED;
use timewise_diff::{Both, Change, Comparison, Difference, Noise, Passed, Unit};
use timewise_flow::Analysis;
use timewise_profile::RunKind;

/// Names of code that is new or gone, in one line.
const NAMES: usize = 6;

/// Rows of waiting where other rows were asked for.
const WAITS: usize = 5;

/// The whole screen, with at most `limit` findings.
pub fn text(comparison: &Comparison, by: By, limit: Option<usize>, style: Style) -> String {
    let mut out = side("BASE", comparison.base, style);
    out += &side("TEST", comparison.test, style);
    for line in whole(comparison) {
        out += &style.wrap(Tone::Plain, &line);
    }
    out += &noise(comparison, style);
    if let By::Code(grain) = by {
        out += &super::modelled::text(comparison, grain, limit, style);
    }
    if let Some(why) = uncompared(comparison, by) {
        return out + "\n" + &style.wrap(Tone::Faint, &why);
    }
    match by {
        By::Code(grain) => {
            let lines = if grain == Grain::Line { without_lines(comparison, style) } else { String::new() };
            out + &code(comparison, grain, limit, style) + &lines + &waiting_too(comparison, style)
        }
        By::Waiting => out + &waiting(comparison, limit, style),
    }
}

/// What no row of lines can show.
fn without_lines(comparison: &Comparison, style: Style) -> String {
    let share = |analysis: &Analysis, lines: &[Option<u32>]| {
        let costs = analysis.by_instruction();
        let with_line = costs.iter().zip(lines).filter(|(_, line)| line.is_some());
        let with_lines: u64 = with_line.map(|(cost, _)| cost.instructions).sum();
        1.0 - with_lines as f64 / analysis.whole().instructions.max(1) as f64
    };
    let matching = &comparison.matching;
    let base = share(comparison.base, &matching.base_lines.of);
    let test = share(comparison.test, &matching.test_lines.of);
    if base.max(test) < MUCH_WITHOUT_LINES {
        return String::new();
    }
    let told = format!(
        "{} of the instructions in BASE, {} in TEST, are in code whose lines are not known on both sides: --by function \
         compares it",
        percent(base),
        percent(test)
    );
    style.wrap(Tone::Faint, &told)
}

/// What changed of the code.
fn code(comparison: &Comparison, by: Grain, limit: Option<usize>, style: Style) -> String {
    let mut out = String::new();
    let rows = Rows::new(comparison, by);
    let findings: Vec<_> = rows.all.iter().filter(|row| row.is_finding).collect();
    if comparison.unit.is_none() {
        return counts_only(&rows, by, limit, style);
    }
    if findings.is_empty() {
        out += &format!("\nNo change of {} is more than noise.\n", any(by.name()));
    } else {
        let shown = findings.len().min(limit.unwrap_or(usize::MAX));
        let table = table(comparison, by, &rows, &findings[..shown]);
        out += &format!("\n{}\n{}", style.paint(Tone::Heading, "Changes beyond noise"), table.render(style));
        if table_has_brackets(&findings) {
            out += &style.wrap(Tone::Faint, "(in brackets: may be noise) · shares are of the time in BASE");
        }
        if table_has_undivided(&findings[..shown]) {
            let line = "–: less than half of its instructions are on both sides, as after another compiler";
            out += &style.wrap(Tone::Faint, line);
        }
        out += &more(findings.len() - shown, "--limit 0 shows all", style);
    }
    // What was counted on one side alone may have been executed on the other, too.
    let is_alike = is_counted(comparison.base) == is_counted(comparison.test);
    if is_alike { out + &others(comparison, &rows, by, style) } else { out }
}

/// All waiting, that which changed beyond noise first.
fn waiting(comparison: &Comparison, limit: Option<usize>, style: Style) -> String {
    let waits = Waits::new(comparison);
    if waits.all.is_empty() {
        return "\nNo thread was seen to wait on either side.\n".into();
    }
    let shown: Vec<_> = waits.all.iter().take(limit.unwrap_or(usize::MAX)).collect();
    let mut out = format!("\n{}", waits.table(&shown, style));
    if shown.iter().any(|row| !row.is_finding) {
        out += &style.wrap(Tone::Faint, "(in brackets: may be noise) · of all threads together");
    }
    out + &more(waits.all.len() - shown.len(), "--limit 0 shows all", style)
}

/// What waiting changed beyond noise, beside what changed of the code: nothing if none did.
fn waiting_too(comparison: &Comparison, style: Style) -> String {
    let waits = Waits::new(comparison);
    let findings: Vec<_> = waits.all.iter().filter(|row| row.is_finding).collect();
    if findings.is_empty() {
        return String::new();
    }
    let title = style.paint(Tone::Heading, "Waiting that changed beyond noise, of all threads together");
    let shown = &findings[..findings.len().min(WAITS)];
    let rest = more(findings.len() - shown.len(), "--by waiting", style);
    format!("\n{title}\n{}{rest}", waits.table(shown, style))
}

/// What was measured on one side.
fn side(name: &str, analysis: &Analysis, style: Style) -> String {
    let quality = &analysis.quality;
    let runs = |runs: usize, kind: &str| match runs {
        0 => format!("not {kind}"),
        1 => format!("{kind} once"),
        runs => format!("{kind} {runs} times"),
    };
    let run = analysis.profile.runs.iter().find(|run| run.kind == RunKind::Sampling);
    let run = run.or(analysis.profile.runs.first());
    let command =
        run.map_or(String::new(), |run| command_line(run, style.width.saturating_sub(name.len() + 1)));
    let sampled = runs(quality.sampling_runs, "sampled");
    let mut facts = format!("{name} {command} · {sampled}");
    if quality.sampling_runs > 0 {
        facts += &format!(", {}", samples(quality.samples));
    }
    facts += &format!(" · {}", runs(quality.counting_runs, "counted"));
    let mut out = style.wrap(Tone::Faint, &facts);
    for warning in &quality.warnings {
        out += &style.wrap(Tone::Warning, &format!("warning: {name}: {warning}"));
    }
    out
}

/// How the limits of a change are written.
type Limits = fn(&Difference, f64) -> String;

/// The change of the whole program, a line for time and one for instructions.
fn whole(comparison: &Comparison) -> Vec<String> {
    let change = comparison.whole();
    let mut lines = Vec::new();
    if let (Some((base, test)), Some(time)) = (change.amounts, change.time) {
        let amount = |amount: f64| match comparison.unit {
            Some(Unit::Cycles) => format!("{} cycles", count(amount.round() as u64)),
            _ => duration(amount),
        };
        let mut line = format!("time {} → {}: {}", amount(base), amount(test), told(&time, base, interval));
        if let (Some(by_count), Some(by_cost)) = (change.by_count, change.by_cost) {
            let by_count = told(&by_count, base, interval);
            let by_cost = told(&by_cost, base, interval_by_cost);
            line += &format!(" · by count {by_count} · by cost {by_cost}");
        }
        lines.push(line);
    }
    lines.extend(passed(comparison));
    if let Some((base, test)) = change.instructions {
        lines.push(format!("instructions {} → {}: {}", count(base), count(test), counted((base, test))));
        lines.extend(super::mix::line(comparison));
    }
    lines
}

/// The change of the time that passed, and of what the kernel spent.
fn passed(comparison: &Comparison) -> Option<String> {
    let line = |what, Passed { base_ns, test_ns, change, .. }| {
        format!("{what} {} → {}: {}", duration(base_ns), duration(test_ns), told(&change, base_ns, interval))
    };
    let elapsed = line("elapsed", comparison.elapsed()?);
    let cpu = line("CPU time", comparison.cpu_time()?);
    Some(format!("{elapsed} · {cpu} · {}", line("in the kernel", comparison.in_kernel()?)))
}

fn told(difference: &Difference, whole: f64, limits: Limits) -> String {
    let limits = limits(difference, whole);
    let share = signed(difference.estimate().value, whole);
    if limits.is_empty() { share } else { format!("{share} (95 %: {limits})") }
}

fn noise(comparison: &Comparison, style: Style) -> String {
    if comparison.unit.is_none() {
        return String::new();
    }
    match comparison.noise {
        Noise::Measured(share) => {
            let line = format!(
                "runs of the same program differ by {} of their time (standard deviation)",
                percent(share)
            );
            style.wrap(Tone::Faint, &line)
        }
        Noise::Unknown => {
            let line = format!(
                "one run on each side: how much runs differ by themselves is unknown, and taken as {} of the time; \
                 more runs measure it: --base FILE, --test FILE",
                percent(ASSUMED)
            );
            style.wrap(Tone::Warning, &line)
        }
    }
}

fn table(comparison: &Comparison, by: Grain, rows: &Rows, shown: &[&Row]) -> Table {
    let whole = comparison.whole_base();
    let mut columns = vec![Column::number("time"), Column::detail("95 %")];
    columns.extend([Column::number("by count"), Column::detail("95 %")]);
    columns.extend([Column::number("by cost"), Column::detail("95 %"), Column::number("instructions")]);
    columns.extend(what_and_where(by));
    let mut table = Table::new(columns);
    let what: Vec<_> = shown.iter().map(|row| rows.what(row)).collect();
    let names: Vec<String> = what.iter().map(|what| name(by, what)).collect();
    let labels = shown.iter().zip(&what).zip(&names).map(|((row, what), name)| Label {
        name,
        place: where_is(comparison, by, rows.inlined_into(row), what),
        module: what.test.as_ref().or(what.base.as_ref()).map_or("", |site| &site.module),
    });
    let places = tell_apart(labels.collect());
    for ((row, name), place) in shown.iter().zip(&names).zip(places) {
        let Change { time, by_count, by_cost, instructions, .. } = row.change;
        let mut cells = Vec::new();
        let parts: [(_, Limits); 3] = [(time, interval), (by_count, interval), (by_cost, interval_by_cost)];
        for (part, limits) in parts {
            cells.push(part.map_or(UNKNOWN.into(), |part| judged(&part, whole)));
            cells.push(part.map_or(String::new(), |part| limits(&part, whole)));
        }
        cells.push(instructions.map_or(UNKNOWN.into(), counted));
        cells.extend([name.clone(), place]);
        table.row(Tone::Plain, cells);
    }
    table
}

/// Where a row is, or into which function the other side's compiler put it.
fn where_is(comparison: &Comparison, by: Grain, inlined_into: Option<&str>, what: &Both<Site>) -> String {
    let is_common = what.base.is_some() && what.test.is_some();
    let only = if is_common { "" } else { sampled(comparison) };
    match inlined_into {
        Some(holder) if what.base.is_some() => format!("now in {holder}"),
        Some(holder) => format!("was in {holder}"),
        None => format!("{only}{}", place(by, what)),
    }
}

/// Whether the time of some rows is divided, and that of others not.
fn table_has_undivided(rows: &[&Row]) -> bool {
    let is_divided = |row: &&Row| row.change.by_count.is_some();
    rows.iter().any(is_divided) && !rows.iter().all(is_divided)
}

fn table_has_brackets(rows: &[&Row]) -> bool {
    let parts = rows.iter().flat_map(|row| [row.change.time, row.change.by_count, row.change.by_cost]);
    parts.flatten().any(|part| part.certain == 0.0 && part.estimate().low != part.estimate().high)
}

/// The columns of [`name`] and [`place`].
pub fn what_and_where(by: Grain) -> [Column; 2] {
    let what = match by {
        Grain::Function => Column::function,
        Grain::Loop | Grain::Line => Column::place,
        Grain::Instruction => Column::name,
    };
    [what(by.name()), Column::place_in_function("where")]
}

/// What a row is called: by its name in TEST, and in BASE where that is another.
pub fn name(by: Grain, what: &Both<Site>) -> String {
    let one = |site: &Site| match by {
        Grain::Function => site.function.clone(),
        Grain::Loop => site.lines(),
        Grain::Instruction => site.text.clone().unwrap_or_default(),
        Grain::Line => site.source(),
    };
    match (&what.base, &what.test) {
        (Some(base), Some(test)) if one(base) != one(test) => format!("{} (was {})", one(test), one(base)),
        (_, Some(test)) => one(test),
        (Some(base), None) => one(base),
        (None, None) => String::new(),
    }
}

/// Where it is, and whether only one side has it.
pub fn place(by: Grain, what: &Both<Site>) -> String {
    let Some(site) = what.test.as_ref().or(what.base.as_ref()) else { return String::new() };
    let place = match by {
        Grain::Function => site.source(),
        Grain::Loop => format!("in {}", site.function),
        Grain::Instruction => format!("{} in {}", site.source(), site.function),
        Grain::Line => file_name(&site.module).to_string(),
    };
    match (&what.base, &what.test) {
        (None, _) => format!("only TEST: {place}"),
        (_, None) => format!("only BASE: {place}"),
        _ => place,
    }
}

fn is_counted(analysis: &Analysis) -> bool {
    analysis.quality.counting_runs > 0
}

/// What one side alone has, may have been executed on the other as well, unless both were counted: then it is where it was
/// sampled that is known.
fn sampled(comparison: &Comparison) -> &'static str {
    if is_counted(comparison.base) && is_counted(comparison.test) { "" } else { "sampled " }
}

/// What else differs: code of one side only, and counts that changed without a change of time.
fn others(comparison: &Comparison, rows: &Rows, by: Grain, style: Style) -> String {
    let mut facts = Vec::new();
    let rest = rows.all.iter().filter(|row| !row.is_finding);
    let (mut new, mut gone, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for row in rest {
        match (row.what.base, row.what.test) {
            (None, _) => new.push(row),
            (_, None) => gone.push(row),
            _ if is_changed(row) => changed.push(row),
            _ => {}
        }
    }
    for (of, title) in [(&mut new, "only in TEST"), (&mut gone, "only in BASE")] {
        of.sort_by_key(|row| std::cmp::Reverse(executed(row)));
        if !of.is_empty() {
            facts.push(format!("{}{title}: {}", sampled(comparison), names(rows, by, of, |name, _| name)));
        }
    }
    changed.sort_by_key(|row| std::cmp::Reverse(row.change.instructions.map_or(0, |(a, b)| a.abs_diff(b))));
    if !changed.is_empty() {
        let with_change = |name: String, row: &Row| match row.change.instructions {
            Some(instructions) => format!("{name} ({})", counted(instructions)),
            None => name,
        };
        let names = names(rows, by, &changed, with_change);
        facts.push(format!("instruction counts changed, time not beyond noise: {names}"));
    }
    facts.iter().map(|fact| style.wrap(Tone::Faint, fact)).collect()
}

fn is_changed(row: &Row) -> bool {
    row.change.instructions.is_some_and(|(base, test)| base != test)
}

fn executed(row: &Row) -> u64 {
    row.change.instructions.map_or(0, |(base, test)| base.max(test))
}

/// What rows are called, each as it is to be told; of instructions and lines, which say little without their surroundings,
/// how many.
fn names(rows: &Rows, by: Grain, of: &[&Row], told: impl Fn(String, &Row) -> String) -> String {
    if matches!(by, Grain::Instruction | Grain::Line) {
        return quantity(of.len() as u64, by.name());
    }
    let short = |site: Site| Site { function: in_sentence(&site.function), ..site };
    let named = |row: &&Row| told(name(by, &rows.what(row).map(short, short)), row);
    let shown: Vec<String> = of.iter().take(NAMES).map(named).collect();
    let more = of.len().saturating_sub(NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// Where nothing was sampled on one side: what changed in counts.
fn counts_only(rows: &Rows, by: Grain, limit: Option<usize>, style: Style) -> String {
    let changed: Vec<_> = rows.all.iter().filter(|row| is_changed(row)).collect();
    if changed.is_empty() {
        return format!("\nNo {} executed more or fewer instructions.\n", by.name());
    }
    let mut columns = Vec::from(["instructions", "in BASE", "in TEST"].map(Column::number));
    columns.extend(what_and_where(by));
    let mut table = Table::new(columns);
    let shown = limit.unwrap_or(usize::MAX).min(changed.len());
    for row in &changed[..shown] {
        let Some((base, test)) = row.change.instructions else { continue };
        let what = rows.what(row);
        let cells = vec![counted((base, test)), count(base), count(test), name(by, &what), place(by, &what)];
        table.row(Tone::Plain, cells);
    }
    let heading = style.paint(Tone::Heading, "Changes of counts");
    format!(
        "\n{heading}\n{}{}",
        table.render(style),
        more(changed.len() - shown, "--limit 0 shows all", style)
    )
}
