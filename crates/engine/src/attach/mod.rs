//! Counting a program that runs already, for a while: it is taken over, counted, and given back.
//!
//! Its processes that it makes meanwhile are counted as well, and given back with it. If we are killed meanwhile,
//! they run on under count.

mod give_back;
mod low_addresses;
mod meanwhile;
mod take_over;
#[cfg(test)]
mod tests;
mod visit;

use crate::arena::Arena;
use crate::count::{Conclusion, CountError, Options, conclude};
use crate::follow::follow;
use crate::harvest::Harvest;
use crate::paths::PathCounts;
use give_back::give_back_all;
pub use meanwhile::Meanwhile;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use take_over::take_over;
use timewise_abi::stream::Plan;
use timewise_injection::{await_left_alone, payload, stop_left_alone};
use timewise_profile::{Profile, RunKind};
use timewise_target::attachable;
use timewise_target::control_groups::memory_limit;
use timewise_target::group;
use timewise_target::run::{self, ATTACH_TO_EACH, Period};
use timewise_target::status::Status;
use visit::Visits;

/// How long a program's threads are waited for, until they stand.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is looked whether it is time to give the program back.
const GLANCE: Duration = Duration::from_millis(5);
/// How long a process that was stopped may take to stand again on a busy machine, once it was given back.
const MOMENT_TO_STAND: Duration = Duration::from_millis(500);

/// What was counted of a program meanwhile.
#[derive(Debug)]
pub struct Attached {
    /// One counting run.
    pub profile: Profile,
    /// What counters of paths say, if there were any. Paths on which threads were when they were taken over, or given
    /// back, are in none.
    pub paths: PathCounts,
}

/// Counts process `pid`, all its threads and what it starts, for `time`, or until it ends or `enough` says so, which is
/// asked all the time. The program runs on as before.
///
/// # Errors
/// See [`CountError`]; the program runs on then.
pub fn attach(
    pid: i32,
    time: Duration,
    options: &Options,
    enough: impl Fn(&Meanwhile) -> bool + Sync,
) -> Result<Attached, CountError> {
    group::apart(|| count(pid, time, options, &enough))
}

fn count(
    pid: i32,
    time: Duration,
    options: &Options,
    enough: &(impl Fn(&Meanwhile) -> bool + Sync),
) -> Result<Attached, CountError> {
    await_left_alone(pid)?;
    let subject = attachable::subject(pid)?;
    let payload = payload::load()?;
    // The paths of functions that wait stand where open calls would.
    let calls = options.calls && options.paths.is_none();
    let arena = Arena::new(&payload, calls, Plan::default(), options.paths.as_deref(), memory_limit(pid))?;
    let visits = Visits::new(&arena, &payload)?;
    arena.shared().header().giver_pid.store(std::process::id(), Ordering::Relaxed);
    let mut harvest = Harvest::new(&arena, options.process_limit, false);
    let meanwhile = Meanwhile::of(&arena);
    let began = Mutex::new(None);
    let lock = || began.lock().unwrap_or_else(PoisonError::into_inner);
    let begin = || {
        let group = stop_left_alone(pid, PATIENCE)?;
        *lock() = Some((Period::begin(pid), run::others_not_observed(pid, ATTACH_TO_EACH)));
        take_over(&arena, &payload, &visits, group)
    };
    let wait = || {
        let deadline = Instant::now().checked_add(time);
        let is_time_left = || deadline.is_none_or(|deadline| Instant::now() < deadline);
        while is_time_left() && !enough(&meanwhile) && attachable::lives(pid) {
            std::thread::sleep(GLANCE);
            lock().iter_mut().for_each(|(period, _): &mut (Period, _)| period.look(pid));
        }
    };
    let uncounted = follow(&arena, &payload, 0, Some(&mut harvest), begin, wait)?;
    let (mut period, others) = lock().take().expect("it was taken over");
    period.end(pid);
    let kept = give_back_all(&arena, &visits);
    let mut run = run::row_of_period(RunKind::Counting, subject, &period);
    run.warnings.extend(others);
    run.warnings.extend(kept);
    let Conclusion { mut profile, paths, .. } = conclude(&arena, (harvest, Vec::new()), &uncounted, run);
    // Where counting failed that is told already.
    if profile.blocks.is_empty() && profile.runs[0].counts_complete {
        profile.runs[0].warnings.push(why_nothing(pid));
    }
    Ok(Attached { profile, paths })
}

/// Why nothing was counted of a process that was given back.
fn why_nothing(pid: i32) -> String {
    let status = || Status::of_process(pid).filter(|status| !status.is_at_its_end());
    // One that was stopped stands again when it had a processor for a moment.
    let until = Instant::now() + MOMENT_TO_STAND;
    while status().is_some_and(|status| !status.stopped) && Instant::now() < until {
        std::thread::sleep(GLANCE);
    }
    match status() {
        None => format!("process {pid} ended before it executed anything under count"),
        Some(status) if status.stopped => {
            format!("process {pid} is stopped (SIGSTOP) and executed nothing; let it go on: kill -CONT {pid}")
        }
        Some(_) => format!("process {pid} executed nothing meanwhile; count it for longer"),
    }
}
