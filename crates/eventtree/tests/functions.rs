//! Functions of stacks that are known.

use crate::made::{made, run};
use timewise_eventtree::{
    Comparison, FunctionRow, Functions, LaneTree, NodeId, Tree, functions, has_stacks, mostly_in,
};
use timewise_profile::OsEventKind::{Begin, Call, End};
use timewise_profile::{
    CallStackMethod, CallStacks, FileId, Function, InlinedCall, Module, ModuleId, ModuleKind, Offset, Place,
    Profile, SourceFile, StackId, StackNode,
};

const PROGRAM: u32 = 0;
const LIBRARY: u32 = 1;

fn place(module: u32, offset: u64) -> Place {
    Place { module: ModuleId(module), offset: Offset(offset), ..Place::default() }
}

/// A program in which `main` at 0x100 calls `load` at 0x200 and `work` at 0x300, into which `check` was put, and these
/// `read` of the library; and of which events have the stacks of `calls`: return places, innermost first.
fn program(times: &[u64], calls: &[&[(u32, u64)]]) -> Profile {
    let last = times.len() - 1;
    let event = |(at, &time): (usize, &u64)| match at {
        0 => made(Begin, "", time),
        at if at == last => made(End, "", time),
        _ => made(Call, "read", time),
    };
    let events: Vec<_> = times.iter().enumerate().map(event).collect();
    let mut profile = run(&[(None, "/bin/app", &events)]);
    let module = |path: &[u8]| Module { kind: ModuleKind::File, path: path.to_vec(), build_id: Vec::new() };
    profile.modules = vec![module(b"/bin/app"), module(b"/lib/libc.so.6")];
    let function = |module, offset, name: &str| Function {
        place: place(module, offset),
        size: 0x100,
        name: name.into(),
        symbol: name.into(),
        file: None,
        line: 0,
    };
    profile.functions = vec![
        function(PROGRAM, 0x100, "main"),
        function(PROGRAM, 0x200, "load"),
        function(PROGRAM, 0x300, "work"),
        function(LIBRARY, 0x100, "read"),
    ];
    profile.files = vec![SourceFile { path: "app.c".into() }];
    let check = "check".to_string();
    let inlined = place(PROGRAM, 0x3ff);
    profile.inlined_calls =
        vec![InlinedCall { place: inlined, depth: 0, function: check, file: Some(FileId(0)), line: 7 }];
    for (event, stack) in profile.os_events.iter_mut().skip(1).zip(calls) {
        let mut parent = None;
        for &(module, offset) in stack.iter().rev() {
            let node = StackNode { parent, return_place: place(module, offset) };
            let known = profile.stacks.iter().position(|other| *other == node);
            let at = known.unwrap_or_else(|| {
                profile.stacks.push(node);
                profile.stacks.len() - 1
            });
            parent = Some(StackId(at as u32));
        }
        event.stack = parent;
    }
    profile.runs[0].call_stacks = Some(CallStacks::by(CallStackMethod::Both));
    profile.check().unwrap();
    profile
}

/// Of `load` a loop, of the others none.
fn code(_: &Profile, function: &Function) -> Option<Vec<u8>> {
    loops(function, &["load"])
}

/// Code without a branch that returns at its end, or goes back to its beginning.
fn loops(function: &Function, which: &[&str]) -> Option<Vec<u8>> {
    let mut code = vec![NOP; function.size as usize];
    let back = [0xe9, 0x00, 0xff, 0xff, 0xff];
    let end: &[u8] = if which.contains(&&function.name[..]) { &back } else { &[0xc3] };
    let at = code.len() - end.len();
    code[at..].copy_from_slice(end);
    Some(code)
}

const NOP: u8 = 0x90;

const READ: (u32, u64) = (LIBRARY, 0x120);
const IN_LOAD: (u32, u64) = (PROGRAM, 0x210);
const IN_WORK: (u32, u64) = (PROGRAM, 0x310);
const IN_CHECK: (u32, u64) = (PROGRAM, 0x400);
const LOAD: (u32, u64) = (PROGRAM, 0x150);
const WORK: (u32, u64) = (PROGRAM, 0x160);

/// `load` reads twice, then `work` once itself and once in what was put into it.
fn stacks() -> [&'static [(u32, u64)]; 4] {
    [&[READ, IN_LOAD, LOAD], &[READ, IN_LOAD, LOAD], &[READ, IN_WORK, WORK], &[READ, IN_CHECK, WORK]]
}

fn row(name: &str, calls: u64, total_ns: u64) -> FunctionRow {
    let total_call_ns = if name == "main" || name == "read" { 4 } else { 2 };
    let total_call_ns = if name == "check" { 1 } else { total_call_ns };
    FunctionRow { name: name.into(), calls, call_ns: calls, total_ns, total_call_ns }
}

/// Each call takes a nanosecond. Between the two of `load` pass 9, to the first of `work` 19, to the next 29. Nothing is
/// known of what passes before the first and behind the last.
#[test]
fn time_passes_below_the_functions_of_both_stacks() {
    let profile = program(&[0, 10, 20, 40, 70, 100], &stacks());
    assert!(has_stacks(&profile));
    assert_eq!(
        functions(&profile, &code),
        [
            row("load", 2, 2 + 9),
            row("work", 1, 2 + 29),
            row("check", 1, 1),
            row("main", 0, 4 + 9 + 19 + 29),
            // It has returned in between, though the stacks of `load` are the same.
            row("read", 0, 4),
        ]
    );
}

/// Where `main` calls again, `load` may have returned in between. Where its code is not known, nothing is told.
#[test]
fn who_calls_in_the_outermost_loop_was_not_left() {
    let profile = program(&[0, 10, 20, 30], &stacks()[..2]);
    let took = |code: timewise_eventtree::CodeOf| {
        let rows = functions(&profile, code);
        ["main", "load"].map(|name| rows.iter().find(|row| row.name == name).unwrap().total_ns)
    };
    assert_eq!(took(&code), [2 + 9, 2 + 9]);
    assert_eq!(took(&|_, function| loops(function, &["main"])), [2 + 9, 2]);
    assert_eq!(took(&|_, function| loops(function, &["main", "load"])), [2 + 9, 2]);
    assert_eq!(took(&|_, _| None), [2, 2]);
}

fn child(lane: &LaneTree, number: usize) -> NodeId {
    lane.tree.node(Tree::ROOT).children[number]
}

#[test]
fn what_differs_is_in_the_innermost_function_that_holds_it() {
    let base = program(&[0, 10, 20, 40, 70, 100], &stacks());
    let test = program(&[0, 10, 20, 40, 90, 120], &stacks());
    let comparison = Comparison::new(&base, Some(&test));
    let mut of = Functions::of(&base, Some(&test), &code);
    let lane = &comparison.lanes[0];
    let mut named = |node| {
        let times = comparison.functions(&mut of, lane, node);
        let found = mostly_in(&times, &lane.measures(node).elapsed_ns);
        found.map(|time| (time.name.clone(), time.elapsed_ns.difference().unwrap().amount))
    };
    assert_eq!(named(Tree::ROOT), Some(("work".into(), 20.0)));
    assert_eq!(named(child(lane, 3)), Some(("work".into(), 20.0)));
    // No difference has a place.
    assert_eq!(named(child(lane, 1)), None);
}

#[test]
fn the_way_into_the_system_is_named_only_for_want_of_others() {
    let profile = program(&[0, 10, 20, 30], &[&[READ, IN_LOAD, LOAD], &[READ]]);
    let comparison = Comparison::new(&profile, None);
    let mut of = Functions::of(&profile, None, &code);
    let lane = &comparison.lanes[0];
    let took = |ns: f64| timewise_eventtree::Measured {
        base: timewise_eventtree::Estimate { mean: ns, variance: None, runs: 1 },
        ..Default::default()
    };
    let mut named = |node| {
        let times = comparison.functions(&mut of, lane, node);
        mostly_in(&times, &took(1.0)).map(|time| time.name.clone())
    };
    assert_eq!(named(child(lane, 1)).as_deref(), Some("load"));
    assert_eq!(named(child(lane, 2)).as_deref(), Some("read"));
}

#[test]
fn who_made_more_calls_is_told() {
    let base = program(&[0, 10, 20], &[&[READ, IN_LOAD, LOAD]]);
    let test = program(
        &[0, 10, 20, 30, 40],
        &[&[READ, IN_LOAD, LOAD], &[READ, IN_WORK, WORK], &[READ, IN_WORK, WORK]],
    );
    let comparison = Comparison::new(&base, Some(&test));
    let mut of = Functions::of(&base, Some(&test), &code);
    let lane = &comparison.lanes[0];
    let [more] = &lane.differing[..] else { panic!("{:?}", lane.differing) };
    assert_eq!(comparison.callers(&mut of, lane, more), ["work"]);
}
