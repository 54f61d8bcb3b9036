//! Two programs with the same arguments and input, run in turns: whether they do the same, and which is faster.

use crate::fault::FdoError;
use crate::sign_test::{median, median_interval};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// How a program compares with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Median of the CPU times of the first program, seconds.
    pub base_s: f64,
    /// The second program's time as a multiple of the first's: median over all pairs.
    pub ratio: f64,
    /// Between these the true median lies with a probability of at least 95 %, by the sign test.
    pub interval: (f64, f64),
    /// Pairs that were run.
    pub pairs: usize,
}

/// The fewest pairs that give an interval.
pub const FEWEST_PAIRS: usize = 6;

/// What one execution gave.
#[derive(PartialEq)]
struct Done {
    output: Output,
    status: ExitStatus,
}

/// What is remembered of an output, of which there may be more than memory holds. It is compared within one process, so
/// it is not the hash that profiles store.
#[derive(PartialEq)]
struct Output {
    bytes: u64,
    hash: u64,
}

impl Output {
    /// Of all that `source` gives.
    fn of(source: &mut impl Read) -> io::Result<Output> {
        let mut reader = BufReader::with_capacity(1 << 16, source);
        let (mut bytes, mut hasher) = (0, DefaultHasher::new());
        loop {
            let part = reader.fill_buf()?;
            if part.is_empty() {
                return Ok(Output { bytes, hash: hasher.finish() });
            }
            // A part's bytes alone, not how they came in parts.
            hasher.write(part);
            let length = part.len();
            bytes += length as u64;
            reader.consume(length);
        }
    }
}

/// Runs `base` and `test` in turns, `pairs` times each, after one of each that does not count, as long as `goes_on` says
/// so. Both are told the name of `base`.
///
/// # Errors
/// If one cannot be run, they do not do the same, or `goes_on` said no.
pub fn compare(
    base: &Path,
    test: &Path,
    arguments: &[OsString],
    input: Option<&File>,
    pairs: usize,
    goes_on: impl Fn() -> bool,
) -> Result<Comparison, FdoError> {
    let rounds = in_turns([base, test], arguments, input, pairs.max(FEWEST_PAIRS), goes_on)?;
    let times: Vec<f64> = rounds.iter().map(|[base_s, _]| *base_s).collect();
    let ratios: Vec<f64> = rounds.iter().map(|[base_s, test_s]| test_s / base_s.max(1e-9)).collect();
    Ok(Comparison {
        base_s: median(&times),
        ratio: median(&ratios),
        // So many pairs always give one.
        interval: median_interval(&ratios).unwrap_or((0.0, f64::INFINITY)),
        pairs: ratios.len(),
    })
}

/// Runs programs in turns, so many rounds after one that does not count, as long as `goes_on` says so: the seconds of CPU
/// time of each, by round. All are told the name of the first.
///
/// # Errors
/// If one cannot be run, or does not do as the first, or if `goes_on` said no.
pub fn in_turns<const N: usize>(
    programs: [&Path; N],
    arguments: &[OsString],
    input: Option<&File>,
    rounds: usize,
    goes_on: impl Fn() -> bool,
) -> Result<Vec<[f64; N]>, FdoError> {
    let execute = |program: &Path| {
        let cannot = |cause| FdoError::System { what: "run", path: program.into(), cause };
        let done = execute(program, programs[0], arguments, input).map_err(cannot)?;
        // What stops us may have stopped the program, too: what it did then tells nothing.
        if goes_on() { Ok(done) } else { Err(FdoError::Interrupted) }
    };
    let (expected, _) = execute(programs[0])?;
    let mut all = Vec::new();
    for round in 0..=rounds {
        let mut seconds = [0.0; N];
        // Whoever runs first in a round has no advantage over all of them.
        for which in (0..N).map(|place| (place + round) % N) {
            let (done, took) = execute(programs[which])?;
            if done != expected {
                let what =
                    if done.status == expected.status { "another output" } else { "another exit status" };
                let (base, test, what) = (programs[0].into(), programs[which].into(), what.into());
                // The first program comes first, and so has been compared with itself before another is.
                return Err(match which {
                    0 => FdoError::Unsteady { program: base, what },
                    _ => FdoError::Differs { base, test, what },
                });
            }
            seconds[which] = took;
        }
        if round > 0 {
            all.push(seconds);
        }
    }
    Ok(all)
}

/// Runs a program by a name to its end: what it did, and the seconds of CPU time that it took.
fn execute(
    program: &Path,
    name: &Path,
    arguments: &[OsString],
    input: Option<&File>,
) -> io::Result<(Done, f64)> {
    let mut command = Command::new(program);
    // Some say how they were called, or do what their name says.
    command.arg0(name).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    match input {
        Some(mut file) => {
            file.rewind()?;
            command.stdin(file.try_clone()?);
        }
        None => {
            command.stdin(Stdio::null());
        }
    }
    let mut child = command.spawn()?;
    let output = match child.stdout.take() {
        Some(mut pipe) => Output::of(&mut pipe)?,
        None => Output::of(&mut io::empty())?,
    };
    let mut status = 0;
    // SAFETY: all zeros are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both results go to live locals.
    if unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok((
        Done { output, status: ExitStatus::from_raw(status) },
        seconds(usage.ru_utime) + seconds(usage.ru_stime),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_the_same_however_it_comes_in_parts() {
        let [one, other] = [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]];
        let whole = Output::of(&mut &one[..]).unwrap();
        for at in 0..one.len() {
            assert!(whole == Output::of(&mut one[..at].chain(&one[at..])).unwrap());
        }
        assert!(
            whole != Output::of(&mut &other[..]).unwrap() && whole != Output::of(&mut &one[1..]).unwrap()
        );
    }

    #[test]
    fn a_program_is_as_fast_as_itself_and_does_the_same() {
        let shell = Path::new("/bin/sh");
        let script =
            ["-c", "read line; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $line; exit 3"];
        let mut input = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut input, b"a line\n").unwrap();
        let compared = compare(shell, shell, &script.map(Into::into), Some(&input), 6, || true).unwrap();
        assert!(compared.interval.0 <= compared.ratio && compared.ratio <= compared.interval.1);
        assert!(compared.pairs == 6 && compared.base_s > 0.0);
    }

    #[test]
    fn what_does_something_else_is_refused() {
        let script = ["-c", "echo $BASH_VERSION"].map(Into::into);
        let refused = compare(Path::new("/bin/bash"), Path::new("/bin/dash"), &script, None, 6, || true);
        assert!(matches!(refused, Err(FdoError::Differs { .. })), "{refused:?}");
    }

    #[test]
    fn what_does_something_else_each_time_is_told_from_what_the_other_does() {
        let shell = Path::new("/bin/sh");
        for (script, says) in [("echo $$", "another output"), ("exit $(($$ % 100))", "another exit status")] {
            let refused = compare(shell, shell, &["-c", script].map(Into::into), None, 6, || true);
            let Err(FdoError::Unsteady { program, what }) = refused else { panic!("{refused:?}") };
            assert_eq!((&*program, &what[..]), (shell, says));
        }
    }

    #[test]
    fn what_only_says_its_name_does_the_same() {
        let script = ["-c", "echo $0"].map(Into::into);
        let compared = compare(Path::new("/bin/sh"), Path::new("/bin/dash"), &script, None, 6, || true);
        assert!(compared.is_ok(), "{compared:?}");
    }

    #[test]
    fn nothing_more_runs_when_it_does_not_go_on() {
        let runs = std::cell::Cell::new(0);
        let goes_on = || {
            runs.set(runs.get() + 1);
            runs.get() < 3
        };
        let shell = Path::new("/bin/sh");
        let compared = compare(shell, shell, &["-c", "exit 3"].map(Into::into), None, 6, goes_on);
        assert!(matches!(compared, Err(FdoError::Interrupted)), "{compared:?}");
        assert_eq!(runs.get(), 3);
    }
}
