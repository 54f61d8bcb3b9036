//! What is told of a simulated run, as golden text. `UPDATE_EXPECT=1 cargo test` rewrites it.

use expect_test::expect;
use timewise_attribution::comparison::Comparison;
use timewise_attribution::{Component, Parts, Profiler, Schedule, Stacks, State};
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::Profile;
use timewise_report::Style;
use timewise_report::simulated::{Simulated, json, text};
use timewise_trace::{Psv, Worker};

/// A loop of 1,000 rounds: a load that misses, an addition that waits for it, a branch.
fn program() -> Profile {
    sketch(
        "function main at 0x1000 size 0x40 file walk.c line 3
         block round at 0x1000 runs 1000 code 488b3433 4801f0 75f7
         edge - -> round external 1
         edge round -> round branch 999
         edge round -> - return 1
         line 0x1000 /src/walk.c 5
         line 0x1004 /src/walk.c 6",
    )
    .unwrap()
}

/// Cycles as a core might spend them: 20,000 on the load, most of them on missing caches.
fn stacks() -> Stacks {
    let mut stacks = Stacks::default();
    let miss = Psv::ST_L1 | Psv::ST_LLC;
    for (instruction, state, events, cycles) in [
        (0, State::Computing, miss, 500),
        (0, State::Stalled, miss, 14_000),
        (0, State::Stalled, miss | Psv::ST_TLB, 4_000),
        (0, State::Stalled, Psv::BASE, 1_500),
        (1, State::Computing, Psv::BASE, 250),
        (1, State::Stalled, Psv::BASE, 750),
        (2, State::Computing, Psv::BASE, 250),
        (2, State::Mispredicted, Psv::FL_MB, 2_700),
        (2, State::Drained, Psv::DR_L1, 50),
    ] {
        stacks.add(instruction, Component::new(state, events), Parts::cycles(cycles));
    }
    stacks
}

fn with<T>(stacks: &Stacks, compared: Option<&Comparison>, tell: impl FnOnce(&Simulated) -> T) -> T {
    let profile = program();
    let analysis = Analysis::new(&profile, None);
    let compared = compared.map(Comparison::findings);
    tell(&Simulated {
        analysis: &analysis,
        run: &profile.runs[1],
        core: "toy-core",
        part: None,
        threads: 1,
        instructions: 3_000,
        cycles: stacks.total().as_cycles() as u64,
        executions: &[1_000; 3],
        stacks,
        compared: compared.as_ref(),
    })
}

const STYLE: Style = Style { width: 110, colour: false };

#[test]
fn the_screen_says_where_cycles_go_and_why() {
    let got = with(&stacks(), None, |simulated| text(simulated, STYLE));
    expect![[r#"
        sketch: modelled on toy-core, not on this processor · 3,000 instructions · 24,000 cycles
          CPI (cycles per instruction) 8.00 · flushes matter

        Where the cycles go
          execution     4.2 %   1,000  ██
          ALU stall     3.1 %     750  █
          load stall   81.2 %  19,500  █████████████████████████████████
          store stall   0.0 %       0
          front end     0.2 %      50
          mispredict   11.2 %   2,700  █████
          misc. flush   0.0 %       0

        Functions, by cycles of their own
                           cycles   CPI  execution  ALU stall  load stall  mispredict
          main  walk.c:3  100.0 %  8.00      4.2 %      3.1 %      81.2 %      11.2 %

        Costliest instructions
                                       cycles  each  executions  why
          walk.c:5  mov rsi,[rbx+rsi]  83.3 %  20.0       1,000  last-level cache miss 70 %, TLB miss + last-level ca…
          walk.c:6  jne 0x1000         12.5 %  3.00       1,000  misprediction 90 %
          walk.c:6  add rax,rsi         4.2 %  1.00       1,000  waits for operands or its result 75 %, commits 25 %
    "#]].assert_eq(&got);
}

/// A load waits for 8 cycles and a branch is mispredicted: of 18 cycles the reference gives both 8 and two
/// thirds, and the addition two thirds. Within their one block all but what LCI loses before anything has
/// committed is right.
#[test]
fn profilers_are_compared() {
    let table = "program  0 1 2  0 1 2
                 1-8      0[ST-L1] 1 2
                 9        0[ST-L1]* 1* 2[FL-MB]!mispredicted*
                 10-17    -
                 18       0* 1* 2*";
    let trace = timewise_trace::sketch::sketch(table).records;
    let mut comparison = Comparison::new(Schedule::every_cycle());
    comparison.take(&trace);
    let mut oracle = Profiler::oracle();
    oracle.take(&trace);
    let got = with(oracle.stacks(), Some(&comparison), |simulated| text(simulated, STYLE));
    let tables = got.split_once("\nErrors").unwrap().1;
    expect![[r#"
         of profilers that tell where time goes (thesis, paper A)
                    instruction    block  function  instruction, systematic
          TIP            0.00 %   0.00 %    0.00 %                   0.00 %
          TIP-ILP        7.41 %   0.00 %    0.00 %                   7.41 %
          NCI           51.85 %   0.00 %    0.00 %                  51.85 %
          NCI+ILP       29.63 %   0.00 %    0.00 %                  29.63 %
          LCI           44.44 %  44.44 %   44.44 %                  44.44 %
          Dispatch      51.85 %   5.56 %    5.56 %                  51.85 %
          Software      51.85 %   5.56 %    5.56 %                  51.85 %

        Errors of profilers that also tell why (thesis, paper B)
                   instruction    block  function  instruction, systematic
          TEA           0.00 %   0.00 %    0.00 %                   0.00 %
          NCI-TEA      51.85 %  46.30 %   46.30 %                  51.85 %
          IBS          98.15 %  92.59 %   92.59 %                  98.15 %
          SPE          98.15 %  92.59 %   92.59 %                  98.15 %
          RIS          98.15 %  92.59 %   92.59 %                  98.15 %
        18 samples, one every 1 cycles
          an error is the part of the cycles that is attributed otherwise than by the reference, which sees every
          cycle · systematic: otherwise than by the reference at the same samples
    "#]].assert_eq(tables);
}

#[test]
fn programs_read_the_same() {
    let got = with(&stacks(), None, |simulated| json(simulated).unwrap());
    let got: serde_json::Value = serde_json::from_str(&got).unwrap();
    assert_eq!((&got["schema"], &got["origin"]), (&"timewise-simulate/1".into(), &"modelled".into()));
    assert_eq!(got["categories"]["load_stall"], 19_500.0);
    assert_eq!(got["categories"]["execution"], 1_000.0);
    assert_eq!((&got["class"], &got["unattributed_cycles"]), (&"flush-intensive".into(), &0.0.into()));
    let costliest = &got["by_instruction"][0];
    assert_eq!(
        (&costliest["offset"], &costliest["line"], &costliest["executions"]),
        (&0x1000.into(), &5.into(), &1000.into())
    );
    assert_eq!(costliest["stack"][0]["events"], serde_json::json!(["ST-L1", "ST-LLC"]));
    assert_eq!(
        (&costliest["stack"][0]["state"], &costliest["stack"][0]["cycles"]),
        (&"stalled".into(), &14_000.0.into())
    );
    let sum: f64 =
        got["by_instruction"].as_array().unwrap().iter().map(|row| row["cycles"].as_f64().unwrap()).sum();
    assert_eq!(got["functions"][0]["cycles"].as_f64(), Some(sum));
}
