//! What is done about a signal: algorithm 1 of Break Dancing.

use crate::ahead::{Landmark, Next, Steps, first_time, look_ahead, patience};
use crate::evaluation::Visited;
use crate::events::{self, Event};
use crate::guard;
use crate::restrict;
use crate::slot::{self, header};
use crate::timer_ticks;
use crate::trace::{Room, Trace};
use crate::visits::{MOST_VISITS, Visit};
use core::sync::atomic::Ordering;
use timewise_abi::thread::Registers;
use timewise_abi::tracing::{ALL_REGISTERS, End, TICK_NS, TRAP_PERF, TraceHeader, TraceSlot, signal_data};
use timewise_isa::State;
use timewise_runtime::sys::Errno;

/// The signal of all our events.
pub const SIGTRAP: u32 = 5;

/// CPU time that a breakpoint is waited for, or that samples may stay away, before something is done about it.
const PATIENCE_NS: u64 = 2 * TICK_NS;

/// Instructions that are evaluated beyond the end of a trace for each visit that is saved by finding where the thread has
/// not been: they take as long as that does, or a fraction on a guest.
const OF_A_VISIT: u32 = 64;

/// From which period on samples come seldom, and how many then come after the same time, on average.
const RARE_NS: u64 = 5_000_000;
const SAME: u32 = 8;

/// How often a thread's events are opened anew, if the program closes them.
const OPENINGS: u32 = 16;

/// Samples in a row without room for a trace after which a thread is traced no more, unless the host still picks it up.
const LONGEST_SILENCE: u32 = 4096;

/// The part of `siginfo_t` that matters here.
#[repr(C)]
pub struct SignalInfo {
    signal: i32,
    error: i32,
    /// Above 0 if the thread ran into it itself; otherwise somebody sent it.
    pub code: i32,
    padding: i32,
    address: u64,
    data: u64,
    kind: u32,
    flags: u32,
}

/// The start of `ucontext_t`.
#[repr(C)]
pub struct Context {
    before: [u64; 5],
    registers: Registers,
    /// Segments, the error, the vector, the old mask, and the address of a fault.
    between: [u64; 5],
    vectors: *const u8,
    reserved: [u64; 8],
    mask: u64,
}

const _: () = assert!(core::mem::offset_of!(Context, mask) == 8 * MASK_WORD);

/// Which word of a `ucontext_t` of the kernel the signal mask is.
const MASK_WORD: usize = 37;

/// Handles `SIGTRAP` for the thread whose slot this is: the address of the program's own handler, if the signal
/// is for that, else 0.
///
/// # Safety
/// All three are what the entry found: the kernel's, and the thread's own slot or null.
pub unsafe extern "C" fn handle(info: *const SignalInfo, context: *mut Context, slot: *mut TraceSlot) -> u64 {
    // SAFETY: as promised; nobody else uses them while this handler runs.
    let (info, context) = unsafe { (&*info, &mut *context) };
    // SAFETY: as promised; only this thread uses its slot but for the atomic fields.
    let slot = unsafe { slot.as_mut() };
    let own = if info.code == TRAP_PERF {
        handle_event(info, context, slot);
        0
    } else if let Some(slot) = slot.filter(|slot| guard::is_let_through(slot, context.mask)) {
        guard::as_blocked(slot, info, &mut context.mask);
        0
    } else {
        guard::own_handler(header(), info.code, context.mask)
    };
    restrict::leave(header());
    own
}

fn handle_event(info: &SignalInfo, context: &mut Context, slot: Option<&mut TraceSlot>) {
    let header = header();
    if restrict::is_restricted(header) {
        // No system call that a filter may forbid.
        return;
    }
    if info.data == signal_data::GUARD {
        return guard::before_call(header, &mut context.registers);
    }
    let Some(slot) = slot else { return };
    if header.active.load(Ordering::Relaxed) == 0 {
        return close(slot);
    }
    match info.data {
        signal_data::PICK_UP => tick(header, slot),
        signal_data::SAMPLE => sample(header, slot, context),
        signal_data::BREAKPOINT => breakpoint(header, slot, context, info.flags),
        _ => {}
    }
}

/// Makes a thread ready for traces.
pub fn open(header: &TraceHeader, slot: &mut TraceSlot) {
    close(slot);
    slot.openings += 1;
    slot.random ^= u64::from(slot.tid.load(Ordering::Relaxed)) << 32 | time_stamp();
    match events::open(header.descriptors) {
        Ok([sampling, breakpoint]) => {
            // Descriptors are never 0 here, so that a fresh slot has none.
            (slot.sampling, slot.breakpoint, slot.period) = (sampling.descriptor, breakpoint.descriptor, 1);
            slot.identities = [sampling.identity, breakpoint.identity];
            sample_later(header, slot);
            let _ = events::switch_on(slot.sampling);
        }
        Err(error) => header.refusal.store(error.0 as u32, Ordering::Relaxed),
    }
}

fn close(slot: &mut TraceSlot) {
    for (descriptor, identity) in [slot.sampling, slot.breakpoint].into_iter().zip(slot.identities) {
        if descriptor > 0 {
            Event { descriptor, identity }.end();
        }
    }
    (slot.sampling, slot.breakpoint, slot.armed, slot.tracing) = (0, 0, 0, 0);
    (slot.passed_ns, slot.ticked, slot.on_time) = (0, 0, 0);
}

/// The event that every thread inherits: it picks up new ones, and looks after those that have got stuck.
fn tick(header: &TraceHeader, slot: &mut TraceSlot) {
    // It says how long it is since the one before, not since anything else happened.
    if core::mem::replace(&mut slot.ticked, 1) == 1 {
        slot.passed_ns += header.tick_ns.load(Ordering::Relaxed);
    }
    if slot.tracing == 1 {
        end_if_stuck(header, slot);
    } else if slot.openings == 0 || is_overdue(header, slot) && slot.openings < OPENINGS {
        open(header, slot);
    }
}

/// Ends a trace whose breakpoint is not on the thread's way: a handler did not return, or jumped elsewhere.
fn end_if_stuck(header: &TraceHeader, slot: &mut TraceSlot) {
    if slot.passed_ns > PATIENCE_NS {
        finish(header, slot, End::NotReached);
    }
}

/// Whether the samples of a thread stay away: the program closed the event, or the slot was that of a thread
/// which has ended and had the same number.
fn is_overdue(header: &TraceHeader, slot: &TraceSlot) -> bool {
    slot.passed_ns.saturating_sub(PATIENCE_NS) > 4 * header.period_ns
}

/// A trace starts here.
fn sample(header: &TraceHeader, slot: &mut TraceSlot, context: &Context) {
    if slot.tracing == 1 {
        slot.passed_ns += header.shortest_wait_ns();
        return end_if_stuck(header, slot);
    }
    (slot.passed_ns, slot.ticked) = (0, 0);
    timer_ticks::came(header, slot);
    if !header.samples_go_on() {
        // Not by itself after one: of two signals that wait, the kernel keeps one, and this may be the one that it drops.
        events::switch_off(slot.sampling);
    }
    if !Trace::of(slot, header.length).begin(context.registers.rip) {
        slot.unheard += 1;
        // The host was killed: nobody takes traces any more.
        return if slot.unheard < LONGEST_SILENCE { resume_sampling(header, slot) } else { close(slot) };
    }
    slot.unheard = 0;
    slot.tracing = 1;
    go_on(header, slot, context);
}

/// The thread has come to where it was to be stopped.
fn breakpoint(header: &TraceHeader, slot: &mut TraceSlot, context: &Context, flags: u32) {
    const ASYNCHRONOUS: u32 = 1;
    const STACK: usize = 4;
    if slot.tracing == 0 {
        // Sent before the trace was ended.
        return;
    }
    slot.hits.fetch_add(1, Ordering::Relaxed);
    (slot.passed_ns, slot.ticked) = (0, 0);
    if flags & ASYNCHRONOUS != 0 || context.registers.rip != slot.armed {
        return finish(header, slot, End::Elsewhere);
    }
    let found = general(&context.registers);
    let differs = |number: usize| slot.known >> number & 1 == 1 && slot.expected[number] != found[number];
    if differs(STACK) {
        return finish(header, slot, End::Elsewhere);
    }
    if (0..found.len()).any(differs) {
        return finish(header, slot, End::Otherwise);
    }
    Trace::of(slot, header.length).confirm();
    match slot.ends_there {
        Some(end) => finish(header, slot, end),
        None => {
            Trace::of(slot, header.length).goes_on();
            go_on(header, slot, context);
        }
    }
}

/// Looks ahead from where the thread is, and has it stopped at what it finds.
fn go_on(header: &TraceHeader, slot: &mut TraceSlot, context: &Context) {
    let mut state = state_of(header, &context.registers);
    let alone = slot::is_alone(header);
    let is_confirmed = !alone || is_drawn(slot, header.confirm);
    let stands_at = slot.armed;
    let mut room = Room::of(slot);
    let mut trace = Trace::of(slot, header.length);
    let most = if is_confirmed { MOST_VISITS } else { 0 };
    let visited = Visited { most, first: stands_at != context.registers.rip };
    let mut evaluation = trace.evaluation(&mut room, context.vectors, alone, visited);
    // What follows from memory that nobody else changes is sure without one.
    let mut landmark = None;
    let wanted = (!alone).then_some(&mut landmark);
    let most = patience(header.length);
    let next = look_ahead(context.registers.rip, &mut state, &mut evaluation, &mut trace, wanted, most);
    trace.takes(evaluation.effort());
    let (end, address) = match next {
        Next::Wait { address, known } => return wait(header, slot, address, (&state.general, known), None),
        Next::End { end, address } => (end, address),
    };
    if end != End::Unreadable && is_confirmed {
        let visit = evaluation.latest_visit().filter(|visit| is_free(header, visit.address));
        let visits = visit.map_or(MOST_VISITS, |visit| visit.number);
        // The loop that it ends in may end soon, too.
        if !alone
            && visits > 1
            && let Some(stop) =
                first_time(address, &mut state, &mut evaluation, 0, &mut (visits * OF_A_VISIT))
        {
            return wait(header, slot, stop, (&state.general, ALL_REGISTERS), Some(end));
        }
        if let Some(Visit { address, number, reach, state }) = visit {
            let mut trace = Trace::of(slot, header.length);
            // Nobody else changes what was evaluated from, or what follows is not sure.
            if alone {
                trace.confirm()
            } else {
                trace.take_back(reach)
            }
            (slot.expected, slot.known) = (state.general, ALL_REGISTERS);
            slot.ends_there = Some(if alone || visits < MOST_VISITS { end } else { End::Patience });
            return stop_for(header, slot, address, number);
        }
    }
    if let Some(Landmark { address, state, reach }) = landmark {
        // A loop without an end in sight: it is followed from place to place.
        Trace::of(slot, header.length).take_back(reach);
        return wait(header, slot, address, (&state.general, ALL_REGISTERS), None);
    }
    if alone {
        // Nobody else changes what was evaluated from.
        Trace::of(slot, header.length).confirm();
    }
    finish(header, slot, end);
}

/// Whether this is one of so many, at random; 0 is never.
fn is_drawn(slot: &mut TraceSlot, of: u32) -> bool {
    of > 0 && next_random(&mut slot.random).is_multiple_of(of.into())
}

/// Has the thread stopped at an address, where its registers are to be as expected, as far as they are known; the
/// trace ends there if `end` says why.
fn wait(
    header: &TraceHeader,
    slot: &mut TraceSlot,
    address: u64,
    (expected, known): (&[u64; 16], u32),
    end: Option<End>,
) {
    if !is_free(header, address) {
        return finish(header, slot, End::NotFollowed);
    }
    (slot.expected, slot.known, slot.ends_there) = (*expected, known, end);
    stop_at(header, slot, address);
}

/// Whether no other breakpoint is there: of two signals for one instruction the kernel keeps one.
fn is_free(header: &TraceHeader, address: u64) -> bool {
    header.guarded.iter().all(|guarded| guarded.load(Ordering::Relaxed) != address)
}

/// Has the thread stopped at a certain visit.
fn stop_for(header: &TraceHeader, slot: &mut TraceSlot, address: u64, visit: u32) {
    match events::set_breakpoint_for(slot.breakpoint, address, &mut slot.period, visit.into()) {
        Ok(()) => slot.armed = address,
        Err(error) => refused(header, slot, error),
    }
}

fn refused(header: &TraceHeader, slot: &mut TraceSlot, error: Errno) {
    header.refusal.store(error.0 as u32, Ordering::Relaxed);
    finish(header, slot, End::Refused);
}

/// Moves the breakpoint.
fn stop_at(header: &TraceHeader, slot: &mut TraceSlot, address: u64) {
    if slot.period != 1 {
        return stop_for(header, slot, address, 1);
    }
    if slot.armed == address {
        return;
    }
    match events::set_breakpoint(slot.breakpoint, address, slot.period, true) {
        Ok(()) => slot.armed = address,
        Err(error) => refused(header, slot, error),
    }
}

/// Ends the trace and waits for the next sample.
fn finish(header: &TraceHeader, slot: &mut TraceSlot, end: End) {
    Trace::of(slot, header.length).publish(end);
    slot.tracing = 0;
    (slot.passed_ns, slot.ticked) = (0, 0);
    if slot.armed != 0 {
        // If the program closed it, it is off.
        let _ = events::set_breakpoint(slot.breakpoint, slot.armed, slot.period, false);
        let _ = events::tell_of_each_hit(slot.breakpoint, &mut slot.period);
        slot.armed = 0;
    }
    resume_sampling(header, slot);
}

/// Samples go on once a trace has ended. Where they come seldom, to say when costs a tenth of a trace, so several come
/// after the same time. If the event is gone, `tick` notices.
fn resume_sampling(header: &TraceHeader, slot: &mut TraceSlot) {
    let goes_on = header.samples_go_on();
    // To end at a tick it must be of another length each time.
    if !goes_on || header.timer_tick_ns > 0 || header.period_ns < RARE_NS || is_drawn(slot, SAME) {
        sample_later(header, slot);
    }
    if !goes_on {
        let _ = events::switch_on(slot.sampling);
    }
}

/// The next sample comes after half to one and a half times the period, at random, so that nothing periodic in
/// the program meets it always at the same place, or at the tick of the kernel's timer that is nearest to that.
fn sample_later(header: &TraceHeader, slot: &mut TraceSlot) {
    let period = header.period_ns;
    let wait = period / 2 + next_random(&mut slot.random) % period.max(1);
    let wait = timer_ticks::adjust(header, slot, wait);
    let _ = events::sample_after(slot.sampling, wait);
}

/// Xorshift (Marsaglia): good enough to be out of step.
fn next_random(state: &mut u64) -> u64 {
    let mut x = (*state).max(1);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    x
}

/// Ticks of the processor's clock.
pub fn time_stamp() -> u64 {
    // SAFETY: reads a counter of the processor.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// What evaluation begins with.
fn state_of(header: &TraceHeader, registers: &Registers) -> State {
    // The base of `gs` is not asked for: hardly any program uses it.
    let fs = (header.reads_bases == 1).then(slot::fs_base);
    State {
        general: general(registers),
        flags: registers.rflags,
        undefined_flags: 0,
        segment_bases: [fs, None],
    }
}

/// Registers in the order of their numbers.
fn general(r: &Registers) -> [u64; 16] {
    let [r8, r9, r10, r11, r12, r13, r14, r15] = r.r8_to_r15;
    [r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r8, r9, r10, r11, r12, r13, r14, r15]
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn a_trace_is_given_up_by_the_time_between_two_ticks() {
        // SAFETY: all zeros is a value of both.
        let (header, mut slot) = unsafe {
            (Box::<TraceHeader>::new_zeroed().assume_init(), Box::<TraceSlot>::new_zeroed().assume_init())
        };
        header.tick_ns.store(10 * TICK_NS, Ordering::Relaxed);
        (slot.openings, slot.tracing) = (1, 1);
        let not_reached = |slot: &TraceSlot| slot.ends[End::NotReached as usize].load(Ordering::Relaxed);
        // It may have begun just before the first.
        tick(&header, &mut slot);
        assert_eq!((slot.tracing, not_reached(&slot)), (1, 0));
        tick(&header, &mut slot);
        assert_eq!((slot.tracing, not_reached(&slot)), (0, 1));
    }
}
