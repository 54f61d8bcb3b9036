//! Whether two profiles are of builds of one program.

use timewise_diff::Comparison;
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::Profile;

/// Functions in this order, each executed once: what it is called, `-` if the program is stripped, and its instructions.
fn program(functions: &[(&str, &str)]) -> Profile {
    let function = |(at, (name, code)): (usize, &(&str, &str))| {
        let at = 0x1000 + 0x100 * at;
        format!(
            "function {name} at {at:#x} size 0x40
             block b{at} at {at:#x} runs 1 code {code}
             edge - -> b{at} external 1\n"
        )
    };
    let text: String = functions.iter().enumerate().map(function).collect();
    let mut profile = sketch(&text).unwrap();
    for function in profile.functions.iter_mut().filter(|function| function.name == "-") {
        function.symbol.clear();
    }
    profile
}

fn is_one(base: &[(&str, &str)], test: &[(&str, &str)]) -> bool {
    let (base, mut test) = (program(base), program(test));
    // Another file.
    test.modules[0].path = b"/bin/other".to_vec();
    test.processes.iter_mut().for_each(|process| process.executable = b"/bin/other".to_vec());
    let (base, test) = (Analysis::new(&base, None), Analysis::new(&test, None));
    Comparison::new(&base, &test).unwrap().is_of_one_program()
}

const START: &str = "31ed 4989d1 5e 4889e2 c3";
const SUM: &str = "31c0 4801f8 4883c001 4829f0 480fafc7 48c1e003 4831d0 c3";
const MIX: &str = "4889f8 48c1e805 4831f0 480fafc2 4801c8 48f7d0 480fc8 c3";
const COPY: &str = "488b06 488907 4883c608 4883c708 4883ea08 4885d2 90 c3";

#[test]
fn most_names_are_common() {
    assert!(is_one(&[("main", SUM), ("f", MIX)], &[("main", COPY), ("f", SUM), ("g", MIX)]));
    assert!(!is_one(&[("main", SUM), ("f", MIX), ("g", MIX)], &[("main", COPY), ("h", COPY), ("i", START)]));
}

#[test]
fn what_every_program_has_tells_nothing() {
    let common = [("_start", START), ("read@plt", "90"), ("__libc_csu_init", "c3")];
    let with = |code| [&common[..], &[("main", code)]].concat();
    assert!(!is_one(&with(SUM), &with(COPY)));
    assert!(is_one(&with(SUM), &with(SUM)), "all is in `main`");
    let [f, g] = [("f", MIX), ("g", MIX)].map(|own| [&with(SUM)[..], &[own]].concat());
    assert!(!is_one(&f, &g), "names tell more than code");
}

#[test]
fn stripped_builds_are_known_by_their_code() {
    let old = [("-", START), ("-", SUM), ("-", MIX)];
    assert!(is_one(&old, &[("-", START), ("-", "90"), ("-", SUM), ("-", MIX)]));
    assert!(is_one(&old, &[("_start", START), ("sum", SUM), ("mix", MIX)]), "the other is not");
    assert!(!is_one(&old, &[("-", START), ("-", COPY), ("-", "4889f8 c3")]));
}
