//! Where threads waited, call stack by call stack.

use crate::analysis::Analysis;
use crate::lines::{SourceLine, line_at};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use timewise_profile::{Module, ModuleId, Place, Profile, RunId, RunKind, StackId, ThreadId, Wait};

/// What waited with one stack, all threads together, and in an average run where there are several.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingStack {
    /// The instruction after the system call, then the calls that led there, innermost first.
    pub frames: Vec<Place>,
    /// Threads that waited so.
    pub threads: Threads,
    /// How often; `None` if that was not counted, and how long is an estimate.
    pub times: Option<f64>,
    /// Nanoseconds, all times and threads together.
    pub duration_ns: f64,
}

/// Threads, each run's apart: of a program that is sampled in turns the same threads are others to each turn.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Threads {
    of_runs: BTreeMap<RunId, BTreeSet<ThreadId>>,
}

impl Threads {
    fn add(&mut self, profile: &Profile, thread: ThreadId) {
        self.of_runs.entry(run_of(profile, thread)).or_default().insert(thread);
    }

    /// Takes over others.
    pub fn join(&mut self, others: Threads) {
        for (run, threads) in others.of_runs {
            self.of_runs.entry(run).or_default().extend(threads);
        }
    }

    /// How many they are in the run that has most.
    pub fn count(&self) -> usize {
        self.of_runs.values().map(BTreeSet::len).max().unwrap_or(0)
    }
}

/// The run in which a thread lived.
pub fn run_of(profile: &Profile, thread: ThreadId) -> RunId {
    profile.processes[profile.threads[thread.index()].process.index()].run
}

/// All stacks that threads waited with, longest first.
pub fn stacks(profile: &Profile) -> Vec<WaitingStack> {
    let runs = profile.runs_to_average(RunKind::Sampling) as f64;
    let mut sums: BTreeMap<(Option<Place>, Option<StackId>), Sum> = BTreeMap::new();
    for wait in &profile.waits {
        sums.entry((wait.place, wait.stack)).or_default().add(profile, wait);
    }
    let stack = |((place, stack), sum): (_, Sum)| WaitingStack {
        frames: frames(profile, place, stack),
        threads: sum.threads,
        times: sum.times.map(|times| times as f64 / runs),
        duration_ns: sum.duration_ns / runs,
    };
    let mut stacks: Vec<WaitingStack> = sums.into_iter().map(stack).collect();
    stacks.sort_by(|a, b| b.duration_ns.total_cmp(&a.duration_ns));
    stacks
}

/// The time of all threads of an average run, at work and waiting, nanoseconds.
pub fn threads_time_ns(analysis: &Analysis) -> f64 {
    let profile = analysis.profile;
    let waited: f64 = profile.waits.iter().map(|wait| wait.duration_ns as f64).sum();
    let runs = profile.runs_to_average(RunKind::Sampling) as f64;
    waited / runs + analysis.quality.user_ns + analysis.quality.kernel_ns
}

/// All waits with one stack.
#[derive(Default)]
struct Sum {
    threads: Threads,
    /// `None` once it is known of not all of them.
    times: Option<u64>,
    duration_ns: f64,
}

impl Sum {
    fn add(&mut self, profile: &Profile, wait: &Wait) {
        let before = if self.threads.count() == 0 { Some(0) } else { self.times };
        self.times = before.zip(wait.times).map(|(one, other)| one.saturating_add(other));
        self.threads.add(profile, wait.thread);
        self.duration_ns += wait.duration_ns as f64;
    }
}

/// The instruction after the system call in which a thread waited, then the calls that led there, innermost first.
pub fn frames(profile: &Profile, place: Option<Place>, stack: Option<StackId>) -> Vec<Place> {
    place.into_iter().chain(calls(profile, stack)).collect()
}

/// The calls of a stack, innermost first.
fn calls(profile: &Profile, innermost: Option<StackId>) -> impl Iterator<Item = Place> {
    returns(profile, innermost).map(Place::call_before)
}

/// Where the frames of a stack go on, innermost first.
pub(crate) fn returns(profile: &Profile, innermost: Option<StackId>) -> impl Iterator<Item = Place> {
    let node = |id: StackId| profile.stacks[id.index()];
    std::iter::successors(innermost.map(node), move |of| of.parent.map(node)).map(|of| of.return_place)
}

/// What a reader looks for in a stack: what was called in order to wait, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Culprit {
    /// In the function of a library that was called, or else in the program's own that made the system call or met a
    /// page fault.
    pub place: Place,
    /// The call to it: in other code than the library's, if it is of one.
    pub caller: Option<Place>,
    /// The line of that call, or of what waits itself.
    pub line: Option<SourceLine>,
}

/// Looks for it: the outermost function of the innermost module, and the call that led into that module. Where that is the
/// program itself, what waits is its innermost function, as one that had a page brought in; if that is of a library which
/// the program is one with, the call is the first whose source line is known.
pub fn culprit(profile: &Profile, programs: &Programs, frames: &[Place]) -> Option<Culprit> {
    let innermost = *frames.first()?;
    let led_in = frames.iter().position(|frame| frame.module != innermost.module);
    if led_in.is_some() && !programs.hold(innermost) {
        return led_in.map(|at| called(profile, frames, at));
    }
    let own = &frames[..led_in.unwrap_or(frames.len())];
    match own.iter().position(|&frame| line_at(profile, frame).is_some()).filter(|&at| at > 0) {
        Some(at) => Some(called(profile, frames, at)),
        None => Some(itself(profile, frames, innermost)),
    }
}

/// The innermost function, and the line in it at which it goes on.
pub(crate) fn itself(profile: &Profile, frames: &[Place], innermost: Place) -> Culprit {
    Culprit { place: innermost, caller: frames.get(1).copied(), line: line_at(profile, innermost) }
}

/// The executables that processes were begun with.
#[derive(Debug)]
pub struct Programs(HashSet<ModuleId>);

impl Programs {
    /// Those of a profile.
    pub fn of(profile: &Profile) -> Programs {
        let paths: HashSet<&[u8]> = profile.processes.iter().map(|process| &process.executable[..]).collect();
        let modules = (0u32..).map(ModuleId).zip(&profile.modules);
        let is_program = |(_, module): &(ModuleId, &Module)| paths.contains(&module.path[..]);
        Programs(modules.filter(is_program).map(|(id, _)| id).collect())
    }

    /// Whether code is of one of them.
    pub fn hold(&self, place: Place) -> bool {
        self.0.contains(&place.module)
    }
}

/// What the frame at this place called, which is not the innermost.
fn called(profile: &Profile, frames: &[Place], at: usize) -> Culprit {
    let caller = frames[at];
    Culprit { place: frames[at - 1], caller: Some(caller), line: line_at(profile, caller) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{
        CodeVersion, Exit, ModuleKind, Offset, Process, ProcessId, Run, StackNode, Thread,
    };

    fn at(module: u32, offset: u64) -> Place {
        Place { module: ModuleId(module), version: CodeVersion(0), offset: Offset(offset) }
    }

    #[test]
    fn threads_that_wait_alike_are_one_row() {
        let node = |parent, place| StackNode { parent, return_place: place };
        let wait = |thread, stack, times, duration_ns| Wait {
            thread: ThreadId(thread),
            place: Some(at(0, 9)),
            stack,
            times,
            duration_ns,
        };
        let process = |run| Process {
            run: RunId(run),
            pid: 1,
            parent: None,
            executable: Vec::new(),
            exit: Exit::default(),
            count_uncertainty: 0,
        };
        let thread =
            |process| Thread { process: ProcessId(process), tid: 1, name: String::new(), instructions: None };
        let mut profile = Profile {
            runs: vec![Run::new(RunKind::Sampling)],
            processes: vec![process(0), process(1)],
            threads: vec![thread(0), thread(0), thread(1)],
            stacks: vec![node(None, at(1, 100)), node(Some(StackId(0)), at(0, 50))],
            waits: vec![
                wait(0, Some(StackId(1)), Some(3), 300),
                wait(1, Some(StackId(1)), Some(4), 100),
                wait(1, None, None, 500),
            ],
            ..Profile::default()
        };
        let found = stacks(&profile);
        let short: Vec<_> = found.iter().map(|s| (s.threads.count(), s.times, s.duration_ns)).collect();
        assert_eq!(short, [(1, None, 500.0), (2, Some(7.0), 400.0)]);
        assert_eq!(found[1].frames, [at(0, 9), at(0, 49), at(1, 99)]);
        let culprit = culprit(&profile, &Programs::of(&profile), &found[1].frames).unwrap();
        assert_eq!((culprit.place, culprit.caller), (at(0, 49), Some(at(1, 99))));
        assert_eq!(
            super::culprit(&profile, &Programs::of(&profile), &found[0].frames).unwrap().place,
            at(0, 9)
        );
        // The program itself.
        let module = |path: &str| Module { kind: ModuleKind::File, path: path.into(), build_id: Vec::new() };
        profile.modules = vec![module("/program"), module("/library")];
        profile.processes.iter_mut().for_each(|process| process.executable = b"/program".into());
        let own = super::culprit(&profile, &Programs::of(&profile), &found[1].frames).unwrap();
        assert_eq!((own.place, own.caller), (at(0, 9), Some(at(0, 49))));
        let in_library =
            super::culprit(&profile, &Programs::of(&profile), &[at(1, 7), at(1, 8), at(0, 49)]).unwrap();
        assert_eq!((in_library.place, in_library.caller), (at(1, 8), Some(at(0, 49))));
        // The same program again: no more threads than in either run.
        profile.runs.push(Run::new(RunKind::Sampling));
        profile.waits.push(wait(2, Some(StackId(1)), Some(1), 200));
        let found = stacks(&profile);
        assert_eq!((found[0].threads.count(), found[0].times), (2, Some(4.0)));
    }
}
