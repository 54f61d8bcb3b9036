//! Counts a program, streams it in another run, and tells what PP and TPP would count and execute in that run, and what
//! they do count in the program in runs of their own: `paths FILE PROGRAM ARGUMENTS…`.
//!
//! For `cargo xtask check paths` and `cargo xtask bench paths`: what the first run prints is all that is printed, and
//! it ends as the program ended. FILE gets lines of a name and a number each, with the configuration before the name
//! where it is of one.

mod functions;
mod repeated;

use repeated::Repeated;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;
use timewise_engine::streams::Windows;
use timewise_engine::{Counted, Options};
use timewise_flow::{Analysis, Code, RoutineId};
use timewise_paths::accuracy::{Accuracy, compare};
use timewise_paths::{
    Cfg, Executed, Feed, Instruments, Limits, Method, Path, PathProfile, Program, Store, Walker,
};
use timewise_profile::{Exit, Module, ModuleId, Place};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(file), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: paths FILE PROGRAM ARGUMENTS…");
        return ExitCode::from(125);
    };
    repeated::end("paths", run(&file, program, arguments.collect()))
}

fn run(
    file: &OsString,
    program: OsString,
    arguments: Vec<OsString>,
) -> Result<Exit, Box<dyn std::error::Error>> {
    let repeated = Repeated { program, arguments };
    let options = Options { calls: false, ..Options::default() };
    let first = timewise_engine::count(repeated.launch(), &options)?;
    let mut profile = timewise_engine::count(repeated.again()?, &options)?.profile;
    functions::name(&mut profile);
    let analysis = Analysis::new(&profile, None);
    let graphs = Program::new(&analysis);
    let plan = |graph: &Cfg| {
        Method::COMPARED.iter().map(|(_, method)| method.plan(graph, Limits::default())).collect()
    };
    let mut walker = Walker::new(&graphs, |routine| plan(&graphs.graphs[routine.index()]));
    let mut feed = Feed::new(&analysis);
    let windows = Windows { memory: false, ..Windows::ALL };
    let mut senseless = 0u64;
    let begun = std::time::Instant::now();
    let (_, is_whole) = timewise_engine::stream(repeated.again()?.stopped()?, &options, windows, |chunk| {
        senseless += u64::from(!feed.chunk(chunk, &mut walker));
    })?;
    walker.finish();
    let mut out = String::new();
    writeln!(out, "microseconds {}", begun.elapsed().as_micros())?;
    writeln!(out, "instructions {}", analysis.code.instructions_executed())?;
    writeln!(out, "whole {}", u64::from(is_whole && senseless == 0))?;
    writeln!(out, "strayed {}", walker.strayed())?;
    tell(&mut out, &graphs, &walker)?;
    for (name, method) in Method::COMPARED {
        let instruments = Instruments::new(&graphs, &profile, method, Limits::default());
        let paths = Some(Arc::new(instruments.instrumentation.clone()));
        let counted = timewise_engine::count(repeated.again()?, &Options { paths, ..options.clone() })?;
        let executions = Executions::of(&counted, &profile.modules);
        tell_inside(&mut out, name, &graphs, &walker, (&instruments, &counted, &executions))?;
    }
    std::fs::write(file, out)?;
    Ok(first.profile.runs[0].exit)
}

/// What counters in the program found out in a run of their own, compared with what the same plan finds out along the
/// stream, of each routine of which all blocks were executed equally often in all runs.
fn tell_inside(
    out: &mut String,
    name: &str,
    graphs: &Program,
    walker: &Walker,
    (instruments, counted, executions): (&Instruments, &Counted, &Executions),
) -> std::fmt::Result {
    let method = Method::COMPARED.iter().position(|(known, _)| *known == name).unwrap_or(0);
    let (mut compared, mut wrong, mut senseless, mut apart, mut unequal) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for (routine, of) in (0..).map(RoutineId).zip(walker.routines()) {
        let truth = of.truth.profile();
        let Some(tally) = instruments.tally(routine, &counted.paths) else {
            apart += u64::from(!truth.is_empty());
            continue;
        };
        senseless += tally.senseless;
        if of.strayed > 0
            || unequal_blocks(graphs, routine, &truth) > 0
            || !executions.are_as_in(graphs, routine)
        {
            unequal += 1;
            continue;
        }
        compared += 1;
        let plan = &of.plans[method];
        let (told, found) = (of.tallies[method].profile(plan), tally.profile(plan));
        wrong += u64::from(told != found);
        differences(out, name, graphs.blocks.routines[routine.index()].place, &told, &found)?;
    }
    for (what, figure) in [
        ("whole", u64::from(counted.profile.runs[0].counts_complete)),
        ("compared", compared),
        ("wrong", wrong),
        ("senseless", senseless),
        ("unequal", unequal),
        ("apart", apart),
        ("lost", counted.paths.lost),
    ] {
        writeln!(out, "{name} inside {what} {figure}")?;
    }
    Ok(())
}

/// Writes the paths that two profiles of a routine differ in.
fn differences(
    out: &mut String,
    name: &str,
    place: Place,
    told: &PathProfile,
    found: &PathProfile,
) -> std::fmt::Result {
    let paths: BTreeSet<&Path> = told.keys().chain(found.keys()).collect();
    for path in paths.into_iter().filter(|path| told.get(path) != found.get(path)) {
        let counts = [told.get(path), found.get(path)];
        writeln!(out, "# {name} in {place:?}: {path:?} {counts:?}")?;
    }
    Ok(())
}

/// How often instructions were executed in a run.
struct Executions {
    code: Code,
    /// Its modules, by those of the run whose edges were counted.
    modules: Vec<Option<ModuleId>>,
}

impl Executions {
    fn of(counted: &Counted, modules: &[Module]) -> Executions {
        let same = |module: &Module| counted.profile.modules.iter().position(|known| known == module);
        let modules = modules.iter().map(|module| Some(ModuleId(same(module)? as u32))).collect();
        Executions { code: Code::new(&counted.profile), modules }
    }

    /// Whether a routine's blocks were executed as often as in the run whose edges were counted.
    fn are_as_in(&self, graphs: &Program, routine: RoutineId) -> bool {
        let blocks = &graphs.blocks.routines[routine.index()].blocks;
        blocks.iter().map(|block| &graphs.blocks.code.blocks[block.index()]).all(|block| {
            let module = self.modules[block.place.module.index()];
            let here = module.and_then(|module| self.code.instruction_at(Place { module, ..block.place }));
            here.map_or(0, |instruction| self.code.executions(instruction)) == block.executions
        })
    }
}

/// What one method comes to over all routines.
#[derive(Default)]
struct Sum {
    accuracy: Accuracy,
    executed: Executed,
    senseless: u64,
    /// Routines whose profile is not the true one, but for those that paths strayed from.
    wrong: u64,
    numbered: u64,
    hashed_routines: u64,
    /// Routines that are instrumented.
    instrumented: u64,
    /// Paths that were taken and are obvious.
    obvious: u64,
    counted: u64,
}

/// Blocks of a routine that are on paths another number of times than they were executed when edges were counted.
fn unequal_blocks(graphs: &Program, routine: RoutineId, truth: &PathProfile) -> u64 {
    let blocks = &graphs.blocks.routines[routine.index()].blocks;
    let mut on_paths = vec![0; blocks.len()];
    for (path, count) in truth {
        path.blocks.iter().for_each(|&block| on_paths[block as usize] += count);
    }
    let executions = blocks.iter().map(|block| graphs.blocks.code.blocks[block.index()].executions);
    executions.zip(on_paths).filter(|(executions, on_paths)| executions != on_paths).count() as u64
}

fn tell(out: &mut String, graphs: &Program, walker: &Walker) -> std::fmt::Result {
    let mut sums: [Sum; Method::COMPARED.len()] = Default::default();
    let mut wrong = String::new();
    let (mut routines, mut paths, mut unequal) = (0u64, 0u64, 0u64);
    for (number, (graph, of)) in (0..).zip(graphs.graphs.iter().zip(walker.routines())) {
        let truth = of.truth.profile();
        unequal += unequal_blocks(graphs, RoutineId(number), &truth);
        if truth.is_empty() {
            continue;
        }
        routines += 1;
        paths += truth.values().sum::<u64>();
        let place = graphs.blocks.routines[number as usize].place;
        if let (Some(plan), Some(tally), 0) = (of.plans.first(), of.tallies.first(), of.strayed) {
            differences(&mut wrong, "PP along the stream", place, &truth, &tally.profile(plan))?;
        }
        for ((sum, plan), tally) in sums.iter_mut().zip(&of.plans).zip(&of.tallies) {
            let found = tally.profile(plan);
            let is_wrong = of.strayed == 0 && found != truth;
            sum.accuracy.add(compare(graph, (&truth, &of.plans[0].cuts), (&found, &plan.cuts)));
            sum.wrong += u64::from(is_wrong);
            sum.senseless += tally.senseless;
            sum.executed.add(tally.executed);
            sum.numbered += plan.numbered();
            sum.hashed_routines += u64::from(plan.store == Store::Hash);
            sum.instrumented += u64::from(plan.store != Store::Nothing);
            sum.obvious += plan.obvious.iter().map(|(_, count)| count).sum::<u64>();
            sum.counted += tally.counts().map(|(_, count)| count).sum::<u64>();
        }
    }
    writeln!(out, "routines {routines}")?;
    writeln!(out, "paths {paths}")?;
    writeln!(out, "unequal {unequal}")?;
    out.push_str(&wrong);
    for ((name, _), sum) in Method::COMPARED.iter().zip(sums) {
        let Executed { adds, sets, array_counts, hash_counts, cold_counts } = sum.executed;
        writeln!(out, "{name} definite {:.6}", sum.accuracy.definite())?;
        writeln!(out, "{name} over {:.6}", sum.accuracy.over as f64 / sum.accuracy.flow as f64)?;
        writeln!(out, "{name} under {:.6}", sum.accuracy.under as f64 / sum.accuracy.flow as f64)?;
        for (what, number) in [
            ("wrong", sum.wrong),
            ("senseless", sum.senseless),
            ("numbered", sum.numbered),
            ("hashed_routines", sum.hashed_routines),
            ("instrumented", sum.instrumented),
            ("obvious", sum.obvious),
            ("counted", sum.counted),
            ("adds", adds),
            ("sets", sets),
            ("array_counts", array_counts),
            ("hash_counts", hash_counts),
            ("cold_counts", cold_counts),
        ] {
            writeln!(out, "{name} {what} {number}")?;
        }
    }
    Ok(())
}
