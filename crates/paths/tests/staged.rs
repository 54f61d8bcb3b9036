//! A program that runs: its edges are counted for a while, then its paths, and what it does when it goes other ways.

use crate::functions;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use timewise_engine::{Attached, Options, attach};
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::{Cfg, Instruments, Later, Limits, Method, Path, PathProfile, Program, at_most};
use timewise_profile::Profile;

/// Nobody waits so long: what is waited for comes before.
const FOREVER: Duration = Duration::from_secs(600);

/// Executions that are waited for.
const MANY: u64 = 1000;

/// A child that is not left behind, whatever becomes of the test.
struct Running {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Running {
    fn new(folder: &std::path::Path) -> Running {
        let program = folder.join("phases");
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/phases.c");
        let status = Command::new("gcc").args(["-O1", "-o"]).args([&program, &source]).status();
        assert!(status.unwrap().success());
        let mut child = Command::new(&program).stdout(Stdio::piped()).spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Running { child, says }
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits until it says that it has begun a phase.
    fn is_in_phase(&mut self, phase: &str) {
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), phase);
    }

    fn signal(&self, signal: i32) {
        // SAFETY: takes no memory; the process is our child.
        unsafe { libc::kill(self.pid(), signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn options() -> Options {
    Options { calls: false, ..Options::default() }
}

fn named(analysis: &Analysis, name: &str) -> Option<RoutineId> {
    (0..analysis.routines.len() as u32).map(RoutineId).find(|&routine| analysis.name_of(routine) == name)
}

fn work(analysis: &Analysis) -> Option<RoutineId> {
    named(analysis, "work")
}

/// The edges of the program, of a time in which it did its work.
fn edges(pid: i32) -> Profile {
    loop {
        let mut profile = attach(pid, Duration::from_millis(20), &options(), |_| false).unwrap().profile;
        functions::name(&mut profile);
        let analysis = Analysis::new(&profile, None);
        let executions = |&routine: &RoutineId| {
            let blocks = &analysis.routines[routine.index()].blocks;
            blocks.iter().map(|block| analysis.code.blocks[block.index()].executions).max()
        };
        if work(&analysis).as_ref().and_then(executions) > Some(MANY) {
            return profile;
        }
    }
}

/// Counts paths by the edges that are known, which may be all that are executed, until there are many, or many without a
/// number: which paths `work` took, and what was counted.
fn paths(pid: i32, known: &Profile, (method, is_all_known): (Method, bool)) -> (PathProfile, Attached) {
    let analysis = Analysis::new(known, None);
    let program = Program::new(&analysis);
    let mut instruments = Instruments::new(&program, known, method, Limits::default());
    let routine = work(&analysis).unwrap();
    let others = ["decided", "calls"].map(|name| named(&analysis, name).unwrap());
    let paths = Some(Arc::new(instruments.instrumentation.clone()));
    let mut attached = attach(pid, FOREVER, &Options { paths, ..options() }, |meanwhile| {
        let executed = instruments.tally(routine, &meanwhile.paths()).unwrap().executed;
        executed.array_counts.max(executed.cold_counts) > MANY
    })
    .unwrap();
    assert_eq!((attached.paths.lost, &attached.profile.runs[0].warnings[..]), (0, &[][..]));
    functions::name(&mut attached.profile);
    let tally = instruments.tally(routine, &attached.paths).unwrap();
    assert_eq!(tally.senseless, 0);
    let counted = {
        let analysis = Analysis::new(&attached.profile, None);
        let later = Program::new(&analysis);
        let later = Later::new((&program, &known.modules), (&later, &attached.profile.modules));
        let routines = (0..program.graphs.len() as u32).map(RoutineId);
        let graphs: Vec<Cfg> = routines.map(|routine| later.graph(routine)).collect();
        instruments.recount(&graphs);
        let graph = &graphs[routine.index()];
        let counted = tally.profile(&instruments.routines[routine.index()].as_ref().unwrap().plan);
        let possible = |(path, count): (Path, u64)| {
            let most = at_most(graph, &path);
            (path, count.min(most))
        };
        let counted: PathProfile = counted.into_iter().map(possible).collect();
        assert_eq!(later.unknown_share() == 0.0, is_all_known);
        for edge in graph.edges.iter().filter(|edge| edge.from < graph.blocks() && edge.to < graph.blocks()) {
            let is_on = |blocks: &[u32]| blocks.windows(2).any(|pair| pair == [edge.from, edge.to]);
            let on_paths: u64 =
                counted.iter().filter(|(path, _)| is_on(&path.blocks)).map(|(_, count)| count).sum();
            // But for those that the thread was on at the beginning and at the end.
            assert!(!is_all_known || on_paths.abs_diff(edge.count) <= 2, "{on_paths} of {edge:?}");
        }
        for path in counted.iter().filter(|(_, count)| **count > 0).map(|(path, _)| path) {
            assert!(!later.blocks(routine, &path.blocks).is_empty());
        }
        // What is certain fits into what was executed; how much is not.
        let wrongly = |routine: RoutineId| {
            let plan = &instruments.routines[routine.index()].as_ref().unwrap().plan;
            let graph = &graphs[routine.index()];
            let strays = later.strays(routine, graph);
            let tally = instruments.tally(routine, &attached.paths).unwrap();
            let is_right = |(path, _): &(Path, u64)| !strays.may_count_as(path, plan, graph);
            let (right, wrongly): (PathProfile, PathProfile) =
                tally.profile(plan).into_iter().partition(is_right);
            let mut through: HashMap<_, u64> = HashMap::new();
            for (path, count) in right {
                for block in later.blocks(routine, &path.blocks) {
                    *through.entry(block).or_default() += count.min(at_most(graph, &path));
                }
            }
            for (block, count) in through {
                let executions = analysis.code.blocks[block.index()].executions;
                assert!(count <= executions + 2, "{count} of {executions}");
            }
            wrongly.values().sum::<u64>()
        };
        let wrong = wrongly(routine) + others.into_iter().map(wrongly).sum::<u64>();
        assert!(is_all_known || wrong > 0);
        counted
    };
    (counted, attached)
}

/// How many paths were taken all the time.
fn ways(paths: &PathProfile) -> usize {
    paths.values().filter(|&&count| count > MANY / 4).count()
}

/// Edges of a time that began in the middle of `work`, which so has a block that control seems to enter it at.
fn edges_from_the_middle(pid: i32) -> Profile {
    loop {
        let profile = edges(pid);
        let is_entered_twice = {
            let analysis = Analysis::new(&profile, None);
            let graph = &Program::new(&analysis).graphs[work(&analysis).unwrap().index()];
            graph.out(graph.entry()).len() > 1
        };
        if is_entered_twice {
            return profile;
        }
    }
}

#[test]
fn what_comes_back_from_unknown_blocks_did_not_enter_the_function() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::new(folder.path());
    running.is_in_phase("0");
    let known = edges_from_the_middle(running.pid());
    running.signal(libc::SIGUSR1);
    running.is_in_phase("1");
    let (counted, _) = paths(running.pid(), &known, (Method::All, false));
    assert_eq!(ways(&counted), 0, "{counted:?}");
}

#[test]
fn paths_follow_on_edges_in_one_run_and_are_planned_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::new(folder.path());
    running.is_in_phase("0");
    let mut known = edges(running.pid());
    let (counted, attached) = paths(running.pid(), &known, (Method::All, true));
    assert_eq!(ways(&counted), 2, "{counted:?}");
    attached.profile.check().unwrap();

    running.signal(libc::SIGUSR1);
    running.is_in_phase("1");
    // By the old plan none of them has a number.
    let (counted, attached) = paths(running.pid(), &known, (Method::All, false));
    assert_eq!(ways(&counted), 0, "{counted:?}");
    known.append(attached.profile);
    for method in [Method::All, Method::Targeted { cold: 0, disconnect: 0 }] {
        let (counted, _) = paths(running.pid(), &known, (method, true));
        assert_eq!(ways(&counted), 2, "{counted:?}");
    }
    running.signal(libc::SIGTERM);
    let ended = running.child.wait().unwrap();
    assert_eq!((ended.code(), ended.signal()), (Some(0), None));
}
