//! Paths that are counted in the program: recursion, long jumps, signals and their handlers, threads, tail calls and
//! calls that do not return, each with the counts that the stream of another run gives.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use timewise_engine::Options;
use timewise_engine::streams::Windows;
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::{Feed, Instruments, Limits, Method, Program, Walker};
use timewise_target::launch::Launch;

/// Tables of counters that are found by hashing, wherever there is more than one path.
const HASHED: Limits = Limits { paths: 10_000_000, array: 1 };

const WAYS: [(Method, Limits); 4] = [
    (Method::All, Limits { paths: 10_000_000, array: 1 << 12 }),
    (Method::All, HASHED),
    (Method::USUAL, HASHED),
    (Method::Targeted { cold: 30, disconnect: 30 }, Limits { paths: 10_000_000, array: 1 << 12 }),
];

fn launch(program: &Path) -> Launch {
    let mut launch = Launch::new(program);
    (launch.stdout, launch.randomise_addresses) = (Stdio::null(), false);
    launch
}

#[test]
fn counters_in_the_program_tell_what_the_stream_tells() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("ways");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ways.c");
    let compiled = Command::new("gcc").args(["-O1", "-pthread", "-o"]).args([&program, &source]).status();
    assert!(compiled.unwrap().success());

    let options = Options { calls: false, ..Options::default() };
    let profile = timewise_engine::count(launch(&program), &options).unwrap().profile;
    let analysis = Analysis::new(&profile, None);
    let graphs = Program::new(&analysis);
    let plans = |routine: RoutineId| {
        WAYS.map(|(method, limits)| method.plan(&graphs.graphs[routine.index()], limits)).to_vec()
    };
    let mut walker = Walker::new(&graphs, plans);
    let mut feed = Feed::new(&analysis);
    let windows = Windows { memory: false, ..Windows::ALL };
    let stopped = launch(&program).stopped().unwrap();
    timewise_engine::stream(stopped, &options, windows, |chunk| {
        assert!(feed.chunk(chunk, &mut walker));
    })
    .unwrap();
    walker.finish();

    // What libraries do for threads is not the same in each run.
    let of_program = |routine: &RoutineId| {
        let module = graphs.blocks.routines[routine.index()].place.module;
        profile.modules[module.index()].path == program.as_os_str().as_bytes()
    };
    for (at, (method, limits)) in WAYS.into_iter().enumerate() {
        let instruments = Instruments::new(&graphs, &profile, method, limits);
        let paths = Some(Arc::new(instruments.instrumentation.clone()));
        let counted =
            timewise_engine::count(launch(&program), &Options { paths, ..options.clone() }).unwrap();
        assert_eq!((counted.ended.wait_status, counted.failure, counted.imbalance), (0, None, 0));
        assert_eq!(counted.paths.lost, 0);
        let mut compared = 0;
        for routine in (0..graphs.graphs.len() as u32).map(RoutineId).filter(of_program) {
            let told = &walker.routines()[routine.index()];
            let tally = instruments.tally(routine, &counted.paths).expect("it is in a file");
            let plan = &told.plans[at];
            assert_eq!(tally.senseless, 0);
            assert_eq!(tally.profile(plan), told.tallies[at].profile(plan), "{method:?}, {routine:?}");
            assert_eq!(tally.executed.cold_counts, told.tallies[at].executed.cold_counts, "{method:?}");
            compared += usize::from(tally.counts().count() > 0);
        }
        let least = if method == Method::All { 5 } else { 1 };
        assert!(compared >= least, "{method:?} counts in {compared} functions");
    }
}
