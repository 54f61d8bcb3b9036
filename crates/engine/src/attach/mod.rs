//! Counting a program that runs already, for a while: it is taken over, counted, and given back.
//!
//! Its processes that it makes meanwhile are counted as well, and given back with it. If we are killed meanwhile,
//! they run on under count.

mod give_back;
mod take_over;
mod visit;

use crate::arena::Arena;
use crate::count::{CountError, Options, conclude};
use crate::follow::follow;
use crate::harvest::Harvest;
use give_back::give_back_all;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use take_over::take_over;
use timewise_abi::stream::Plan;
use timewise_injection::payload;
use timewise_profile::{Profile, RunKind};
use timewise_target::attachable;
use timewise_target::group::Group;
use timewise_target::run::{self, Period};
use visit::Visits;

/// How long a program's threads are waited for, until they stand.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is looked whether it is time to give the program back.
const GLANCE: Duration = Duration::from_millis(5);

/// Counts process `pid`, all its threads and what it starts, for `time`, or until it ends or `enough` says so: a
/// profile with one counting run. The program runs on as before.
///
/// # Errors
/// See [`CountError`]; the program runs on then.
pub fn attach(
    pid: i32,
    time: Duration,
    options: &Options,
    enough: impl Fn() -> bool + Sync,
) -> Result<Profile, CountError> {
    attachable::check(pid)?;
    let subject = attachable::subject(pid)?;
    let payload = payload::load()?;
    let arena = Arena::new(&payload, options.calls, Plan::default(), None)?;
    let visits = Visits::new(&arena, &payload)?;
    let group = Group::stop(pid, PATIENCE)?;
    let mut period = Period::begin(pid);
    take_over(&arena, &payload, &visits, group)?;
    let mut harvest = Harvest::new(&arena, options.process_limit, false);
    let deadline = Instant::now() + time;
    let uncounted = follow(&arena, &payload, 0, Some(&mut harvest), || {
        while Instant::now() < deadline && !enough() && attachable::lives(pid) {
            std::thread::sleep(GLANCE);
        }
    });
    period.end(pid);
    let unfollowed = &arena.shared().header().unfollowed;
    let before = unfollowed.load(Ordering::Relaxed);
    let kept = give_back_all(&arena, &visits);
    // What is executed by then is no part of the time that was asked for.
    unfollowed.store(before, Ordering::Relaxed);
    let mut run = run::row_of_period(RunKind::Counting, subject, &period);
    run.warnings.extend(kept);
    Ok(conclude(&arena, (harvest, Vec::new()), &uncounted, run).profile)
}
