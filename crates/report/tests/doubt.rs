//! What reports leave out or mark where a figure would say more than was measured.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{HASH_OF_NO_OUTPUT, ModuleKind, Profile};
use timewise_report::{By, Style, annotate, json, listing, summary};

fn program(facts: &str) -> Profile {
    let common = "clock cpu-clock:u 1e9 1e9 1e9 1000000
        function f at 0x1000 size 0x10
        function g at 0x2000 size 0x10
        block a at 0x1000 runs 1000000 code 488b00
        edge - -> a external 1\n";
    sketch(&format!("{common}{facts}")).unwrap()
}

fn screen(profile: &Profile) -> String {
    summary::summary(&Analysis::new(profile, None), Style::default())
}

fn rows(profile: &Profile, by: By) -> Vec<serde_json::Value> {
    let text = json::report(&Analysis::new(profile, None), by).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["rows"].as_array().unwrap().clone()
}

#[test]
fn costs_of_runs_that_did_different_work_are_marked_and_have_no_interval() {
    let alike = program("sample 0x1000 900\nuser counting 900e6");
    assert!(screen(&alike).contains("estimated CPI") && screen(&alike).contains("a slow load"));
    assert!(screen(&alike).contains("900  (8"), "{}", screen(&alike));
    assert!(rows(&alike, By::Instruction)[0]["cpi_low"].is_number());

    let different = program("sample 0x1000 900\nuser counting 90e6");
    let text = screen(&different);
    assert!(text.contains("took 0.10x the CPU time"), "{text}");
    assert!(text.contains("900?") && text.contains("on runs that differ"), "{text}");
    assert!(text.contains("100.0 %  "), "shares of time are right: {text}");
    for wrong in ["estimated CPI", "(8", "a slow load"] {
        assert!(!text.contains(wrong), "{wrong} in {text}");
    }
    let row = &rows(&different, By::Instruction)[0];
    assert!(row["cpi"].is_number() && row["cpi_low"].is_null() && row["cpi_high"].is_null(), "{row}");
}

/// One sample may be chance: 250 (6.3 to 1,393) cycles each.
#[test]
fn one_sample_calls_nothing_slow() {
    let few = |samples: u32| {
        let common = "clock cpu-clock:u 1e9 1e9 1e9 250000\nfunction f at 0x1000 size 0x10
            block a at 0x1000 runs 1000 code 488b07\nedge - -> a external 1\n";
        screen(&sketch(&format!("{common}sample 0x1000 {samples}")).unwrap())
    };
    assert!(few(1).contains("mov rax,[rdi]") && !few(1).contains("a slow load"), "{}", few(1));
    assert!(few(9).contains("a slow load"), "{}", few(9));
}

#[test]
fn time_on_other_code_is_not_divided_by_what_was_counted() {
    assert!(screen(&program("sample 0x1000 960\nsample 0x2000 40")).contains("estimated CPI"));
    assert!(!screen(&program("sample 0x1000 940\nsample 0x2000 60")).contains("estimated CPI"));
}

#[test]
fn outputs_of_nothing_reassure_nobody() {
    let mut profile = program("sample 0x1000 900\noutput sampling 7\noutput counting 7");
    assert!(screen(&profile).contains("outputs identical"));
    profile.runs.iter_mut().for_each(|run| run.stdout_hash = Some(HASH_OF_NO_OUTPUT));
    assert!(!screen(&profile).contains("outputs"));
}

#[test]
fn how_often_generated_code_ran_is_unknown_if_it_was_not_counted() {
    let mut profile = program("sample 0x1000 40\nsample 0x2000 60");
    let calls = |profile: &Profile| rows(profile, By::Function)[0]["calls"].clone();
    let executions = |profile: &Profile| rows(profile, By::Instruction)[0]["executions"].clone();
    assert_eq!((calls(&profile), executions(&profile)), (0.into(), 0.into()), "the file's code did not run");
    profile.modules[0].kind = ModuleKind::Jit;
    assert!(calls(&profile).is_null() && executions(&profile).is_null());
    assert!(screen(&profile).contains("60.0 %       –     –      –"), "{}", screen(&profile));
    let text = listing::report(&Analysis::new(&profile, None), By::Function, None, Style::default());
    assert!(text.lines().any(|line| line.contains("60.0 %") && !line.contains(" 0 ")), "{text}");
}

#[test]
fn a_branch_to_an_instruction_that_faulted_was_taken() {
    let shown = |edges: &str| {
        let text = format!(
            "function f at 0x1000 size 0x20
             block a at 0x1007 runs 10000 code 83e901 75f4
             block b at 0x100c runs 1 code c3
             edge - -> a external 10000
             edge a -> b fallthrough 1
             {edges}"
        );
        let profile = sketch(&text).unwrap();
        let analysis = Analysis::new(&profile, None);
        let routine = annotate::find(&analysis, "f").unwrap();
        let text =
            annotate::text(&analysis, routine, &|_, _| annotate::SourceText::Unknown, Style::default());
        let branch = text.lines().find(|line| line.contains("jne")).unwrap();
        branch.split_whitespace().skip(3).take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown("edge a -> - branch 9999"), "↑ 100.0");
    assert_eq!(shown("edge a -> - branch 9995\nedge a -> - external 4"), "↑ 100.0", "a few are unknown");
    assert_eq!(shown("edge a -> - branch 9000\nedge a -> - external 999"), "↑ –");
}
