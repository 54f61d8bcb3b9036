//! Costs with callees of programs whose totals are known (`suite/totals/`): by recursion, tail calls, exceptions,
//! long jumps, coroutines, signals and threads every instruction is charged to the calls that it was executed in.

use crate::command::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use timewise_flow::{Analysis, RoutineId};
use timewise_profile::EdgeKind;

/// What a program says of itself.
#[derive(Default)]
struct Known {
    options: String,
    functions: Vec<(String, u64)>,
    loops: Vec<(String, u64)>,
    calls: Vec<(String, String, u64)>,
}

fn path(program: &str) -> String {
    format!("{}/../../suite/totals/{program}", env!("CARGO_MANIFEST_DIR"))
}

fn known(program: &str) -> Known {
    let text = std::fs::read_to_string(path(program)).unwrap();
    let mut known = Known::default();
    for line in text.lines() {
        let words: Vec<&str> = line.trim_start_matches([' ', '*', '/']).split_whitespace().collect();
        let number = |text: &str| text.parse::<u64>().unwrap();
        match words[..] {
            ["build:", ..] => known.options = words[1..].join(" "),
            ["total:", name, total, ..] => known.functions.push((name.into(), number(total))),
            ["loop:", name, total, ..] => known.loops.push((name.into(), number(total))),
            ["call:", caller, callee, total, ..] => {
                known.calls.push((caller.into(), callee.into(), number(total)));
            }
            _ => {}
        }
    }
    known
}

/// Builds a program, has `timewise` do `what` with it, and gives the place with its profile.
fn profiled(program: &str, what: &str) -> Place {
    built_and_profiled(program, "", what)
}

fn built_and_profiled(program: &str, option: &str, what: &str) -> Place {
    let build = format!("{} {option} '{}' -o program", compiler(program), path(program));
    profiled_after(&build, what)
}

/// The same of a program without descriptions of its functions (`.eh_frame`), as assembly often is.
fn undescribed_and_profiled(program: &str, what: &str) -> Place {
    let compiler = compiler(program);
    let strip = "objcopy -R .eh_frame -R .rela.eh_frame program.o";
    let build = format!(
        "{compiler} -c '{}' -o program.o && {strip} && {compiler} program.o -o program",
        path(program)
    );
    profiled_after(&build, what)
}

/// The compiler for a program, and options.
fn compiler(program: &str) -> String {
    let compiler = if program.ends_with(".cc") { "c++" } else { "cc" };
    format!("{compiler} -O1 -g -fno-omit-frame-pointer {}", known(program).options)
}

fn profiled_after(build: &str, what: &str) -> Place {
    let place = Place::new();
    let outcome = place.shell(&format!("{build} && timewise {what} -- ./program"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    place
}

fn rows(place: &Place, by: &str) -> Vec<Value> {
    let outcome = place.shell(&format!("timewise report --by {by} --format json"));
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    document["rows"].as_array().unwrap().clone()
}

/// Whether a row is of the program itself, not of a library.
fn is_own(row: &Value) -> bool {
    row["module"].as_str().unwrap().ends_with("/program")
}

/// Compares all that is known of a program with what was counted.
fn assert_counted(program: &str, place: &Place) {
    let known = known(program);
    let mut functions: BTreeMap<String, Value> = BTreeMap::new();
    for row in rows(place, "function").into_iter().filter(is_own) {
        functions.insert(row["function"].as_str().unwrap().into(), row["instructions_total"].clone());
    }
    let got: Vec<(String, &Value)> =
        known.functions.iter().map(|(name, _)| (name.clone(), &functions[name])).collect();
    let want: Vec<(String, Value)> =
        known.functions.iter().map(|(name, total)| (name.clone(), (*total).into())).collect();
    assert_eq!(got, want.iter().map(|(name, total)| (name.clone(), total)).collect::<Vec<_>>(), "{program}");

    let loops = rows(place, "loop");
    for (function, total) in &known.loops {
        let of: Vec<&Value> = loops.iter().filter(|row| row["function"] == **function).collect();
        assert_eq!(of.len(), 1, "{program}: loops of {function}");
        assert_eq!(of[0]["instructions_total"], *total, "{program}: the loop of {function}");
    }
    let calls = rows(place, "call");
    for (caller, callee, total) in &known.calls {
        let of = calls.iter().filter(|row| row["caller"] == **caller && row["callee"] == **callee);
        let costs: Vec<u64> = of.map(|row| row["instructions_total"].as_u64().unwrap()).collect();
        assert!(!costs.is_empty(), "{program}: {caller} calls {callee}");
        assert_eq!(costs.iter().sum::<u64>(), *total, "{program}: calls of {callee} in {caller}");
    }
}

/// What calls of a function cost is what it and the calls in it cost. Gives the functions of which that was found
/// true: all but those that are in recursion, and those that jump to others or are jumped to.
fn balanced(place: &Place) -> BTreeSet<String> {
    let profile = place.profile();
    let analysis = Analysis::new(&profile, None);
    let owner = |block: timewise_profile::BlockId| analysis.owner[block.index()];
    let mut jumps: BTreeSet<RoutineId> = BTreeSet::new();
    let mut leads_to: BTreeMap<RoutineId, BTreeSet<RoutineId>> = BTreeMap::new();
    for edge in analysis.code.edges.iter().filter(|edge| edge.count > 0) {
        match (edge.from, edge.to, edge.kind) {
            (Some(from), Some(to), EdgeKind::Call | EdgeKind::IndirectCall) => {
                leads_to.entry(owner(from)).or_default().insert(owner(to));
            }
            (Some(from), Some(to), kind) if kind != EdgeKind::Return && owner(from) != owner(to) => {
                jumps.extend([owner(from), owner(to)]);
                leads_to.entry(owner(from)).or_default().insert(owner(to));
            }
            (None, Some(to), _) | (Some(to), None, _) => {
                jumps.insert(owner(to));
            }
            _ => {}
        }
    }
    let mut costs: HashMap<RoutineId, u64> = HashMap::new();
    for cost in &analysis.code.call_costs {
        *costs.entry(owner(cost.callee)).or_default() += cost.instructions;
    }
    let is_recursive = |routine: RoutineId| {
        let (mut open, mut seen) = (vec![routine], BTreeSet::new());
        while let Some(at) = open.pop() {
            for &next in leads_to.get(&at).into_iter().flatten() {
                if next == routine {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    };
    let (mut checked, mut unbalanced) = (BTreeSet::new(), Vec::new());
    for routine in (0..analysis.routines.len() as u32).map(RoutineId) {
        if jumps.contains(&routine) || analysis.calls_of(routine) == 0 || is_recursive(routine) {
            continue;
        }
        let (name, total) = (analysis.name_of(routine), analysis.totals().of_routine(routine));
        let (charged, total) = (costs.get(&routine).copied().unwrap_or(0), total.cost.instructions);
        if charged != total {
            unbalanced.push(format!("{name} took {total} instructions and its calls {charged}"));
        }
        checked.insert(name);
    }
    assert!(unbalanced.is_empty(), "{unbalanced:#?}");
    checked
}

fn assert_totals(program: &str, among: &[&str]) {
    let place = profiled(program, "count");
    assert_counted(program, &place);
    let checked = balanced(&place);
    let missing: Vec<_> = among.iter().filter(|name| !checked.contains(**name)).collect();
    assert!(missing.is_empty(), "{program}: {missing:?} were not checked");
}

#[test]
fn recursion_counts_once() {
    assert_totals("recursion.c", &["smallest"]);
    assert_totals("mutual_recursion.c", &[]);
    assert_totals("late_recursion.c", &[]);
    assert_totals("late_binding.c", &[]);
}

#[test]
fn tail_calls_belong_to_the_call() {
    assert_totals("tail_calls.c", &["outer"]);
    assert_totals("tail_recursion.c", &[]);
    assert_totals("late_jump.c", &[]);
}

/// Programs whose totals depend on where functions begin.
const BY_FUNCTION: [&str; 8] = [
    "recursion.c",
    "mutual_recursion.c",
    "tail_calls.c",
    "tail_recursion.c",
    "late_jump.c",
    "late_binding.c",
    "cold_part.c",
    "mapped_twice.c",
];

/// No unwind table tells of their functions, but their symbols do.
#[test]
fn functions_without_descriptions_count_alike() {
    for program in BY_FUNCTION {
        assert_counted(program, &undescribed_and_profiled(program, "count"));
    }
}

/// Nothing in their memory lists their functions.
#[test]
fn static_programs_count_alike() {
    for program in BY_FUNCTION {
        for option in ["-static", "-static-pie"] {
            assert_counted(program, &built_and_profiled(program, option, "count"));
        }
    }
}

#[test]
fn calls_that_never_return_end_where_control_lands() {
    assert_totals("long_jump.c", &["save", "work"]);
    assert_totals("longjmp.c", &["work"]);
    assert_totals("fault_jumps.c", &["work"]);
}

#[test]
fn exceptions_end_the_calls_that_they_leave() {
    assert_totals("exceptions.cc", &["work"]);
}

#[test]
fn coroutines_cost_each_other_nothing() {
    assert_totals("coroutines.c", &["rounds", "work"]);
    assert_totals("contexts.c", &["turns", "work"]);
}

#[test]
fn stacks_may_lie_side_by_side_and_be_switched_in_place() {
    assert_totals("near_stacks.c", &[]);
    assert_totals("switch_in_place.c", &[]);
}

#[test]
fn what_is_on_a_stack_may_be_swapped() {
    assert_totals("swapped_stack.c", &["resume", "work"]);
}

/// By Debian's Python, whose package of them `scripts/setup-debian` installs: another may be first on the path.
#[test]
fn greenlets_cost_no_more_than_was_executed() {
    let place = Place::new();
    let program = path("greenlets.py");
    let outcome = place.shell(&format!("timewise count -- /usr/bin/python3 '{program}' && timewise verify"));
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn stacks_go_from_thread_to_thread_and_from_place_to_place() {
    assert_totals("migration.c", &["turn", "work"]);
    assert_totals("moved_stack.c", &["turn", "work"]);
    assert_totals("grown_stack.c", &["copy", "work"]);
}

/// What calls of a function cost is what was executed in it and the calls in it: wherever goroutines went meanwhile.
#[test]
fn goroutines_cost_what_they_execute_on_any_thread_and_stack() {
    // An interruption is under no call.
    let build =
        format!("go build -o program '{}' && export GODEBUG=asyncpreemptoff=1", path("goroutines.go"));
    let counted = |_| profiled_after(&build, "count");
    // What ends with the program in the midst of something is not exact to the last instruction.
    let is_exact =
        |place: &Place| place.profile().processes.iter().all(|process| process.count_uncertainty == 0);
    let place = (0..5).map(counted).find(is_exact).expect("a run whose end was seen");
    let (functions, calls) = (rows(&place, "function"), rows(&place, "call"));
    let sum = |rows: &[Value], field: &str, name: &str| -> u64 {
        let of = rows.iter().filter(|row| row[field] == name);
        of.map(|row| row["instructions_total"].as_u64().unwrap()).sum()
    };
    let program = ["main.main.func1", "main.main.func2", "main.task", "main.deep"];
    for name in program.into_iter().chain(["runtime.chansend1", "runtime.gopanic"]) {
        let (total, charged) = (sum(&functions, "function", name), sum(&calls, "callee", name));
        assert!(total > 0 && total == charged, "{name} took {total} instructions and its calls {charged}");
    }
}

#[test]
fn functions_are_entered_otherwise_than_by_calls() {
    for program in [
        "fall_through.c",
        "middle_entry.c",
        "cold_landing.c",
        "pushed_return.c",
        "loop_behind_call.c",
        "retpoline.c",
        "dropped_return.c",
        "mapped_twice.c",
        "many_returns.c",
    ] {
        assert_counted(program, &profiled(program, "count"));
    }
}

#[test]
fn functions_take_their_return_address_off_the_stack() {
    assert_totals("cleared_return.c", &["rounds", "between", "clear"]);
    assert_counted("pushed_switch.c", &profiled("pushed_switch.c", "count"));
    let place = profiled("kept_return.c", "count");
    assert_counted("kept_return.c", &place);
    let within = rows(&place, "call").into_iter().filter(|row| row["caller"] == "fibonacci");
    let told = within.map(|row| (row["calls"].clone(), row["instructions_total"].clone()));
    assert_eq!(told.collect::<Vec<_>>(), [(); 2].map(|()| (88.into(), Value::Null)));
}

/// Calls in code that a program copied, of which nothing tells: where it is called and where what it calls begins, by their
/// distance from its first instruction, how often, and what that costs.
fn copied(program: &str) -> Vec<(u64, u64, u64, u64)> {
    let place = profiled(program, "count");
    assert_counted(program, &place);
    let at = |row: &Value, name: &str| {
        let offset = row[name].as_str().unwrap().strip_prefix("[jit 0x10000000]+0x")?;
        u64::from_str_radix(offset, 16).ok()
    };
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let rows = rows(&place, "call");
    let told = rows.iter().filter_map(|row| {
        let [calls, cost] = ["calls", "instructions_total"].map(|name| number(row, name));
        Some((at(row, "caller")?, at(row, "callee")?, calls, cost))
    });
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    told
}

#[test]
fn functions_move_their_return_address() {
    assert_eq!(
        copied("moved_return.c"),
        [(0, 0x40, 200, 121_800), (0x40, 0x40, 4000, 0), (0x40, 0x40, 4000, 0)]
    );
    let past =
        [(0, 0x40, 100, 201_500), (0x40, 0x80, 200, 700), (0x40, 0xc0, 100, 200_200), (0x80, 0x40, 100, 200)];
    assert_eq!(copied("past_return.c"), past);
}

#[test]
fn cold_parts_are_of_their_functions() {
    assert_counted("cold_part.c", &profiled("cold_part.c", "count"));
}

#[test]
fn handlers_cost_whom_they_interrupt_nothing() {
    assert_totals("signal_stack.c", &["signals", "work"]);
}

#[test]
fn calls_are_interrupted_anywhere() {
    assert_totals("interrupted.c", &[]);
    assert_counted("redirected.c", &profiled("redirected.c", "count"));
}

#[test]
fn threads_have_calls_of_their_own() {
    assert_totals("threads.c", &["smallest"]);
    assert_totals("hammer.c", &["step"]);
}

#[test]
fn calls_open_at_a_fork_go_on_in_both() {
    assert_totals("fork.c", &["first", "outer", "main", "work"]);
}

/// Of each loop's and function's time, as of its instructions, that part is in `func3` which it caused.
#[test]
fn figure_4() {
    let place = profiled("figure_4.c", "run -F 4000");
    assert_counted("figure_4.c", &place);
    if place.profile().samples.is_empty() {
        return; // a machine that cannot sample
    }
    // Each of func3's rounds takes the same time, and all else next to none.
    let share = |name: &str| match name {
        "func0" => 300.0 / 960.0,
        "func1" => 360.0 / 960.0,
        "func2" => 600.0 / 960.0,
        "func3" => 1.0,
        "func4" => 60.0 / 960.0,
        _ => panic!("{name}"),
    };
    let functions = rows(&place, "function");
    let sum = |field: &str| functions.iter().map(|row| row[field].as_f64().unwrap()).sum::<f64>();
    let (cycles, samples) = (sum("cycles_self"), sum("samples_self"));
    let mut compared = 0;
    for row in functions.iter().chain(&rows(&place, "loop")).filter(|row| is_own(row)) {
        let name = row["function"].as_str().unwrap();
        if name.starts_with("func") {
            let (got, want) = (row["cycles_total"].as_f64().unwrap() / cycles, share(name));
            // Four standard deviations, and as much as a shared machine's speed may change between the loops' turns.
            let room = 4.0 * (want * (1.0 - want) / samples).sqrt() + 0.25 * want * (1.0 - want) + 0.01;
            assert!((got - want).abs() <= room, "{got} of the time is not {want} ± {room}: {row}");
            compared += 1;
        }
    }
    assert_eq!(compared, 5 + 4);
}

/// Costs of calls within plugins, by plugin, caller and callee, of a run in which these are loaded so many times.
fn costs_of_plugins(place: &Place, rounds: u32, plugins: &str) -> BTreeMap<[String; 3], u64> {
    let outcome = place.shell(&format!("timewise count -- ./loads {rounds} {plugins}"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let mut costs = BTreeMap::new();
    for row in rows(place, "call") {
        let [module, caller, callee] =
            ["module", "caller", "callee"].map(|name| row[name].as_str().unwrap().to_string());
        if module.ends_with(".so") && row["callee_module"] == row["module"] && row["instructions_total"] != 0
        {
            *costs.entry([module, caller, callee]).or_default() +=
                row["instructions_total"].as_u64().unwrap();
        }
    }
    costs
}

/// Of what is known of one nothing may be taken for the other's, nor may it be forgotten of code that comes back; and
/// nothing tells where the functions of the third begin.
#[test]
fn plugins_that_come_to_one_address_cost_what_each_costs_alone() {
    let place = Place::new();
    let folder = format!("{}/tests/programs", env!("CARGO_MANIFEST_DIR"));
    let plugin = |name: &str, options: &str| {
        format!("cc -O2 -fPIC -shared {options} '{folder}/plugin.c' -o {name}.so && ")
    };
    let plugins = [
        plugin("one", "-DCOLD=1"),
        plugin("two", "-DCOLD=2"),
        plugin("bare", "-DCOLD=0 -fno-asynchronous-unwind-tables -fno-unwind-tables"),
        plugin("four", "-DCOLD=1 -O1"),
        plugin("five", "-DCOLD=2 -fcf-protection"),
    ];
    let outcome = place.shell(&format!("{} cc '{folder}/loads.c' -o loads", plugins.concat()));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let names = ["./one.so", "./two.so", "./bare.so", "./four.so", "./five.so"];
    let together = costs_of_plugins(&place, 3, &names.join(" "));
    let mut alone = BTreeMap::new();
    for name in names {
        let costs = costs_of_plugins(&place, 1, name);
        assert!(costs.len() >= 4, "{name}: {costs:?}");
        alone.extend(costs.into_iter().map(|(call, cost)| (call, 3 * cost)));
    }
    assert_eq!(together, alone);
    // What is called straight costs the same whether a table tells of it or not.
    let of = |plugin: &str, caller: &str, callee: &str| {
        let found = |(call, _): &(&[String; 3], &u64)| {
            call[0].ends_with(plugin) && call[1] == caller && call[2] == callee
        };
        alone.iter().find(found).map(|(_, &cost)| cost)
    };
    // 9 + 4 calls of `leaf` by `first`: each two instructions of the linker's entry and those of the function.
    let leaf = of("bare.so", "first", "leaf").unwrap();
    assert_eq!(leaf % (3 * 13), 0);
    assert_eq!(of("bare.so", "second", "leaf"), Some(leaf / 13 * 10));
}
