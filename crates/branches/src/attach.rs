//! Tracing a program that runs already, for a while: the tracer is put into it where it stands, and taken out again.

use crate::collect::Collector;
use crate::followers::Followers;
use crate::forked;
use crate::former;
use crate::guard::{self, Place};
use crate::inject::{end_events, inject, take_out};
use crate::outside::outside;
use crate::pick_up;
use crate::record::{Options, TraceError, Traced};
use crate::rings::Rings;
use crate::unmask;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use timewise_injection::{Payload, await_left_alone, payload, stop_left_alone};
use timewise_profile::RunKind;
use timewise_target::attachable::{self, AttachError};
use timewise_target::group::{self, Group};
use timewise_target::perf::Event;
use timewise_target::run::{self, Period};
use timewise_target::{family, maps, subject};

/// How often is looked whether it is over.
const PAUSE: Duration = Duration::from_millis(5);

/// How long its threads are waited for, until they stand.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which processes are attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The one that is named.
    Process,
    /// Also those that descend from it, now or later, and what each of them executes.
    Descendants,
}

/// Traces process `pid`, all its threads and those that it makes, for `time`, or until it ends or `enough` says so; and
/// whom it reaches besides. They run on as before.
///
/// # Errors
/// See [`TraceError`], of the process that is named; the program runs on then.
pub fn attach(
    pid: i32,
    reach: Reach,
    time: Duration,
    options: &Options,
    enough: impl Fn() -> bool + Sync,
) -> Result<Traced, TraceError> {
    // To attach is no part of the time: on a busy machine it can take longer.
    let mut deadline = None;
    let mut is_over = |pause| {
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + time);
        std::thread::sleep(pause);
        Instant::now() >= deadline || enough() || !attachable::lives(pid)
    };
    let others = match reach {
        Reach::Process => run::others_not_observed(pid, "--children traces them as well"),
        Reach::Descendants => None,
    };
    let followers = (reach == Reach::Descendants).then(|| Followers::begin(pid, *options)).transpose();
    let followers = followers.map_err(|cause| TraceError::System { what: "start a thread", cause })?;
    let traced = group::apart(|| trace(pid, options, false, &mut is_over));
    let followed = followers.map(|followers| {
        // It may execute another program now, which is followed.
        while traced.is_ok() && !is_over(PAUSE) {}
        followers.end()
    });
    let left = forked::take_copies_out(pid, PATIENCE);
    let mut traced = traced?;
    traced.follow(followed.unwrap_or_default());
    traced.profile.runs[0].warnings.extend(others.into_iter().chain(left));
    traced.tell_doubts();
    Ok(traced)
}

/// Traces process `pid` until `is_over`, which waits no longer than it is told, or until it executes another
/// program. With `only_guarded`, only if it is known where it sets signal handlers: it could take the tracer's away
/// otherwise, and be ended by the tracer's signal.
///
/// # Errors
/// See [`TraceError`]; the program runs on then.
pub fn trace(
    pid: i32,
    options: &Options,
    only_guarded: bool,
    mut is_over: impl FnMut(Duration) -> bool,
) -> Result<Traced, TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    await_left_alone(pid)?;
    let subject = attachable::subject(pid)?;
    let payload = payload::load()?;
    let rings = Rings::new(&payload, options, pid)?;
    let mut group = stop_loaded(pid)?;
    former::take_out(&mut group)?;
    let guarded = guard::places(pid).map_err(system("read the program's memory"))?;
    let are_its_own =
        || guard::sets_handlers_there(pid, &guarded).map_err(system("read what the program has mapped"));
    if only_guarded && !are_its_own()? {
        let why =
            "it sets signal handlers otherwise than C libraries do, and could take the tracer's away".into();
        return Err(AttachError::Unfit { pid, why }.into());
    }
    rings.guard(&guarded);
    let mut collector = Collector::new(&rings, pid, family::is_own_child(pid));
    let mut period = Period::begin(pid);
    let (guards, pick_ups) = match put_in(&rings, &payload, &group, &guarded) {
        Ok(events) => events,
        Err(error) => {
            drop(group);
            // Whatever came into it before it failed.
            let _ = leave(&rings, pid, &mut collector);
            return Err(error);
        }
    };
    collector.keep_events(guards);
    collector.keep_pick_ups(pick_ups);
    drop(group);
    let followed = collector.follow(|pause| {
        period.look(pid);
        Ok(is_over(pause))
    });
    period.end(pid);
    let left = leave(&rings, pid, &mut collector);
    followed.map_err(system("wait for the program"))?;
    let mut run = run::row_of_period(RunKind::Branches, subject, &period);
    if let Err(why) = left {
        run.warnings.push(format!("the tracer stays in the program's memory, switched off: {why}"));
    } else if rings.is_restricted() {
        run.warnings.push("the tracer stays in the program's memory, switched off".to_string());
    }
    Ok(collector.finish(run))
}

/// Stops a process where its libraries have been loaded: before, it cannot be told where it sets handlers.
fn stop_loaded(pid: i32) -> Result<Group, TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    let deadline = Instant::now() + PATIENCE;
    for moment in group::moments() {
        let group = stop_left_alone(pid, PATIENCE)?;
        if !is_loading(&group).map_err(system("read where the program is"))? || Instant::now() > deadline {
            return Ok(group);
        }
        drop(group);
        std::thread::sleep(moment);
    }
    Err(AttachError::Stuck(pid).into())
}

/// Whether the only thread of a process is in its loader.
fn is_loading(group: &Group) -> io::Result<bool> {
    let &[first] = group.tracees().as_slice() else { return Ok(false) };
    let base = subject::loader_base(group.pid())?;
    let mapped = maps::executable(group.pid())?;
    // The loader's code follows its headers.
    let loader = mapped.iter().find(|mapped| base != 0 && mapped.start >= base);
    let at = first.registers()?.rip;
    Ok(loader.is_some_and(|loader| (loader.start..loader.end).contains(&at)))
}

/// Puts the tracer into a program whose threads stand, and opens events: those that watch its system calls, and those by
/// which threads are picked up.
fn put_in(
    rings: &Rings,
    payload: &Payload,
    group: &Group,
    guarded: &[Place],
) -> Result<(Vec<Event>, Vec<Event>), TraceError> {
    let system = |what| move |cause| TraceError::System { what, cause };
    let tracees = group.tracees();
    let first = *tracees.first().ok_or(AttachError::Gone(group.pid()))?;
    let before = first.registers().map_err(system("read registers"))?;
    let injected = inject(rings, payload, first);
    first.set_registers(&before).map_err(system("set registers"))?;
    injected.map_err(|error| where_it_fits(group.pid(), error))?;
    let (mut guards, mut pick_ups) = (Vec::new(), Vec::new());
    let tids: Vec<i32> = tracees.iter().map(|tracee| tracee.tid()).collect();
    for tracee in &tracees {
        // Before one of ours can wait for it: the program may ask for what waits.
        unmask::let_through(rings, *tracee, &tids).map_err(system("set a signal mask of the program"))?;
        for &place in guarded {
            guards.push(guard::open(tracee.tid(), place).map_err(TraceError::Events)?);
        }
        let pick_up = pick_up::open(tracee.tid()).map_err(TraceError::Events)?;
        pick_up.enable().map_err(TraceError::Events)?;
        pick_ups.push(pick_up);
    }
    Ok((guards, pick_ups))
}

/// The error, told as what it means if something of the program's lies where the tracer is to be.
fn where_it_fits(pid: i32, error: TraceError) -> TraceError {
    match &error {
        TraceError::System { cause, .. } if cause.raw_os_error() == Some(libc::EEXIST) => {
            AttachError::Unfit { pid, why: "it has mapped addresses that tracing needs".into() }.into()
        }
        TraceError::WritableCodeDenied => AttachError::writable_code_denied(pid).into(),
        _ => error,
    }
}

/// Takes the tracer out of a program that runs, if it is still in it, and closes the events that we opened for it.
fn leave(rings: &Rings, pid: i32, collector: &mut Collector) -> Result<(), TraceError> {
    rings.header().active.store(0, Ordering::Relaxed);
    let system = |what| move |cause| TraceError::System { what, cause };
    if !forked::has_tracer(pid) {
        return Ok(());
    }
    let mut group = match Group::stop(pid, PATIENCE) {
        Err(AttachError::Gone(_) | AttachError::NotFound(_)) => return Ok(()),
        other => other?,
    };
    let reached = outside(&mut group, || collector.answer());
    if rings.is_restricted() {
        // Our events are closed, and system calls in its name could end it.
        return reached;
    }
    // Its events go in any case: they take up breakpoints that others may want.
    let Some(&first) = group.tracees().first() else { return Ok(()) };
    let before = first.registers().map_err(system("read registers"))?;
    end_events(first, pid, rings.descriptors());
    first.set_registers(&before).map_err(system("set registers"))?;
    collector.close_events();
    reached?;
    // Signals that came before are delivered first.
    outside(&mut group, || collector.answer())?;
    if rings.is_restricted() {
        return Ok(());
    }
    let Some(&first) = group.tracees().first() else { return Ok(()) };
    let before = first.registers().map_err(system("read registers"))?;
    let taken_out = take_out(&group);
    first.set_registers(&before).map_err(system("set registers"))?;
    taken_out.map_err(system("take the tracer out of the program"))
}
