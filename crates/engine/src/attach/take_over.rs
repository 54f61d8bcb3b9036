//! Taking a program over that runs: its stopped threads go on under the translator.

use super::give_back::{Leaving, native, take_away};
use super::low_addresses;
use super::visit::Visits;
use crate::address_limit;
use crate::arena::{self, Arena};
use crate::count::CountError;
use crate::inject::{record_mappings, saved};
use std::io;
use std::sync::atomic::Ordering;
use timewise_abi::RESERVED_HIGH;
use timewise_abi::thread::{self, Sequences, ThreadArea, state};
use timewise_abi::visit::{answer, task};
use timewise_injection::{Image, Occupant, Payload};
use timewise_target::attachable::AttachError;
use timewise_target::group::Group;
use timewise_target::locking::{self, Locks};
use timewise_target::maps::{self, Mapped};
use timewise_target::restart::rewound;
use timewise_target::rseq::{self, Registration};
use timewise_target::trace::{LONG_MODE, Registers, Tracee};
use timewise_target::user_dispatch::{self, Dispatch};

/// A thread as it was found.
struct Found {
    tracee: Tracee,
    registers: Registers,
    sequence: Option<Registration>,
    dispatch: Option<Dispatch>,
}

/// Takes over the process whose threads stand, and lets them go on.
///
/// # Errors
/// Why that is impossible, or what the system refused. The program runs on as before.
pub fn take_over(
    arena: &Arena,
    payload: &Payload,
    visits: &Visits,
    mut group: Group,
) -> Result<(), CountError> {
    let pid = group.pid();
    let (threads, low) = look(&group)?;
    let mut progress = Progress::default();
    if let Err(error) = put_in(arena, payload, visits, (pid, &threads, low), &mut progress) {
        put_back(visits, &threads, &progress);
        return Err(error);
    }
    threads.iter().for_each(|thread| group.keep_registers(thread.tracee.tid()));
    Ok(())
}

/// How far it came.
#[derive(Default)]
struct Progress {
    /// The area of the first thread, once the runtime is mapped.
    begun: Option<*mut ThreadArea>,
    /// Threads of which the kernel was told to bring no system calls to the program.
    silenced: usize,
    /// Threads whose sequences were withdrawn.
    withdrawn: usize,
    /// Areas of the threads that were made ready, in order.
    joined: Vec<*mut ThreadArea>,
    /// What the program has locked of the memory that it maps from now on.
    locks: Locks,
}

/// Undoes what was done before it failed, as far as the system lets us.
fn put_back(visits: &Visits, threads: &[Found], progress: &Progress) {
    let areas = progress.joined.iter().copied().map(Some).chain(std::iter::repeat(None));
    for (Found { tracee, registers, .. }, area) in threads.iter().zip(areas) {
        if let Some(area) = area {
            // SAFETY: a registered area, whose thread stands.
            unsafe { (*area).stopped = saved(registers) };
            let _ = native(visits, &Leaving { tracee: *tracee, stopped: *registers, area: Some(area) });
        }
    }
    if let Some((first, area)) = threads.first().zip(progress.begun) {
        let _ = take_away(visits, first.tracee, area);
    }
    if let Some(first) = threads.first() {
        let _ = progress.locks.put_back(first.tracee);
    }
    for (number, Found { tracee, registers, sequence, dispatch }) in threads.iter().enumerate() {
        if let Some(sequence) = sequence.filter(|_| number < progress.withdrawn) {
            let _ = sequence.renew(*tracee);
        }
        if let Some(dispatch) = dispatch.filter(|_| number < progress.silenced) {
            let _ = dispatch.renew(*tracee);
        }
        let _ = tracee.set_registers(registers);
    }
}

/// Looks whether the program can be taken over where it stands, without changing anything: its threads, and where the
/// runtime is to have its low addresses.
fn look(group: &Group) -> Result<(Vec<Found>, u32), CountError> {
    let system = |what| move |cause| CountError::System { what, cause };
    let pid = group.pid();
    let unfit = |why: &str| CountError::Attach(AttachError::Unfit { pid, why: why.into() });
    let mapped = maps::all(pid).map_err(system("read memory maps"))?;
    let mapped: Vec<Mapped> = mapped.into_iter().map(|(mapped, _)| mapped).collect();
    let is_taken = mapped.iter().any(|m| m.start < RESERVED_HIGH.end && RESERVED_HIGH.start < m.end);
    if let Some(occupant) = Occupant::of(pid).map_err(system("read memory maps"))? {
        return Err(occupant.obstacle(pid).into());
    }
    let Some(low) = low_addresses::find(&mapped).filter(|_| !is_taken) else {
        return Err(unfit(
            "it has mapped addresses that counting needs; sample it, or count it from its start",
        ));
    };
    let mut threads = Vec::new();
    for tracee in group.tracees() {
        let registers = tracee.registers().map_err(system("read registers"))?;
        if registers.cs != LONG_MODE {
            return Err(unfit("it executes 32-bit code"));
        }
        if registers.gs_base != 0 || registers.gs != 0 {
            return Err(unfit(
                "it uses the segment register gs, which counting needs; count it from its start instead",
            ));
        }
        // A kernel that does not know the question is older than sequences in the C library.
        let sequence = rseq::registration(tracee).unwrap_or(None);
        if sequence.is_some_and(|sequence| sequence.is_in_sequence(tracee)) {
            return Err(unfit("it has restartable sequences of its own; count it from its start instead"));
        }
        let dispatch = user_dispatch::asked_for(tracee);
        threads.push(Found { tracee, registers, sequence, dispatch });
    }
    Ok((threads, low))
}

fn put_in(
    arena: &Arena,
    payload: &Payload,
    visits: &Visits,
    (pid, threads, low): (i32, &[Found], u32),
    progress: &mut Progress,
) -> Result<(), CountError> {
    let system = |what| move |cause| CountError::System { what, cause };
    let shared = arena.shared();
    let first = threads.first().ok_or(AttachError::Gone(pid))?;
    // First of all: calls that are made for a thread would come to the program.
    for thread in threads {
        if thread.dispatch.is_some() {
            user_dispatch::withdraw(thread.tracee).map_err(system("have its system calls made for it"))?;
        }
        progress.silenced += 1;
    }
    let mappings = maps::executable(pid).map_err(system("read memory maps"))?;
    let (process, area) = arena.register(first.tracee.tid() as u32, 0)?;
    let mut areas = vec![area];
    for _ in &threads[1..] {
        areas.push(shared.register_thread(process).map_err(|_| CountError::Full)?);
    }
    address_limit::raise(arena, pid, address_limit::note(arena, process, 0, pid)?)?;
    record_mappings(arena, process, pid, mappings)?;
    progress.locks = Locks::lift(first.tracee).map_err(system("change what memory the program locks"))?;
    shared.process(process).low.store(low, Ordering::Relaxed);
    shared.process(process).locks.store(progress.locks.0 as u32, Ordering::Relaxed);
    timewise_injection::map(
        first.tracee,
        arena.file(),
        arena::BASE,
        payload,
        arena.image_offset(),
        Image::Mapped,
    )
    .map_err(|cause| system("map the runtime into the program")(locking::told(cause)))?;
    // Where this fails, terabytes count as locked.
    let _ = progress.locks.leave_out(first.tracee, arena::BASE..arena::BASE + arena.file().size());
    let areas: Vec<_> = areas.iter().map(|&area| shared.thread(area)).collect();
    progress.begun = Some(areas[0]);
    visit(visits, first.tracee, areas[0], task::BEGIN)?;
    for (thread, &area) in threads.iter().zip(&areas) {
        if let Some(sequence) = thread.sequence {
            sequence.withdraw(thread.tracee).map_err(system("withdraw its restartable sequences"))?;
        }
        progress.withdrawn += 1;
        if let Some(Dispatch { offset, length, selector, .. }) = thread.dispatch {
            // SAFETY: a registered area, whose thread stands.
            unsafe { (*area).dispatch = thread::Dispatch { on: 1, selected: 0, offset, length, selector } };
        }
        visit(visits, thread.tracee, area, task::JOIN)?;
        progress.joined.push(area);
    }
    for (thread, &area) in threads.iter().zip(&areas) {
        let before = rewound(thread.tracee, &thread.registers);
        // SAFETY: a registered area, whose thread stands.
        let area = unsafe { &mut *area };
        area.registers = saved(&before);
        if let Some(Registration { address, size, signature, .. }) = thread.sequence {
            area.sequences = Sequences { address, size, signature };
        }
        area.joined = before.rsp;
        area.tid.store(thread.tracee.tid() as u32, Ordering::Relaxed);
        area.state.store(state::RUNNING, Ordering::Relaxed);
        let start = Registers { rip: visits.join(), gs_base: area.this, orig_rax: u64::MAX, ..before };
        thread.tracee.set_registers(&start).map_err(system("set registers"))?;
    }
    shared.process(process).attached.store(1, Ordering::Relaxed);
    // From now on the record is complete, for whoever looks at it meanwhile.
    shared.process(process).pid.store(pid as u32, Ordering::Release);
    Ok(())
}

fn visit(visits: &Visits, tracee: Tracee, area: *mut ThreadArea, task: u64) -> Result<(), CountError> {
    let what = "make the program ready for counting";
    match visits.make(tracee, area, task) {
        Ok(answer::DONE) => Ok(()),
        Ok(answer::WRITABLE_CODE_DENIED) => Err(AttachError::writable_code_denied(tracee.tid()).into()),
        Ok(_) => {
            Err(CountError::System { what, cause: io::Error::other("its memory has no room near its code") })
        }
        Err(cause) => Err(CountError::System { what, cause }),
    }
}
