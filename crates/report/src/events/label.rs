//! What events, nodes and threads are called.

use crate::labels::file_name;
use timewise_eventtree::{CommonEvent, Comparison, LaneKey, LaneTree, Node};
use timewise_profile::{NameId, OsEventKind, Profile};

/// Columns that a path takes at most; of a longer one its last parts are told, which say more than the first.
const LONGEST_PATH: usize = 24;

/// A name that the operating system gave.
pub fn name(profile: &Profile, id: Option<NameId>) -> String {
    id.map_or(String::new(), |id| String::from_utf8_lossy(profile.os_name(id)).into_owned())
}

/// What an event was about, if that is the same in all runs.
pub fn object(profile: &Profile, common: &CommonEvent) -> String {
    if common.same_object { name(profile, common.event.object) } else { String::new() }
}

/// One event, in few words.
pub fn event(profile: &Profile, common: &CommonEvent) -> String {
    let (called, object) = (name(profile, common.event.name), object(profile, common));
    match common.event.kind {
        OsEventKind::Begin => "begin".into(),
        OsEventKind::Exec if object.is_empty() => "executes".into(),
        OsEventKind::Exec => format!("executes {}", file_name(&object)),
        OsEventKind::Image => format!("loads {}", file_name(&object)),
        OsEventKind::Call if object.is_empty() => called,
        OsEventKind::Call => format!("{called} {}", end_of(&object)),
        OsEventKind::Signal => called,
        OsEventKind::End => "end".into(),
    }
}

/// From which event to which a node goes; one that is not divided is named by its first, after which the thread
/// computes until the next.
pub fn node(profile: &Profile, lane: &LaneTree, node: &Node) -> String {
    let first = event(profile, &lane.events[node.events.start]);
    if node.children.is_empty() {
        return first;
    }
    format!("{first} … {}", event(profile, &lane.events[node.events.end]))
}

/// A thread that all runs have.
pub fn lane(comparison: &Comparison, lane: &LaneTree) -> String {
    let process = comparison.base.threads[lane.thread.index()].process;
    thread(comparison, &lane.key, &comparison.base.processes[process.index()].executable)
}

/// A thread by its process and those above it, but for the first, which is above all and known by `executable`, if at all.
pub fn thread(comparison: &Comparison, key: &LaneKey, executable: &[u8]) -> String {
    let own = file_name(&String::from_utf8_lossy(executable)).to_string();
    let first = if own.is_empty() { "the program".to_string() } else { own };
    let process = |(name, before): (&[u8], u32)| {
        // Of the program itself, whose name may be another on the other side.
        let name = if name.is_empty() { "child".into() } else { String::from_utf8_lossy(name) };
        match before {
            0 => name.into_owned(),
            _ => format!("{name} #{}", before + 1),
        }
    };
    let mut below: Vec<String> = comparison.processes.ancestry(key.process).map(process).collect();
    below.pop();
    let path = if below.is_empty() { first } else { below.join(" < ") };
    if key.thread == 0 { path } else { format!("{path}, thread {}", key.thread + 1) }
}

fn end_of(path: &str) -> String {
    if path.chars().count() <= LONGEST_PATH {
        return path.into();
    }
    let mut starts = path.match_indices('/').map(|(at, _)| &path[at..]);
    let end = starts.clone().find(|end| end.chars().count() < LONGEST_PATH).or(starts.next_back());
    end.map_or(path.into(), |end| format!("…{end}"))
}
