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

/// What an event needs besides the right to watch one's own programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// A PMU.
    pub hardware: bool,
    /// The right to watch the kernel.
    pub kernel: bool,
}

impl Needs {
    /// Highest `perf_event_paranoid` at which users have the right.
    fn most_paranoid(self) -> i32 {
        if self.kernel { 1 } else { 2 }
    }
}

impl Refusal {
    /// Reads the errno.
    pub fn of(event: String, error: &io::Error, needs: Needs) -> Refusal {
        let hardware = needs.hardware;
        let without_help = |why: String| (why, None);
        let (why, enable) = match error.raw_os_error() {
            Some(libc::ENOENT | libc::EOPNOTSUPP) if hardware => without_help(no_pmu()),
            Some(libc::EACCES | libc::EPERM) => {
                not_permitted(machine::perf_event_paranoid(), needs.most_paranoid())
            }
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

fn not_permitted(paranoid: Option<i32>, most: i32) -> (String, Option<String>) {
    match paranoid {
        Some(level) if level > most => (
            format!("perf_event_paranoid is {level}"),
            Some(format!("sudo sysctl kernel.perf_event_paranoid={most}")),
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
        let own = Needs::default().most_paranoid();
        let (why, enable) = not_permitted(Some(3), own);
        assert_eq!(why, "perf_event_paranoid is 3");
        assert_eq!(enable.unwrap(), "sudo sysctl kernel.perf_event_paranoid=2");
        assert!(not_permitted(Some(2), own).1.unwrap().contains("seccomp"));
        let kernel = Needs { kernel: true, ..Needs::default() }.most_paranoid();
        assert!(not_permitted(Some(2), kernel).1.unwrap().ends_with("perf_event_paranoid=1"));
        let busy = io::Error::from_raw_os_error(libc::EBUSY);
        let refusal = Refusal::of("cycles".into(), &busy, Needs { hardware: true, kernel: false });
        assert!(refusal.to_string().ends_with("run: sudo sysctl kernel.nmi_watchdog=0"));
    }
}
