//! What is told of a simulated run, as golden text. `UPDATE_EXPECT=1 cargo test` rewrites it.

use expect_test::expect;
use timewise_attribution::Schedule;
use timewise_attribution::comparison::Comparison;
use timewise_attribution::event_counts::EventCounts;
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{
    CodeVersion, CommitState, CoreEvents, Exit, ModuleId, Offset, Place, Profile, RunId,
    SimulatedInstruction, SimulatedPart, SimulatedThread, SimulatedThreadId, SimulatedWindow, Simulation,
    SimulationId, StackComponent, ThreadId,
};
use timewise_report::Style;
use timewise_report::simulated::{Simulated, csv, impact, json, listing, text};
use timewise_report::{By, annotate, diff};
use timewise_trace::Worker;

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
fn spent() -> Profile {
    use CommitState::{Computing, Drained, Mispredicted, Stalled};
    let mut profile = program();
    for (offset, state, events, cycles) in [
        (0x1000, Computing, "ST-L1+ST-LLC", 500),
        (0x1000, Stalled, "ST-L1+ST-LLC", 14_000),
        (0x1000, Stalled, "ST-L1+ST-TLB+ST-LLC", 4_000),
        (0x1000, Stalled, "", 1_500),
        (0x1004, Computing, "", 250),
        (0x1004, Stalled, "", 750),
        (0x1007, Computing, "", 250),
        (0x1007, Mispredicted, "FL-MB", 2_700),
        (0x1007, Drained, "DR-L1", 50),
    ] {
        let place = Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
        let events = CoreEvents::named(events).unwrap();
        let parts = StackComponent::PARTS_OF_A_CYCLE * cycles;
        let simulation = SimulationId(0);
        profile.cycle_stacks.push(StackComponent { simulation, place, state, events, parts });
        profile.simulated_instructions.retain(|row| row.place != place);
        profile.simulated_instructions.push(SimulatedInstruction { simulation, place, executions: 1_000 });
    }
    profile.simulations.push(Simulation {
        run: RunId(1),
        core: "toy-core".into(),
        core_hash: 0,
        part: SimulatedPart::ALL,
        executed: Some(3_000),
        instructions: 3_000,
        cycles: 24_000,
    });
    profile
}

fn with<T>(profile: &Profile, compared: Option<&Comparison>, tell: impl FnOnce(&Simulated) -> T) -> T {
    let analysis = Analysis::new(profile, None);
    let compared = compared.map(Comparison::findings);
    tell(&Simulated { compared: compared.as_ref(), ..Simulated::of(&analysis).unwrap() })
}

const STYLE: Style = Style { width: 110, colour: false };

#[test]
fn the_screen_says_where_cycles_go_and_why() {
    let got = with(&spent(), None, |simulated| text(simulated, STYLE));
    expect![[r#"
        sketch: modelled on toy-core, not measured · 3,000 instructions · 24,000 cycles
          CPI (cycles per instruction) 8.00 · flushes matter

        Where the cycles go
          execution     4.2 %   1,000  ██
          ALU stall     3.1 %     750  █
          load stall   81.2 %  19,500  █████████████████████████████████
          store stall   0.0 %       0
          front end     0.2 %      50
          mispredict   11.2 %   2,700  █████
          misc. flush   0.0 %       0
        not modelled: waiting, and what the kernel does in the run's 0 system calls, which take a fixed time each

        Functions, by cycles of their own
                           cycles   CPI  execution  ALU stall  load stall  mispredict
          main  walk.c:3  100.0 %  8.00      4.2 %      3.1 %      81.2 %      11.2 %

        Loops, by cycles of their own
                             cycles   CPI  execution  ALU stall  load stall  mispredict
          walk.c:5-6  main  100.0 %  8.00      4.2 %      3.1 %      81.2 %      11.2 %

        Costliest instructions
                                       cycles  each  executions  why
          walk.c:5  mov rsi,[rbx+rsi]  83.3 %  20.0       1,000  last-level cache miss 70 %, TLB miss + last-level ca…
          walk.c:6  jne 0x1000         12.5 %  3.00       1,000  misprediction 90 %
          walk.c:6  add rax,rsi         4.2 %  1.00       1,000  waits for operands or its result 75 %, commits 25 %
    "#]].assert_eq(&got);
}

#[test]
fn a_signal_that_ended_the_program_is_told() {
    let told = |exit| {
        let mut profile = spent();
        profile.runs.iter_mut().for_each(|run| run.exit = exit);
        with(&profile, None, |simulated| {
            let got: serde_json::Value = serde_json::from_str(&json(simulated).unwrap()).unwrap();
            (text(simulated, STYLE).contains(" · ended by signal 15\n"), got["ended_by_signal"].clone())
        })
    };
    assert_eq!(told(Exit::Signal(15)), (true, 15.into()));
    assert_eq!(told(Exit::Code(15)), (false, serde_json::Value::Null));
}

/// What no event tells is told by the instruction.
#[test]
fn what_an_instruction_waits_for_is_of_its_kind() {
    let mut profile = sketch(
        "function main at 0x1000 size 0x40
         block round at 0x1000 runs 1000 code 488b06 f0480101 488706 488906 4801f0 c3
         edge - -> round external 1000
         edge round -> - return 1000",
    )
    .unwrap();
    let simulation = SimulationId(0);
    for offset in [0x1000, 0x1003, 0x1007, 0x100a, 0x100d, 0x1010] {
        let place = Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
        let (state, events) = (CommitState::Stalled, CoreEvents::named("").unwrap());
        let parts = StackComponent::PARTS_OF_A_CYCLE * 1_000;
        profile.cycle_stacks.push(StackComponent { simulation, place, state, events, parts });
        profile.simulated_instructions.push(SimulatedInstruction { simulation, place, executions: 1_000 });
    }
    profile.simulations.extend(spent().simulations);
    let got = with(&profile, None, |simulated| json(simulated).unwrap());
    let got: serde_json::Value = serde_json::from_str(&got).unwrap();
    let rows = got["by_instruction"].as_array().unwrap();
    let why = |text: &str| rows.iter().find(|row| row["text"] == text).unwrap()["stack"][0]["why"].clone();
    assert_eq!(why("mov rax,[rsi]"), "waits for operands, an older store, or an L1 hit");
    assert_eq!(why("lock add [rcx],rax"), "locked: waits for older stores");
    assert_eq!(why("xchg [rsi],rax"), "locked: waits for older stores");
    assert_eq!(why("mov [rsi],rax"), "waits for what it stores");
    assert_eq!(why("add rax,rsi"), "waits for operands or its result");
    assert_eq!(why("ret"), "waits for its return address");
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
    let got = with(&spent(), Some(&comparison), |simulated| text(simulated, STYLE));
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

/// All miss the first level, the load twice: it has all cycles of these misses.
#[test]
fn events_stand_beside_what_they_cost() {
    let table = "program  0 1 2 0
                 1-8      0[ST-L1]  1[ST-L1]  2[ST-L1+FL-MB]  0[ST-L1]
                 9        0[ST-L1]* 1[ST-L1]* 2[ST-L1+FL-MB]* 0[ST-L1]*";
    let mut counts = EventCounts::default();
    counts.take(&timewise_trace::sketch::sketch(table).records);
    let profile = spent();
    let analysis = Analysis::new(&profile, None);
    let simulated = Simulated { events: Some(&counts), ..Simulated::of(&analysis).unwrap() };
    expect![[r#"

        Do counts of events tell what they cost? (thesis, figure B.7)
                                executions  cycles  correlation
          FL-MB  misprediction           1  11.2 %
          ST-L1  L1 miss                 4  77.1 %         1.00
        executions that were subject to the event, and cycles of what they then cost, alone or with other events
          correlation: of the two by instruction, 1 where counts tell costs, empty where fewer than three instructions
          tell or either of the two is the same for all · 25.0 % of the executions with an event had several
    "#]].assert_eq(&impact(&simulated, &counts, STYLE));
    let got: serde_json::Value = serde_json::from_str(&json(&simulated).unwrap()).unwrap();
    assert_eq!(got["events"]["combined"], 0.25);
    let misses = &got["events"]["by_event"][1];
    assert_eq!((&misses["event"], &misses["executions"]), (&"ST-L1".into(), &4.into()));
    assert_eq!(misses["cycles"], 18_500.0);
    assert!((misses["correlation"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{misses}");
}

/// Thirty windows of 100 instructions, half of them of 2 cycles an instruction and half of 14, each behind 9,900.
fn in_windows(executed: u64) -> Profile {
    let mut profile = spent();
    let simulation = &mut profile.simulations[0];
    simulation.part = SimulatedPart { skipped: 9_900, length: Some(100), windows: None };
    simulation.executed = Some(executed);
    profile.simulated_threads.push(SimulatedThread {
        simulation: SimulationId(0),
        thread: ThreadId(0),
        image: 0,
        executable: b"/bin/sketch".into(),
        instructions: 3_000,
        cycles: 24_000,
    });
    profile.simulated_windows.extend((0..30).map(|at| SimulatedWindow {
        thread: SimulatedThreadId(0),
        first_instruction: 9_900 + 10_000 * at,
        instructions: 100,
        cycles: if at < 15 { 200 } else { 1_400 },
    }));
    profile
}

/// What false sharing costs is in no modelled cycle.
#[test]
fn that_threads_do_not_disturb_each_other_is_told_of_several() {
    let in_one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = |profile: &Profile| {
        let analysis = Analysis::new(profile, None);
        let compared = timewise_diff::Comparison::new(&analysis, &analysis).unwrap();
        let by = diff::By::Code(diff::Grain::Function);
        let texts =
            [with(profile, None, |simulated| text(simulated, STYLE)), diff::text(&compared, by, None, STYLE)];
        texts.map(|text| in_one_line(text).contains("; and that threads disturb each other's caches"))
    };
    let mut profile = in_windows(304_000);
    assert_eq!(told(&profile), [false; 2]);
    profile.simulated_threads.push(profile.simulated_threads[0].clone());
    assert_eq!(told(&profile), [true; 2]);
}

#[test]
fn windows_tell_of_the_whole_within_limits() {
    let head = |profile: &Profile| {
        let got = with(profile, None, |simulated| text(simulated, STYLE));
        got.split_once("\n\n").unwrap().0.to_owned() + "\n"
    };
    expect![[r#"
        sketch: modelled on toy-core, not measured · 3,000 instructions · 24,000 cycles
          CPI (cycles per instruction) 8.00 · flushes matter
          of each thread all windows of at most 100 instructions, each after 9,900 instructions that pass
          0.99 % of the 304.0 k instructions that it executed, 4,000 lie behind the last window
        estimated from 30 windows, of all 304.0 k instructions: CPI 8.000 (5.733 to 10.267)
          cycles 2.43 M (1.74 M to 3.12 M); limits of 95 %, for the choice of windows and not for caches that begin
          colder than they would be
    "#]].assert_eq(&head(&in_windows(304_000)));
    // There was room for another two.
    expect![[r#"
        sketch: modelled on toy-core, not measured · 3,000 instructions · 24,000 cycles
          CPI (cycles per instruction) 8.00 · flushes matter
          of each thread all windows of at most 100 instructions, each after 9,900 instructions that pass
          0.94 % of the 320.5 k instructions that it executed, 20,500 lie behind the last window
        estimated from 30 windows, of the first 300.0 k instructions alone: CPI 8.000 (5.733 to 10.267)
          cycles 2.40 M (1.72 M to 3.08 M); limits of 95 %, for the choice of windows and not for caches that begin
          colder than they would be
    "#]].assert_eq(&head(&in_windows(320_500)));
    let mut few = in_windows(304_000);
    few.simulated_windows.truncate(29);
    expect![[r#"
        sketch: modelled on toy-core, not measured · 3,000 instructions · 24,000 cycles
          CPI (cycles per instruction) 8.00 · flushes matter
          of each thread all windows of at most 100 instructions, each after 9,900 instructions that pass
          0.95 % of the 304.0 k instructions that it executed, 14,000 lie behind the last window
        29 windows are too few to tell of what lies between them: take 30 or more, by a smaller --skip or --windows
          all
    "#]]
    .assert_eq(&head(&few));
    let got = with(&in_windows(304_000), None, |simulated| json(simulated).unwrap());
    let got: serde_json::Value = serde_json::from_str(&got).unwrap();
    assert_eq!(
        [&got["executed_instructions"], &got["reached_instructions"], &got["windows"]],
        [304_000, 300_000, 30]
    );
    let estimated = &got["estimated"];
    assert_eq!((&estimated["whole"], &estimated["instructions"]), (&true.into(), &304_000.into()));
    assert_eq!((&estimated["cpi"], &estimated["cycles"]), (&8.0.into(), &2_432_000.0.into()));
    // Residuals of 600 cycles, less the 0.99 % that was seen; the quantile is that of 29 degrees of freedom.
    let range = 2.045_23 * (600.0f64.powi(2) / 29.0 * (1.0 - 3.0 / 304.0)).sqrt() / 100.0;
    assert!((estimated["cpi_high"].as_f64().unwrap() - 8.0 - range).abs() < 1e-4, "{estimated}");
    assert!((estimated["cpi_low"].as_f64().unwrap() - 8.0 + range).abs() < 1e-4, "{estimated}");
}

#[test]
fn programs_read_the_same() {
    let got = with(&spent(), None, |simulated| json(simulated).unwrap());
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

#[test]
fn lines_and_blocks_have_stacks_too() {
    let got = with(&spent(), None, |simulated| listing(simulated, By::Line, Some(1), STYLE).unwrap());
    let table = got.split_once("\n\n").unwrap().1.split_once("\n\n").unwrap().1;
    expect![[r#"
                    cycles   CPI  execution  load stall
          walk.c:5  83.3 %  20.0      2.1 %      81.2 %
        … and 1 more: --limit 0 shows all
    "#]]
    .assert_eq(table);
    assert!(!got.contains("without line numbers"), "{got}");
    let mut without = spent();
    without.lines.truncate(1);
    without.lines[0].place.offset = Offset(0x1004);
    let got = with(&without, None, |simulated| listing(simulated, By::Line, None, STYLE).unwrap());
    assert!(got.contains("83.3 % of the modelled time is in code without line numbers"), "{got}");
    assert!(with(&spent(), None, |simulated| listing(simulated, By::Call, None, STYLE).is_none()));
    let rows = with(&spent(), None, |simulated| csv(simulated, By::Block).unwrap().unwrap());
    expect![[r#"
        module,function,offset,file,line,line_last,text,instructions,cycles,why,execution,alu_stall,load_stall,store_stall,front_end,mispredict,misc_flush
        /bin/sketch,main,4096,/src/walk.c,5,,,3000,24000.0,,1000.0,750.0,19500.0,0.0,50.0,2700.0,0.0
    "#]].assert_eq(&rows);
}

/// The samples fell on the addition, which waits for the load.
#[test]
fn measured_time_is_divided_as_the_models_cycles_are() {
    let mut profile = spent();
    let measured = sketch(
        "clock cpu-clock:u 2e9 1.9e9 2.1e9 500000
         function main at 0x1000 size 0x40
         sample 0x1004 240",
    );
    let measured = measured.unwrap();
    (profile.samples, profile.runs[0].clock) = (measured.samples, measured.runs[0].clock.clone());
    let analysis = Analysis::new(&profile, None);
    let routine = annotate::find(&analysis, "main").unwrap();
    let unknown = |_: &str, _: u32| annotate::SourceText::Unknown;
    let got = annotate::text(&analysis, routine, &unknown, STYLE);
    expect![[r#"
        time sampled: 240 samples, 0 lost · executions exact · cycles modelled on toy-core
          100.0 % of the time on counted code · counting took 1.00x the time
        clock: cpu-clock:u, time; cycles estimated at 2.00 GHz (1.90 to 2.10 seen) · charged to the instruction before
          CPI: cycles per instruction

        main (walk.c:3): 100.0 % of the time, CPI 80,000, called once

                                                                                   time    cycles
             offset  instruction                  executions     time  ns each  divided  modelled  why, modelled on t…
             ↻ loop, depth 1: entered once, 1,000 rounds each
           walk.c:5
           ◆ mov rsi,[rbx+rsi]: a slow load, 240.0 k (200.1 k–286.0 k) cycles each, 1,000 times: 100.0 % (87.7–100.0)
             of the time; what needs its value waits
        ╭─▸  0x1000  mov rsi,[rbx+rsi]                 1,000  100.0 %  120.0 k   83.3 %      20.0  ███████████▎ last-…
        │  walk.c:6
        │    0x1004  add rax,rsi                       1,000    0.0 %        0    4.2 %      1.00  ▋ waits for operan…
        ╰──  0x1007  jne 0x1000         ↑ 99.9 %       1,000    0.0 %        0   12.5 %      3.00  ██▏ misprediction
        cycles modelled: of each execution, on toy-core, not measured
          time divided: what was measured of a loop, or of a block in none, divided as the model's cycles are
    "#]].assert_eq(&got);
    let rows: serde_json::Value = serde_json::from_str(&annotate::json(&analysis, routine).unwrap()).unwrap();
    let load = &rows["rows"][0];
    assert_eq!(load["divided_within"], "loop");
    // 240 samples of a million cycles each, and 20,000 of 24,000 modelled cycles.
    assert_eq!(load["divided_cycles"], 200_000_000);
    assert_eq!((&load["modelled_executions"], &load["modelled_cycles"]), (&1000.into(), &20_000.into()));
}
