//! Whether what the operating system did stands in the order of time.

use super::{Check, Kind};
use timewise_profile::{OsEvent, OsEventKind, ProcessId, Profile, ThreadId};

/// A thread's events stand in the order in which they began, between its first and its last, within its run, and it has not
/// used less CPU time later.
pub fn check(profile: &Profile) -> Check {
    let mut check = Check::new(Kind::Events);
    check.checked = profile.os_events.len() as u64;
    let mut before: Vec<Option<&OsEvent>> = vec![None; profile.threads.len()];
    for event in &profile.os_events {
        let before = before[event.thread.index()].replace(event);
        let what = before.and_then(|before| contradiction(before, event)).or_else(|| beyond(profile, event));
        if let Some(what) = what {
            check.find(None, Some(process(profile, event.thread)), what);
        }
    }
    check
}

/// What is wrong about an event that follows another one of its thread.
fn contradiction(before: &OsEvent, event: &OsEvent) -> Option<String> {
    let at = event.begin_ns;
    if before.kind == OsEventKind::End {
        return Some(format!("at {at} ns something befell a thread that had ended"));
    }
    if event.kind == OsEventKind::Begin {
        return Some(format!("at {at} ns a thread began that had begun"));
    }
    if at < before.begin_ns {
        return Some(format!("at {at} ns something follows what began at {} ns", before.begin_ns));
    }
    if event.cpu_ns < before.cpu_ns {
        return Some(format!(
            "at {at} ns a thread had used {} ns of CPU time, and {} before",
            event.cpu_ns, before.cpu_ns
        ));
    }
    None
}

/// What is wrong about an event that its run does not last for.
fn beyond(profile: &Profile, event: &OsEvent) -> Option<String> {
    let run = &profile.runs[profile.processes[process(profile, event.thread).index()].run.index()];
    let end_ns = event.end_ns.unwrap_or(event.begin_ns);
    (end_ns > run.elapsed_ns)
        .then(|| format!("something ended at {end_ns} ns in a run that took {} ns", run.elapsed_ns))
}

fn process(profile: &Profile, thread: ThreadId) -> ProcessId {
    profile.threads[thread.index()].process
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{Exit, Process, Run, RunId, RunKind, Thread};

    fn event(kind: OsEventKind, begin_ns: u64, cpu_ns: u64) -> OsEvent {
        OsEvent {
            thread: ThreadId(0),
            kind,
            name: None,
            object: None,
            begin_ns,
            end_ns: Some(begin_ns + 1),
            cpu_ns,
            result: None,
            stack: None,
        }
    }

    fn found(events: &[OsEvent]) -> Vec<String> {
        let profile = Profile {
            runs: vec![Run { elapsed_ns: 100, ..Run::new(RunKind::Events) }],
            processes: vec![Process {
                run: RunId(0),
                pid: 1,
                parent: None,
                executable: Vec::new(),
                exit: Exit::Code(0),
                count_uncertainty: 0,
            }],
            threads: vec![Thread { process: ProcessId(0), tid: 1, name: String::new(), instructions: None }],
            os_events: events.to_vec(),
            ..Profile::default()
        };
        let check = check(&profile);
        assert_eq!(check.checked, events.len() as u64);
        check.findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_is_out_of_order_is_found() {
        use OsEventKind::{Begin, Call, End};
        assert!(
            found(&[event(Begin, 0, 0), event(Call, 5, 2), event(Call, 5, 2), event(End, 9, 4)]).is_empty()
        );
        for (wrong, told) in [
            (event(Call, 3, 2), "follows what began"),
            (event(Call, 7, 1), "CPU time"),
            (event(Begin, 7, 3), "had begun"),
            (event(Call, 100, 3), "took 100 ns"),
        ] {
            let found = found(&[event(Begin, 0, 0), event(Call, 5, 2), wrong]);
            assert!(matches!(&found[..], [one] if one.contains(told)), "{found:?}");
        }
        assert!(found(&[event(End, 5, 2), event(Call, 6, 2)])[0].contains("had ended"));
    }
}
