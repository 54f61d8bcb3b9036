//! Profiles of events that are written down here.

use timewise_profile::{
    Exit, NameId, OsEvent, OsEventKind, Process, ProcessId, Profile, Run, RunId, RunKind, Thread, ThreadId,
};

/// An event, with when it began, and what it was about.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    pub kind: OsEventKind,
    pub name: &'static str,
    pub object: &'static str,
    pub begin_ns: u64,
}

/// One that is about nothing.
pub fn made(kind: OsEventKind, name: &'static str, begin_ns: u64) -> Made {
    Made { kind, name, object: "", begin_ns }
}

/// A run of a process for each of `processes`: its parent, its program, and what its only thread did.
pub fn run(processes: &[(Option<u32>, &str, &[Made])]) -> Profile {
    let mut profile = Profile { runs: vec![Run::new(RunKind::Events)], ..Profile::default() };
    for (id, (parent, executable, events)) in processes.iter().enumerate() {
        profile.processes.push(Process {
            run: RunId(0),
            pid: 100 + id as u32,
            parent: parent.map(ProcessId),
            executable: executable.as_bytes().to_vec(),
            exit: Exit::Code(0),
            count_uncertainty: 0,
        });
        let process = ProcessId(id as u32);
        profile.threads.push(Thread {
            process,
            tid: 100 + id as u32,
            name: String::new(),
            instructions: None,
        });
        for made in *events {
            let event = event(&mut profile, ThreadId(id as u32), made);
            profile.os_events.push(event);
        }
    }
    profile.check().unwrap();
    profile
}

/// Each takes a nanosecond; for half of the time before the thread had a processor.
fn event(profile: &mut Profile, thread: ThreadId, made: &Made) -> OsEvent {
    let mut name = |name: &str| {
        (!name.is_empty()).then(|| {
            profile.os_names.push(name.as_bytes().to_vec());
            NameId(profile.os_names.len() as u32 - 1)
        })
    };
    OsEvent {
        thread,
        kind: made.kind,
        name: name(made.name),
        object: name(made.object),
        begin_ns: made.begin_ns,
        end_ns: Some(made.begin_ns + 1),
        cpu_ns: made.begin_ns / 2,
        result: Some(0),
        stack: None,
    }
}
