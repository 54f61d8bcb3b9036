//! The contract of `timewise-report/1`, which other tools are written against.

use serde_json::Value;
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{Function, Module, ModuleId, Offset, Place, Profile, Sample, TakenBranch};
use timewise_report::{By, Calls, Request, Sort, Style, annotate, csv, json, listing};

fn program() -> Profile {
    sketch(
        "clock cpu-clock:u 2e9 1.9e9 2.1e9 500000
         function main at 0x1000 size 0x40 file a.c line 3
         function leaf at 0x2000 size 0x10
         block head at 0x1000 runs 10 code 90 e8fa0f0000
         block latch at 0x1006 runs 10 code 75f8
         block out at 0x1008 runs 1 code c3
         block never at 0x1010 runs 0 code 90
         block leaf at 0x2000 runs 10 code 488b00 c3
         edge - -> head external 1
         edge head -> leaf call 10
         edge leaf -> latch return 10
         edge latch -> head branch 9
         edge latch -> out fallthrough 1
         line 0x1000 a.c 4
         line 0x1006 a.c 5
         line 0x1010 a.c 0
         sample 0x2003 30
         sample 0x1001 10
         sample 0x3000 8
         path ~ head latch ~ 8
         path - leaf - 10 bound
         wait 0x2004 3 600 0x1006",
    )
    .unwrap()
}

fn document(profile: &Profile, by: By) -> Value {
    let text = json::report(&Analysis::new(profile, None), by).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn rows(by: By) -> Vec<Value> {
    document(&program(), by)["rows"].as_array().unwrap().clone()
}

/// The program, with a branch that a trace saw, and a sample of the kernel.
fn traced() -> Profile {
    let mut profile = program();
    let [from, to] = [profile.blocks[0].place, profile.blocks[1].place];
    let process = timewise_profile::ProcessId(0);
    let weight = TakenBranch::WEIGHT_OF_ONE;
    profile.taken_branches.push(TakenBranch { process, from, to, next: None, count: 1, weight });
    let in_kernel = Sample { kernel: true, place: None, ..profile.samples[0] };
    profile.samples.push(in_kernel);
    profile
}

/// Fields in the order in which they are printed.
fn fields(by: By) -> String {
    let profile = traced();
    let text = csv::report(&Analysis::new(&profile, None), by).unwrap();
    text.lines().next().unwrap().to_string()
}

#[test]
fn documents_name_their_schema_and_clock() {
    let document = document(&program(), By::Instruction);
    assert_eq!(document["schema"], "timewise-report/1");
    assert_eq!(document["by"], "instruction");
    let clock = &document["clock"];
    assert_eq!(clock["event"], "cpu-clock:u");
    assert_eq!(clock["counts_cycles"], false);
    assert_eq!(clock["core_hz"], 2_000_000_000u64);
    assert_eq!(clock["attribution"], "predecessor");
    assert_eq!(document["measurement"]["samples"], 48);
}

#[test]
fn rows_have_the_agreed_fields() {
    assert_eq!(
        fields(By::Instruction),
        "module,offset,function,file,line,text,executions,modelled_executions,modelled_cycles,modelled_why,\
         divided_cycles,divided_within,samples,cycles,cpi,cpi_low,cpi_high"
    );
    assert_eq!(
        fields(By::Loop),
        "module,function,header_offset,depth,parent,invocations,iterations,instructions_self,\
         instructions_total,cycles_self,cycles_total,line_first,line_last,cpi_total,cpi_total_low,cpi_total_high"
    );
    assert_eq!(
        fields(By::Function),
        "module,offset,function,file,line,calls,instructions_self,instructions_total,cycles_self,\
         cycles_total,samples_self,samples_total,cpi_total,cpi_total_low,cpi_total_high"
    );
    assert_eq!(fields(By::Waiting), "module,function,caller,file,line,threads,times,duration_ns,stack");
    assert_eq!(fields(By::Kernel), "module,function,caller,file,line,samples,cycles,share,stack");
    assert_eq!(
        fields(By::Call),
        "module,offset,caller,file,line,callee_module,callee_offset,callee,calls,instructions_total,\
         cycles_total,samples_total,cpi_total,cpi_total_low,cpi_total_high"
    );
    assert_eq!(
        fields(By::Path),
        "module,function,executions,is_bound,entered,left,instructions,share,share_of_function,\
         cycles_estimated,file,lines,offsets"
    );
    assert_eq!(
        fields(By::Branch),
        "module,function,offset,file,line,to_module,to_function,to_offset,to_file,to_line,seen,share,share_low,share_high"
    );
    for by in By::ALL {
        let header = fields(by);
        let row = &document(&traced(), by)["rows"][0];
        assert!(header.split(',').all(|field| row.get(field).is_some()), "{header} in {row}");
        assert_eq!(header.split(',').count(), row.as_object().unwrap().len());
    }
}

#[test]
fn instructions_have_their_cost_and_its_limits() {
    let rows = rows(By::Instruction);
    let load = &rows[0];
    assert_eq!(load["text"], "mov rax,[rax]");
    assert_eq!(load["module"], "/bin/sketch");
    assert_eq!(load["offset"], 0x2000);
    assert_eq!(load["function"], "leaf");
    assert_eq!(load["line"], Value::Null);
    assert_eq!(load["executions"], 10);
    assert_eq!(load["samples"], 30);
    assert_eq!(load["cycles"], 30_000_000);
    assert_eq!(load["cpi"], 3_000_000);
    // The exact 95 % limits of a Poisson count of 30 are 20.24 and 42.83; the clock adds 5 %.
    assert!((load["cpi_low"].as_f64().unwrap() / 1e5 - 20.24 * 0.95).abs() < 0.02);
    assert!((load["cpi_high"].as_f64().unwrap() / 1e5 - 42.83 * 1.05).abs() < 0.02);
    let never = rows.iter().find(|row| row["offset"] == 0x1010).unwrap();
    assert_eq!((&never["executions"], &never["cpi"]), (&Value::from(0), &Value::Null));
    let stray = rows.iter().find(|row| row["offset"] == 0x3000).unwrap();
    assert_eq!((&stray["samples"], &stray["executions"]), (&Value::from(8), &Value::from(0)));
    assert_eq!((&stray["cpi"], &stray["text"]), (&Value::Null, &Value::from("")));
}

#[test]
fn paths_have_their_share_and_what_their_blocks_cost() {
    let rows = rows(By::Path);
    let round = rows.iter().find(|row| row["function"] == "main").unwrap();
    // Three instructions, eight times; and two, ten times, in leaf.
    assert_eq!((&round["instructions"], &round["executions"]), (&Value::from(3), &Value::from(8)));
    // Of all instructions, also of the seven of main that are on no path.
    let is = |value: &Value, share: f64| (value.as_f64().unwrap() - share).abs() < 1e-6;
    assert!(is(&round["share"], 24.0 / 51.0) && is(&round["share_of_function"], 24.0 / 31.0), "{round}");
    let document = document(&program(), By::Path);
    let [untold] = &document["paths_not_told_apart"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((&untold["function"], &untold["instructions"]), (&Value::from("main"), &Value::from(7)));
    assert!(is(&untold["share"], 7.0 / 51.0) && is(&untold["share_of_function"], 7.0 / 31.0), "{untold}");
    assert_eq!((&round["entered"], &round["left"]), (&Value::from(false), &Value::from(false)));
    assert_eq!((&round["lines"], &round["offsets"]), (&Value::from("4 5"), &Value::from("0x1000 0x1006")));
    let leaf = rows.iter().find(|row| row["function"] == "leaf").unwrap();
    // All of its thirty samples are on its only path.
    assert_eq!(
        (&leaf["cycles_estimated"], &leaf["is_bound"]),
        (&Value::from(30_000_000), &Value::from(true))
    );
    let profile = program();
    let text = listing::report(&Analysis::new(&profile, None), By::Path, None, Style::default());
    assert!(
        text.contains("not told apart: 13.7 % of the instructions: 13.7 % in main (22.6 % of it)"),
        "{text}"
    );
    assert!(text.contains("a.c:4 5") && text.contains("≤ 10") && text.contains("CPI"), "{text}");
}

#[test]
fn totals_are_null_where_calls_were_not_counted() {
    let one = &rows(By::Loop)[0];
    assert_eq!((&one["invocations"], &one["iterations"]), (&Value::from(1), &Value::from(10)));
    assert_eq!(one["instructions_self"], 30);
    assert_eq!(one["instructions_total"], Value::Null);
    assert_eq!((&one["line_first"], &one["line_last"]), (&Value::from(4), &Value::from(5)));
    let of = |name: &str| rows(By::Function).into_iter().find(|row| row["function"] == name).unwrap();
    let (main, leaf) = (of("main"), of("leaf"));
    assert_eq!((&leaf["calls"], &leaf["instructions_self"]), (&Value::from(10), &Value::from(20)));
    // Whatever leaf does, main called it.
    assert_eq!((&main["instructions_total"], &main["samples_total"]), (&Value::Null, &Value::from(40)));
    assert_eq!((&leaf["instructions_total"], &leaf["samples_total"]), (&Value::from(20), &Value::from(30)));
    let call = &rows(By::Call)[0];
    assert_eq!((&call["calls"], &call["instructions_total"]), (&Value::from(10), &Value::Null));
    let measurement = &document(&traced(), By::Branch)["measurement"];
    assert_eq!((&measurement["traces"], &measurement["traced_branches"]), (&Value::from(1), &Value::from(1)));
    let measurement = &document(&program(), By::Call)["measurement"];
    assert_eq!(measurement["lost_calls"], Value::Null);
    let mut unknown = program();
    unknown.edge_counts.clear();
    let main = &document(&unknown, By::Function)["rows"][1];
    assert_eq!((&main["function"], &main["cycles_total"]), (&Value::from("main"), &Value::Null));
}

/// The program with stacks and costs of calls.
fn called() -> Profile {
    let mut profile = program();
    profile.runs[1].lost_calls = Some(1);
    let (site, callee) = (timewise_profile::BlockId(0), timewise_profile::BlockId(4));
    let process = timewise_profile::ProcessId(1);
    profile.call_costs = vec![timewise_profile::CallCost { site, callee, process, instructions: 20 }];
    let return_place =
        timewise_profile::Place { offset: timewise_profile::Offset(0x1006), ..profile.blocks[0].place };
    profile.stacks = vec![timewise_profile::StackNode { parent: None, return_place }];
    for sample in profile.samples.iter_mut().take(30) {
        sample.stack = Some(timewise_profile::StackId(0));
    }
    profile
}

#[test]
fn totals_hold_callees() {
    let profile = called();
    let rows = |by| document(&profile, by)["rows"].as_array().unwrap().clone();
    let main = &rows(By::Function)[1];
    assert_eq!((&main["function"], &main["instructions_self"]), (&Value::from("main"), &Value::from(31)));
    assert_eq!((&main["instructions_total"], &main["samples_total"]), (&Value::from(51), &Value::from(40)));
    assert!((main["cpi_total"].as_f64().unwrap() * 51.0 / 40e6 - 1.0).abs() < 1e-6);
    let one = &rows(By::Loop)[0];
    assert_eq!(
        (&one["instructions_total"], &one["cycles_total"]),
        (&Value::from(50), &Value::from(40_000_000))
    );
    let call = &rows(By::Call)[0];
    assert_eq!((&call["caller"], &call["callee"]), (&Value::from("main"), &Value::from("leaf")));
    assert_eq!((&call["offset"], &call["line"]), (&Value::from(0x1001), &Value::from(4)));
    assert_eq!((&call["instructions_total"], &call["samples_total"]), (&Value::from(20), &Value::from(30)));
    assert_eq!((&call["calls"], &call["cpi_total"]), (&Value::from(10), &Value::from(1_500_000)));
    // Eight samples have no stack, and may belong to any call: their 8 million cycles to the upper limit.
    let high = |row: &Value| row["cpi_total_high"].as_f64().unwrap();
    let leaf = &rows(By::Function)[0];
    assert!((high(call) - high(leaf) - 0.4e6 * 1.05).abs() < 1.0, "{} {}", high(call), high(leaf));
    let measurement = &document(&profile, By::Call)["measurement"];
    assert_eq!(measurement["lost_calls"], 1);
    assert!((measurement["rooted_share"].as_f64().unwrap() - 40.0 / 48.0).abs() < 1e-6);
    let text = listing::report(&Analysis::new(&profile, None), By::Function, None, Style::default());
    assert!(
        text.contains("16.7 % of the time under unknown callers") && text.contains("cost of 1 call unknown"),
        "{text}"
    );
    assert!(text.contains(" 20.8 %  ≥83.3 % ") && text.contains(" 62.5 %   62.5 % "), "{text}");
}

#[test]
fn callers_and_callees_are_chosen_and_totals_sorted() {
    let profile = called();
    let analysis = Analysis::new(&profile, None);
    let (main, leaf) =
        (annotate::find(&analysis, "main").unwrap(), annotate::find(&analysis, "leaf").unwrap());
    let names = |request| {
        let document: Value = serde_json::from_str(&json::report(&analysis, request).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap().clone();
        let name = |row: &Value| row.get("callee").unwrap_or(&row["function"]).as_str().unwrap().to_string();
        rows.iter().map(name).collect::<Vec<String>>()
    };
    let calls = |calls| Request { calls, ..Request::from(By::Call) };
    assert_eq!(names(calls(Calls::Of(leaf))), ["leaf"]);
    assert_eq!(names(calls(Calls::From(main))), ["leaf"]);
    assert!(names(calls(Calls::Of(main))).is_empty());
    let text = |request| listing::report(&analysis, request, None, Style::default());
    assert!(text(calls(Calls::Of(main))).contains("entered 1 time without a call"));
    assert!(!text(calls(Calls::Of(leaf))).contains("without a call"));
    let by_total = Request { sort: Sort::Total, ..Request::from(By::Function) };
    assert_eq!(names(by_total)[..2], ["main", "leaf"]);
    assert_eq!(names(Request::from(By::Function))[..2], ["leaf", "main"]);
}

#[test]
fn granularities_add_up_to_the_same() {
    let sum = |by, field: &str| rows(by).iter().map(|row| row[field].as_f64().unwrap()).sum::<f64>();
    let instructions = sum(By::Instruction, "cycles");
    assert_eq!(instructions, 48e6);
    assert_eq!(sum(By::Function, "cycles_self"), instructions);
    // Eight samples fell on code that was not counted, which has no block.
    assert_eq!(sum(By::Block, "cycles"), 40e6);
}

#[test]
fn without_samples_costs_are_null_and_without_counts_executions_are() {
    let mut profile = program();
    profile.samples.clear();
    profile.runs[0].kind = timewise_profile::RunKind::Counting;
    profile.runs[0].clock = None;
    let row = &document(&profile, By::Instruction)["rows"][0];
    assert_eq!((&row["cycles"], &row["cpi"]), (&Value::Null, &Value::Null));
    assert!(row["executions"].is_u64());
    assert_eq!(document(&profile, By::Instruction)["clock"], Value::Null);

    let mut profile = program();
    profile.samples.clear();
    let row = &document(&profile, By::Instruction)["rows"][0];
    let unknown = (&row["cycles"], &row["cpi"], &row["cpi_high"]);
    assert_eq!(unknown, (&Value::Null, &Value::Null, &Value::Null), "a run that met nothing");

    let mut profile = program();
    profile.blocks.clear();
    profile.block_counts.clear();
    profile.edge_counts.clear();
    profile.runs[1].kind = timewise_profile::RunKind::Sampling;
    let row = &document(&profile, By::Instruction)["rows"][0];
    assert_eq!((&row["executions"], &row["cpi"]), (&Value::Null, &Value::Null));
}

#[test]
fn csv_quotes_what_needs_it_and_leaves_null_empty() {
    let mut profile = program();
    profile.functions[1].name = "leaf<int, \"x\">".into();
    let text = csv::report(&Analysis::new(&profile, None), By::Instruction).unwrap();
    let load = text.lines().nth(1).unwrap();
    assert!(
        load.starts_with("/bin/sketch,8192,\"leaf<int, \"\"x\"\">\",,,\"mov rax,[rax]\",10,,,,,,30,"),
        "{load}"
    );
}

#[test]
fn functions_are_found_by_name_and_by_place() {
    let profile = program();
    let analysis = Analysis::new(&profile, None);
    let leaf = annotate::find(&analysis, "leaf").unwrap();
    assert_eq!(annotate::find(&analysis, "sketch+0x2000"), Ok(leaf));
    assert_eq!(annotate::find(&analysis, "sketch+0x2003"), Ok(leaf));
    let unknown = annotate::find(&analysis, "lea").unwrap_err().to_string();
    assert_eq!(unknown, "no function 'lea' was executed or sampled; did you mean leaf?");
    let unknown = annotate::find(&analysis, "le").unwrap_err().to_string();
    assert_eq!(unknown, "no function 'le' was executed or sampled; timewise report --by function lists all");
    // Two of one name, and others that hold it.
    let mut alike = program();
    for (name, offset) in ["leaf@plt", "main_leaf", "leaf", "leaf"].iter().zip(0x3000..) {
        let place = Place { offset: Offset(offset), ..alike.functions[0].place };
        let (name, size) = (name.to_string(), 1);
        alike.functions.push(Function { name, place, size, ..alike.functions[0].clone() });
        alike.samples.push(Sample { place: Some(place), ..alike.samples[0] });
    }
    let unknown = annotate::find(&Analysis::new(&alike, None), "lea").unwrap_err().to_string();
    assert!(unknown.ends_with("did you mean leaf or leaf@plt or main_leaf?"), "{unknown}");
    let unnamed = annotate::find(&analysis, "").unwrap_err().to_string();
    assert_eq!(unnamed, "no function '' was executed or sampled; timewise report --by function lists all");
    let mut long = program();
    long.functions[0].name = "very".repeat(100);
    let unknown = annotate::find(&Analysis::new(&long, None), "ery").unwrap_err().to_string();
    assert_eq!(unknown, "no function 'ery' was executed or sampled; did you mean sketch+0x1000?");
    let mut twice = program();
    twice.functions[1].name = "main".into();
    let mut overloaded = twice.clone();
    overloaded.functions[0].name = "ns::f(int)".into();
    let analysis = Analysis::new(&overloaded, None);
    assert!(annotate::find(&analysis, "f").is_ok() && annotate::find(&analysis, "ns::f").is_ok());
    overloaded.functions[1].name = "ns::f(char)".into();
    let ambiguous = annotate::find(&Analysis::new(&overloaded, None), "f").unwrap_err().to_string();
    assert_eq!(ambiguous, "'f' names 2 functions: say which, as ns::f(char) or ns::f(int)");
    let ambiguous = annotate::find(&Analysis::new(&twice, None), "main").unwrap_err().to_string();
    assert_eq!(ambiguous, "'main' names 2 functions: say which, as sketch+0x1000 or sketch+0x2000");
}

/// A program that was built anew between two runs of one profile.
#[test]
fn a_function_of_two_builds_is_named_by_its_build() {
    let mut profile = program();
    profile.modules[0].build_id = vec![0x1a, 0x2b, 0x3c, 0x4d, 0x5e, 0x6f];
    let rebuilt = Module { build_id: vec![0xfe; 20], ..profile.modules[0].clone() };
    profile.modules.push(rebuilt);
    let main = profile.functions[0].clone();
    profile.functions[1] = Function { place: Place { module: ModuleId(1), ..main.place }, ..main };
    for block in profile.blocks.iter_mut().filter(|block| block.place.offset.0 >= 0x2000) {
        block.place.module = ModuleId(1);
        block.place.offset.0 -= 0x1000;
    }
    let analysis = Analysis::new(&profile, None);
    let ways = "sketch@1a2b3c4d+0x1000 or sketch@fefefefe+0x1000";
    for name in ["main", "sketch+0x1000", "/bin/sketch+0x1001"] {
        let ambiguous = annotate::find(&analysis, name).unwrap_err().to_string();
        assert_eq!(ambiguous, format!("'{name}' names 2 functions: say which, as {ways}"));
    }
    let builds = ways.split(" or ").map(|name| {
        let found = annotate::find(&analysis, name).unwrap();
        analysis.routines[found.index()].place.module
    });
    assert_eq!(builds.collect::<Vec<_>>(), [ModuleId(0), ModuleId(1)]);
}

/// Names that are offered must not lead back to where they were offered.
#[test]
fn overloads_are_offered_by_names_that_find_them() {
    let mut facts = String::new();
    for number in 0..8 {
        let place = 0x1000 * (number + 1);
        facts += &format!(
            "function f(A{number}) at {place:#x} size 0x100\nblock b{number} at {place:#x} runs 1\n"
        );
    }
    let profile = sketch(&facts).unwrap();
    let ambiguous = annotate::find(&Analysis::new(&profile, None), "f").unwrap_err().to_string();
    let few = "f(A0) or f(A1) or f(A2) or f(A3) or f(A4) or others";
    assert_eq!(ambiguous, format!("'f' names 8 functions: say which, as {few}"));
}
