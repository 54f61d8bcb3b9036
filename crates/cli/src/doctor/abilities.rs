//! The list of abilities: each from a fact that was tried, not guessed.

use super::{Ability, tools};
use crate::recording;
use std::fs;
use std::io;
use timewise_engine::{CountError, Options};
use timewise_sampler::doctor::Facts;
use timewise_target::launch::{Launch, LaunchError};
use timewise_target::remedy::raised_limit;
use timewise_target::untraceable::Untraceable;

/// All of them, in the order in which they are shown.
pub fn all(facts: &Facts) -> Vec<Ability> {
    let of_machine = [
        counting(),
        sampling(facts),
        stopping(facts),
        hardware_cycles(facts),
        kernel_samples(facts),
        whole_processors(facts),
        breakpoints(facts),
        branch_tracing(),
        trace_events(),
        debug_information(),
    ];
    of_machine.into_iter().chain(tools::all()).collect()
}

pub fn yes(name: &'static str, note: impl Into<String>) -> Ability {
    Ability { name, detail: false, available: true, note: note.into(), cause: String::new(), enable: None }
}

pub fn no(name: &'static str, cause: impl Into<String>, enable: Option<&str>) -> Ability {
    let enable = enable.map(String::from);
    Ability { name, detail: false, available: false, note: String::new(), cause: cause.into(), enable }
}

/// Counts a program, our own, which is there: counting puts code into it, which may be refused where starting it under
/// `ptrace` is not.
fn counting() -> Ability {
    let name = "exact counting";
    let launch = match silent() {
        Ok(launch) => launch,
        Err(error) => return no(name, error.to_string(), None),
    };
    match timewise_engine::count(launch, &Options::default()) {
        Ok(_) => yes(name, "programs stop for us before their first instruction (ptrace)"),
        Err(CountError::Launch(LaunchError::Untraceable { why, .. })) => no(name, why.why, Some(why.enable)),
        // What is advised otherwise is to ask us.
        Err(
            CountError::Launch(LaunchError::System { what, cause, .. }) | CountError::System { what, cause },
        ) => {
            let raise = raised_limit(&cause).map_or(String::new(), |limit| format!("; {limit}"));
            no(name, format!("cannot {what}: {cause}{raise}"), None)
        }
        Err(error) => no(name, error.to_string(), None),
    }
}

/// Our own program, which says next to nothing, and that to nobody: `/dev/null` may be out of reach.
fn silent() -> io::Result<Launch> {
    let mut launch = Launch::new(std::env::current_exe()?);
    launch.arguments = vec!["--version".into()];
    let (_, nowhere) = io::pipe()?;
    launch.stdout = nowhere.try_clone()?.into();
    launch.stderr = nowhere.into();
    Ok(launch)
}

fn sampling(facts: &Facts) -> Ability {
    match &facts.source {
        Ok(source) => {
            let rate = facts.max_rate_hz.map_or(String::new(), |hz| format!(", up to {} kHz", hz / 1000));
            let cost = facts.sample_cost.map_or(String::new(), |cost| {
                let default_hz = facts.default_rate_hz.unwrap_or_default();
                format!(
                    "; a sample costs {:.1} µs, so the default is {default_hz} Hz",
                    cost.as_secs_f64() * 1e6
                )
            });
            yes("sampling", format!("{}{rate}{cost}", source.event))
        }
        Err(error) => {
            let enable = facts.paranoid.filter(|&l| l > 2).map(|_| PARANOID_2);
            match facts.stop_cost {
                Ok(_) => Ability {
                    enable: enable.map(String::from),
                    ..yes("sampling", format!("by ptrace, as below, because {error}"))
                },
                Err(_) => no("sampling", error.to_string(), enable),
            }
        }
    }
}

/// What is left where performance events are refused.
fn stopping(facts: &Facts) -> Ability {
    let name = "by ptrace";
    let ability = match &facts.stop_cost {
        Ok(cost) => {
            let default_hz = facts.default_stops_hz.unwrap_or_default();
            yes(
                name,
                format!(
                    "with --sampler ptrace, or where events are refused; a stop costs {:.0} µs, so the default is \
                     {default_hz} Hz",
                    cost.as_secs_f64() * 1e6
                ),
            )
        }
        Err(error) => no(
            name,
            format!("programs that we started may not be stopped: {error}"),
            Some(Untraceable::here().enable),
        ),
    };
    Ability { detail: true, ..ability }
}

const PARANOID_2: &str = "sudo sysctl kernel.perf_event_paranoid=2";
const PARANOID_1: &str = "sudo sysctl kernel.perf_event_paranoid=1";
const PARANOID_0: &str = "sudo sysctl kernel.perf_event_paranoid=0";

fn hardware_cycles(facts: &Facts) -> Ability {
    let core = &facts.core;
    let name = "hardware cycles";
    let ability = match &facts.no_hardware_cycles {
        None => {
            let precise = facts.source.as_ref().map_or(0, |source| source.precise_level);
            yes(name, format!("precision level {precise} of 3"))
        }
        Some(refusal) => Ability {
            note: format!(
                "cycles are estimated from time at the measured clock: {:.2} GHz now, {:.2} to {:.2} seen",
                core.mean_hz / 1e9,
                core.low_hz / 1e9,
                core.high_hz / 1e9
            ),
            ..no(name, &refusal.why, refusal.enable.as_deref())
        },
    };
    Ability { detail: true, ..ability }
}

fn kernel_samples(facts: &Facts) -> Ability {
    let name = "kernel samples";
    let ability = match &facts.no_kernel_samples {
        None => yes(name, "with --kernel"),
        Some(_) if facts.paranoid.is_some_and(|level| level > 1) => no(
            name,
            format!("perf_event_paranoid is {}", facts.paranoid.unwrap_or_default()),
            Some(PARANOID_1),
        ),
        Some(why) => no(name, why, None),
    };
    Ability { detail: true, ..ability }
}

fn whole_processors(facts: &Facts) -> Ability {
    let name = "short threads";
    let ability = match &facts.no_whole_processors {
        None => yes(name, "whole processors can be watched, so threads of any length have their share"),
        Some(why) => {
            let (cause, enable) = match facts.paranoid {
                Some(level) if level > 0 => (format!("perf_event_paranoid is {level}"), Some(PARANOID_0)),
                _ => (why.clone(), None),
            };
            let note = "threads that live for less than a sampling period are not seen".into();
            Ability { note, ..no(name, cause, enable) }
        }
    };
    Ability { detail: true, ..ability }
}

fn breakpoints(facts: &Facts) -> Ability {
    let name = "hardware breakpoints";
    match &facts.breakpoints {
        Ok(count) => yes(name, format!("{count} registers a thread")),
        Err(refusal) => no(name, &refusal.why, refusal.enable.as_deref()),
    }
}

/// Traces our own program: it needs signals of performance events, and code of ours in the program.
fn branch_tracing() -> Ability {
    let name = "branch tracing";
    let traced = silent().map_err(anyhow::Error::from).and_then(|launch| {
        recording::record(launch, |stopped| {
            timewise_branches::record(stopped, &timewise_branches::Options::default())
                .map(|traced| traced.profile)
        })
    });
    match traced {
        Ok(_) => yes(name, "programs take signals of performance events and code of ours"),
        Err(error) => no(name, format!("{error:#}"), None),
    }
}

fn trace_events() -> Ability {
    let name = "OS events (tracefs)";
    match fs::read("/sys/kernel/tracing/events/sched/sched_switch/id") {
        Ok(_) => yes(name, "mounted and readable"),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            no(name, "mounted, but for root only", Some("sudo mount -o remount,mode=755 /sys/kernel/tracing"))
        }
        Err(_) => no(name, "not mounted", Some("sudo mount -t tracefs nodev /sys/kernel/tracing")),
    }
}

/// Programs bring their own debug information or not; what a machine can have is that of its
/// libraries. Only what is installed counts: nothing is fetched from servers.
fn debug_information() -> Ability {
    let name = "library debug info";
    let installed =
        fs::read_dir("/usr/lib/debug/.build-id").is_ok_and(|mut entries| entries.next().is_some());
    if installed {
        return yes(name, "installed in /usr/lib/debug");
    }
    let note = "functions of libraries are named from their symbol tables, without source lines".into();
    Ability { note, ..no(name, "none in /usr/lib/debug", Some("sudo apt-get install libc6-dbg")) }
}
