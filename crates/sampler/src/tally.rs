//! How often a program executes some places natively: by breakpoints of the processor, which the kernel sets and counts,
//! so that nothing of the program changes and no privilege is needed.
//!
//! Each hit costs the program a trap, which takes some ten microseconds in a guest within a guest. So breakpoints are set
//! for a fifth of the time, on what is executed seldom enough, and what hits cost is measured and taken off. A processor
//! may also slow down all code in the line of its cache in which a breakpoint stands, without a hit (a Zen 4 by seven
//! times), so they are set where nothing else runs often; and not at all where code in other lines is slowed down as well.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};
use timewise_profile::{Module, Offset, Place, RunId, Tally};
use timewise_target::family;
use timewise_target::perf::sys::{self, perf_event_attr};
use timewise_target::perf::{Event, Watched};

/// Places that can be counted at a time: as many as an x86-64 processor has breakpoints.
pub const MOST_PLACES: usize = 4;
/// How long breakpoints are set, at least, and how long they are not.
const SET: Duration = Duration::from_millis(20);
const UNSET: Duration = Duration::from_millis(80);
/// Share of the time in which they are set.
pub const SHARE_SET: f64 = 0.2;
/// Setting one and taking it away takes some microseconds.
const MOST_EVENTS: usize = 256;
/// Fewer stretches of time say nothing of how they differ.
const FEWEST_STRETCHES: usize = 5;
/// A hit costs a program whose code and data the kernel has to fetch anew more than the small one by which that is
/// measured: one to two times as much was seen. So much more is taken off, with such a share of that as one standard
/// deviation.
const HIT_IN_A_PROGRAM: f64 = 1.25;
const DOUBT_OF_HIT: f64 = 0.5;
/// Code beside a breakpoint that takes no more than so many times as long is not slowed down by it.
const AS_FAST: f64 = 1.2;

/// Breakpoints in a running program.
#[derive(Debug)]
pub struct Breakpoints {
    places: Vec<Counted>,
    hit: Duration,
    are_set: bool,
    since: Instant,
}

/// One place.
#[derive(Debug)]
struct Counted {
    place: Place,
    /// Of each thread that there was at the beginning; others inherit them.
    events: Vec<Event>,
    /// Executions and CPU time so far.
    sum: [u64; 2],
    stretches: Vec<Stretch>,
}

/// What was counted while breakpoints were set once.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Executions of one place.
    executions: u64,
    /// Hits of all places.
    hits: u64,
    /// CPU time.
    ns: u64,
}

impl Breakpoints {
    /// Prepares to count executions of instructions by process `pid` and what it starts. `find` tells the place and the
    /// address of one. What is not there, or what the kernel refuses, is left out.
    pub fn new(
        pid: i32,
        wanted: &[(Module, Offset)],
        find: impl Fn(&Module, Offset) -> Option<(Place, u64)>,
    ) -> Breakpoints {
        let mut none =
            Breakpoints { places: Vec::new(), hit: Duration::ZERO, are_set: false, since: Instant::now() };
        let Some(hit) = Some(wanted).filter(|wanted| !wanted.is_empty()).and_then(|_| cost_of_a_hit()) else {
            return none;
        };
        let threads = family::threads(pid);
        let few = (MOST_EVENTS / threads.len().max(1)).min(MOST_PLACES);
        let counted = wanted.iter().take(few).filter_map(|(module, offset)| {
            let (place, address) = find(module, *offset)?;
            let events = events_at(address, &threads).ok().filter(|events| !events.is_empty())?;
            Some(Counted { place, events, sum: [0, 0], stretches: Vec::new() })
        });
        none.places = counted.collect();
        Breakpoints { hit, ..none }
    }

    /// Sets them or takes them away if it is time for that. To be called every few milliseconds.
    pub fn go_on(&mut self) {
        let passed = self.since.elapsed();
        if self.are_set && passed >= SET {
            self.unset();
        } else if !self.are_set && passed >= UNSET {
            self.are_set = true;
            self.each_event(Event::enable);
        } else {
            return;
        }
        self.since = Instant::now();
    }

    fn unset(&mut self) {
        self.are_set = false;
        self.each_event(Event::disable);
        let counted: Vec<[u64; 2]> = self.places.iter_mut().map(Counted::since_the_last).collect();
        let hits = counted.iter().map(|[hits, _]| hits).sum();
        for (place, [executions, ns]) in self.places.iter_mut().zip(counted) {
            place.stretches.push(Stretch { executions, hits, ns });
        }
    }

    /// One whose thread has ended can be neither started nor stopped, and keeps what it counted.
    fn each_event(&self, act: fn(&Event) -> io::Result<()>) {
        self.places.iter().flat_map(|place| &place.events).for_each(|event| drop(act(event)));
    }

    /// Where they are, as far as the kernel let them be.
    pub fn places(&self) -> Vec<Place> {
        self.places.iter().map(|place| place.place).collect()
    }

    /// Takes them away for good, and says how often each place was executed.
    pub fn finish(mut self) -> Vec<Tally> {
        if self.are_set {
            self.unset();
        }
        let hit_ns = HIT_IN_A_PROGRAM * self.hit.as_nanos() as f64;
        self.places.iter().filter_map(|place| tally(place.place, &place.stretches, hit_ns)).collect()
    }
}

impl Counted {
    fn since_the_last(&mut self) -> [u64; 2] {
        let sums = self.events.iter().filter_map(|event| event.count_and_time().ok());
        let sum = sums.fold([0, 0], |[hits, ns], [more, longer]| [hits + more, ns + longer]);
        let before = std::mem::replace(&mut self.sum, sum);
        [0, 1].map(|at| sum[at].saturating_sub(before[at]))
    }
}

/// What some stretches come to; nothing if they are too few, or if hits left nothing of the time.
fn tally(place: Place, stretches: &[Stretch], hit_ns: f64) -> Option<Tally> {
    let used: Vec<(f64, f64)> = stretches
        .iter()
        .filter(|stretch| stretch.ns > 0)
        .map(|&Stretch { executions, hits, ns }| (executions as f64, ns as f64 - hits as f64 * hit_ns))
        .collect();
    let (executions, ns) = used.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    if used.len() < FEWEST_STRETCHES || executions == 0.0 || ns <= 0.0 {
        return None;
    }
    let rate = executions / ns;
    let squares: f64 = used.iter().map(|&(executions, ns)| (executions - rate * ns).powi(2)).sum();
    let by_chance = squares * used.len() as f64 / (used.len() - 1) as f64;
    let hits: u64 = stretches.iter().map(|stretch| stretch.hits).sum();
    let by_hits = (rate * DOUBT_OF_HIT * hits as f64 * hit_ns).powi(2);
    Some(Tally {
        run: RunId(0),
        place,
        executions: executions as u64,
        cpu_ns: ns as u64,
        variance: (by_chance + by_hits).ceil().max(1.0) as u64,
    })
}

/// A breakpoint at an address in each of some threads, not yet set.
fn events_at(address: u64, threads: &[i32]) -> io::Result<Vec<Event>> {
    let attributes = attributes(address);
    let mut events = Vec::with_capacity(threads.len());
    for &thread in threads {
        match Event::open(&attributes, Watched::Thread(thread), None) {
            Ok(event) => events.push(event),
            // It has ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(events)
}

fn attributes(address: u64) -> perf_event_attr {
    let mut attributes = breakpoint(address);
    attributes.read_format = sys::PERF_FORMAT_TOTAL_TIME_RUNNING as u64;
    attributes.set_inherit(1);
    attributes.set_disabled(1);
    attributes
}

/// A breakpoint on execution in one thread, set from the start.
pub(crate) fn breakpoint(address: u64) -> perf_event_attr {
    let mut attributes = perf_event_attr::default();
    attributes.type_ = sys::PERF_TYPE_BREAKPOINT;
    attributes.bp_type = sys::HW_BREAKPOINT_X;
    attributes.__bindgen_anon_3.bp_addr = address;
    // What the kernel demands of breakpoints on execution.
    attributes.__bindgen_anon_4.bp_len = size_of::<libc::c_long>() as u64;
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    attributes
}

core::arch::global_asm!(
    ".hidden tw_beside_breakpoint",
    ".globl tw_beside_breakpoint",
    ".hidden tw_at_breakpoint",
    ".globl tw_at_breakpoint",
    ".balign 64",
    "tw_beside_breakpoint:",
    "2: dec rdi",
    "jnz 2b",
    "ret",
    ".balign 64",
    "tw_at_breakpoint:",
    "lea rax, [rdi + 1]",
    "ret",
    ".balign 64",
);

unsafe extern "C" {
    /// So many rounds of a loop that lies in the line before [`tw_at_breakpoint`].
    safe fn tw_beside_breakpoint(rounds: u64);
    /// Adds one.
    safe fn tw_at_breakpoint(number: u64) -> u64;
}

/// What a hit costs the thread that it stops, here and now; nothing if it cannot be tried, or if a breakpoint slows down
/// more than the line in which it stands.
pub fn cost_of_a_hit() -> Option<Duration> {
    /// Calls of a piece of work, rounds of another, and pieces, of which the middle one counts.
    const CALLS: u32 = 100;
    const ROUNDS: u64 = 100_000;
    const PIECES: usize = 9;

    let call = || {
        for number in 0..CALLS {
            black_box(tw_at_breakpoint(u64::from(number)));
        }
    };
    let go_around = || tw_beside_breakpoint(black_box(ROUNDS));
    let middle = |piece: &dyn Fn()| {
        let mut pieces = [(); PIECES].map(|()| {
            let started = Instant::now();
            piece();
            started.elapsed()
        });
        pieces.sort_unstable();
        pieces[PIECES / 2]
    };
    let (undisturbed, beside) = (middle(&call), middle(&go_around));
    let mut attributes = attributes(tw_at_breakpoint as *const () as u64);
    attributes.set_inherit(0);
    let event = Event::open(&attributes, Watched::Caller, None).ok()?;
    event.enable().ok()?;
    let (stopped, beside_one) = (middle(&call), middle(&go_around));
    event.disable().ok()?;
    let [hits, _] = event.count_and_time().ok()?;
    let is_known = hits == u64::from(CALLS) * PIECES as u64 && beside_one < beside.mul_f64(AS_FAST);
    is_known.then(|| stopped.saturating_sub(undisturbed) / CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hits_cost_is_taken_off_and_what_is_not_known_of_it_is_variance() {
        let stretch = |executions, ns| Stretch { executions, hits: 2 * executions, ns };
        let tally = |stretches: &[Stretch], hit_ns| super::tally(Place::default(), stretches, hit_ns);
        let even = tally(&[stretch(10, 1000); 6], 0.0).unwrap();
        assert_eq!((even.executions, even.cpu_ns, even.variance), (60, 6000, 1));
        let mut uneven = [stretch(10, 1000); 6];
        (uneven[0].executions, uneven[1].executions) = (4, 16);
        // 2 × 6², times 6/5.
        let uneven = tally(&uneven, 0.0).unwrap();
        assert_eq!((uneven.executions, uneven.cpu_ns, uneven.variance), (60, 6000, 87));
        // Of 1000 ns, 20 hits took 500: half of that more or less is half of the executions.
        let hit = tally(&[stretch(10, 1000); 6], 25.0).unwrap();
        assert_eq!((hit.executions, hit.cpu_ns, hit.variance), (60, 3000, 30 * 30));
        assert!(tally(&[stretch(10, 1000); 6], 50.0).is_none(), "there is nothing left");
        assert!(tally(&[stretch(10, 1000); 4], 0.0).is_none());
        assert!(tally(&[stretch(0, 1000); 6], 0.0).is_none());
    }
}
