//! The open events of a recording: one pair on each processor, each with a ring of its own.
//!
//! An event that follows a thread to any processor cannot have a ring if threads shall inherit it,
//! hence one a processor. Samples and the records that tell of processes and mappings arrive
//! through different rings: if samples come too fast and some are lost, the recording still knows
//! whose and from which code the others are.

use crate::SampleError;
use crate::kernel_record;
use crate::layout::{Layout, SAMPLE_FIELDS};
use crate::record::{Record, Stamped};
use crate::source::Source;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;
use timewise_target::family;
use timewise_target::machine;
use timewise_target::perf::sys::{self, perf_event_attr};
use timewise_target::perf::{Event, Ring};

/// Sizes to try for the rings of all processors, since a program's threads run on any: for samples, and for records of
/// processes and mappings, of which the smallest holds 500. The first for samples holds 900 copied stacks of 16 KiB and
/// the second a second of deep call chains at 4000 Hz: longer than a busy machine keeps us from emptying it. For
/// everything, the kernel grants an unprivileged user 516 KiB a processor (`perf_event_mlock_kb`) and what a process
/// may lock (`ulimit -l`, mostly 8 MiB).
const RING_BYTES: [(usize, usize); 7] = [
    (16 << 20, 2 << 20),
    (4 << 20, 512 << 10),
    (4 << 20, 128 << 10),
    (1 << 20, 128 << 10),
    (256 << 10, 128 << 10),
    (64 << 10, 64 << 10),
    (16 << 10, 64 << 10),
];
/// Without copied stacks, more would never be filled.
const LARGEST_RING_OF_CHAINS: usize = 4 << 20;
/// All rings of one kind together: many processors get small ones.
const ALL_RINGS_BYTES: usize = 128 << 20;

/// For so long a busy machine may keep us from emptying a ring before stacks are worth cutting short.
const HELD: Duration = Duration::from_millis(400);

/// All events of a recording.
#[derive(Debug)]
pub struct Channels {
    samples: Vec<Channel>,
    tracking: Vec<Channel>,
    /// Events of further threads, whose records arrive in the rings of the first.
    further: Vec<Event>,
    buffer: Vec<u8>,
    layout: Layout,
    largest_sample_bytes: u64,
}

/// An event that runs on one processor, and where its records arrive.
#[derive(Debug)]
pub struct Channel {
    /// The event.
    pub event: Event,
    /// Its ring.
    pub ring: Ring,
}

impl Channels {
    /// Opens `source` on every processor, not yet started, to watch `thread` and its descendants.
    /// `ring_bytes` limits the rings of samples.
    ///
    /// # Errors
    /// [`SampleError::System`].
    pub fn open(source: &Source, thread: i32, ring_bytes: usize) -> Result<Channels, SampleError> {
        let tracking = tracking_attributes(source);
        let attributes = sampling_attributes(source);
        // Counting what a ring lost came with Linux 6.0; before it, the ring's own records must do.
        let mut counting = attributes;
        counting.read_format = sys::PERF_FORMAT_LOST as u64;
        let watched = source.watched(Some(thread));
        let open = |cpu| {
            let open = |attributes| Event::open(attributes, watched, Some(cpu));
            Ok((open(&counting).or_else(|_| open(&attributes))?, open(&tracking)?))
        };
        let processors = machine::online_processors();
        let events: io::Result<Vec<(Event, Event)>> = processors.iter().map(|&cpu| open(cpu)).collect();
        let failed = |what: &'static str| move |cause| SampleError::System { what, cause };
        let events = events
            .map_err(failed("open a sampling event on every processor (raise the limit: ulimit -n)"))?;

        let limit = ALL_RINGS_BYTES / processors.len().max(1);
        let largest = match source.layout().has(sys::PERF_SAMPLE_STACK_USER) {
            true => usize::MAX,
            false => LARGEST_RING_OF_CHAINS,
        };
        let map = |(for_samples, for_tracking): (usize, usize)| -> io::Result<Vec<(Ring, Ring)>> {
            let for_samples = for_samples.min(limit).min(ring_bytes).min(largest);
            let for_tracking = for_tracking.min(limit);
            let both = events.iter().map(|(samples, tracking)| {
                Ok((Ring::map(samples, for_samples)?, Ring::map(tracking, for_tracking)?))
            });
            both.collect()
        };
        let what = "map the sampling buffers (run: sudo sysctl kernel.perf_event_mlock_kb=2048)";
        let rings = first_of(&RING_BYTES, map).map_err(failed(what))?;

        let pairs = events.into_iter().zip(rings);
        let channels = pairs.map(|((samples, tracking), rings)| {
            (Channel { event: samples, ring: rings.0 }, Channel { event: tracking, ring: rings.1 })
        });
        let (samples, tracking) = channels.unzip();
        Ok(Channels {
            samples,
            tracking,
            further: Vec::new(),
            buffer: Vec::new(),
            layout: source.layout(),
            largest_sample_bytes: source.largest_sample_bytes(),
        })
    }

    /// Watches all other threads of process `pid` as well, which runs already; what they create is watched by
    /// itself.
    ///
    /// # Errors
    /// [`SampleError::System`].
    pub fn add_threads(&mut self, source: &Source, pid: i32) -> Result<(), SampleError> {
        if source.whole_processors {
            return Ok(());
        }
        let mut known = BTreeSet::from([pid]);
        loop {
            // What was created since is watched if its creator was.
            let fresh: Vec<i32> = family::threads(pid).into_iter().filter(|&tid| known.insert(tid)).collect();
            if fresh.is_empty() {
                return Ok(());
            }
            for tid in fresh {
                self.add_thread(source, tid).map_err(|cause| SampleError::System {
                    what: "open a sampling event for every thread (raise the limit: ulimit -n)",
                    cause,
                })?;
            }
        }
    }

    fn add_thread(&mut self, source: &Source, tid: i32) -> io::Result<()> {
        let kinds =
            [(tracking_attributes(source), &self.tracking), (sampling_attributes(source), &self.samples)];
        for (attributes, channels) in kinds {
            for (channel, cpu) in channels.iter().zip(machine::online_processors()) {
                match Event::open(&attributes, source.watched(Some(tid)), Some(cpu)) {
                    Ok(event) => {
                        event.write_to(&channel.event)?;
                        self.further.push(event);
                    }
                    // It has ended.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Starts all events.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enable(&self) -> io::Result<()> {
        self.all().try_for_each(Event::enable)
    }

    /// Stops all events; what is in the rings stays.
    ///
    /// # Errors
    /// The kernel's.
    pub fn disable(&self) -> io::Result<()> {
        self.all().try_for_each(Event::disable)
    }

    fn all(&self) -> impl Iterator<Item = &Event> {
        let channels = self.tracking.iter().chain(&self.samples).map(|channel| &channel.event);
        channels.chain(&self.further)
    }

    /// Takes all records out of the rings.
    pub fn drain(&mut self, mut each: impl FnMut(Stamped)) {
        // Samples first: the mapping that a sample is in is then in its ring before we look there.
        for channel in &mut self.samples {
            self.buffer.clear();
            channel.ring.drain_into(&mut self.buffer);
            kernel_record::read_all(&self.buffer, self.layout, &mut each);
        }
        for channel in &mut self.tracking {
            self.buffer.clear();
            channel.ring.drain_into(&mut self.buffer);
            kernel_record::read_all(&self.buffer, self.layout, |Stamped { time_ns, record }| {
                let record = match record {
                    Record::Lost { count } => Record::Untracked { count },
                    other => other,
                };
                each(Stamped { time_ns, record });
            });
        }
    }

    /// Samples that found their ring full, as far as the kernel counts them (since Linux 6.0): also
    /// the last ones, which no record in the ring tells of.
    pub fn lost_samples(&self) -> u64 {
        self.samples.iter().filter_map(|channel| channel.event.lost().ok()).sum()
    }

    /// The longest pause between two visits that leaves half of every ring free.
    pub fn longest_pause(&self, frequency_hz: u32) -> Duration {
        let samples = self.smallest_ring() / 2 / self.largest_sample_bytes;
        Duration::from_secs(samples) / frequency_hz.max(1)
    }

    /// Bytes that each sample may have so that every ring holds those of [`HELD`].
    pub fn room_for_each(&self, frequency_hz: u32) -> u64 {
        let samples = (HELD.as_secs_f64() * f64::from(frequency_hz)).ceil();
        self.smallest_ring() / samples.max(1.0) as u64
    }

    fn smallest_ring(&self) -> u64 {
        self.samples.iter().map(|channel| channel.ring.capacity() as u64).min().unwrap_or(0)
    }
}

/// The event that samples, which tells of nothing else.
fn sampling_attributes(source: &Source) -> perf_event_attr {
    let mut attributes = source.attributes;
    attributes.set_mmap(0);
    attributes.set_mmap2(0);
    attributes.set_build_id(0);
    attributes.set_comm(0);
    attributes.set_comm_exec(0);
    attributes.set_task(0);
    attributes
}

/// An event that never fires and tells of processes, names and mappings.
fn tracking_attributes(source: &Source) -> perf_event_attr {
    let mut attributes = source.attributes;
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.config = sys::PERF_COUNT_SW_DUMMY as u64;
    attributes.set_freq(0);
    attributes.set_precise_ip(0);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_idle(0);
    attributes.__bindgen_anon_1.sample_period = 0;
    attributes.sample_type = SAMPLE_FIELDS;
    attributes
}

impl Channel {
    /// Gives an event a ring of `size` bytes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn map(event: Event, size: usize) -> io::Result<Channel> {
        Ok(Channel { ring: Ring::map(&event, size)?, event })
    }
}

/// The first that is granted, or why the last is not.
pub fn first_of<C: Copy, T>(choices: &[C], mut open: impl FnMut(C) -> io::Result<T>) -> io::Result<T> {
    let mut refused = io::ErrorKind::OutOfMemory.into();
    for &choice in choices {
        match open(choice) {
            Ok(opened) => return Ok(opened),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}
