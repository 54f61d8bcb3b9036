//! Switches of the program's threads from and to processors, each told by the kernel, with the stack of a thread
//! that leaves its processor. Needs the right to sample the kernel, where a switch happens.
//!
//! Records of switches are short and never thinned out. Stacks arrive through a ring of their own, which bounds
//! what they cost: it is emptied every 20 ms or so, and what finds it full is dropped. A thread that left without
//! its stack, and stays away, is looked up in `/proc`.

use crate::channels::{Channel, first_of};
use crate::kernel_record;
use crate::layout::Layout;
use crate::options::{CallGraph, LARGEST_STACK, Options};
use crate::record::{RawSample, Record, Stamped};
use crate::refusal::{Needs, Refusal};
use crate::source::{common_attributes, copy_stacks};
use crate::stops::where_it_waits;
use std::collections::HashMap;
use std::io;
use timewise_target::machine;
use timewise_target::perf::sys::{self, perf_event_attr};
use timewise_target::perf::{Event, Watched};

/// What `perf` calls the event.
const EVENT: &str = "context-switches";

/// Sizes to try for a ring of stacks, and how much of a stack is copied into it at most: each holds some sixty.
const STACK_RINGS: [(usize, u32); 3] = [(1 << 20, LARGEST_STACK), (256 << 10, 4096), (64 << 10, 1024)];
/// As many stacks that the kernel followed by frame pointers.
const CHAIN_RING_BYTES: usize = 64 << 10;
/// Sizes to try for a ring of records, of which a switch takes 64 bytes: the first holds what a processor can do
/// between two visits, at its worst.
const RECORD_RING_BYTES: [usize; 4] = [1 << 20, 256 << 10, 64 << 10, 32 << 10];
/// All rings of one kind together: many processors get small ones.
const ALL_RINGS_BYTES: usize = 64 << 20;

/// To be told of a switch costs 2 µs or so: of as many as this, 1 % of a processor's time.
const MOST_SWITCHES_HZ: u32 = 5000;

/// A wait without a stack that lasts longer is looked up.
const LONG_WAIT_NS: u64 = 20_000_000;

/// The first version of Linux whose records say whether a thread was preempted.
const TELLS_PREEMPTION: (u32, u32) = (4, 17);

/// The events that tell of switches.
#[derive(Debug)]
pub struct Switches {
    records: Vec<Channel>,
    stacks: Vec<Channel>,
    layout: Layout,
    buffer: Vec<u8>,
    /// As many of a stack are copied where it is looked up.
    stack_bytes: usize,
    rate: Rate,
    /// The latest of each thread, by process and id, that did something of late or is away without a stack.
    latest: HashMap<(u32, u32), Latest>,
}

impl Switches {
    /// Opens the events, not yet started, to watch `thread` and its descendants.
    ///
    /// # Errors
    /// Why there are none, and what would help.
    pub fn open(thread: i32, options: &Options) -> Result<Switches, Refusal> {
        if machine::kernel_version().is_some_and(|version| version < TELLS_PREEMPTION) {
            let why = "this kernel does not tell threads that wait from those that others take turns with; 4.17 does";
            return Err(Refusal { event: EVENT.into(), why: why.into(), enable: None });
        }
        let needs = Needs { hardware: false, kernel: true };
        Switches::open_all(thread, options).map_err(|error| Refusal::of(EVENT.into(), &error, needs))
    }

    fn open_all(thread: i32, options: &Options) -> io::Result<Switches> {
        let processors = machine::online_processors();
        let limit = ALL_RINGS_BYTES / processors.len().max(1);
        let chains = options.call_graph == CallGraph::FramePointers;
        let with_stacks = if chains { chain_attributes() } else { stack_attributes(options, LARGEST_STACK) };
        let mut switches = Switches {
            records: Vec::new(),
            stacks: Vec::new(),
            layout: Layout::of(&with_stacks),
            buffer: Vec::new(),
            stack_bytes: options.unwound_bytes_of(LARGEST_STACK) as usize,
            rate: Rate::default(),
            latest: HashMap::new(),
        };
        for cpu in processors {
            let open = |attributes: &perf_event_attr, size: usize| {
                Channel::map(Event::open(attributes, Watched::Thread(thread), Some(cpu))?, size.min(limit))
            };
            let stacks = match chains {
                true => open(&chain_attributes(), CHAIN_RING_BYTES)?,
                false => first_of(&STACK_RINGS, |(size, most)| open(&stack_attributes(options, most), size))?,
            };
            switches.stacks.push(stacks);
            let records = first_of(&RECORD_RING_BYTES, |size| open(&record_attributes(), size))?;
            switches.records.push(records);
        }
        Ok(switches)
    }

    /// Starts all events.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enable(&self) -> io::Result<()> {
        self.records.iter().chain(&self.stacks).try_for_each(|channel| channel.event.enable())
    }

    /// Why this is the wrong way to learn of them: they were so many that to be told of them costs too much.
    pub fn too_many(&self) -> Option<Refusal> {
        let why = format!("more than {MOST_SWITCHES_HZ} a second on a processor");
        self.rate.too_high.then(|| Refusal { event: EVENT.into(), why, enable: None })
    }

    /// Takes all records out of the rings, and looks up who is away for long.
    pub fn drain(&mut self, now_ns: u64, mut each: impl FnMut(Stamped)) {
        // Before the stacks: that of a switch is in its ring when the record of the switch is written.
        self.rate.judge(now_ns);
        for (processor, channel) in self.records.iter_mut().enumerate() {
            self.buffer.clear();
            channel.ring.drain_into(&mut self.buffer);
            let mut seen = 0;
            kernel_record::read_all(&self.buffer, self.layout, |Stamped { time_ns, record }| {
                let record = match record {
                    Record::Lost { count } => Record::Unseen { count },
                    record @ (Record::Left { .. } | Record::Came { .. }) => record,
                    _ => return,
                };
                note(&mut self.latest, time_ns, &record);
                seen += 1;
                each(Stamped { time_ns, record });
            });
            self.rate.seen(processor, seen);
        }
        for channel in &mut self.stacks {
            self.buffer.clear();
            channel.ring.drain_into(&mut self.buffer);
            kernel_record::read_all(&self.buffer, self.layout, |Stamped { time_ns, record }| {
                // Others tell that the ring was full.
                if let Record::Sample(raw) = record {
                    let record = Record::Leaving(raw);
                    note(&mut self.latest, time_ns, &record);
                    each(Stamped { time_ns, record });
                }
            });
        }
        self.latest.retain(|&(pid, tid), latest| {
            let is_long = |since_ns: u64| since_ns.saturating_add(LONG_WAIT_NS) < now_ns;
            let Some(since_ns) = latest.away_without_stack() else { return !is_long(latest.time_ns()) };
            if is_long(since_ns) {
                if let Some(raw) = where_it_waits(pid as i32, tid as i32, self.stack_bytes) {
                    each(Stamped { time_ns: now_ns, record: Record::Waiting(raw) });
                }
                // Once for each wait.
                latest.stack_ns = now_ns;
            }
            true
        });
    }
}

/// When a thread last did what. Each processor's records come in their order, those of several do not.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    came_ns: u64,
    /// Also of its own accord, not because others had their turn.
    left_ns: u64,
    is_preempted: bool,
    /// When a stack was taken, which is while it leaves.
    stack_ns: u64,
}

impl Latest {
    /// Since when it is away, if it waits and no stack tells where.
    fn away_without_stack(&self) -> Option<u64> {
        let waits = self.left_ns > self.came_ns && !self.is_preempted;
        let has_stack = self.stack_ns > 0 && self.stack_ns >= self.came_ns;
        (waits && !has_stack).then_some(self.left_ns)
    }

    fn time_ns(&self) -> u64 {
        self.came_ns.max(self.left_ns).max(self.stack_ns)
    }
}

/// How often processors switch between threads, second by second.
#[derive(Debug, Default)]
struct Rate {
    since_ns: u64,
    /// Records of each processor since then.
    records: Vec<u64>,
    too_high: bool,
}

impl Rate {
    /// Notes that a processor gave so many records, of which a switch from one thread to another is two.
    fn seen(&mut self, processor: usize, records: u64) {
        if self.records.len() <= processor {
            self.records.resize(processor + 1, 0);
        }
        self.records[processor] += records;
    }

    /// Judges the last second, if there was one.
    fn judge(&mut self, now_ns: u64) {
        let seconds = now_ns.saturating_sub(self.since_ns) as f64 / 1e9;
        if seconds >= 1.0 {
            let most = self.records.drain(..).max().unwrap_or(0) / 2;
            // The first second begins with the first visit.
            self.too_high |= self.since_ns > 0 && most as f64 > f64::from(MOST_SWITCHES_HZ) * seconds;
            self.since_ns = now_ns;
        }
    }
}

/// Takes note of a record, which may come behind a later one.
fn note(latest: &mut HashMap<(u32, u32), Latest>, time_ns: u64, record: &Record) {
    let (Record::Left { pid, tid, .. }
    | Record::Came { pid, tid }
    | Record::Leaving(RawSample { pid, tid, .. })) = *record
    else {
        return;
    };
    let known = latest.entry((pid, tid)).or_default();
    match *record {
        Record::Left { preempted, .. } if time_ns >= known.left_ns => {
            (known.left_ns, known.is_preempted) = (time_ns, preempted);
        }
        Record::Came { .. } => known.came_ns = known.came_ns.max(time_ns),
        Record::Leaving(_) => known.stack_ns = known.stack_ns.max(time_ns),
        _ => {}
    }
}

/// An event that never fires and tells of switches.
fn record_attributes() -> perf_event_attr {
    let mut attributes = inherited_attributes();
    attributes.config = sys::PERF_COUNT_SW_DUMMY as u64;
    attributes.set_exclude_kernel(1);
    attributes.set_context_switch(1);
    attributes
}

/// An event that fires at every switch from a processor, with so much of the stack at most.
fn stack_attributes(options: &Options, most: u32) -> perf_event_attr {
    let mut attributes = switch_attributes();
    // Without callers, the registers tell where it waits, and one word is the least that comes with them.
    copy_stacks(&mut attributes, options.unwound_bytes().clamp(8, most));
    attributes
}

/// The same with the callers that frame pointers lead to.
fn chain_attributes() -> perf_event_attr {
    let mut attributes = switch_attributes();
    attributes.sample_type |= u64::from(sys::PERF_SAMPLE_CALLCHAIN);
    attributes.set_exclude_callchain_kernel(1);
    attributes
}

fn switch_attributes() -> perf_event_attr {
    let mut attributes = inherited_attributes();
    attributes.config = sys::PERF_COUNT_SW_CONTEXT_SWITCHES as u64;
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes
}

fn inherited_attributes() -> perf_event_attr {
    let mut attributes = common_attributes();
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.set_inherit(1);
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_without_a_stack_is_noted_until_he_comes_back() {
        let mut latest = HashMap::new();
        let mut after = |time_ns, record: Record| {
            note(&mut latest, time_ns, &record);
            latest[&(1, 2)].away_without_stack()
        };
        let left = |preempted| Record::Left { pid: 1, tid: 2, preempted };
        let leaving = || Record::Leaving(RawSample::in_kernel(1, 2));
        assert_eq!(after(10, left(false)), Some(10));
        assert_eq!(after(20, Record::Came { pid: 1, tid: 2 }), None);
        assert_eq!(after(30, left(true)), None, "who is preempted does not wait");
        assert_eq!(after(40, Record::Came { pid: 1, tid: 2 }), None);
        assert_eq!(after(50, left(false)), Some(50));
        // As another processor tells late.
        assert_eq!(after(20, Record::Came { pid: 1, tid: 2 }), Some(50));
        assert_eq!(after(19, leaving()), Some(50), "the stack of an earlier switch");
        assert_eq!(after(49, leaving()), None);
    }

    #[test]
    fn a_second_of_too_many_switches_is_enough() {
        let judged = |records: u64| {
            let mut rate = Rate::default();
            rate.judge(5_000_000_000);
            for visit in 1..=50 {
                rate.seen(1, records / 50);
                rate.judge(5_000_000_000 + visit * 20_000_000);
            }
            rate.too_high
        };
        assert!(!judged(9_900));
        assert!(judged(10_100));
    }
}
