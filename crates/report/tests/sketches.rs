//! Whole reports of small programs, as golden text. `UPDATE_EXPECT=1 cargo test` rewrites it.

use expect_test::{Expect, expect};
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{Clock, Profile, RunKind};
use timewise_report::annotate::SourceText;
use timewise_report::{By, Style, annotate, listing, summary};

/// OptiWISE's Figure 1 as measured on an AMD Zen 4 machine, 4000 samples a second.
const FIGURE_1: &str = "clock cpu-clock:u 3.5e9 3.4e9 3.6e9 250000
    function main at 0x1000 size 0x40 file fig1.c line 14
    block outer at 0x1000 runs 1000000 code 48c1e606 31c0 488b3433 0f1f840000000000
    block inner at 0x1012 runs 256000000 code 4889f1 4831c1 4801ca 4883c001 483d00010000 75eb
    block latch at 0x1027 runs 1000000 code 4883c701 4839fd 75d0
    edge - -> outer external 1
    edge outer -> inner fallthrough 1000000
    edge inner -> inner branch 255000000
    edge inner -> latch fallthrough 1000000
    edge latch -> outer branch 999999
    edge latch -> - return 1
    line 0x1000 /src/fig1.c 24
    line 0x1012 /src/fig1.c 26
    line 0x1027 /src/fig1.c 23
    sample 0x100a 1035
    sample 0x1018 516
    sample 0x102b 3
    output sampling 7
    output counting 7";

fn figure_1() -> Profile {
    sketch(FIGURE_1).unwrap()
}

fn check(got: &str, want: Expect) {
    want.assert_eq(got);
}

fn style() -> Style {
    Style { width: 110, colour: false }
}

#[test]
fn what_has_no_line_is_told_where_lines_are_listed() {
    let list = |source: &str| {
        let profile = sketch(source).unwrap();
        listing::report(&Analysis::new(&profile, None), By::Line, None, style())
    };
    assert!(!list(FIGURE_1).contains("without line numbers"));
    let without =
        FIGURE_1.replace("line 0x1000 /src/fig1.c 24", "").replace("line 0x1012 /src/fig1.c 26", "");
    assert!(
        list(&without).contains("\n99.8 % of the time is in code without line numbers"),
        "{}",
        list(&without)
    );
    let counted: String =
        without.lines().filter(|line| !line.contains("sample ")).collect::<Vec<_>>().join("\n");
    assert!(list(&counted).contains(" % of the instructions is in code"), "{}", list(&counted));
}

#[test]
fn samples_without_counts_are_listed_by_line() {
    let is_counts =
        |line: &&str| line.trim_start().starts_with("block") || line.trim_start().starts_with("edge");
    let sampled: Vec<&str> = FIGURE_1.lines().filter(|line| !is_counts(line)).collect();
    let mut profile = sketch(&sampled.join("\n")).unwrap();
    profile.runs[1].kind = RunKind::Sampling;
    let list = |by| listing::report(&Analysis::new(&profile, None), by, None, style());
    let rows = list(By::Line);
    let line = |name| rows.lines().find(|row| row.contains(name)).unwrap_or_default();
    assert!(line("fig1.c:24").contains("66.6 %") && line("fig1.c:26").contains("33.2 %"), "{rows}");
    assert!(!rows.contains("without line numbers"), "{rows}");
    let loops = list(By::Loop);
    assert!(loops.contains("none: loops, calls and blocks are known of what was counted"), "{loops}");
}

#[test]
fn summary_of_figure_1() {
    let profile = figure_1();
    check(
        &summary::summary(&Analysis::new(&profile, None), style()),
        expect![[r#"
            sketch: 1.00 s = 0.90 user + 0.05 kernel + 0.05 waiting · 1,554 samples, 0 lost · 1 thread
            counting run 1.00 s (1.00x), 1.54 G instructions exact · samples on counted code 100.0 % · outputs identical
            0.25 ns an instruction: estimated CPI (cycles per instruction) 0.88 (0.81–0.95, the clock's drift included)
            clock: cpu-clock:u, time; cycles estimated at 3.50 GHz (3.40 to 3.60 seen) · charged to the instruction before

            Hottest functions
                                  self    total   CPI  calls  instr/call (self)
              main  fig1.c:14  100.0 %  100.0 %  0.88      1             1.54 G

            Hottest loops
                                      self    total   CPI  entered  rounds each  ns a round       (95 %)  ≈ cycles a round
              fig1.c:23-26 in main  66.8 %  100.0 %   130        1       1.00 M         260    (244–276)               908
              fig1.c:26 in main     33.2 %   33.2 %  0.29   1.00 M          256        0.50  (0.46–0.55)              1.76

            Costliest instructions
                                              time  ns each       (95 %)  ≈ cycles each  executions
              fig1.c:24  mov rsi,[rbx+rsi]  66.6 %      259    (243–275)            906      1.00 M  a slow load
              fig1.c:26  xor rcx,rax        33.2 %     0.50  (0.46–0.55)           1.76     256.0 M

            Hints
            fig1.c:24 in main: mov rsi,[rbx+rsi]: a slow load, 906 (827–990) cycles each, 1.00 M times: 66.6 % (62.6–70.8)
              of the time; what needs its value waits

        "#]],
    );
    let next = |file| summary::next(&Analysis::new(&profile, None), file);
    assert_eq!(next(None).unwrap(), "Next: timewise annotate main");
    assert_eq!(next(Some("a b.tw")).unwrap(), "Next: timewise annotate 'a b.tw' main");
}

/// A name of C++ may take many lines.
#[test]
fn hints_shorten_names_and_json_has_them_whole() {
    // The load is of what lies in another function.
    let source = FIGURE_1.replace("488b3433 0f1f840000000000", "488b35f30f0000 0f1f440000");
    let source = source.replace("sample 0x100a", "sample 0x100d");
    let mut profile = sketch(&(source + "\nfunction far at 0x2000 size 0x40")).unwrap();
    let long = |name: &str| {
        format!("{name}<{}>::find(int const&)", "std::vector<int, std::allocator<int> >, ".repeat(9))
    };
    let names = [long("std::map"), long("std::set")];
    for (function, name) in profile.functions.iter_mut().zip(&names) {
        function.name.clone_from(name);
    }
    let analysis = Analysis::new(&profile, None);
    let shown = summary::summary(&analysis, style()).replace("\n  ", " ");
    let hint = "fig1.c:24 in std::map<…>::find(…): mov rsi,[std::set<…>::find(…)]: a slow load";
    assert!(shown.contains(hint), "{shown}");
    let routine = annotate::find(&analysis, &names[0]);
    let annotated = annotate::text(&analysis, routine.unwrap(), &|_, _| SourceText::Unknown, style());
    assert!(annotated.contains("◆ mov rsi,[std::set<…>::find(…)]: a slow load"), "{annotated}");
    let json = timewise_report::json::report(&analysis, By::Function).unwrap();
    assert!(names.iter().all(|name| json.contains(name)), "{json}");
}

/// As of a program that ran already.
#[test]
fn the_summary_of_turns_tells_of_all_of_them() {
    let mut profile = figure_1();
    profile.append(figure_1());
    let shown = summary::summary(&Analysis::new(&profile, None), Style { width: 200, colour: false });
    let head: Vec<_> = shown.lines().take(5).collect();
    let says = [
        (0, "2.00 s in 2 turns = 1.80 user + 0.10 kernel + 0.10 waiting · 3,108 samples"),
        (1, "counted for 2.00 s in 2 turns, 3.09 G instructions exact · samples"),
        (4, "times and instructions above are those of all turns"),
    ];
    for (line, says) in says {
        assert!(head[line].contains(says), "{shown}");
    }
    assert!(!listing::report(&Analysis::new(&profile, None), By::Loop, None, style()).contains("x the time"));
}

#[test]
fn code_that_hardly_ever_runs_again_is_no_hot_loop() {
    let source = FIGURE_1
        .replace("inner at 0x1012 runs 256000000", "inner at 0x1012 runs 1001000")
        .replace("inner -> inner branch 255000000", "inner -> inner branch 1000");
    let profile = sketch(&source).unwrap();
    let analysis = Analysis::new(&profile, None);
    let shown = summary::summary(&analysis, style());
    assert!(shown.contains("fig1.c:23-26 in main") && !shown.contains("fig1.c:26 in main"), "{shown}");
    let all = listing::report(&analysis, By::Loop, None, style());
    assert!(all.lines().any(|line| line.contains(" 1.00 ") && line.contains("fig1.c:26 ")), "{all}");
}

#[test]
fn few_samples_are_told_with_how_to_get_more() {
    let shown = |source: &str| summary::summary(&Analysis::new(&sketch(source).unwrap(), None), style());
    assert!(!shown(FIGURE_1).contains("few samples"));
    let few = FIGURE_1.replace("0x100a 1035", "0x100a 35").replace("0x1018 516", "0x1018 16");
    let last = |source: &str| shown(source).lines().last().unwrap().to_string();
    assert_eq!(last(&few), "few samples: a longer run has more, and so has -F 10000");
    let none: String = few.lines().filter(|line| !line.contains("sample ")).collect::<Vec<_>>().join("\n");
    assert!(!shown(&none).contains("few samples"));
}

#[test]
fn loops_of_figure_1() {
    let profile = figure_1();
    check(
        &listing::report(&Analysis::new(&profile, None), By::Loop, None, style()),
        expect![[r#"
            time sampled: 1,554 samples, 0 lost · executions exact · 100.0 % of the time on counted code
              counting took 1.00x the time
            clock: cpu-clock:u, time; cycles estimated at 3.50 GHz (3.40 to 3.60 seen) · charged to the instruction before
              CPI: cycles per instruction

                                              rounds                ns a               ≈ cycles
                self    total   CPI  entered    each  instr/round  round       (95 %)   a round  loop          function
              66.8 %  100.0 %   130        1  1.00 M         7.00    260    (244–276)       908  fig1.c:23-26  main
              33.2 %   33.2 %  0.29   1.00 M     256         6.00   0.50  (0.46–0.55)      1.76  fig1.c:26     main
        "#]],
    );
}

#[test]
fn instructions_of_figure_1_on_a_narrow_screen() {
    let profile = figure_1();
    let style = Style { width: 64, colour: false };
    check(
        &listing::report(&Analysis::new(&profile, None), By::Instruction, Some(4), style),
        expect![[r#"
            time sampled: 1,554 samples, 0 lost · executions exact
              100.0 % of the time on counted code
              counting took 1.00x the time
            clock: cpu-clock:u, time; cycles estimated at 3.50 GHz (3.40 to
              3.60 seen) · charged to the instruction before
              CPI: cycles per instruction

                         ns
                time   each  executions  offset  instruc…  where     function
              66.6 %    259      1.00 M  0x1006  mov rsi…  fig1…:24  main
              33.2 %   0.50     256.0 M  0x1015  xor rcx…  fig1…:26  main
              0.2 %?  0.75?      1.00 M  0x1027  add rdi…  fig1…:23  main
               0.0 %      0     256.0 M  0x1012  mov rcx…  fig1…:26  main
            ? rests on fewer than 10 samples: the interval spans more than a
              factor of three
            … and 9 more: --limit 0 shows all
        "#]],
    );
}

#[test]
fn functions_of_figure_1_with_hardware_cycles() {
    let mut profile = figure_1();
    let clock = profile.runs[0].clock.take().unwrap();
    profile.runs[0].clock =
        Some(Clock { event: "cycles:upp".into(), counts_cycles: true, precise_level: 2, ..clock });
    profile.samples.iter_mut().for_each(|sample| sample.weight_cycles = Some(875_000));
    check(
        &listing::report(&Analysis::new(&profile, None), By::Function, None, style()),
        expect![[r#"
            time sampled: 1,554 samples, 0 lost · executions exact · 100.0 % of the time on counted code
              counting took 1.00x the time
            clock: cycles:upp, hardware cycles · charged where it fell · CPI: cycles per instruction

                                             instr/call     cycles a                    CPI,
                 self    total   CPI  calls      (self)  call (self)           (95 %)  total  function  where
              100.0 %  100.0 %  0.88      1      1.54 G       1.36 G  (1.29 G–1.43 G)   0.88  main      fig1.c:14
        "#]],
    );
}

#[test]
fn annotation_of_figure_1() {
    let profile = figure_1();
    let analysis = Analysis::new(&profile, None);
    let routine = annotate::find(&analysis, "main").unwrap();
    let source = |file: &str, line: u32| match file {
        "/src/fig1.c" => SourceText::Line(format!("\tsource of line {line}")),
        _ => SourceText::Unknown,
    };
    check(
        &annotate::text(&analysis, routine, &source, style()),
        expect![[r#"
            time sampled: 1,554 samples, 0 lost · executions exact · 100.0 % of the time on counted code
              counting took 1.00x the time
            clock: cpu-clock:u, time; cycles estimated at 3.50 GHz (3.40 to 3.60 seen) · charged to the instruction before
              CPI: cycles per instruction

            main (fig1.c:14): 100.0 % of the time, CPI 0.88, called once

                  offset  instruction                   executions  samples    time  ns each       (95 %)  ≈ cycles each
                  ↻ loop, depth 1: entered once, 1.00 M rounds each
                fig1.c:24      source of line 24
            ╭──▸  0x1000  shl rsi,6                         1.00 M      0.0   0.0 %        0     (0–0.92)              0
            │     0x1004  xor eax,eax                       1.00 M      0.0   0.0 %        0     (0–0.92)              0
            │   ◆ mov rsi,[rbx+rsi]: a slow load, 906 (827–990) cycles each, 1.00 M times: 66.6 % (62.6–70.8) of the time;
            │     what needs its value waits
            │     0x1006  mov rsi,[rbx+rsi]                 1.00 M  1,035.0  66.6 %      259    (243–275)            906
            │     0x100a  nop [rax+rax]                     1.00 M      0.0   0.0 %        0     (0–0.92)              0
            │     ↻ loop, depth 2: entered 1.00 M times, 256 rounds each
            │   fig1.c:26      source of line 26
            │╭─▸  0x1012  mov rcx,rsi                      256.0 M      0.0   0.0 %        0    (0–<0.01)              0
            ││    0x1015  xor rcx,rax                      256.0 M    516.0  33.2 %     0.50  (0.46–0.55)           1.76
            ││    0x1018  add rdx,rcx                      256.0 M      0.0   0.0 %        0    (0–<0.01)              0
            ││    0x101b  add rax,1                        256.0 M      0.0   0.0 %        0    (0–<0.01)              0
            ││    0x101f  cmp rax,0x100                    256.0 M      0.0   0.0 %        0    (0–<0.01)              0
            │╰──  0x1025  jne 0x1012         ↑ 99.6 %      256.0 M      0.0   0.0 %        0    (0–<0.01)              0
            │   fig1.c:23      source of line 23
            │     0x1027  add rdi,1                         1.00 M      3.0  0.2 %?    0.75?  (0.15–2.19)          2.62?
            │     0x102b  cmp rbp,rdi                       1.00 M      0.0   0.0 %        0     (0–0.92)              0
            ╰───  0x102e  jne 0x1000         ↑ 100.0 %      1.00 M      0.0   0.0 %        0     (0–0.92)              0
            ? rests on fewer than 10 samples: the interval spans more than a factor of three
        "#]],
    );
}

#[test]
fn the_head_of_an_annotation_fits_a_narrow_screen() {
    let profile = figure_1();
    let analysis = Analysis::new(&profile, None);
    let routine = annotate::find(&analysis, "main").unwrap();
    let style = Style { width: 58, colour: false };
    let text = annotate::text(&analysis, routine, &|_, _| SourceText::Unknown, style);
    assert!(text.contains("\nmain (fig1.c:14):\n  100.0 % of the time, CPI 0.88, called once\n"), "{text}");
}

#[test]
fn a_question_mark_in_the_source_is_no_mark_of_few_samples() {
    let mut profile = figure_1();
    let few = timewise_profile::Offset(0x102b);
    profile.samples.retain(|sample| sample.place.is_none_or(|place| place.offset != few));
    let analysis = Analysis::new(&profile, None);
    let routine = annotate::find(&analysis, "main").unwrap();
    let text = annotate::text(&analysis, routine, &|_, _| SourceText::Line("x = a ? b : c;".into()), style());
    assert!(text.contains("a ? b : c") && !text.contains("fewer than"), "{text}");
}

#[test]
fn counts_that_may_be_off_are_not_called_exact() {
    let mut profile = figure_1();
    profile.processes[1].count_uncertainty = 2;
    let text = listing::report(&Analysis::new(&profile, None), By::Loop, None, style());
    assert!(text.contains("executions counted ·") && text.contains("exact to within 2"), "{text}");
}

#[test]
fn samples_without_counts_show_shares_only() {
    let profile = sketch(
        "clock cpu-clock:u 3.5e9 3.4e9 3.6e9 250000
         function hot at 0x1000 size 0x40 file a.c line 3
         function cool at 0x1040 size 0x40 file a.c line 9
         sample 0x1004 70
         sample 0x1050 30",
    )
    .map(|mut profile| {
        profile.runs.pop();
        profile.processes.pop();
        profile.threads.pop();
        profile
    })
    .unwrap();
    check(
        &summary::summary(&Analysis::new(&profile, None), style()),
        expect![[r#"
            sketch: 1.00 s = 0.90 user + 0.05 kernel + 0.05 waiting · 100 samples, 0 lost · 1 thread
            clock: cpu-clock:u, time; cycles estimated at 3.50 GHz (3.40 to 3.60 seen) · charged to the instruction before

            Hottest functions
                             self
              hot   a.c:3  70.0 %
              cool  a.c:9  30.0 %

        "#]],
    );
}

#[test]
fn counts_without_samples_show_shares_of_instructions() {
    let mut profile = figure_1();
    profile.samples.clear();
    profile.runs[0].kind = timewise_profile::RunKind::Counting;
    profile.runs[0].clock = None;
    let report = |by| listing::report(&Analysis::new(&profile, None), by, Some(3), style());
    check(
        &(report(By::Function) + &report(By::Loop) + &report(By::Instruction)),
        expect![[r#"
            time not sampled · executions exact

              self (instructions)    total  calls  instr/call (self)  function  where
                          100.0 %  100.0 %      1            771.5 M  main      fig1.c:14
            time not sampled · executions exact

              self (instructions)    total  entered  rounds each  instr/round  depth  loop          function
                           99.5 %   99.5 %  500.0 k          256         6.00      2  fig1.c:26     main
                            0.5 %  100.0 %        1      500.0 k         7.00      1  fig1.c:23-26  main
            time not sampled · executions exact

              of instructions  executions  offset  instruction  where      function
                       16.6 %     128.0 M  0x1012  mov rcx,rsi  fig1.c:26  main
                       16.6 %     128.0 M  0x1015  xor rcx,rax  fig1.c:26  main
                       16.6 %     128.0 M  0x1018  add rdx,rcx  fig1.c:26  main
            … and 10 more: --limit 0 shows all
        "#]],
    );
}

#[test]
fn a_table_without_rows_says_so() {
    let profile = figure_1();
    let analysis = Analysis::new(&profile, None);
    let last = |by| listing::report(&analysis, by, None, style()).lines().last().unwrap().to_string();
    assert_eq!(last(By::Waiting), "no thread was seen to wait; that others took its processor is no waiting");
    assert_eq!(last(By::Call), "none in this profile");
    assert!(!last(By::Loop).contains("none"));
}

#[test]
fn waiting_is_shown_where_it_is_notable() {
    let profile = sketch(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         function lock at 0x2000 size 0x20
         function worker at 0x1000 size 0x40 file work.c line 10
         function main at 0x1100 size 0x40 file work.c line 30
         line 0x1000 work.c 12
         line 0x1100 work.c 33
         line 0x1140 work.c 0
         wait 0x2010 3 200000000 0x1020 0x1110
         wait 0x2014 1 100000000 0x1024 0x1110
         wait 0x1108 1 15000
         wait 0x1108 1 5000 0x1130",
    )
    .unwrap();
    let analysis = Analysis::new(&profile, None);
    let shown = summary::summary(&analysis, style());
    let title = "Waiting: 300 ms of all threads together, measured at every switch of a thread";
    assert!(shown.contains(title), "{shown}");
    check(
        &listing::report(&analysis, By::Waiting, None, style()),
        expect![[r#"
            time sampled: 0 samples, 0 lost · executions exact · counting took 1.00x the time
            waiting: measured at every switch of a thread

                 time   share  threads  times     each  waiting in < called by
               300 ms  24.0 %        1      4  75.0 ms  lock < worker work.c:12
              15.0 µs   0.0 %        1      1  15.0 µs  main work.c:33
              5.00 µs   0.0 %        1      1  5.00 µs  main < main work.c:33
        "#]],
    );
    let rows = timewise_report::csv::report(&analysis, By::Waiting).unwrap();
    let stacks: Vec<_> = rows.lines().skip(1).map(|row| row.rsplit(',').next().unwrap()).collect();
    assert_eq!(stacks, ["lock;worker;main", "main", "main;main"]);
}
