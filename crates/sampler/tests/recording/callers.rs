//! Callers are found in code of every kind, by what that code offers.

use crate::program::{built, options, recorded_of};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use timewise_profile::{CallStackMethod, CallStacks, Place, Profile, Sample};
use timewise_sampler::{CallGraph, Options};

/// The program, built without frame pointers, and its functions.
struct Program {
    path: std::path::PathBuf,
    functions: Vec<(u64, u64, String)>,
}

impl Program {
    fn new(name: &str, flags: &[&str]) -> Program {
        let common = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"];
        let path = built(name, &["callers.c", "callers.S"], &[&common, flags].concat());
        let output = Command::new("nm").arg("-S").arg(&path).output().expect("nm (package binutils) runs");
        let text = String::from_utf8(output.stdout).unwrap();
        let function = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [start, size, "t" | "T", name] = fields[..] else { return None };
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(start)?, number(size)?, name.to_string()))
        };
        Program { functions: text.lines().filter_map(function).collect(), path }
    }

    /// A recording of a mode of the program, unless sampling is refused here.
    fn record(&self, mode: &str, millions: u32, options: &Options) -> Option<Profile> {
        recorded_of(&self.path, mode, millions, options)
    }

    /// The function of the program that a place is in; the module's last name elsewhere.
    fn name(&self, profile: &Profile, place: Place) -> String {
        let module = &profile.modules[place.module.index()];
        let path = Path::new(std::str::from_utf8(&module.path).unwrap());
        if path != self.path {
            return path.file_name().unwrap().to_string_lossy().into_owned();
        }
        let offset = place.offset.0;
        let mut holding =
            self.functions.iter().filter(|(start, size, _)| (*start..start + size).contains(&offset));
        holding.next().map_or_else(|| format!("{offset:#x}"), |(_, _, name)| name.clone())
    }

    /// The innermost function of a sample and its callers up to `main`.
    fn stack(&self, profile: &Profile, sample: &Sample) -> String {
        let mut names = vec![sample.place.map_or("?".into(), |place| self.name(profile, place))];
        let mut next = sample.stack;
        while let Some(node) = next.map(|id| profile.stacks[id.index()]) {
            // The call, not what follows it.
            let mut call = node.return_place;
            call.offset.0 -= 1;
            names.push(self.name(profile, call));
            if names.last().is_some_and(|name| name == "main") {
                break;
            }
            next = node.parent;
        }
        names.join(" ")
    }
}

fn dynamic() -> &'static Program {
    static BUILT: OnceLock<Program> = OnceLock::new();
    BUILT.get_or_init(|| Program::new("callers", &[]))
}

/// Nearly all samples must have one of the stacks of `expected`, and nearly all stacks be whole.
fn check(program: &Program, mode: &str, options: &Options, expected: &str) {
    // A round in assembler takes a third of the time.
    let millions = if mode == "leaf" { 600 } else { 200 };
    let Some(profile) = program.record(mode, millions, options) else { return };
    let all: Vec<String> = profile.samples.iter().map(|sample| program.stack(&profile, sample)).collect();
    let good = all.iter().filter(|stack| *stack == expected).count();
    assert!(all.len() > 200, "{} samples", all.len());
    let odd: Vec<&String> = all.iter().filter(|stack| *stack != expected).take(10).collect();
    // The loader's and the library's own work comes before.
    assert!(
        good as f64 > 0.95 * all.len() as f64,
        "{mode}: {good} of {} samples; others: {odd:#?}",
        all.len()
    );
    let stacks = profile.runs[0].call_stacks.clone().unwrap();
    assert_eq!(stacks.taken, all.len() as u64);
    assert!(((stacks.cut_short + stacks.broken) as f64) < 0.02 * stacks.taken as f64, "{mode}: {stacks:?}");
}

#[test]
fn without_frame_pointers() {
    check(dynamic(), "plain", &options(4000), "leaf inner outer main");
    check(dynamic(), "aligned", &options(4000), "leaf aligned main");
}

#[test]
fn through_assembler_without_tables() {
    check(dynamic(), "through", &options(4000), "leaf assembler_framed through_assembler main");
    check(dynamic(), "leaf", &options(4000), "assembler_leaf to_assembler main");
}

#[test]
fn through_code_written_at_run_time() {
    let program = dynamic();
    let Some(profile) = program.record("jit", 400, &options(4000)) else { return };
    let all = profile.samples.iter().map(|sample| program.stack(&profile, sample));
    let (good, odd): (Vec<String>, Vec<String>) =
        all.partition(|stack| stack.ends_with(" calling_written_code main") && stack.starts_with("[jit 0x"));
    assert!(good.len() > 300 && odd.len() * 20 < good.len(), "{} good; others: {odd:#?}", good.len());
}

#[test]
fn through_signals() {
    // Between the handler and what it interrupted lies the C library's way back.
    let stack = "leaf handler libc.so.6 faulting interrupted main";
    check(dynamic(), "signal", &options(4000), stack);
    // Of a handler on a stack of its own, that one is copied: what was interrupted is all that it tells.
    let program = dynamic();
    let Some(profile) = program.record("own stack", 200, &options(4000)) else { return };
    let known = |sample: &&Sample| program.stack(&profile, sample) == "leaf handler libc.so.6 faulting";
    let good = profile.samples.iter().filter(known).count();
    let stacks = profile.runs[0].call_stacks.clone().unwrap();
    assert!(good as f64 > 0.95 * profile.samples.len() as f64, "{good} of {}", profile.samples.len());
    assert!(stacks.cut_short as f64 > 0.95 * stacks.taken as f64, "{stacks:?}");
}

#[test]
fn in_threads() {
    // Their outermost functions are the C library's.
    let program = dynamic();
    let Some(profile) = program.record("thread", 200, &options(4000)) else { return };
    let whole = "leaf inner outer thread libc.so.6 libc.so.6";
    let good = profile.samples.iter().filter(|sample| program.stack(&profile, sample) == whole).count();
    assert!(good as f64 > 0.95 * profile.samples.len() as f64, "{good} of {}", profile.samples.len());
}

#[test]
fn in_the_code_that_the_kernel_provides() {
    let program = dynamic();
    let Some(profile) = program.record("clock", 200, &options(4000)) else { return };
    let stack = |sample: &Sample| program.stack(&profile, sample);
    let inside: Vec<String> = profile.samples.iter().map(stack).filter(|s| s.starts_with("[vdso]")).collect();
    let known = |stack: &&String| stack.ends_with("reading_clock main");
    let good = inside.iter().filter(known).count();
    assert!(inside.len() > 20 && good * 20 >= inside.len() * 19, "{good} of {}: {inside:?}", inside.len());
}

#[test]
fn in_static_programs() {
    check(&Program::new("callers-static", &["-static"]), "plain", &options(4000), "leaf inner outer main");
}

#[test]
fn what_was_not_copied_is_said() {
    let program = dynamic();
    let Some(profile) = program.record("deep", 200, &Options { stack_bytes: Some(8192), ..options(4000) })
    else {
        return;
    };
    let CallStacks { method, taken, cut_short, broken } = profile.runs[0].call_stacks.clone().unwrap();
    assert_eq!(method, CallStackMethod::Both);
    assert!(cut_short * 20 > taken * 19 && broken * 20 < taken, "{cut_short} and {broken} of {taken}");
    assert!(profile.runs[0].warnings.iter().any(|warning| warning.contains("--call-graph auto,")));
    let enough = Options { stack_bytes: Some(60_000), ..options(4000) };
    let deep = format!("leaf {}main", "deep ".repeat(41));
    check(program, "deep", &enough, &deep);
}

#[test]
fn each_way_can_be_chosen() {
    let program = dynamic();
    let by = |call_graph| Options { call_graph, ..options(4000) };
    check(program, "plain", &by(CallGraph::UnwindTables), "leaf inner outer main");
    // Nothing tells how to get through assembler without its frame pointer.
    let Some(profile) = program.record("through", 200, &by(CallGraph::UnwindTables)) else { return };
    let stacks = profile.runs[0].call_stacks.clone().unwrap();
    assert!(stacks.broken * 20 > stacks.taken * 19, "{stacks:?}");
    let profile = program.record("plain", 50, &by(CallGraph::Off)).unwrap();
    assert!(profile.stacks.is_empty() && profile.runs[0].call_stacks.is_none());
    let profile = program.record("plain", 50, &by(CallGraph::FramePointers)).unwrap();
    assert_eq!(profile.runs[0].call_stacks.as_ref().unwrap().method, CallStackMethod::FramePointers);
}
