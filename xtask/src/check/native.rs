//! What a second version of a program takes natively, against a first one.

use crate::bench::{median, median_interval};
use crate::usage::wait_with_usage;
use anyhow::{Context, Result, ensure};
use std::fmt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The user time of the second version as a share of that of the first: the median over pairs of runs, with
/// limits that assume nothing of the distribution.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// The median.
    pub value: f64,
    /// Limits within which the true median lies with a probability of at least 95 %.
    pub low: f64,
    /// Likewise.
    pub high: f64,
    /// Median user time of the first version, seconds.
    pub first_s: f64,
    /// Median user time of the second one, seconds.
    pub second_s: f64,
    pairs: usize,
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        write!(
            formatter,
            "natively {:.3} s to {:.3} s, {:+.2} % ({:+.2} to {:+.2}; median of {} pairs)",
            self.first_s,
            self.second_s,
            percent(self.value),
            percent(self.low),
            percent(self.high),
            self.pairs
        )
    }
}

/// A shell command, and the folder that it runs in.
pub type Run<'a> = (&'a Path, &'a str);

/// Runs both at the same time on one processor, so that the kernel gives it to them in turn for a few
/// milliseconds: whatever else the machine does slows both alike. For changes of a few per cent.
///
/// # Errors
/// If one fails, or there are fewer than six pairs, of which no limits follow.
pub fn together(first: Run, second: Run, pairs: usize) -> Result<Ratio> {
    // SAFETY: takes nothing.
    let processor = unsafe { libc::sched_getcpu() }.max(0);
    let spawn = |run: Run| start(run, &format!("taskset -c {processor} "));
    ratio(pairs, |pair| {
        // Who comes first has a little more of the caches to itself.
        if pair % 2 == 0 {
            let (a, b) = (spawn(first)?, spawn(second)?);
            Ok((user_s(a)?, user_s(b)?))
        } else {
            let (b, a) = (spawn(second)?, spawn(first)?);
            Ok((user_s(a)?, user_s(b)?))
        }
    })
}

/// Runs one after the other. For changes so large that the machine's noise does not matter, of programs that
/// would take caches and memory from each other.
///
/// # Errors
/// As [`together`].
pub fn in_turn(first: Run, second: Run, pairs: usize) -> Result<Ratio> {
    let once = |run: Run| user_s(start(run, "")?);
    ratio(pairs, |_| Ok((once(first)?, once(second)?)))
}

fn ratio(pairs: usize, mut measure: impl FnMut(usize) -> Result<(f64, f64)>) -> Result<Ratio> {
    let times: Vec<(f64, f64)> = (0..pairs).map(&mut measure).collect::<Result<_>>()?;
    let ratios: Vec<f64> = times.iter().map(|(first, second)| second / first).collect();
    let (low, high) = median_interval(&ratios).context("an interval needs six pairs of native runs")?;
    let (first, second): (Vec<f64>, Vec<f64>) = times.into_iter().unzip();
    let (first_s, second_s) = (median(&first), median(&second));
    Ok(Ratio { value: median(&ratios), low, high, first_s, second_s, pairs })
}

/// Starts a shell command whose first program takes the shell's place.
fn start((folder, command): Run, prefix: &str) -> Result<Child> {
    let script = format!("exec {prefix}{command}");
    let child = Command::new("bash").args(["-c", &script]).current_dir(folder).stdout(Stdio::null()).spawn();
    child.context("bash")
}

fn user_s(child: Child) -> Result<f64> {
    let usage = wait_with_usage(child)?;
    ensure!(usage.status.success(), "a native run failed: {}", usage.status);
    Ok(usage.user.as_secs_f64())
}
