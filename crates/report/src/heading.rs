//! The line above a report: what the profile is of, and from when.

use crate::style::{Style, Tone};
use crate::visible::command_line;
use chrono::DateTime;
use timewise_profile::{Exit, Profile, Run, RunKind};

/// The command that was run, how often in which way, and when: of several commands the first.
pub fn heading(profile: &Profile, style: Style) -> String {
    let Some(first) = profile.runs.first() else { return String::new() };
    let others = profile.runs.iter().filter(|run| run.command != first.command).count();
    let others = match others {
        0 => String::new(),
        1 => " · 1 run of another command".into(),
        others => format!(" · {others} runs of other commands"),
    };
    let ways = [
        (RunKind::Sampling, "sampled"),
        (RunKind::Counting, "counted"),
        (RunKind::Branches, "traced"),
        (RunKind::Events, "watched for system events"),
        (RunKind::Simulation, "simulated"),
    ];
    let runs = |kind| profile.runs_of(kind).count();
    let done = ways.map(|(kind, way)| match runs(kind) {
        0 => String::new(),
        1 => way.into(),
        times => format!("{way} {times} times"),
    });
    let done = done.into_iter().filter(|way| !way.is_empty()).collect::<Vec<_>>().join(" and ");
    let facts = format!(": {done}{}{}{others}", when(&profile.runs), ended(&profile.runs));
    let command = command_line(first, style.width.saturating_sub(facts.chars().count()).max(style.width / 3));
    style.wrap(Tone::Plain, &(command + &facts))
}

/// When the runs began: the first, and the last if that was on another day. Nothing if nobody noted it.
fn when(runs: &[Run]) -> String {
    let began = || runs.iter().map(|run| run.started_unix_ns).filter(|&ns| ns > 0);
    let Some((first, last)) = began().min().zip(began().max()) else { return String::new() };
    let ((day, time), (last_day, last_time)) = (date(first), date(last));
    match day == last_day {
        true => format!(" on {day} at {time} UTC"),
        false => format!(" from {day} {time} to {last_day} {last_time} UTC"),
    }
}

/// The signal that ended every run, if so: what was measured is less than a whole run then.
fn ended(runs: &[Run]) -> String {
    match runs.first().map(|run| run.exit) {
        Some(exit @ Exit::Signal(_)) if runs.iter().all(|run| run.exit == exit) => unsuccessful_end(runs),
        _ => String::new(),
    }
}

/// How the first run ended, where that was by a signal or with another status than 0: what follows a summary's facts.
pub fn unsuccessful_end(runs: &[Run]) -> String {
    match runs.first().map(|run| run.exit) {
        Some(Exit::Signal(signal)) => format!(" · ended by signal {signal}"),
        Some(Exit::Code(status)) if status != 0 => format!(" · ended with status {status}"),
        _ => String::new(),
    }
}

/// Day and time of day in UTC, of nanoseconds since the Unix epoch.
fn date(unix_ns: i64) -> (String, String) {
    let at = DateTime::from_timestamp_nanos(unix_ns);
    (at.format("%Y-%m-%d").to_string(), at.format("%H:%M").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    fn run(kind: RunKind, command: &str, started_unix_ns: i64) -> Run {
        let command = command.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        Run { command, started_unix_ns, ..Run::new(kind) }
    }

    fn of(runs: Vec<Run>) -> String {
        heading(&Profile { runs, ..Profile::default() }, Style::default())
    }

    #[test]
    fn the_signal_that_ended_every_run_is_told() {
        let of_exits = |exits: [Exit; 2]| {
            let ended = |exit| Run { exit, ..run(RunKind::Counting, "app", 0) };
            of(exits.map(ended).into())
        };
        let crashed = Exit::Signal(11);
        assert_eq!(of_exits([crashed; 2]), "app: counted 2 times · ended by signal 11\n");
        for exits in [[crashed, Exit::Code(0)], [Exit::Signal(15), crashed], [Exit::Code(1); 2]] {
            assert_eq!(of_exits(exits), "app: counted 2 times\n");
        }
    }

    #[test]
    fn an_end_that_is_no_success_is_told() {
        let of = |exit| unsuccessful_end(&[Run { exit, ..run(RunKind::Sampling, "app", 0) }]);
        let told = [Exit::Code(0), Exit::Unknown, Exit::Code(3), Exit::Signal(11)].map(of);
        assert_eq!(told, ["", "", " · ended with status 3", " · ended by signal 11"]);
        assert_eq!(unsuccessful_end(&[]), "");
    }

    #[test]
    fn what_was_run_and_when_is_told_in_a_line() {
        assert_eq!(of(vec![]), "");
        assert_eq!(of(vec![run(RunKind::Counting, "/bin/app x", 0)]), "app x: counted\n");
        let day = 20_785 * 24 * 60 * MINUTE;
        let twice = vec![run(RunKind::Sampling, "app", day), run(RunKind::Counting, "app", day + MINUTE)];
        assert_eq!(of(twice.clone()), "app: sampled and counted on 2026-11-28 at 00:00 UTC\n");
        let more = [run(RunKind::Sampling, "app", day - MINUTE), run(RunKind::Sampling, "other", day)];
        assert_eq!(
            of(twice.into_iter().chain(more).collect()),
            "app: sampled 3 times and counted from 2026-11-27 23:59 to 2026-11-28 00:01 UTC · 1 run of another command\n"
        );
    }

    #[test]
    fn a_long_command_is_cut() {
        let long = of(vec![run(RunKind::Counting, &format!("app {}", "x".repeat(500)), 0)]);
        assert!(long.lines().count() == 1 && long.ends_with("…: counted\n"), "{long}");
    }
}
