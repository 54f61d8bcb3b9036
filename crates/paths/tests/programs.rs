//! Programs that are followed: what PP counts is what there was, and all that was executed is on paths.

use crate::functions;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use timewise_engine::Options;
use timewise_engine::streams::Windows;
use timewise_flow::{Analysis, RoutineId};
use timewise_paths::{Feed, Limits, Method, Program, Walker};
use timewise_profile::{BlockId, Place};
use timewise_target::launch::Launch;

fn launch(program: &Path) -> Launch {
    let mut launch = Launch::new(program);
    (launch.stdout, launch.randomise_addresses) = (Stdio::null(), false);
    launch
}

#[test]
fn every_execution_of_a_block_is_on_one_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("ways");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ways.c");
    let compiled = Command::new("gcc").args(["-O2", "-pthread", "-o"]).args([&program, &source]).status();
    assert!(compiled.unwrap().success());

    let options = Options { calls: false, ..Options::default() };
    let mut counted = timewise_engine::count(launch(&program), &options).unwrap();
    functions::name(&mut counted.profile);
    assert_eq!(counted.ended.wait_status, 0);
    let analysis = Analysis::new(&counted.profile, None);
    let graphs = Program::new(&analysis);
    let plan =
        |routine: RoutineId, method: Method| method.plan(&graphs.graphs[routine.index()], Limits::default());
    let mut walker =
        Walker::new(&graphs, |routine| vec![plan(routine, Method::All), plan(routine, Method::USUAL)]);
    let mut feed = Feed::new(&analysis);
    let mut made_sense = true;
    let windows = Windows { memory: false, ..Windows::ALL };
    let stopped = launch(&program).stopped().unwrap();
    let (_, is_whole) = timewise_engine::stream(stopped, &options, windows, |chunk| {
        made_sense &= feed.chunk(chunk, &mut walker);
    })
    .unwrap();
    walker.finish();
    assert!(is_whole && made_sense);

    let mut on_paths: HashMap<BlockId, u64> = HashMap::new();
    for (routine, counted) in walker.routines().iter().enumerate() {
        let truth = counted.truth.profile();
        assert_eq!(counted.tallies[0].profile(&counted.plans[0]), truth);
        assert_eq!((counted.tallies[0].senseless, counted.tallies[1].senseless), (0, 0));
        for (path, count) in &truth {
            for &block in &path.blocks {
                *on_paths.entry(graphs.block(RoutineId(routine as u32), block)).or_default() += count;
            }
        }
    }
    let blocks = (0..).map(BlockId).zip(&analysis.code.blocks);
    let differ: Vec<_> = blocks
        .filter(|(id, block)| on_paths.get(id).copied().unwrap_or(0) != block.executions)
        .map(|(_, block)| block.place)
        .collect();
    // How threads wait for each other in the C library is not the same in two runs.
    let is_ours = |place: &Place| counted.profile.modules[place.module.index()].path.ends_with(b"/ways");
    assert!(!differ.iter().any(is_ours), "{differ:?}");
    assert!(walker.strayed() == 0 || !differ.is_empty());
}
