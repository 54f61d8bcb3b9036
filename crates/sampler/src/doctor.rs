//! What this machine grants a sampler, found by trying.

use crate::SampleError;
use crate::core_clock::{self, CoreFrequency};
use crate::cost;
use crate::options::{Options, Scope};
use crate::refusal::{Needs, Refusal};
use crate::source::{MOST_PROCESSORS_WATCHED, Source, choose};
use crate::stops;
use crate::tally::{MOST_PLACES, breakpoint};
use std::hint::black_box;
use std::io;
use std::time::Duration;
use timewise_target::machine;
use timewise_target::perf::{Event, Watched};

/// What a sampler can have here.
#[derive(Debug)]
pub struct Facts {
    /// The event that a recording uses, or why there is none.
    pub source: Result<Source, SampleError>,
    /// Why there is no hardware event for cycles; `None` if there is.
    pub no_hardware_cycles: Option<Refusal>,
    /// Why the kernel cannot be sampled; `None` if it can.
    pub no_kernel_samples: Option<String>,
    /// Why processors cannot be watched as a whole; `None` if they can.
    pub no_whole_processors: Option<String>,
    /// What one sample costs the program; `None` if that cannot be tried.
    pub sample_cost: Option<Duration>,
    /// Samples a second that a recording takes if nothing else is asked for.
    pub default_rate_hz: Option<u32>,
    /// What stopping a thread costs it, where performance events are not used; or why it is not possible.
    pub stop_cost: io::Result<Duration>,
    /// Samples a second that a recording takes by stopping if nothing else is asked for.
    pub default_stops_hz: Option<u32>,
    /// Samples a second that the kernel allows at most; `None` if it does not say.
    pub max_rate_hz: Option<u32>,
    /// `perf_event_paranoid`; `None` in a kernel without performance events.
    pub paranoid: Option<i32>,
    /// Breakpoint registers that a thread has for us, or why they do not work.
    pub breakpoints: Result<u32, Refusal>,
    /// The core's frequency now.
    pub core: CoreFrequency,
}

/// Tries everything, in about 100 ms.
pub fn examine() -> Facts {
    let default = Options::default();
    let refused = |options: Options| choose(&options, None).err().map(|error| error.to_string());
    let chosen = choose(&Options { scope: Scope::Threads, ..default.clone() }, None);
    let no_hardware_cycles = match &chosen {
        Ok((source, _)) if source.counts_cycles => None,
        Ok((_, refusals)) => refusals.last().cloned(),
        Err(error) => Some(Refusal { event: "cycles".into(), why: error.to_string(), enable: None }),
    };
    let source = chosen.map(|(source, _)| source);
    let sample_cost = source.as_ref().ok().and_then(|source| cost::of_sample(source, &default));
    let stop_cost = stops::cost_of_stop();
    Facts {
        sample_cost,
        default_rate_hz: source.is_ok().then(|| cost::affordable_hz(&default, sample_cost)),
        default_stops_hz: stop_cost.as_ref().ok().map(|&cost| stops::affordable_hz(&default, cost)),
        stop_cost,
        no_hardware_cycles,
        no_kernel_samples: refused(Options { kernel: true, scope: Scope::Threads, ..default.clone() }),
        no_whole_processors: refused(Options { scope: Scope::Processors, ..default.clone() })
            .or_else(|| too_many(machine::online_processors().len())),
        source,
        max_rate_hz: machine::perf_event_max_sample_rate(),
        paranoid: machine::perf_event_paranoid(),
        breakpoints: breakpoints(),
        core: core_clock::measure(),
    }
}

/// Why so many processors are not watched, if so.
fn too_many(processors: usize) -> Option<String> {
    (processors > MOST_PROCESSORS_WATCHED).then(|| {
        format!("{processors} processors: of more than {MOST_PROCESSORS_WATCHED} the idle ones would be woken too often")
    })
}

#[inline(never)]
extern "C" fn stepped_on() {
    black_box(());
}

/// Opens execution breakpoints until there are no more, then runs into one: some hypervisors grant
/// the registers and never deliver the event.
fn breakpoints() -> Result<u32, Refusal> {
    let refusal = |error: io::Error| Refusal::of("breakpoint".into(), &error, Needs::default());
    let address = stepped_on as *const () as u64;
    let open = |address: u64| Event::open(&breakpoint(address), Watched::Caller, None);
    let first = open(address).map_err(refusal)?;
    let more = (1..MOST_PLACES).map_while(|n| open(address + n as u64).ok());
    let count = 1 + more.collect::<Vec<_>>().len() as u32;
    stepped_on();
    match first.count() {
        Ok(0) => Err(Refusal {
            event: "breakpoint".into(),
            why: "granted but never delivered, as under some hypervisors".into(),
            enable: None,
        }),
        Ok(_) => Ok(count),
        Err(error) => Err(refusal(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found must agree with what the kernel says by other ways. Where there is a PMU, it may still
    /// be busy or refused, but then with its reason.
    #[test]
    fn facts_agree_with_the_kernels_files() {
        let facts = examine();
        let pmu = std::path::Path::new("/sys/bus/event_source/devices/cpu").exists()
            || std::path::Path::new("/sys/bus/event_source/devices/cpu_core").exists();
        if facts.source.is_ok() {
            assert!(pmu || facts.no_hardware_cycles.is_some(), "{facts:?}");
            let said = facts.no_hardware_cycles.as_ref().is_none_or(|refusal| !refusal.why.is_empty());
            assert!(said, "{facts:?}");
        }
        assert!(facts.breakpoints.as_ref().is_ok_and(|&n| n <= 4) || facts.breakpoints.is_err());
    }
}
