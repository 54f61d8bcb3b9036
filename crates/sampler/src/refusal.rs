//! What a refusal of `perf_event_open` means for a user, and what would help.

use std::fmt;
use std::io;
use timewise_target::machine;

/// An event that the system refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The event's name.
    pub event: String,
    /// Why.
    pub why: String,
    /// The command that enables it; `None` where nothing does from here.
    pub enable: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.event, self.why)?;
        match &self.enable {
            Some(command) => write!(f, "; run: {command}"),
            None => Ok(()),
        }
    }
}

/// Highest `perf_event_paranoid` at which users may watch their own programs.
const PARANOID_OWN_PROGRAMS: i32 = 2;

impl Refusal {
    /// Reads the errno. `hardware` says whether the event needs a PMU.
    pub fn of(event: String, error: &io::Error, hardware: bool) -> Refusal {
        let without_help = |why: String| (why, None);
        let (why, enable) = match error.raw_os_error() {
            Some(libc::ENOENT | libc::EOPNOTSUPP) if hardware => without_help(no_pmu()),
            Some(libc::EACCES | libc::EPERM) => not_permitted(machine::perf_event_paranoid()),
            Some(libc::ENOSYS) => without_help(NO_EVENTS.into()),
            Some(libc::EINVAL) => without_help("this kernel or processor does not support it".into()),
            Some(libc::EBUSY) if hardware => {
                ("another tool or the NMI watchdog holds the counter".into(), Some(no_watchdog()))
            }
            Some(libc::EMFILE) => ("too many open files".into(), Some("ulimit -n 65536".into())),
            _ => without_help(error.to_string()),
        };
        Refusal { event, why, enable }
    }
}

const NO_EVENTS: &str = "this kernel was built without performance events";

fn no_watchdog() -> String {
    "sudo sysctl kernel.nmi_watchdog=0".into()
}

fn no_pmu() -> String {
    match machine::hypervisor() {
        Some(name) => {
            format!("no virtual PMU: the {name} hypervisor hides it; cannot be fixed inside the guest")
        }
        None => "this kernel does not drive the processor's PMU".into(),
    }
}

fn not_permitted(paranoid: Option<i32>) -> (String, Option<String>) {
    match paranoid {
        Some(level) if level > PARANOID_OWN_PROGRAMS => (
            format!("perf_event_paranoid is {level}"),
            Some(format!("sudo sysctl kernel.perf_event_paranoid={PARANOID_OWN_PROGRAMS}")),
        ),
        Some(level) => (
            format!(
                "forbidden although perf_event_paranoid is {level}, as by the system call filter of a container"
            ),
            Some("docker run --cap-add PERFMON --security-opt seccomp=unconfined …".into()),
        ),
        None => (NO_EVENTS.into(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_its_knob() {
        let (why, enable) = not_permitted(Some(3));
        assert_eq!(why, "perf_event_paranoid is 3");
        assert_eq!(enable.unwrap(), "sudo sysctl kernel.perf_event_paranoid=2");
        assert!(not_permitted(Some(2)).1.unwrap().contains("seccomp"));
        let refusal = Refusal::of("cycles".into(), &io::Error::from_raw_os_error(libc::EBUSY), true);
        assert!(refusal.to_string().ends_with("run: sudo sysctl kernel.nmi_watchdog=0"));
    }
}
