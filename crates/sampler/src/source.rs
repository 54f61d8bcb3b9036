//! Which event strikes the clock, and on whose behalf: the best that this machine grants, with
//! the reason for every better one that it refused.

use crate::SampleError;
use crate::layout::{Layout, SAMPLE_FIELDS, USER_REGISTERS};
use crate::options::{CallGraph, Options, Scope};
use crate::period;
use crate::refusal::{Needs, Refusal};
use std::io;
use timewise_profile::ClockScope;
use timewise_target::machine;
use timewise_target::perf::sys::{self, perf_event_attr};
use timewise_target::perf::{Event, Watched};

/// Above this many processors the automatic choice is to watch threads: a clock on each processor
/// would wake idle ones thousands of times a second, which costs the busy ones their turbo.
pub(crate) const MOST_PROCESSORS_WATCHED: usize = 16;

/// An event that this machine can sample with.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name as `perf` writes it, such as `cycles:upp` or `cpu-clock:u`.
    pub event: String,
    /// True if periods are hardware cycles, false if nanoseconds.
    pub counts_cycles: bool,
    /// `precise_ip` that the kernel granted.
    pub precise_level: u8,
    /// True if every thread on every processor is watched and ours are picked out.
    pub whole_processors: bool,
    /// What to open it with.
    pub(crate) attributes: perf_event_attr,
}

/// Chooses the event to watch `thread` and its descendants with (`None`: the calling thread, to
/// find out what is possible).
///
/// # Errors
/// [`SampleError::Refused`] if nothing can be had.
pub fn choose(options: &Options, thread: Option<i32>) -> Result<(Source, Vec<Refusal>), SampleError> {
    let mut refusals = Vec::new();
    for candidate in candidates(options) {
        let scopes: &[bool] = match options.scope {
            Scope::Threads => &[false],
            Scope::Processors => &[true],
            Scope::Automatic if machine::online_processors().len() > MOST_PROCESSORS_WATCHED => &[false],
            Scope::Automatic => &[true, false],
        };
        let mut why = None;
        for &whole_processors in scopes {
            let mut source = candidate.clone();
            source.whole_processors = whole_processors;
            match source.open_first(thread) {
                Ok(()) => return Ok((source, refusals)),
                Err(error) => why = Some(error),
            }
        }
        if let Some(error) = why {
            let needs = Needs { hardware: candidate.counts_cycles, kernel: options.kernel };
            refusals.push(Refusal::of(candidate.event, &error, needs));
        }
    }
    Err(SampleError::Refused { reasons: in_words(&refusals) })
}

/// Why events were refused; a reason that holds for several is given once.
fn in_words(refusals: &[Refusal]) -> String {
    let mut reasons: Vec<Refusal> = Vec::new();
    for refusal in refusals {
        let event = refusal.event.split(':').next().unwrap_or_default();
        let same = |known: &&mut Refusal| (&known.why, &known.enable) == (&refusal.why, &refusal.enable);
        match reasons.iter_mut().find(same) {
            Some(known) if known.event.split(", ").any(|name| name == event) => {}
            Some(known) => known.event += &format!(", {event}"),
            None => reasons.push(Refusal { event: event.into(), ..refusal.clone() }),
        }
    }
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Best first: hardware cycles with the highest precision, then the clocks.
fn candidates(options: &Options) -> Vec<Source> {
    let modes = if options.kernel { "" } else { "u" };
    let named = |name: &str, precise: u8| match modes.len() + usize::from(precise) {
        0 => name.to_string(),
        _ => format!("{name}:{modes}{}", "p".repeat(precise.into())),
    };
    let cycles = (0..=3).rev().map(|precise| {
        let mut attributes = basic_attributes(options);
        attributes.type_ = sys::PERF_TYPE_HARDWARE;
        attributes.config = sys::PERF_COUNT_HW_CPU_CYCLES as u64;
        attributes.set_freq(1);
        attributes.set_precise_ip(precise.into());
        (named("cycles", precise), true, precise, attributes)
    });
    let clocks = [("cpu-clock", sys::PERF_COUNT_SW_CPU_CLOCK), ("task-clock", sys::PERF_COUNT_SW_TASK_CLOCK)];
    let clocks = clocks.into_iter().map(|(name, config)| {
        let mut attributes = basic_attributes(options);
        attributes.type_ = sys::PERF_TYPE_SOFTWARE;
        attributes.config = config as u64;
        attributes.set_exclude_idle(1);
        (named(name, 0), false, 0, attributes)
    });
    let all = cycles.chain(clocks);
    all.map(|(event, counts_cycles, precise_level, attributes)| {
        let mut source = Source { event, counts_cycles, precise_level, whole_processors: false, attributes };
        source.set_frequency(options.frequency_hz);
        source
    })
    .collect()
}

/// Bytes of a sample at most beside the copied stack: with the deepest call chain that the kernel takes by default
/// (127 frames).
const BESIDE_STACK: u64 = 1400;

fn basic_attributes(options: &Options) -> perf_event_attr {
    let mut attributes = common_attributes();
    let copied = options.unwound_bytes() > 0;
    if copied {
        copy_stacks(&mut attributes, options.unwound_bytes());
    }
    // Frame pointers tell of stacks that are not copied, as Go switches between.
    let by_frame_pointers = matches!(options.call_graph, CallGraph::FramePointers | CallGraph::Automatic);
    if by_frame_pointers || copied && options.kernel {
        attributes.sample_type |= u64::from(sys::PERF_SAMPLE_CALLCHAIN);
        attributes.set_exclude_callchain_kernel(u64::from(!options.kernel));
        attributes.set_exclude_callchain_user(u64::from(!by_frame_pointers));
    }
    attributes.set_exclude_kernel(u64::from(!options.kernel));
    attributes.set_task(1);
    attributes.set_comm(1);
    attributes.set_comm_exec(1);
    attributes.set_mmap(1);
    attributes.set_mmap2(1);
    attributes.set_build_id(1);
    attributes
}

/// What all events have whose records we read.
pub(crate) fn common_attributes() -> perf_event_attr {
    let mut attributes = perf_event_attr::default();
    attributes.sample_type = SAMPLE_FIELDS;
    attributes.set_disabled(1);
    attributes.set_exclude_hv(1);
    attributes.set_sample_id_all(1);
    attributes.set_use_clockid(1);
    attributes.clockid = libc::CLOCK_MONOTONIC;
    attributes
}

/// Has registers and so many bytes of the stack copied with each sample.
pub(crate) fn copy_stacks(attributes: &mut perf_event_attr, bytes: u32) {
    attributes.sample_type |= u64::from(sys::PERF_SAMPLE_REGS_USER | sys::PERF_SAMPLE_STACK_USER);
    attributes.sample_regs_user = USER_REGISTERS;
    // The kernel takes whole words.
    attributes.sample_stack_user = bytes & !7;
}

impl Source {
    /// What its samples hold.
    pub(crate) fn layout(&self) -> Layout {
        Layout::of(&self.attributes)
    }

    /// Bytes of a sample at most.
    pub(crate) fn largest_sample_bytes(&self) -> u64 {
        BESIDE_STACK + u64::from(self.attributes.sample_stack_user)
    }

    /// Has as much of the stack copied as `options` want where a sample may have so many bytes: whether that is
    /// another amount than before.
    pub(crate) fn fill(&mut self, room: u64, options: &Options) -> bool {
        let room = room.saturating_sub(BESIDE_STACK).try_into().unwrap_or(u32::MAX);
        let before = self.attributes.sample_stack_user;
        if before > 0 {
            copy_stacks(&mut self.attributes, options.unwound_bytes_of(room));
        }
        self.attributes.sample_stack_user != before
    }

    /// Samples per second of CPU time from now on.
    pub(crate) fn set_frequency(&mut self, frequency_hz: u32) {
        if self.counts_cycles {
            self.attributes.__bindgen_anon_1.sample_freq = frequency_hz.into();
        } else {
            self.attributes.__bindgen_anon_1.sample_period = period::of_clock_ns(frequency_hz);
        }
    }

    /// Tries one processor, without the attributes that this kernel may be too old for if need be.
    fn open_first(&mut self, thread: Option<i32>) -> io::Result<()> {
        self.attributes.set_inherit(u64::from(!self.whole_processors));
        let cpu = machine::online_processors().first().copied();
        let first = Event::open(&self.attributes, self.watched(thread), cpu);
        match first {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                // Build ids in mappings came with Linux 5.12.
                self.attributes.set_build_id(0);
                Event::open(&self.attributes, self.watched(thread), cpu).map(drop)
            }
            other => other.map(drop),
        }
    }

    /// What its clock runs along with.
    pub(crate) fn scope(&self) -> ClockScope {
        if self.whole_processors { ClockScope::Processors } else { ClockScope::Threads }
    }

    pub(crate) fn watched(&self, thread: Option<i32>) -> Watched {
        match (self.whole_processors, thread) {
            (true, _) => Watched::Everyone,
            (false, Some(thread)) => Watched::Thread(thread),
            (false, None) => Watched::Caller,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_of_a_stack_is_copied_as_there_is_room_for() {
        let copied = |options: &Options, room| {
            let mut source = candidates(options).pop().unwrap();
            (source.fill(room, options), source.attributes.sample_stack_user)
        };
        let usual = Options::default();
        assert_eq!(copied(&usual, 10 << 10), (false, 16 << 10));
        assert_eq!(copied(&usual, 40_000), (true, 38_600));
        assert_eq!(copied(&usual, u64::MAX), (true, 63 << 10));
        assert_eq!(copied(&Options { stack_bytes: Some(8192), ..usual.clone() }, u64::MAX), (false, 8192));
        assert_eq!(copied(&Options { call_graph: CallGraph::FramePointers, ..usual }, u64::MAX), (false, 0));
    }

    #[test]
    fn a_reason_is_given_once() {
        let refusal = |event: &str, why: &str| Refusal { event: event.into(), why: why.into(), enable: None };
        let all = [
            refusal("cycles:upp", "no PMU"),
            refusal("cycles:u", "no PMU"),
            refusal("cpu-clock:u", "not permitted"),
            refusal("task-clock:u", "not permitted"),
        ];
        assert_eq!(in_words(&all), "cycles: no PMU; cpu-clock, task-clock: not permitted");
    }
}
