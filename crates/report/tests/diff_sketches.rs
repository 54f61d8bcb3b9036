//! Whole comparisons of small programs, as golden text. `UPDATE_EXPECT=1 cargo test` rewrites it.

use expect_test::{Expect, expect};
use timewise_diff::{Comparison, Gate};
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{
    ClockScope, CodeVersion, Exit, InlinedCall, ModuleId, Offset, Place, Profile, RunKind,
};
use timewise_report::Style;
use timewise_report::diff::{self, By, Grain};

/// A hash table's look-up in a loop, whose load is slow, and with more rounds in a second version, which also has a
/// function of its own for reports.
fn program(rounds: u64, load: u64, more: &str) -> Profile {
    sketch(&format!(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         function main at 0x1000 size 0x40 file /src/main.c line 1
         function lookup at 0x2000 size 0x40 file /src/table.c line 9
         block start at 0x1000 runs 1 code 31c0 90
         block head at 0x2000 runs 1000 code 4831c9
         block body at 0x2003 runs {rounds} code 488b3433 4883c001 75eb
         block tail at 0x200d runs 1000 code c3
         edge - -> start external 1
         edge start -> head call 1000
         edge head -> body fallthrough 1000
         edge body -> body branch {}
         edge body -> tail fallthrough 1000
         line 0x1000 /src/main.c 2
         line 0x2000 /src/table.c 10
         line 0x2003 /src/table.c 11
         sample 0x1002 700
         sample 0x2007 {load}
         {more}",
        rounds - 1000
    ))
    .unwrap()
}

fn before() -> Profile {
    program(1_000_000, 3000, "")
}

fn after() -> Profile {
    let report = "function report at 0x3000 size 0x20 file /src/report.c line 5
         block report at 0x3000 runs 2000 code 4831c0 488b3433 c3
         edge start -> report call 2000
         line 0x3000 /src/report.c 6
         sample 0x3007 150";
    program(1_100_000, 3400, report)
}

fn compared<T>(base: &Profile, test: &Profile, show: impl FnOnce(&Comparison) -> T) -> T {
    let (base, test) = (Analysis::new(base, None), Analysis::new(test, None));
    show(&Comparison::new(&base, &test).unwrap())
}

/// What follows the head, which is that of [`functions_of_two_versions`] whatever rows are of.
fn without_head(base: &Profile, test: &Profile, by: By) -> String {
    let (whole, functions) = (text(base, test, by), text(base, test, By::Code(Grain::Function)));
    let [(head, rows), (common, _)] = [&whole, &functions].map(|text| text.split_once("\n\n").unwrap());
    assert_eq!(head, common);
    rows.to_string()
}

fn text(base: &Profile, test: &Profile, by: By) -> String {
    compared(base, test, |comparison| {
        diff::text(comparison, by, Some(25), Style { width: 130, colour: false })
    })
}

fn check(got: &str, want: Expect) {
    want.assert_eq(got);
}

#[test]
fn functions_of_two_versions() {
    check(
        &text(&before(), &after(), By::Code(Grain::Function)),
        expect![[r#"
            BASE sketch · sampled once, 3,700 samples · counted once
            TEST sketch · sampled once, 4,250 samples · counted once
            time 925 ms → 1.06 s: +14.9 % (95 %: -46.1 to +79.0) · by count +12.2 % (95 %: +9.1 to +16.6)
              by cost +2.7 % (95 %: -60.6 to +66.6)
            elapsed 1.00 s → 1.00 s: 0 % (95 %: -57.9 to +57.9) · CPU time 950 ms → 950 ms: 0 % (95 %: -57.9 to +57.9)
              in the kernel 50.0 ms → 50.0 ms: 0 % (95 %: -100.0 to +160.3)
            instructions 3.00 M → 3.31 M: +10.2 %
            by kind: loads 1.00 M → 1.10 M: +10.4 % · move 1.00 M → 1.10 M: +10.2 % · arithmetic 1.00 M → 1.10 M: +10.0 %
              branch 1.00 M → 1.10 M: +10.0 %
            one run on each side: how much runs differ by themselves is unknown, and taken as 20.0 % of the time; more runs measure it: --base
              FILE, --test FILE

            Changes beyond noise
                   time            95 %  by count           95 %   by cost            95 %  instructions  function  where
              (+10.8 %)  -38.4 to +62.3    +8.1 %  +5.5 to +12.0  (+2.7 %)  -49.6 to +55.6       +10.0 %  lookup    table.c:9
                 +4.1 %    +2.6 to +6.1    +4.1 %   +2.6 to +6.1       0 %                           new  report    only TEST: report.c:5
            (in brackets: may be noise) · shares are of the time in BASE
        "#]],
    );
}

/// Clones of it have its name, and what was put in at most places is where it is.
#[test]
fn what_the_other_compiler_put_into_its_caller_is_where_it_is_now() {
    let mut before = before();
    let inlined = |offset, function: &str| InlinedCall {
        place: Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) },
        depth: 0,
        function: function.into(),
        file: None,
        line: 0,
    };
    before.inlined_calls = [(0x1002, "report"), (0x2003, "report.isra.0"), (0x2007, "report")]
        .map(|(offset, function)| inlined(offset, function))
        .to_vec();
    let where_is = |base: &Profile, test: &Profile| {
        let text = text(base, test, By::Code(Grain::Function));
        let row = text.lines().find(|line| line.contains(" report ")).map(str::to_string);
        row.and_then(|row| Some(row.split_once("report ")?.1.trim_start().to_string()))
    };
    assert_eq!(where_is(&before, &after()).as_deref(), Some("was in lookup"));
    assert_eq!(where_is(&after(), &before).as_deref(), Some("now in lookup"));
    let rows = |base: &Profile, test: &Profile| {
        let json =
            compared(base, test, |comparison| diff::json(comparison, By::Code(Grain::Function)).unwrap());
        let document: serde_json::Value = serde_json::from_str(&json).unwrap();
        document["rows"].as_array().unwrap().iter().map(|row| row["inlined_into"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&before, &after()).iter().filter(|holder| *holder == "lookup").count(), 1);
    assert!(rows(&before, &before).iter().all(serde_json::Value::is_null));
}

#[test]
fn loops_of_two_versions() {
    check(
        &without_head(&before(), &after(), By::Code(Grain::Loop)),
        expect![[r#"
            Changes beyond noise
                   time            95 %  by count           95 %   by cost            95 %  instructions  loop        where
              (+10.8 %)  -38.4 to +62.3    +8.1 %  +5.5 to +12.0  (+2.7 %)  -49.6 to +55.6       +10.0 %  table.c:11  in lookup
            (in brackets: may be noise) · shares are of the time in BASE
        "#]],
    );
}

#[test]
fn instructions_of_two_versions() {
    check(
        &without_head(&before(), &after(), By::Code(Grain::Instruction)),
        expect![[r#"
            Changes beyond noise
                                             by
                   time            95 %   count           95 %   by cost  instructions  instruction        where
              (+10.8 %)  -38.4 to +62.3  +8.1 %  +5.5 to +12.0  (+2.7 %)       +10.0 %  mov rsi,[rbx+rsi]  table.c:11 in lookup
                 +4.1 %    +2.6 to +6.1  +4.1 %   +2.6 to +6.1       0 %           new  mov rsi,[rbx+rsi]  only TEST: report.c:6 in report
            (in brackets: may be noise) · shares are of the time in BASE
            only in TEST: 2 instructions
            instruction counts changed, time not beyond noise: 2 instructions
        "#]],
    );
}

#[test]
fn times_without_their_samples_are_warned_of() {
    let told = |lost| {
        let mut test = before();
        test.runs[0].lost_samples = lost;
        compared(&before(), &test, diff::lost)
    };
    // Beside 3,700 that were taken.
    assert_eq!(told(190), Vec::<String>::new());
    let [line] = &told(3700)[..] else { panic!("{:?}", told(3700)) };
    assert!(line.starts_with("warning: samples of 50.0 % of test's time were lost: "), "{line}");
}

/// What executes twice as much and is too short for anybody to see it in time.
#[test]
fn counts_that_changed_without_time_have_their_figures() {
    let changed = |by| {
        let text = text(&program(20_000, 1, ""), &program(40_000, 1, ""), By::Code(by));
        text.lines().find_map(|line| line.strip_prefix("instruction counts changed, ")).map(str::to_owned)
    };
    assert_eq!(changed(Grain::Function).as_deref(), Some("time not beyond noise: lookup (+96.8 %)"));
    assert_eq!(changed(Grain::Line).as_deref(), Some("time not beyond noise: 1 line"));
}

#[test]
fn a_profile_compared_with_itself() {
    check(
        &text(&before(), &before(), By::Code(Grain::Line)),
        expect![[r#"
            BASE sketch · sampled once, 3,700 samples · counted once
            TEST sketch · sampled once, 3,700 samples · counted once
            time 925 ms → 925 ms: 0 % (95 %: -58.1 to +58.1) · by count 0 % · by cost 0 % (95 %: -58.1 to +58.1)
            elapsed 1.00 s → 1.00 s: 0 % (95 %: -57.9 to +57.9) · CPU time 950 ms → 950 ms: 0 % (95 %: -57.9 to +57.9)
              in the kernel 50.0 ms → 50.0 ms: 0 % (95 %: -100.0 to +160.3)
            instructions 3.00 M → 3.00 M: same
            one run on each side: how much runs differ by themselves is unknown, and taken as 20.0 % of the time; more runs measure it: --base
              FILE, --test FILE

            No change of a line is more than noise.
        "#]],
    );
}

#[test]
fn several_runs_on_each_side() {
    let side = |loads: [u64; 3]| {
        let [mut profile, second, third] = loads.map(|load| program(1_000_000, load, ""));
        profile.append(second);
        profile.append(third);
        profile
    };
    check(
        &text(&side([3000, 3020, 2990]), &side([3500, 3520, 3490]), By::Code(Grain::Function)),
        expect![[r#"
            BASE sketch · sampled 3 times, 11,110 samples · counted 3 times
            TEST sketch · sampled 3 times, 12,610 samples · counted 3 times
            time 926 ms → 1.05 s: +13.5 % (95 %: +12.6 to +14.4) · by count 0 % · by cost +13.5 % (95 %: +12.6 to +14.4)
            elapsed 1.00 s → 1.00 s: 0 % · CPU time 950 ms → 950 ms: 0 % · in the kernel 50.0 ms → 50.0 ms: 0 % (95 %: -78.5 to +78.5)
            instructions 3.00 M → 3.00 M: same
            runs of the same program differ by 0.4 % of their time (standard deviation)

            Changes beyond noise
                 time            95 %  by count  by cost            95 %  instructions  function  where
              +13.5 %  +11.0 to +16.0       0 %  +13.5 %  +11.0 to +16.0          same  lookup    table.c:9
        "#]],
    );
}

#[test]
fn counts_alone() {
    let counted = |mut profile: Profile| {
        profile.samples.clear();
        profile
    };
    check(
        &text(&counted(before()), &counted(after()), By::Code(Grain::Function)),
        expect![[r#"
            BASE sketch · sampled once, 0 samples · counted once
            TEST sketch · sampled once, 0 samples · counted once
            elapsed 1.00 s → 1.00 s: 0 % (95 %: -57.9 to +57.9) · CPU time 950 ms → 950 ms: 0 % (95 %: -57.9 to +57.9)
              in the kernel 50.0 ms → 50.0 ms: 0 % (95 %: -100.0 to +160.3)
            instructions 3.00 M → 3.31 M: +10.2 %
            by kind: loads 1.00 M → 1.10 M: +10.4 % · move 1.00 M → 1.10 M: +10.2 % · arithmetic 1.00 M → 1.10 M: +10.0 %
              branch 1.00 M → 1.10 M: +10.0 %

            Changes of counts
              instructions  in BASE  in TEST  function  where
                   +10.0 %   3.00 M   3.30 M  lookup    table.c:9
                       new        0    6,000  report    only TEST: report.c:5
        "#]],
    );
}

/// On a side that was not counted no loop, instruction or line is known: none of the other side's is gone for that.
#[test]
fn what_was_only_sampled_has_functions_alone() {
    let sampled = |mut profile: Profile| {
        profile.runs.retain(|run| run.kind == RunKind::Sampling);
        profile.processes.truncate(1);
        profile.threads.truncate(1);
        Profile { blocks: Vec::new(), block_counts: Vec::new(), edge_counts: Vec::new(), ..profile }
    };
    let twice = |of: &dyn Fn() -> Profile| {
        let mut profile = of();
        profile.append(of());
        profile
    };
    let counted = twice(&before);
    let uncounted = twice(&|| sampled(before()));
    for (base, test, who) in [
        (&counted, &uncounted, "TEST was not"),
        (&uncounted, &counted, "BASE was not"),
        (&uncounted, &uncounted, "BASE and TEST were not"),
    ] {
        compared(base, test, |comparison| {
            let functions = comparison.rows(Grain::Function);
            assert!(functions.iter().all(|row| !row.is_finding && row.what.base.is_some()), "{functions:?}");
            let show = |by| diff::text(comparison, by, None, Style { width: 300, colour: false });
            assert!(
                show(By::Code(Grain::Function)).ends_with("No change of a function is more than noise.\n")
            );
            for by in [By::Code(Grain::Loop), By::Code(Grain::Instruction), By::Code(Grain::Line)] {
                let text = show(by);
                assert!(text.contains("\n\nnot known: loops, ") && text.contains(who), "{text}");
                assert!(!text.contains("noise.") && !text.contains("only BASE"), "{text}");
                let json: serde_json::Value =
                    serde_json::from_str(&diff::json(comparison, by).unwrap()).unwrap();
                assert_eq!((&json["compared"], json["rows"].as_array().unwrap().len()), (&false.into(), 0));
                assert_eq!(diff::csv(comparison, by).unwrap().lines().count(), 1);
            }
            let judged = |gate: &str| gate.parse::<Gate>().unwrap().judge(comparison);
            assert!(!judged("function:lookup time>2%").unwrap().fails);
            assert!(
                judged("function:lookup instructions>2%").is_err() && judged("time-by-count>1%").is_err()
            );
        });
    }
}

/// Where it was not counted, what got no sample may have been executed.
#[test]
fn of_what_was_only_sampled_it_is_said_where_it_was_sampled() {
    let program = |more: &str| {
        sketch(&format!(
            "clock cpu-clock:u 3e9 3e9 3e9 1000000
             function f at 0x1000 size 0x100
             block a at 0x1000 runs 1000 code 90
             sample 0x1000 1000
             user sampling 1e9
             user counting 1e9
             {more}"
        ))
        .unwrap()
    };
    let few = program("");
    let more = program(
        "function g at 0x2000 size 0x100
         block b at 0x2000 runs 10 code 4889c8
         sample 0x2000 1",
    );
    let sampled = |profile: &Profile| {
        let mut profile = profile.clone();
        profile.runs.retain(|run| run.kind == RunKind::Sampling);
        profile.processes.truncate(1);
        profile.threads.truncate(1);
        Profile { blocks: Vec::new(), block_counts: Vec::new(), edge_counts: Vec::new(), ..profile }
    };
    let shown = |base: &Profile, test: &Profile| text(base, test, By::Code(Grain::Function));
    for (of, said) in [
        (shown(&few, &more), "\nonly in TEST: g"),
        (shown(&more, &few), "\nonly in BASE: g"),
        (shown(&sampled(&few), &sampled(&more)), "\nsampled only in TEST: g"),
        (shown(&sampled(&more), &sampled(&few)), "\nsampled only in BASE: g"),
    ] {
        assert!(of.contains(said), "{of}");
    }
}

#[test]
fn what_waits_longer_is_told_beside_the_code() {
    let launched = |elapsed_ns: u64, waited: &str| {
        let mut profile = program(1_000_000, 3000, waited);
        for run in &mut profile.runs {
            (run.elapsed_ns, run.kernel_ns, run.exit) = (elapsed_ns, 2_000_000, Exit::Code(0));
            if let Some(clock) = &mut run.clock {
                clock.scope = Some(ClockScope::Processors);
            }
        }
        profile
    };
    let base = launched(1_000_000_000, "wait 0x2003 500 5000000 0x1002");
    let test = launched(4_000_000_000, "wait 0x2003 600 3000000000 0x1002");
    let shown = text(&base, &test, By::Code(Grain::Function));
    check(
        &shown,
        expect![[r#"
            BASE sketch · sampled once, 3,700 samples · counted once
            TEST sketch · sampled once, 3,700 samples · counted once
            time 925 ms → 925 ms: 0 % (95 %: -58.1 to +58.1) · by count 0 % · by cost 0 % (95 %: -58.1 to +58.1)
            elapsed 1.00 s → 4.00 s: +300.0 % (95 %: +161.7 to +494.7) · CPU time 902 ms → 902 ms: 0 % (95 %: -57.9 to +57.9)
              in the kernel 2.00 ms → 2.00 ms: 0 % (95 %: -100.0 to +1952.1)
            instructions 3.00 M → 3.00 M: same
            one run on each side: how much runs differ by themselves is unknown, and taken as 20.0 % of the time; more runs measure it: --base
              FILE, --test FILE

            No change of a function is more than noise.

            Waiting that changed beyond noise, of all threads together
              waiting                95 %  in BASE  in TEST  times in BASE  in TEST  waiting in < called by
              +3.00 s  +1.11 s to +7.99 s  5.00 ms   3.00 s            500      600  lookup < main table.c:11
        "#]],
    );
    let gate: Gate = "elapsed>10%".parse().unwrap();
    compared(&base, &test, |comparison| {
        assert!(gate.judge(comparison).unwrap().fails);
        check(
            &diff::culprit(comparison, &gate).unwrap(),
            expect!["lookup < main table.c:11 waits 3.00 s, before 5.00 ms"],
        );
        let otherwise = launched(4_000_000_000, "wait 0x2003 600 3000000000 0x200e");
        check(
            &compared(&base, &otherwise, |comparison| diff::culprit(comparison, &gate).unwrap()),
            expect!["lookup < lookup table.c:11 (BASE: < main table.c:11) waits 3.00 s, before 5.00 ms"],
        );
        check(
            &diff::csv(comparison, By::Waiting).unwrap(),
            expect![[r#"
                finding,status,function,caller,base_function,base_caller,base_file,base_line,test_file,test_line,base_times,test_times,base_waiting,test_waiting,waiting,waiting_low,waiting_high,waiting_certain
                true,both,lookup,main,lookup,main,/src/table.c,11,/src/table.c,11,500,600,5000000,3000000000,2995000000,1106213330,7994013560,660319622
            "#]],
        );
    });
}

#[test]
fn programs_of_other_names_are_told_unless_they_have_enough_in_common() {
    let called = |name: &str, mut profile: Profile| {
        profile.runs.iter_mut().for_each(|run| run.command = vec![name.into()]);
        profile
    };
    let told = |base: &Profile, test: &Profile| compared(base, test, diff::other_programs);
    let (old, new) = (called("./app.old", before()), called("new/app", after()));
    assert_eq!(told(&old, &new), None);
    let other = "function run at 0x1000 size 0x40
         block start at 0x1000 runs 1 code 4889f8 c3
         edge - -> start external 1";
    check(
        &told(&old, &called("/bin/other", sketch(other).unwrap())).unwrap(),
        expect![
            "warning: base ran app.old, test ran other: functions of equal names may have nothing in common"
        ],
    );
}

#[test]
fn rows_as_csv() {
    let csv =
        compared(&before(), &after(), |comparison| diff::csv(comparison, By::Code(Grain::Line)).unwrap());
    check(
        &csv,
        expect![[r#"
            finding,status,base_module,base_function,base_offset,base_file,base_line,base_line_last,base_text,test_module,test_function,test_offset,test_file,test_line,test_line_last,test_text,inlined_into,base_instructions,test_instructions,base_time,test_time,time,time_low,time_high,time_certain,by_count,by_count_low,by_count_high,by_count_certain,by_cost,by_cost_low,by_cost_high,by_cost_certain
            true,both,/bin/sketch,,,/src/table.c,11,,,/bin/sketch,,,/src/table.c,11,,,,3001000,3301000,750000000,850000000,100000000,-355044804,576540740,0,75000000,50534315.8,111095550,38802565.2,25000000,-459176039,514551878,0
            true,new,,,,,,,,/bin/sketch,,,/src/report.c,6,,,,0,6000,0,37500000,37500000,24044066.9,56635330.9,17320994.7,37500000,24044066.9,56635330.9,17320994.7,0,0,0,0
            false,both,/bin/sketch,,,/src/main.c,2,,,/bin/sketch,,,/src/main.c,2,,,,2,2,175000000,175000000,0,-103035268,103035268,0,0,0,0,0,0,-103035268,103035268,0
            false,both,/bin/sketch,,,/src/table.c,10,,,/bin/sketch,,,/src/table.c,10,,,,1000,1000,0,0,0,-922219.864,922219.864,0,0,0,0,0,0,-922219.864,922219.864,0
        "#]],
    );
}

#[test]
fn a_document_as_json() {
    let json =
        compared(&before(), &after(), |comparison| diff::json(comparison, By::Code(Grain::Loop)).unwrap());
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (field, want) in [("schema", "timewise-diff/1"), ("by", "loop"), ("unit", "ns")] {
        assert_eq!(document[field], want);
    }
    assert!(document["noise"].is_null(), "unknown with one run on each side");
    assert_eq!(document["base"]["measurement"]["samples"], 3700);
    let (whole, row) = (&document["whole"], &document["rows"][0]);
    assert_eq!(whole["test_instructions"].as_u64(), Some(3_308_002));
    let part = |name: &str| whole[name].as_f64().unwrap();
    assert!((part("time") - part("by_count") - part("by_cost")).abs() < 1.0, "{whole}");
    assert_eq!((&row["finding"], &row["test_function"]), (&true.into(), &"lookup".into()));
    assert_eq!((row["base_offset"].as_u64(), row["base_line"].as_u64()), (Some(0x2003), Some(11)));
}
