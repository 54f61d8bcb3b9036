//! The page of `report --format html`: what its script gets, and that nothing in a profile becomes markup.

use serde_json::Value;
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{Place, Profile, StackId, StackNode};
use timewise_report::annotate::SourceText;
use timewise_report::html;

fn program() -> Profile {
    sketch(
        "clock cpu-clock:u 2e9 1.9e9 2.1e9 500000
         function main at 0x1000 size 0x40 file a.c line 3
         function leaf at 0x2000 size 0x10
         block head at 0x1000 runs 10 code 90 e8fa0f0000
         block latch at 0x1006 runs 10 code 75f8
         block out at 0x1010 runs 1 code c3
         block leaf at 0x2000 runs 10 code 488b00 c3
         edge - -> head external 1
         edge head -> leaf call 10
         edge leaf -> latch return 10
         edge latch -> head branch 9
         edge latch -> out fallthrough 1
         line 0x1000 a.c 4
         line 0x1006 a.c 5
         sample 0x2003 30
         sample 0x1001 10",
    )
    .unwrap()
}

fn source(_: &str, line: u32) -> SourceText {
    if line < 7 { SourceText::Line(format!("text of line {line}")) } else { SourceText::Unknown }
}

fn page(profile: &Profile) -> String {
    html::page(&Analysis::new(profile, None), &source).unwrap()
}

/// What the page's script reads.
fn content(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"figures\">").unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn figures_are_those_of_the_reports() {
    let content = content(&page(&program()));
    let functions = &content["functions"];
    let names: Vec<&Value> = functions["name"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| &content["strings"][at.as_u64().unwrap() as usize])
        .collect();
    assert_eq!(names, ["leaf", "main"]);
    assert_eq!(functions["offset"], serde_json::json!(["2000", "1000"]));
    assert_eq!(functions["calls"], serde_json::json!([10, 1]));
    assert_eq!(functions["own"]["samples"], serde_json::json!([30, 10]));
    // 40 samples of half a millisecond at 2 GHz.
    assert_eq!(content["summary"]["cycles"], 40_000_000.0);
    assert_eq!(content["loops"]["iterations"], serde_json::json!([10]));
    assert_eq!(
        content["calls"],
        serde_json::json!({"from": [1], "to": [0], "count": [10], "cycles": [30_000_000]})
    );
}

#[test]
fn code_is_that_of_its_functions() {
    let content = content(&page(&program()));
    let code = &content["code"];
    // Two instructions of the leaf, then four of main, whose last block stands apart.
    assert_eq!(code["start"], serde_json::json!([0, 2, 6]));
    assert_eq!(code["delta"], serde_json::json!([0, 3, 0, 1, 5, 10]));
    assert_eq!(code["blocks"]["gap"], serde_json::json!([0, 0, 0, 1]));
    assert_eq!(code["calls"], serde_json::json!({"at": [3], "what": [0]}));
    assert_eq!(code["jumps"], serde_json::json!({"at": [4], "to": [2], "lane": [0]}));
    assert_eq!(content["loops"]["header"], serde_json::json!([2]));
    let parts = &content["sources"][0]["parts"];
    assert_eq!(parts[0][0], 1, "three lines of context before line 4");
    assert_eq!(parts[0][1].as_array().unwrap().len(), 6, "as far as the file goes");
}

#[test]
fn stacks_become_a_tree() {
    let mut profile = program();
    let at = |offset| Place { offset: timewise_profile::Offset(offset), ..profile.blocks[0].place };
    let return_place = at(0x1006);
    profile.stacks = vec![StackNode { parent: None, return_place }];
    for sample in profile.samples.iter_mut().filter(|sample| sample.place == Some(at(0x2003))) {
        sample.stack = Some(StackId(0));
    }
    let content = content(&page(&profile));
    // Everything, main, and the leaf below it.
    assert_eq!(content["flame"]["parent"], serde_json::json!([0, 0, 1]));
    assert_eq!(content["flame"]["cycles"], serde_json::json!([40_000_000, 40_000_000, 30_000_000]));
    assert_eq!(content["flame"]["function"], serde_json::json!([null, 1, 0]));
}

#[test]
fn names_are_never_markup() {
    let mut profile = program();
    let name = "</script><script>harm()</script><!-- <img src=x onerror=\"harm()\"> 'q' &amp; \u{2028}";
    profile.functions[0].name = name.into();
    profile.runs[0].command = vec![b"</title></script><script>harm()</script>\"'".to_vec()];
    let page = page(&profile);
    assert_eq!(page.matches("<script").count(), 2, "the figures and the program, no more");
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("</title").count(), 1);
    assert!(!page.contains("<img"));
    let strings = content(&page);
    assert!(strings["strings"].as_array().unwrap().iter().any(|string| string == name));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = page(&program());
    for word in ["http://", "https://", "//cdn", "@import", "url(", "fetch(", "XMLHttpRequest", "<link"] {
        let namespace = "http://www.w3.org/2000/svg";
        assert!(!page.replace(namespace, "").contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn profiles_of_one_half_have_a_page_too() {
    let mut sampled = program();
    sampled.block_counts.clear();
    sampled.blocks.clear();
    sampled.edge_counts.clear();
    sampled.runs.truncate(1);
    sampled.processes.truncate(1);
    sampled.threads.truncate(1);
    let content_of_sampled = content(&page(&sampled));
    assert_eq!(content_of_sampled["summary"]["counted"], Value::Null);
    assert_eq!(content_of_sampled["functions"]["calls"][0], Value::Null);
    let mut counted = program();
    counted.samples.clear();
    let content = content(&page(&counted));
    assert_eq!(content["summary"]["cycles"], 0.0);
    assert_eq!(content["functions"]["instructions"], serde_json::json!([31, 20]));
}
