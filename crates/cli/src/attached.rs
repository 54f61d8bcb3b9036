//! Profiling a process that runs already: which, for how long, and when enough is enough.

use crate::arguments::Program;
use crate::signals;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::{Duration, Instant};

/// What is profiled: a program that we launch, or a process that runs already.
#[derive(clap::Args)]
#[group(skip)]
pub struct Profiled {
    /// Attach to a process that runs already, with all its threads, and let it run on afterwards
    #[arg(short = 'p', long, value_name = "PID", conflicts_with_all = ["command", "deterministic"])]
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,
    /// How long to stay attached: 30s, 500ms, 2m
    #[arg(long = "for", id = "time", value_name = "TIME", requires = "pid", value_parser = parse_time)]
    time: Option<Duration>,
    #[command(flatten)]
    program: Option<Program>,
}

/// Which of the two.
pub enum Subject<'a> {
    /// A program to launch.
    Program(&'a Program),
    /// A process that runs, and how long it is observed.
    Process(i32, Duration),
}

impl Profiled {
    /// Whether a process is named.
    pub fn is_process(&self) -> bool {
        self.pid.is_some()
    }

    /// Which of the two it is. To watch a process, we let ourselves have as many descriptors as we may.
    ///
    /// # Errors
    /// If it is neither.
    pub fn subject(&self) -> anyhow::Result<Subject<'_>> {
        match (self.pid, self.time, &self.program) {
            (Some(pid), Some(time), _) => {
                allow_descriptors();
                Ok(Subject::Process(pid, time))
            }
            (Some(pid), None, _) => anyhow::bail!("say how long to stay attached: --pid {pid} --for 10s"),
            (None, Some(_), Some(_)) => {
                anyhow::bail!("--for is for a process that runs already; leave it out, or give --pid PID")
            }
            (None, None, Some(program)) => Ok(Subject::Program(program)),
            (None, _, None) => anyhow::bail!("name a program, or a process: --pid PID --for TIME"),
        }
    }
}

/// Lets us have as many descriptors as we may: watching takes some for each thread. Nothing is launched that would inherit
/// that.
fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, what does not fit is told.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Whether we were asked to stop observing before the time is up.
pub fn enough() -> bool {
    signals::interruption().is_some()
}

/// A time with a unit.
///
/// # Errors
/// What is wrong with it.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().map_err(|_| "it is no number with a unit, such as 10s")?;
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("its unit is none of ms, s, m, h".into()),
    };
    let time = Duration::try_from_secs_f64(number * seconds).ok();
    // Somebody will add it to what time it is.
    let time = time.filter(|&time| Instant::now().checked_add(time).is_some()).ok_or("it is too long")?;
    if time.is_zero() { Err("it is no time at all".into()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ms) in [("10s", 10_000), ("500ms", 500), ("2m", 120_000), ("0.5", 500), ("1h", 3_600_000)]
        {
            assert_eq!(parse_time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "10 s", "5d", "-1s", "0s", "1e9h", "99999999999999999999h", "5000000000000000h"]
        {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
