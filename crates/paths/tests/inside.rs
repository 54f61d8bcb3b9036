//! Paths that are counted in the program, each with the counts that the stream of another run gives: in recursion,
//! long jumps, exceptions, signals and their handlers, threads, tail calls, calls that do not return, code that is
//! written at run time, and functions with more paths than there are numbers. Between stacks a stream tells no
//! difference: there each execution of a block is on exactly one path.

use crate::functions;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use timewise_engine::streams::Windows;
use timewise_engine::{Counted, Options};
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::{Feed, Instruments, Limits, Method, Plan, Program, Store, Walker};
use timewise_profile::{Module, ModuleKind, Profile};
use timewise_target::launch::Launch;

/// Tables of counters that are found by hashing, wherever there is more than one path.
const HASHED: Limits = Limits { paths: 10_000_000, array: 1 };

const WAYS: [(Method, Limits); 4] = [
    (Method::All, Limits { paths: 10_000_000, array: 1 << 12 }),
    (Method::All, HASHED),
    (Method::USUAL, HASHED),
    (Method::Targeted { cold: 30, disconnect: 30 }, Limits { paths: 10_000_000, array: 1 << 12 }),
];

fn options() -> Options {
    Options { calls: false, ..Options::default() }
}

/// A program of `tests/programs`.
struct Compiled {
    folder: tempfile::TempDir,
}

impl Compiled {
    fn new(source: &str) -> Compiled {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let compiler = if source.extension().is_some_and(|kind| kind == "cc") { "g++" } else { "gcc" };
        let compiled = Compiled { folder };
        let output = compiled.program();
        // Of threads that call a function first, any number may have it bound: so it is bound before.
        let options = ["-O1", "-pthread", "-Wl,-z,now", "-o"];
        let status = Command::new(compiler).args(options).args([&output, &source]).status();
        assert!(status.unwrap().success());
        compiled
    }

    fn program(&self) -> std::path::PathBuf {
        self.folder.path().join("program")
    }

    fn launch(&self) -> Launch {
        let mut launch = Launch::new(self.program());
        (launch.stdout, launch.randomise_addresses) = (Stdio::null(), false);
        launch
    }

    fn count(&self, options: &Options) -> Counted {
        let counted = timewise_engine::count(self.launch(), options).unwrap();
        assert_eq!((counted.ended.wait_status, counted.failure, counted.imbalance), (0, None, 0));
        counted
    }

    /// Edges, with the functions that they are in.
    fn edges(&self) -> Profile {
        let mut profile = self.count(&options()).profile;
        functions::name(&mut profile);
        profile
    }

    /// Another run, whose paths are counted.
    fn count_paths(&self, instruments: &Instruments) -> Counted {
        let paths = Some(Arc::new(instruments.instrumentation.clone()));
        self.count(&Options { paths, ..options() })
    }

    /// The program's own routines, and all others.
    fn routines(&self, graphs: &Program, profile: &Profile) -> (Vec<RoutineId>, Vec<RoutineId>) {
        let path = self.program().into_os_string().into_vec();
        (0..graphs.graphs.len() as u32)
            .map(RoutineId)
            .partition(|&routine| module(graphs, profile, routine).path == path)
    }
}

fn module<'a>(graphs: &Program, profile: &'a Profile, routine: RoutineId) -> &'a Module {
    &profile.modules[graphs.blocks.routines[routine.index()].place.module.index()]
}

/// What was found of a program's own functions.
struct Told {
    /// The plans of the first way.
    plans: Vec<Plan>,
    /// Functions whose blocks overlap, and which have no plans therefore.
    apart: usize,
    /// Paths that left the known edges.
    strayed: u64,
}

/// Counts a program's paths along its stream and, in each of [`WAYS`], in the program, and compares what is told of the
/// program's own functions, of which at least so many count something. Libraries do not the same for threads in each
/// run.
fn counters_tell_what_the_stream_tells(source: &str, least: [usize; 4]) -> Told {
    let compiled = Compiled::new(source);
    let profile = compiled.edges();
    let analysis = Analysis::new(&profile, None);
    let graphs = Program::new(&analysis);
    let plans = |routine: RoutineId| {
        WAYS.map(|(method, limits)| method.plan(&graphs.graphs[routine.index()], limits)).to_vec()
    };
    let mut walker = Walker::new(&graphs, plans);
    let mut feed = Feed::new(&analysis);
    let windows = Windows { memory: false, ..Windows::ALL };
    let stopped = compiled.launch().stopped().unwrap();
    timewise_engine::stream(stopped, &options(), windows, |chunk| {
        assert!(feed.chunk(chunk, &mut walker));
    })
    .unwrap();
    walker.finish();

    let (own, others) = compiled.routines(&graphs, &profile);
    let mut apart = 0;
    for (at, (method, limits)) in WAYS.into_iter().enumerate() {
        let instruments = Instruments::new(&graphs, &profile, method, limits);
        let counted = compiled.count_paths(&instruments);
        assert_eq!(counted.paths.lost, 0);
        let mut compared = 0;
        apart = 0;
        for &routine in &own {
            let told = &walker.routines()[routine.index()];
            let Some(tally) = instruments.tally(routine, &counted.paths) else {
                apart += 1;
                continue;
            };
            let plan = &told.plans[at];
            assert_eq!(tally.senseless, 0);
            assert_eq!(tally.profile(plan), told.tallies[at].profile(plan), "{method:?}, {routine:?}");
            assert_eq!(tally.executed.cold_counts, told.tallies[at].executed.cold_counts, "{method:?}");
            if method == Method::All {
                assert_eq!(tally.profile(plan), told.truth.profile(), "{routine:?}");
            }
            compared += usize::from(tally.counts().count() > 0);
        }
        assert!(compared >= least[at], "{method:?} counts in {compared} functions");
        for &routine in &others {
            match instruments.tally(routine, &counted.paths) {
                Some(tally) => assert_eq!(tally.senseless, 0),
                None => assert_ne!(module(&graphs, &profile, routine).kind, ModuleKind::File),
            }
        }
    }
    let plans = own.iter().map(|routine| walker.routines()[routine.index()].plans[0].clone()).collect();
    Told { plans, apart, strayed: walker.strayed() }
}

#[test]
fn all_ways_in_which_paths_begin_and_end() {
    let told = counters_tell_what_the_stream_tells("ways.c", [5, 5, 1, 1]);
    assert_eq!(told.apart, 0);
}

#[test]
fn exceptions() {
    let told = counters_tell_what_the_stream_tells("exceptions.cc", [4, 4, 1, 0]);
    assert_eq!(told.apart, 0);
}

#[test]
fn signals_in_the_middle_of_paths() {
    let told = counters_tell_what_the_stream_tells("signals.c", [6, 6, 1, 1]);
    assert_eq!(told.apart, 0);
}

#[test]
fn functions_that_are_left_in_the_middle() {
    let told = counters_tell_what_the_stream_tells("leaves.c", [8, 8, 1, 0]);
    assert_eq!(told.apart, 0);
}

#[test]
fn blocks_that_are_translated_in_pieces() {
    let told = counters_tell_what_the_stream_tells("long.c", [2, 2, 1, 0]);
    assert_eq!((told.apart, told.strayed), (0, 0));
}

#[test]
fn code_that_overlaps() {
    let told = counters_tell_what_the_stream_tells("overlap.c", [2, 2, 1, 0]);
    assert_eq!((told.apart, told.strayed), (1, 0));
}

#[test]
fn code_that_is_written_at_run_time() {
    let told = counters_tell_what_the_stream_tells("written.c", [4, 4, 1, 0]);
    assert_eq!(told.apart, 0);
}

#[test]
fn threads_that_signals_interrupt() {
    let told = counters_tell_what_the_stream_tells("crowd.c", [4, 4, 1, 0]);
    assert_eq!(told.apart, 0);
}

#[test]
fn a_function_with_more_paths_than_there_are_numbers() {
    let Told { plans, .. } = counters_tell_what_the_stream_tells("many.c", [2, 2, 1, 0]);
    let most = plans.iter().max_by_key(|plan| plan.numbered()).unwrap();
    assert_eq!(most.store, Store::Hash);
    assert!(most.numbered() > 1 << 20 && most.numbered() <= WAYS[0].1.paths, "{}", most.numbered());
}

#[test]
fn a_function_whose_numbers_a_register_does_not_hold() {
    let Told { plans, .. } = counters_tell_what_the_stream_tells("wide.c", [2, 2, 1, 0]);
    let most = plans.iter().max_by_key(|plan| plan.numbered()).unwrap();
    assert!(plans.iter().all(Plan::fits));
    assert!(most.numbered() > 1 << 12 && most.numbered() < 1 << 20, "{}", most.numbered());
}

#[test]
fn coroutines_that_are_left_in_the_middle() {
    let compiled = Compiled::new("coroutines.c");
    let profile = compiled.edges();
    let analysis = Analysis::new(&profile, None);
    let graphs = Program::new(&analysis);
    for (method, limits) in [WAYS[0], WAYS[1]] {
        let instruments = Instruments::new(&graphs, &profile, method, limits);
        let counted = compiled.count_paths(&instruments);
        assert_eq!(counted.paths.lost, 0);
        for routine in compiled.routines(&graphs, &profile).0 {
            let tally = instruments.tally(routine, &counted.paths).expect("it is in a file");
            let plan = &instruments.routines[routine.index()].as_ref().expect("likewise").plan;
            assert_eq!((tally.senseless, tally.executed.cold_counts), (0, 0), "{routine:?}");
            let blocks = &graphs.blocks.routines[routine.index()].blocks;
            let mut on_paths = vec![0; blocks.len()];
            for (path, count) in tally.profile(plan) {
                path.blocks.iter().for_each(|&block| on_paths[block as usize] += count);
            }
            let executions = blocks.iter().map(|block| analysis.code.blocks[block.index()].executions);
            assert_eq!(on_paths, executions.collect::<Vec<u64>>(), "{routine:?}");
        }
    }
}

/// A path that strays is not known as it was, but may have been counted before: what is wrong by that is of the
/// functions that paths strayed from.
#[test]
fn paths_that_stray_behind_where_they_are_counted() {
    let compiled = Compiled::new("strays.c");
    let profile = compiled.edges();
    let analysis = Analysis::new(&profile, None);
    let graphs = Program::new(&analysis);
    let plan = |routine: RoutineId| Method::All.plan(&graphs.graphs[routine.index()], Limits::default());
    let mut walker = Walker::new(&graphs, |routine| vec![plan(routine)]);
    let mut feed = Feed::new(&analysis);
    let launch = Launch { arguments: vec!["otherwise".into()], ..compiled.launch() };
    let windows = Windows { memory: false, ..Windows::ALL };
    timewise_engine::stream(launch.stopped().unwrap(), &options(), windows, |chunk| {
        assert!(feed.chunk(chunk, &mut walker));
    })
    .unwrap();
    walker.finish();
    let mut wrong = Vec::new();
    for &routine in &compiled.routines(&graphs, &profile).0 {
        let told = &walker.routines()[routine.index()];
        let (counted, truth) = (told.tallies[0].profile(&told.plans[0]), told.truth.profile());
        let beyond = counted.values().sum::<u64>() - truth.values().sum::<u64>();
        assert!(beyond <= told.strayed, "{beyond} {}", told.strayed);
        assert!(counted == truth || told.strayed > 0);
        wrong.extend((counted != truth).then_some(beyond));
    }
    assert_eq!(wrong, [1]);
}

#[test]
fn recursion_deeper_than_there_is_room_for() {
    let compiled = Compiled::new("deep.c");
    let profile = compiled.edges();
    let analysis = Analysis::new(&profile, None);
    let graphs = Program::new(&analysis);
    let instruments = Instruments::new(&graphs, &profile, Method::All, Limits::default());
    let counted = compiled.count_paths(&instruments);
    // What is lost is said, and of no function more paths are counted than end in it.
    assert!(counted.paths.lost > 0);
    for routine in compiled.routines(&graphs, &profile).0 {
        let tally = instruments.tally(routine, &counted.paths).expect("it is in a file");
        let plan = &instruments.routines[routine.index()].as_ref().expect("likewise").plan;
        let counts: u64 = tally.counts().map(|(_, count)| count).sum();
        let graph = &graphs.graphs[routine.index()];
        let ends = graph.ids().filter(|&id| plan.cuts[id.index()] || graph.edge(id).to == graph.exit());
        let ends: u64 = ends.map(|id| graph.edge(id).count).sum();
        assert_eq!(tally.senseless, 0);
        assert!(counts + tally.executed.cold_counts <= ends, "{routine:?}: {counts} of {ends}");
    }
}
