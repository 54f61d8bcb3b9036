//! Exports of a small profile whose numbers are all known.

use expect_test::{Expect, expect};
use serde_json::Value;
use timewise_export as export;
use timewise_flow::sketch::sketch;
use timewise_flow::{Analysis, Policy};
use timewise_profile::{
    BlockId, CallCost, CodeVersion, FileId, InlinedCall, Module, ModuleId, ModuleKind, Offset, Place,
    Process, ProcessId, Profile, RunId, Sample, StackId, StackNode, Thread, ThreadId,
};

/// `main` calls `work` ten times; eight of ten samples are in `work`.
const PROGRAM: &str = "
    function main at 0x1000 size 0x100 file a.c line 3
    function work at 0x2000 size 0x100 file b.c line 10
    block begin at 0x1000 runs 10 code 90 e8fa0f0000
    block again at 0x1006 runs 10 code 75f8
    block end at 0x1008 runs 1 code c3
    block work at 0x2000 runs 10 code 90 c3
    edge - -> begin external 1
    edge begin -> work call 10
    edge work -> again return 10
    edge again -> begin branch 9
    edge again -> end fallthrough 1
    edge end -> - external 1
    line 0x1000 a.c 4
    line 0x1006 a.c 5
    line 0x2000 b.c 11
    clock cpu-clock:u 2e9 2e9 2e9 1000000
    sample 0x1000 2
    sample 0x2000 8
";

/// With the stacks of the samples in `work`, and the cost of its calls.
fn whole() -> Profile {
    let mut profile = sketch(PROGRAM).unwrap();
    let return_place = Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(0x1006) };
    profile.stacks.push(StackNode { parent: None, return_place });
    for sample in profile.samples.iter_mut().skip(2) {
        sample.stack = Some(StackId(0));
    }
    let (site, callee) = (BlockId(0), BlockId(3));
    profile.call_costs.push(CallCost { site, callee, process: ProcessId(1), instructions: 20 });
    profile.runs[1].lost_calls = Some(0);
    profile.check().unwrap();
    profile
}

fn check(text: String, expected: Expect) {
    expected.assert_eq(&text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

fn callgrind(profile: &Profile) -> String {
    export::callgrind::export(&Analysis::new(profile, Some(Policy::Sampled)))
}

#[test]
fn callgrind_has_costs_and_calls() {
    check(
        callgrind(&whole()),
        expect![[r#"
        # callgrind format
        version: 1
        creator: timewise VERSION
        pid: 100
        cmd: /bin/sketch
        desc: Note: cycles are estimated from time
        positions: instr line
        events: Instructions Cycles Samples

        ob=(1) /bin/sketch
        fl=(1) a.c
        fn=(1) main
        0x1000 4 10 4000000 2
        0x1001 4 10 0 0
        cob=(1)
        cfi=(2) b.c
        cfn=(2) work
        calls=10 0x2000 11
        0x1001 4 20 16000000 8
        0x1006 5 10 0 0
        0x1008 5 1 0 0

        ob=(1)
        fl=(2)
        fn=(2)
        0x2000 11 10 16000000 8
        0x2001 11 10 0 0

        totals: 51 20000000 10
    "#]],
    );
}

/// Samples at a function's head are charged to its call, which has not been made then; of time in the kernel nothing
/// is known but the stack.
#[test]
fn callgrind_charges_calls_as_reports_do() {
    let mut profile = whole();
    let sample = &mut profile.samples[9];
    (sample.place, sample.kernel) = (None, true);
    let analysis = Analysis::new(&profile, None);
    assert_eq!(analysis.totals().calls[0].cost.weight.samples, 0.0);
    let text = export::callgrind::export(&analysis);
    assert!(text.contains("\n0x1001 4 10 14000000 7\n"), "{text}");
    assert!(text.contains("\ncalls=10 0x2000 11\n0x1001 4 20 2000000 1\n"), "{text}");
}

/// Readers would take a missing inclusive cost for zero.
#[test]
fn callgrind_without_costs_of_calls_has_no_calls() {
    let mut profile = whole();
    profile.call_costs.clear();
    profile.runs[1].lost_calls = None;
    let text = callgrind(&profile);
    assert!(text.contains("costs of calls were not counted") && !text.contains("calls="), "{text}");
    let mut profile = whole();
    profile.samples.iter_mut().for_each(|sample| sample.stack = None);
    profile.stacks.clear();
    let text = callgrind(&profile);
    assert!(text.contains("call stacks were not sampled") && !text.contains("calls="), "{text}");
}

/// What was not collected is not declared.
#[test]
fn callgrind_declares_what_there_is() {
    let mut sampled = whole();
    (sampled.blocks, sampled.block_counts, sampled.edge_counts) = Default::default();
    sampled.call_costs.clear();
    let text = callgrind(&sampled);
    assert!(text.contains("\nevents: Cycles Samples\n"), "{text}");
    assert!(text.contains("\ncalls=0 0x2000 11\n0x1005 4 16000000 8\n"), "{text}");
    let mut counted = whole();
    counted.samples.clear();
    counted.stacks.clear();
    let text = callgrind(&counted);
    assert!(text.contains("\nevents: Instructions\n") && text.contains("\ntotals: 51\n"), "{text}");
    assert!(text.contains("\ncalls=10 0x2000 11\n0x1001 4 20\n"), "{text}");
}

/// Of each function only the most recent call is charged: what it costs by itself and what its calls cost is
/// then its total.
#[test]
fn recursion_is_charged_once() {
    let mut profile = whole();
    (profile.blocks, profile.block_counts, profile.edge_counts) = Default::default();
    profile.call_costs.clear();
    let return_place = |offset| Place { offset: Offset(offset), ..profile.stacks[0].return_place };
    let (outer, inner) = (return_place(0x1006), return_place(0x2005));
    profile.stacks = vec![
        StackNode { parent: None, return_place: outer },
        StackNode { parent: Some(StackId(0)), return_place: inner },
        StackNode { parent: Some(StackId(1)), return_place: inner },
    ];
    profile.samples.iter_mut().skip(2).for_each(|sample| sample.stack = Some(StackId(2)));
    let text = callgrind(&profile);
    assert!(text.contains("\n0x1005 4 16000000 8\n"), "the call by main leads to all eight: {text}");
    assert_eq!(text.matches("calls=").count(), 1, "those by itself to none: {text}");
}

#[test]
fn folded_stacks_weigh_nanoseconds() {
    let profile = whole();
    let text = export::folded::export(&Analysis::new(&profile, None));
    check(
        text,
        expect![[r#"
        sketch;main 2000000
        sketch;main;work 8000000
    "#]],
    );
}

#[test]
fn speedscope_has_a_profile_for_each_thread() {
    let profile = whole();
    let text = export::speedscope::export(&Analysis::new(&profile, None)).unwrap();
    check(
        text,
        expect![[
            r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"timewise VERSION","name":"/bin/sketch","activeProfileIndex":0,"shared":{"frames":[{"name":"main","file":"a.c","line":3},{"name":"work","file":"b.c","line":10}]},"profiles":[{"type":"sampled","name":"sketch (thread 100)","unit":"nanoseconds","startValue":0.0,"endValue":10000000.0,"samples":[[0],[0],[0,1],[0,1],[0,1],[0,1],[0,1],[0,1],[0,1],[0,1]],"weights":[1000000.0,1000000.0,1000000.0,1000000.0,1000000.0,1000000.0,1000000.0,1000000.0,1000000.0,1000000.0]}]}"#
        ]],
    );
}

#[test]
fn csv_has_a_row_for_each_instruction() {
    let profile = whole();
    let text = export::csv::export(&Analysis::new(&profile, Some(Policy::Sampled))).unwrap();
    check(
        text,
        expect![[r#"
        module,build_id,code_version,offset,function,file,line,executions,samples,cpu_ns,cycles
        /bin/sketch,,0,4096,main,a.c,4,10,2.0,2000000.0,4000000.0
        /bin/sketch,,0,4097,main,a.c,4,10,0.0,0.0,0.0
        /bin/sketch,,0,4102,main,a.c,5,10,0.0,0.0,0.0
        /bin/sketch,,0,4104,main,a.c,5,1,0.0,0.0,0.0
        /bin/sketch,,0,8192,work,b.c,11,10,8.0,8000000.0,16000000.0
        /bin/sketch,,0,8193,work,b.c,11,10,0.0,0.0,0.0
    "#]],
    );
}

/// With a second sampling run, of another frequency, that repeats the samples of the first: `cycles` each if
/// the clock counts cycles.
fn twice(core_hz: f64, cycles: Option<u64>) -> Profile {
    let mut profile = whole();
    let run = RunId(profile.runs.len() as u32);
    let mut again = profile.runs[0].clone();
    again.clock.as_mut().unwrap().core_hz = core_hz;
    profile.runs.push(again);
    let process = ProcessId(profile.processes.len() as u32);
    profile.processes.push(Process { run, ..profile.processes[0].clone() });
    let thread = ThreadId(profile.threads.len() as u32);
    profile.threads.push(Thread { process, ..profile.threads[0].clone() });
    let again: Vec<Sample> = profile.samples.iter().map(|sample| Sample { thread, ..*sample }).collect();
    profile.samples.extend(again);
    if cycles.is_some() {
        profile
            .runs
            .iter_mut()
            .filter_map(|run| run.clock.as_mut())
            .for_each(|clock| clock.counts_cycles = true);
        for sample in &mut profile.samples {
            (sample.weight_ns, sample.weight_cycles) = (0, cycles);
        }
    }
    profile.check().unwrap();
    profile
}

/// The sum of a column of the table of places.
fn csv_sum(profile: &Profile, column: &str) -> f64 {
    let text = export::csv::export(&Analysis::new(profile, Some(Policy::Sampled))).unwrap();
    let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let at = rows.next().unwrap().iter().position(|name| *name == column).unwrap();
    rows.map(|row| row[at].parse::<f64>().unwrap()).sum()
}

#[test]
fn time_is_told_as_measured_however_fast_the_runs_were() {
    let mut profile = twice(1e9, None);
    assert_eq!(csv_sum(&profile, "cpu_ns"), 10e6, "of an average run");
    assert_eq!(csv_sum(&profile, "cycles"), (20e6 + 10e6) / 2.0);
    profile.samples[10..].iter_mut().for_each(|sample| sample.weight_ns *= 3);
    assert_eq!(csv_sum(&profile, "cpu_ns"), 20e6);
    assert_eq!(csv_sum(&profile, "samples"), 20.0, "of all runs");
}

#[test]
fn counted_cycles_are_told_as_the_time_that_they_took() {
    let profile = twice(1e9, Some(2_000_000));
    // The first run took 1 ms for what took 2 ms in the second.
    let ns = csv_sum(&profile, "cpu_ns");
    assert!((ns - 15e6).abs() < 1.0, "{ns}");
    assert_eq!(csv_sum(&profile, "cycles"), 20e6);
}

/// CPU time of all runs would seem to be that of one run's instructions.
#[test]
fn pprof_has_time_and_instructions_of_an_average_run() {
    let profile = twice(1e9, None);
    let samples = pprof_samples(&export::pprof::export(&Analysis::new(&profile, Some(Policy::Sampled))));
    let sum = |value: usize| samples.iter().map(|sample| sample.values[value]).sum::<u64>();
    assert_eq!([0, 1, 2].map(sum), [20, 10_000_000, 51], "two runs sampled, one counted");
}

/// A message of protocol buffers, field by field: numbers, and bytes of what is within.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let value = varint(&mut message);
        let within = match key & 7 {
            0 => 0,
            2 => value as usize,
            other => panic!("wire type {other}"),
        };
        let (inner, rest) = message.split_at(within);
        fields.push((key >> 3, value, inner));
        message = rest;
    }
    fields
}

#[test]
fn pprof_has_stacks_and_counts() {
    let profile = whole();
    let bytes = export::pprof::export(&Analysis::new(&profile, Some(Policy::Sampled)));
    let all = fields(&bytes);
    // Sample types; two stacks and six instructions; a mapping; two functions.
    let count = |field| all.iter().filter(|(number, ..)| *number == field).count();
    assert_eq!([1, 2, 3, 5].map(count), [3, 8, 1, 2]);
}

/// Eight samples lie in `helper`, which the compiler put into line 12 of `work`.
fn inlined() -> Profile {
    let mut profile = whole();
    profile.inlined_calls.push(InlinedCall {
        place: Place { offset: Offset(0x2000), ..profile.stacks[0].return_place },
        depth: 0,
        function: "helper".into(),
        file: Some(FileId(1)),
        line: 12,
    });
    profile.check().unwrap();
    profile
}

#[test]
fn inlined_functions_are_frames() {
    let profile = inlined();
    let analysis = Analysis::new(&profile, None);
    let folded = export::folded::export(&analysis);
    assert!(folded.contains("sketch;main;work;helper 8000000\n"), "{folded}");
    let speedscope = export::speedscope::export(&analysis).unwrap();
    assert!(speedscope.contains(r#"{"name":"helper"}"#), "{speedscope}");

    let firefox: Value = serde_json::from_str(&export::firefox::export(&analysis).unwrap()).unwrap();
    let thread = &firefox["threads"][0];
    let frames = &thread["frameTable"];
    let name = |frame: usize| {
        let function = frames["func"][frame].as_u64().unwrap() as usize;
        let text = thread["funcTable"]["name"][function].as_u64().unwrap() as usize;
        thread["stringArray"][text].as_str().unwrap()
    };
    let frame = |at: usize| (name(at), frames["inlineDepth"][at].as_u64(), frames["line"][at].as_u64());
    let mut found: Vec<_> = (0..frames["length"].as_u64().unwrap() as usize).map(frame).collect();
    found.sort();
    let expected = [("helper", 1, 11), ("main", 0, 4), ("main", 0, 4), ("work", 0, 12)]
        .map(|f| (f.0, Some(f.1), Some(f.2)));
    assert_eq!(found, expected, "a call and a sample in main, and two functions at one place");

    let pprof = export::pprof::export(&analysis);
    let stacks = pprof_samples(&pprof).into_iter().map(|sample| sample.lines);
    let helper = vec![vec![11, 12], vec![4]];
    assert!(stacks.into_iter().any(|lines| lines == helper), "the innermost line stands first");
}

/// `go tool pprof` shows a name as it is unless it is the system's name, too.
#[test]
fn pprof_has_two_names_of_a_function_or_one() {
    let mut profile = inlined();
    profile.functions[0].name = "<a::B as c::D>::next".into();
    profile.functions[0].symbol = "_RNvXs_1aNtB_1BNt1c1D4next".into();
    profile.functions[1].symbol = profile.functions[1].name.clone();
    profile.inlined_calls[0].function = "<a::B>::inner".into();
    let pprof = export::pprof::export(&Analysis::new(&profile, Some(Policy::Sampled)));
    let texts: Vec<_> = messages(&pprof, 6).map(|text| str::from_utf8(text).unwrap()).collect();
    let name = |function, field| texts[numbers(function, field).first().map_or(0, |&text| text as usize)];
    let mut names: Vec<_> =
        messages(&pprof, 5).map(|function| [name(function, 2), name(function, 3)]).collect();
    names.sort();
    let expected =
        [["<a::B as c::D>::next", "_RNvXs_1aNtB_1BNt1c1D4next"], ["<a::B>::inner", ""], ["work", ""]];
    assert_eq!(names, expected);
}

/// What was inlined is known where samples fell; by it some counts of a function would seem to be of another.
#[test]
fn pprof_counts_belong_to_the_function_that_holds_the_code() {
    let pprof = export::pprof::export(&Analysis::new(&inlined(), Some(Policy::Sampled)));
    let counted = pprof_samples(&pprof).into_iter().filter(|sample| sample.values[2] > 0);
    let lines: Vec<_> = counted.map(|sample| sample.lines).collect();
    assert_eq!(lines, [[[4]], [[4]], [[5]], [[5]], [[11]], [[11]]]);
}

/// A sample of pprof's format.
struct PprofSample {
    /// Samples, nanoseconds and instructions.
    values: Vec<u64>,
    /// Lines of each frame, innermost first.
    lines: Vec<Vec<u64>>,
}

fn pprof_samples(profile: &[u8]) -> Vec<PprofSample> {
    let locations: Vec<_> = messages(profile, 4).collect();
    let lines_of = |id: u64| {
        let location = locations.iter().find(|location| numbers(location, 1) == [id]).unwrap();
        messages(location, 4).flat_map(|line| numbers(line, 2)).collect()
    };
    let sample = |sample| PprofSample {
        values: numbers(sample, 2),
        lines: numbers(sample, 1).into_iter().map(lines_of).collect(),
    };
    messages(profile, 2).map(sample).collect()
}

/// The messages within a message that stand in one of its fields.
fn messages(message: &[u8], field: u64) -> impl Iterator<Item = &[u8]> {
    fields(message).into_iter().filter(move |(number, ..)| *number == field).map(|(.., within)| within)
}

/// The numbers that stand in a field, packed or not.
fn numbers(message: &[u8], field: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    for (_, value, mut packed) in fields(message).into_iter().filter(|(number, ..)| *number == field) {
        if packed.is_empty() {
            numbers.push(value);
        }
        while !packed.is_empty() {
            numbers.push(varint(&mut packed));
        }
    }
    numbers
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

/// A call through a linkage stub is a call of the function behind it.
#[test]
fn stubs_are_passed_through() {
    let program = PROGRAM.replace("e8fa0f0000", "e8fa1f0000").replace(
        "edge begin -> work call 10",
        "edge begin -> stub call 10\nedge stub -> work indirect-jump 10",
    );
    let stub = "function work@plt at 0x3000 size 0x10\nblock stub at 0x3000 runs 10 code ff25001000 90\n";
    let mut profile = sketch(&(stub.to_string() + &program)).unwrap();
    let library = Module { kind: ModuleKind::File, path: b"/lib/work.so".to_vec(), build_id: Vec::new() };
    profile.modules.push(library);
    for place in [&mut profile.functions[2].place, &mut profile.blocks[4].place, &mut profile.lines[2].place]
    {
        place.module = ModuleId(1);
    }
    profile.samples.clear();
    let (site, callee) = (BlockId(1), BlockId(0));
    profile.call_costs.push(CallCost { site, callee, process: ProcessId(1), instructions: 30 });
    profile.runs[1].lost_calls = Some(0);
    profile.check().unwrap();
    let text = callgrind(&profile);
    let call = "cob=(2) /lib/work.so\ncfi=(2) b.c\ncfn=(3) work\ncalls=10 0x2000 11\n0x1001 4 30\n";
    assert!(text.contains(call), "{text}");
}
