//! `timewise verify`: whether a profile is consistent, as text and JSON.

use crate::labels;
use crate::number::{grouped, instructions, quantity};
use crate::rows;
use crate::style::{Style, Tone};
use crate::table::{Column, Table};
use serde::Serialize;
use timewise_flow::Analysis;
use timewise_flow::verify::{Finding, Kind, Verdict};
use timewise_profile::{Exactness, ModuleId, Profile, RunId};

/// Name and version of the JSON's schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-verify/1";

/// A module whose code was not compared with a file, and why.
pub struct Unread {
    /// Which.
    pub module: ModuleId,
    /// Why, as a part of a sentence.
    pub why: String,
}

/// What a check looks at, as its line on the screen begins, and its name for programs.
fn names(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Conservation => ("conservation", "blocks entered, executed and left equally often"),
        Kind::Decoding => ("decoding", "blocks of whole instructions"),
        Kind::Files => ("files", "blocks that stand in their module's file"),
        Kind::Edges => ("edges", "edges that go where the code leads"),
        Kind::Samples => ("samples", "sampled places that begin an instruction"),
        Kind::Costs => ("costs", "costs of calls within what was executed"),
        Kind::Branches => ("branches", "traced branches that the code has"),
        Kind::Totals => ("totals", "sums that agree: by block, function, thread, in all"),
        Kind::Events => ("events", "events of the system in the order of time"),
    }
}

/// A screen: a line for each check, what it found (`limit` of each, all if that is `None`), and what could not be
/// checked.
pub fn text(
    analysis: &Analysis,
    verdict: &Verdict,
    unread: &[Unread],
    limit: Option<usize>,
    style: Style,
) -> String {
    let profile = analysis.profile;
    let columns = vec![Column::number("checked"), Column::name("what"), Column::number("wrong")];
    let mut table = Table::new(columns);
    for check in &verdict.checks {
        let (tone, wrong) = match check.findings.len() {
            _ if check.checked == 0 => (Tone::Faint, "–".to_string()),
            0 => (Tone::Plain, "none".to_string()),
            wrong => (Tone::Hot, grouped(wrong as u64)),
        };
        table.row(tone, vec![grouped(check.checked), names(check.kind).1.to_string(), wrong]);
    }
    let mut out = table.render(style);
    for check in verdict.checks.iter().filter(|check| !check.findings.is_empty()) {
        out += "\n";
        out += &style.wrap(Tone::Heading, &format!("Not so: {}", names(check.kind).1));
        let shown = limit.unwrap_or(usize::MAX);
        for finding in check.findings.iter().take(shown) {
            let narrow = Style { width: style.width.saturating_sub(2), ..style };
            let lines = narrow.wrap(Tone::Plain, &sentence(profile, finding));
            lines.lines().for_each(|line| out += &format!("  {line}\n"));
        }
        if let Some(more) = check.findings.len().checked_sub(shown).filter(|&more| more > 0) {
            out += &format!("  and {} more (--limit 0 shows all)\n", grouped(more as u64));
        }
    }
    let notes = notes(profile, unread);
    if !notes.is_empty() {
        out += "\n";
    }
    notes.iter().for_each(|note| out += &style.wrap(Tone::Warning, note));
    out += "\n";
    out + &style.wrap(Tone::Plain, &summary(analysis, verdict))
}

fn sentence(profile: &Profile, finding: &Finding) -> String {
    let place = finding.place.map(|place| labels::offset(profile, place) + ": ");
    let process = finding.process.map(|id| format!(" (process {})", profile.processes[id.index()].pid));
    format!("{}{}{}", place.unwrap_or_default(), finding.what, process.unwrap_or_default())
}

/// What was not checked, or cannot be true for a reason that the profile tells.
fn notes(profile: &Profile, unread: &[Unread]) -> Vec<String> {
    let mut notes: Vec<String> = unread
        .iter()
        .map(|Unread { module, why }| {
            format!("not compared with its file: {}: {why}", labels::module_path(profile, *module))
        })
        .collect();
    match profile.exactness() {
        Exactness::Exact => {}
        Exactness::Within(executions) => notes.push(format!(
            "the last {} unknown, by so many executions counts may be off",
            match executions {
                1 => "position of 1 thread is".into(),
                _ => format!("positions of {executions} threads are"),
            }
        )),
        Exactness::Incomplete => {
            notes.push("the profile says that its counts are not complete".into());
        }
    }
    notes.extend(disagreements(profile));
    notes
}

/// Runs whose samples stand for another time than the program used, in words. Samples are no exact counts: it is no
/// contradiction.
fn disagreements(profile: &Profile) -> Vec<String> {
    let runs = (0..profile.runs.len() as u32).map(RunId);
    runs.filter_map(|run| profile.disagreement(run)).map(|found| found.to_string()).collect()
}

fn summary(analysis: &Analysis, verdict: &Verdict) -> String {
    let executed = instructions(analysis.code.instructions_executed());
    let is_counted = !analysis.code.blocks.is_empty();
    match verdict.is_consistent() {
        true if is_counted => match analysis.quality.counting_runs {
            ..2 => format!("consistent: {executed}"),
            runs => format!("consistent: {executed} in an average of {runs} counting runs"),
        },
        true if !analysis.profile.taken_branches.is_empty() => {
            let branches = rows::times(&analysis.profile.taken_branches);
            format!("consistent: {}; nothing was counted", quantity(branches, "traced branch"))
        }
        true if !analysis.profile.os_events.is_empty() => {
            let events = quantity(analysis.profile.os_events.len() as u64, "event");
            format!("consistent: {events} of the operating system; nothing was counted")
        }
        true => "nothing was counted: there is little to check".into(),
        false => {
            let wrong: usize = verdict.checks.iter().map(|check| check.findings.len()).sum();
            format!("not consistent: {}; record again", quantity(wrong as u64, "contradiction"))
        }
    }
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    consistent: bool,
    complete: bool,
    uncertainty_executions: u32,
    checks: Vec<CheckFields>,
    not_compared: Vec<UnreadFields>,
    time_disagreements: Vec<String>,
}

#[derive(Serialize)]
struct CheckFields {
    check: &'static str,
    checked: u64,
    findings: Vec<FindingFields>,
}

#[derive(Serialize)]
struct FindingFields {
    module: Option<String>,
    code_version: Option<u32>,
    offset: Option<u64>,
    process: Option<u32>,
    what: String,
}

#[derive(Serialize)]
struct UnreadFields {
    module: String,
    why: String,
}

/// All findings as JSON, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(analysis: &Analysis, verdict: &Verdict, unread: &[Unread]) -> Result<String, serde_json::Error> {
    let profile = analysis.profile;
    let finding = |finding: &Finding| FindingFields {
        module: finding.place.map(|place| labels::module_path(profile, place.module)),
        code_version: finding.place.map(|place| place.version.0),
        offset: finding.place.map(|place| place.offset.0),
        process: finding.process.map(|id| profile.processes[id.index()].pid),
        what: finding.what.clone(),
    };
    let exactness = profile.exactness();
    let document = Document {
        schema: SCHEMA,
        consistent: verdict.is_consistent(),
        complete: exactness != Exactness::Incomplete,
        uncertainty_executions: if let Exactness::Within(executions) = exactness { executions } else { 0 },
        checks: verdict
            .checks
            .iter()
            .map(|check| CheckFields {
                check: names(check.kind).0,
                checked: check.checked,
                findings: check.findings.iter().map(finding).collect(),
            })
            .collect(),
        not_compared: unread
            .iter()
            .map(|one| UnreadFields {
                module: labels::module_path(profile, one.module),
                why: one.why.clone(),
            })
            .collect(),
        time_disagreements: disagreements(profile),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}
