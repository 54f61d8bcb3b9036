//! Costs with callees, of programs whose counts and stacks are written by hand.

use timewise_flow::call_sites::Site;
use timewise_flow::sketch::sketch;
use timewise_flow::{Analysis, RoutineId, Total};
use timewise_profile::{Exit, Offset, Place, Profile};

/// `code` of a call of 5 bytes, behind a `nop`: so that a block of it is left by a call. Where it leads to does not
/// matter, edges say so.
const CALL: &str = "code 90 e800000000";

fn program(facts: &str) -> Profile {
    let clock = "clock cpu-clock:u 1e9 1e9 1e9 1000\n";
    sketch(&format!("{clock}{}", facts.replace("CALL", CALL))).unwrap()
}

/// Samples and instructions of the total of each function that has any, as `name samples instructions`.
fn functions(analysis: &Analysis) -> Vec<String> {
    let totals = &analysis.totals().routines;
    let name = |at: usize| analysis.name_of(RoutineId(at as u32));
    let all = totals.iter().enumerate().map(|(at, total)| format!("{} {}", name(at), shown(total)));
    all.collect()
}

fn loops(analysis: &Analysis) -> Vec<String> {
    let of = analysis.forest.loops.iter().zip(&analysis.totals().loops);
    of.map(|(one, total)| format!("{} {}", analysis.name_of(one.routine), shown(total))).collect()
}

/// Each call as `caller callee samples instructions calls`, in order.
fn calls(analysis: &Analysis) -> Vec<String> {
    let totals = analysis.totals();
    let shown = totals.call_sites.iter().zip(&totals.calls).map(|(site, total)| {
        let callee = site.callee.map_or("-".into(), |callee| analysis.name_of(callee));
        let calls = site.calls.map_or("-".into(), |calls| calls.to_string());
        format!("{} {callee} {} {calls}", analysis.name_of(site.caller), shown(total))
    });
    shown.collect()
}

fn shown(total: &Total) -> String {
    let samples = if total.has_time { format!("{:.0}", total.cost.weight.samples) } else { "?".into() };
    let instructions = if total.has_instructions { total.cost.instructions.to_string() } else { "?".into() };
    format!("{samples} {instructions}")
}

/// Figure 4 of the OptiWISE paper: loop 0 of func0 calls func1, loop 1 of func1 and loop 2 of func2 call func3, whose
/// way depends on who calls; the samples are the paper's figure 5, with others beside it.
fn figure_4() -> Profile {
    program(
        "function main at 0x100 size 0x80
         function func0 at 0x1000 size 0x100
         function func1 at 0x2000 size 0x100
         function func2 at 0x3000 size 0x100
         function func3 at 0x4000 size 0x100
         block m0 at 0x100 runs 1 CALL
         block m2 at 0x106 runs 1 CALL
         block m9 at 0x10c runs 1 code c3
         block a0 at 0x1000 runs 10 CALL
         block a1 at 0x1006 runs 10 code 75f8
         block a9 at 0x1008 runs 1 code c3
         block b0 at 0x2000 runs 300 CALL
         block b1 at 0x2006 runs 300 code 75f8
         block b9 at 0x2008 runs 10 code c3
         block c0 at 0x3000 runs 100 CALL
         block c1 at 0x3006 runs 100 code 75f8
         block c9 at 0x3008 runs 1 code c3
         block d0 at 0x4000 runs 9300 code 90 75fd
         block d9 at 0x4003 runs 400 code c3
         edge - -> m0 external 1
         edge m0 -> a0 call 1
         edge a9 -> m2 return 1
         edge m2 -> c0 call 1
         edge c9 -> m9 return 1
         edge m9 -> - return 1
         edge a0 -> b0 call 10
         edge b9 -> a1 return 10
         edge a1 -> a0 branch 9
         edge a1 -> a9 fallthrough 1
         edge b0 -> d0 call 300
         edge d9 -> b1 return 300
         edge b1 -> b0 branch 290
         edge b1 -> b9 fallthrough 10
         edge c0 -> d0 call 100
         edge d9 -> c1 return 100
         edge c1 -> c0 branch 99
         edge c1 -> c9 fallthrough 1
         edge d0 -> d0 branch 8900
         edge d0 -> d9 fallthrough 400
         cost m0 -> a0 4241
         cost a0 -> b0 4210
         cost b0 -> d0 3300
         cost m2 -> c0 16001
         cost c0 -> d0 15700
         sample 0x4001 6 from 0x2006 0x1006 0x106
         sample 0x4001 30 from 0x3006 0x10c
         sample 0x2001 1 from 0x1006 0x106
         sample 0x3001 2 from 0x10c",
    )
}

#[test]
fn what_a_shared_function_costs_is_divided_among_the_loops_that_call_it() {
    let profile = figure_4();
    let analysis = Analysis::new(&profile, None);
    assert_eq!(
        functions(&analysis),
        ["main 39 20247", "func0 7 4241", "func1 7 4210", "func2 32 16001", "func3 36 19000"]
    );
    // Of 400 calls three in four came from loop 1, and most of the time from loop 2.
    assert_eq!(loops(&analysis), ["func0 7 4240", "func1 7 4200", "func2 32 16000", "func3 36 18600"]);
    assert_eq!(
        calls(&analysis),
        [
            "main func0 7 4241 1",
            "main func2 32 16001 1",
            "func0 func1 7 4210 10",
            "func1 func3 6 3300 300",
            "func2 func3 30 15700 100"
        ]
    );
    assert_eq!(analysis.totals().rooted_share, Some(1.0));
    let site = analysis.totals().call_sites[0].site;
    assert!(matches!(site, Site::Counted(block) if analysis.code.ends_in_call(block)));
}

/// A sample at a function's first instruction belongs to the call, and one where a call returns to the callee.
#[test]
fn stacks_follow_the_instruction_that_is_charged() {
    let mut profile = figure_4();
    profile.samples.clear();
    let more = "sample 0x4000 8 from 0x3006 0x10c
        sample 0x3006 4 from 0x10c";
    profile.samples = with_stacks(&mut profile, more);
    let analysis = Analysis::new(&profile, None);
    // The 8 at the head of func3 may also have come from its own loop: the call is charged with a part of them.
    let own = analysis.by_routine();
    let total = &analysis.totals().routines;
    assert_eq!(own[4].weight.samples.round() as u64 + own[3].weight.samples.round() as u64, 12);
    assert_eq!(own[2].weight.samples, 0.0, "no call of func1 led to func3");
    assert!((total[3].cost.weight.samples - 12.0).abs() < 1e-9);
    assert!((total[4].cost.weight.samples - own[4].weight.samples).abs() < 1e-9);
    assert!(own[4].weight.samples >= 4.0, "the returns");
    assert_eq!(total[2].cost.weight.samples, 0.0);
    assert_eq!(total[3].cost.split_variance, 0.0, "wherever they came from, it was in func2's call");
    assert!(total[4].cost.split_variance > 0.0);
}

/// The samples of other facts, their stacks added to those of `profile`.
fn with_stacks(profile: &mut Profile, facts: &str) -> Vec<timewise_profile::Sample> {
    let other = program(facts);
    let first = profile.stacks.len() as u32;
    let moved = |id: timewise_profile::StackId| timewise_profile::StackId(id.0 + first);
    profile.stacks.extend(
        other
            .stacks
            .iter()
            .map(|node| timewise_profile::StackNode { parent: node.parent.map(moved), ..*node }),
    );
    other.samples.iter().map(|one| timewise_profile::Sample { stack: one.stack.map(moved), ..*one }).collect()
}

#[test]
fn recursion_counts_once() {
    let profile = program(
        "function main at 0x100 size 0x80
         function f at 0x1000 size 0x100
         function leaf at 0x2000 size 0x10
         block m at 0x100 runs 1 CALL
         block m9 at 0x106 runs 1 code c3
         block f0 at 0x1000 runs 5 code 7506
         block f1 at 0x1002 runs 4 CALL
         block f2 at 0x1008 runs 4 code c3
         block f3 at 0x1010 runs 1 CALL
         block f4 at 0x1016 runs 1 code c3
         block l at 0x2000 runs 1 code 90 90 c3
         edge - -> m external 1
         edge m -> f0 call 1
         edge f0 -> f1 fallthrough 4
         edge f0 -> f3 branch 1
         edge f1 -> f0 call 4
         edge f3 -> l call 1
         edge l -> f4 return 1
         edge f4 -> f2 return 1
         edge f2 -> f2 return 3
         edge f2 -> m9 return 1
         edge m9 -> - return 1
         cost m -> f0 23
         cost f3 -> l 3
         sample 0x2001 7 from 0x1016 0x1008 0x1008 0x1008 0x1008 0x106
         sample 0x1003 2 from 0x1008 0x106",
    );
    let analysis = Analysis::new(&profile, None);
    assert_eq!(functions(&analysis), ["main 9 26", "f 9 23", "leaf 7 3"]);
    assert_eq!(calls(&analysis), ["main f 9 23 1", "f f 0 0 4", "f leaf 7 3 1"]);
}

#[test]
fn mutual_recursion_counts_each_function_once() {
    let profile = program(
        "function main at 0x100 size 0x80
         function even at 0x1000 size 0x100
         function odd at 0x2000 size 0x100
         block m at 0x100 runs 1 CALL
         block m9 at 0x106 runs 1 code c3
         block e0 at 0x1000 runs 3 CALL
         block e1 at 0x1006 runs 3 code 90 c3
         block o0 at 0x2000 runs 3 CALL
         block o1 at 0x2006 runs 3 code 90 c3
         edge - -> m external 1
         edge m -> e0 call 1
         edge e0 -> o0 call 3
         edge o0 -> e0 call 2
         edge e1 -> o1 return 2
         edge o1 -> e1 return 3
         edge e1 -> m9 return 1
         cost m -> e0 24
         cost e0 -> o0 12
         cost o0 -> e0 8
         sample 0x1001 5 from 0x2006 0x1006 0x2006 0x1006 0x106
         sample 0x2001 2 from 0x1006 0x106",
    );
    let analysis = Analysis::new(&profile, None);
    assert_eq!(functions(&analysis), ["main 7 27", "even 7 24", "odd 7 20"]);
    // Of the 5 the most recent even is the one that runs: it has called nobody. The most recent odd called it.
    assert_eq!(calls(&analysis), ["main even 7 24 1", "even odd 2 12 3", "odd even 5 8 2"]);
}

#[test]
fn what_a_tail_call_leads_to_belongs_to_the_call() {
    let profile = program(
        "function main at 0x100 size 0x80
         function first at 0x1000 size 0x10
         function second at 0x2000 size 0x10
         block m at 0x100 runs 1 CALL
         block m9 at 0x106 runs 1 code c3
         block a at 0x1000 runs 1 code 90 e900000000
         block b at 0x2000 runs 1 code 90 90 c3
         edge - -> m external 1
         edge m -> a call 1
         edge a -> b jump 1
         edge b -> m9 return 1
         cost m -> a 5
         sample 0x2001 3 from 0x106",
    );
    let analysis = Analysis::new(&profile, None);
    assert_eq!(functions(&analysis), ["main 3 8", "first 0 2", "second 3 3"]);
    assert_eq!(calls(&analysis), ["main first 3 5 1"]);
}

#[test]
fn a_linkage_stub_stands_for_what_it_leads_to() {
    let profile = program(
        "function main at 0x100 size 0x80
         function f@plt at 0x1000 size 0x10
         function f at 0x2000 size 0x10
         function loader at 0x3000 size 0x10
         block m at 0x100 runs 3 CALL
         block m9 at 0x106 runs 3 code c3
         block stub at 0x1000 runs 3 code ff25fa0f0000
         block lazy at 0x1006 runs 1 code 6800000000 e900000000
         block load at 0x3000 runs 1 code 90 ffe0
         block f at 0x2000 runs 3 code 90 c3
         edge - -> m external 3
         edge m -> stub call 3
         edge stub -> lazy indirect-jump 1
         edge lazy -> load jump 1
         edge load -> f indirect-jump 1
         edge stub -> f indirect-jump 2
         edge f -> m9 return 3
         cost m -> stub 13
         sample 0x2001 3 from 0x106",
    );
    let analysis = Analysis::new(&profile, None);
    assert_eq!(calls(&analysis), ["main f 3 13 3"]);
    assert_eq!(functions(&analysis)[..3], ["main 3 22", "f@plt 0 5", "f 3 6"]);
}

/// Several functions called by one indirect call are told apart, also where a stack shows what one went on to.
#[test]
fn callees_of_an_indirect_call_are_told_apart() {
    let profile = program(
        "function main at 0x100 size 0x80
         function f at 0x1000 size 0x10
         function g at 0x2000 size 0x10
         function h at 0x3000 size 0x10
         block m at 0x100 runs 3 code 90 ffd0
         block m9 at 0x103 runs 3 code c3
         block f at 0x1000 runs 2 code 90 c3
         block g at 0x2000 runs 1 code 90 e900000000
         block h at 0x3000 runs 1 code 90 c3
         edge - -> m external 3
         edge m -> f indirect-call 2
         edge m -> g indirect-call 1
         edge g -> h jump 1
         edge f -> m9 return 2
         edge h -> m9 return 1
         cost m -> f 4
         cost m -> g 4
         sample 0x1001 5 from 0x103
         sample 0x2001 1 from 0x103
         sample 0x3001 2 from 0x103",
    );
    let analysis = Analysis::new(&profile, None);
    assert_eq!(calls(&analysis), ["main f 5 4 2", "main g 1 4 1", "main h 2 ? -"]);
    assert_eq!(functions(&analysis)[0], "main 8 17");
}

/// Two ways lead to `shared`: a stack that ends there hides which one. What is called from one place only was
/// called from there.
#[test]
fn what_stacks_do_not_show_is_claimed_only_where_it_must_be() {
    let facts = "function start at 0x100 size 0x80
         function once at 0x1000 size 0x100
         function shared at 0x2000 size 0x10
         block s at 0x100 runs 1 CALL
         block s9 at 0x106 runs 1 code c3
         block o0 at 0x1000 runs 1 CALL
         block o1 at 0x1006 runs 1 CALL
         block o9 at 0x100c runs 1 code c3
         block h at 0x2000 runs 2 code 90 c3
         edge - -> s external 1
         edge s -> o0 call 1
         edge o0 -> h call 1
         edge h -> o1 return 1
         edge o1 -> h call 1
         edge h -> o9 return 1
         edge o9 -> s9 return 1
         cost s -> o0 9
         cost o0 -> h 2
         cost o1 -> h 2\n";
    let profile = program(&format!("{facts}sample 0x2001 6\nsample 0x1001 12 from 0x106\nsample 0x1001 2"));
    let analysis = Analysis::new(&profile, None);
    let totals = analysis.totals();
    assert_eq!(totals.rooted_share, Some(0.7));
    assert_eq!(functions(&analysis), ["start 14 12", "once 14 9", "shared 6 4"]);
    let once = &totals.routines[1];
    assert_eq!(once.open_cycles, 6000.0);
    assert!(once.cycles(&analysis.ruler).high > analysis.ruler.cycles(&once.cost).high + 5999.0);
    assert_eq!(totals.routines[2].open_cycles, 0.0, "it calls nothing");
}

/// Two functions that only each other call, and what one of them calls: nobody knows where that begins.
#[test]
fn callers_in_a_circle_claim_nothing() {
    let profile = program(
        "function ping at 0x100 size 0x80
         function pong at 0x1000 size 0x100
         function leaf at 0x2000 size 0x10
         block ping at 0x100 runs 2 CALL
         block pong at 0x1000 runs 2 CALL
         block p1 at 0x1006 runs 1 CALL
         block leaf at 0x2000 runs 1 code 90 c3
         edge ping -> pong call 2
         edge pong -> ping call 2
         edge p1 -> leaf call 1
         sample 0x2001 3",
    );
    let analysis = Analysis::new(&profile, None);
    let totals = analysis.totals();
    let samples: Vec<f64> = totals.routines.iter().map(|total| total.cost.weight.samples).collect();
    assert_eq!((samples, totals.rooted_share), (vec![0.0, 0.0, 3.0], Some(0.0)));
}

#[test]
fn a_handler_costs_none_of_those_it_interrupts() {
    let profile = program(
        "function main at 0x100 size 0x80
         function f at 0x1000 size 0x100
         function handler at 0x2000 size 0x10
         block m at 0x100 runs 1 CALL
         block m9 at 0x106 runs 1 code c3
         block f at 0x1000 runs 1 code 90 90 90 c3
         block handler at 0x2000 runs 1 code 90 c3
         edge - -> m external 1
         edge m -> f call 1
         edge f -> m9 return 1
         edge - -> handler external 1
         edge handler -> - external 1
         cost m -> f 4
         sample 0x2001 9 from 0x1002 0x106
         sample 0x1002 1 from 0x106",
    );
    let analysis = Analysis::new(&profile, None);
    assert_eq!(functions(&analysis), ["main 1 7", "f 1 4", "handler 9 2"]);
    assert_eq!(analysis.totals().rooted_share, Some(1.0));
}

#[test]
fn without_counts_stacks_still_have_totals() {
    let mut profile = figure_4();
    profile.blocks.clear();
    profile.block_counts.clear();
    profile.edge_counts.clear();
    profile.call_costs.clear();
    profile.runs.pop();
    profile.processes.pop();
    profile.threads.pop();
    let analysis = Analysis::new(&profile, None);
    let mut shown = functions(&analysis);
    shown.sort();
    assert_eq!(shown, ["func0 7 ?", "func1 7 ?", "func2 32 ?", "func3 36 ?", "main 39 ?"]);
    let mut shown = calls(&analysis);
    shown.sort();
    assert_eq!(
        shown,
        [
            "func0 func1 7 ? -",
            "func1 func3 6 ? -",
            "func2 func3 30 ? -",
            "main func0 7 ? -",
            "main func2 32 ? -"
        ]
    );
}

#[test]
fn without_stacks_or_costs_only_what_calls_nothing_has_a_total() {
    let mut profile = figure_4();
    profile.samples.iter_mut().for_each(|sample| sample.stack = None);
    profile.stacks.clear();
    profile.runs[1].lost_calls = None;
    let analysis = Analysis::new(&profile, None);
    assert_eq!(functions(&analysis), ["main ? ?", "func0 ? ?", "func1 ? ?", "func2 ? ?", "func3 36 19000"]);
    assert_eq!(loops(&analysis)[3], "func3 36 18600");
    // What func1 and func2 did before they called.
    assert!((analysis.totals().rooted_share.unwrap() - 3.0 / 39.0).abs() < 1e-9);
}

/// Code that calls itself and that no function tells of: entered at one place it has a total, entered at two, or by a
/// jump from elsewhere, it has none.
#[test]
fn recursion_of_what_nothing_tells_of_has_a_total_only_where_activations_are_told_apart() {
    let counted = |exit: Exit, entries: &str| {
        let mut profile = program(&format!(
            "function main at 0x100 size 0x80
             block m0 at 0x100 runs 1 CALL
             block m1 at 0x106 runs 1 CALL
             block m9 at 0x10c runs 1 code c3
             block a0 at 0x1000 runs 9 code 7506
             block a1 at 0x1002 runs 3 CALL
             block a9 at 0x1008 runs 9 code c3
             block a2 at 0x1010 runs 0 code ebf0
             block b0 at 0x2000 runs 1 code eb00
             edge - -> m0 external 1
             edge m0 -> a0 call 1
             edge a9 -> m1 return 1
             edge a0 -> a1 fallthrough 3
             edge a0 -> a9 branch 6
             edge a9 -> a9 return 3
             edge a9 -> m9 return 1
             edge m9 -> - return 1
             {entries}
             cost m0 -> a0 10
             cost a1 -> a0 0"
        ));
        profile.runs.iter_mut().for_each(|run| run.exit = exit);
        let analysis = Analysis::new(&profile, None);
        let told = functions(&analysis).into_iter().find(|line| line.contains("+0x1000")).unwrap();
        let calls = calls(&analysis).into_iter().filter(|line| line.starts_with("sketch+0x1000"));
        // Neither have the calls in it a cost.
        let mut counted = calls.into_iter().filter(|line| !line.ends_with('-'));
        assert!(counted.all(|line| line.contains(" ? ? ") == told.ends_with('?')), "{told}");
        told
    };
    let with = |entries: &str| counted(Exit::Code(0), entries);
    let plain = "edge m1 -> a0 call 1\nedge a1 -> a0 call 3";
    assert_eq!(with(plain), "sketch+0x1000 ? 24");
    // Of what was attached to, activations were there before.
    assert_eq!(counted(Exit::Unknown, plain), "sketch+0x1000 ? ?");
    let other = "edge m1 -> a0 call 1\nedge a1 -> a0 call 2\nedge a1 -> a2 call 1\nedge a2 -> a1 jump 1";
    assert_eq!(with(other), "sketch+0x1000 ? ?");
    assert_eq!(with("edge m1 -> b0 call 1\nedge b0 -> a0 jump 1\nedge a1 -> a0 call 3"), "sketch+0x1000 ? ?");
    // What was active when counting began has no name that is known.
    let jump = "block c0 at 0x3000 runs 1 code ffe3\nedge c0 -> a0 indirect-jump 1\nedge a1 -> a0 call 3";
    assert_eq!(with(jump), "sketch+0x1000 ? ?");
    // Without recursion it does not matter.
    assert_eq!(
        with("edge m1 -> b0 call 1\nedge b0 -> a0 jump 1\nedge a1 -> b0 call 0"),
        "sketch+0x1000 ? 24"
    );
}

/// A goroutine is entered by a jump, with a return address that belongs to no call.
#[test]
fn threads_of_go_begin_where_they_return_to() {
    let rooted = |start: &str| {
        let profile = program(&format!(
            "function {start} at 0x100 size 0x10
             function work at 0x200 size 0x10
             function runtime.gogo.abi0 at 0x300 size 0x10
             block exit at 0x101 runs 3 code 90 c3
             block work at 0x200 runs 3 code 90 c3
             block go at 0x300 runs 3 code 90 ffe0
             edge - -> exit external 1
             edge go -> work indirect-jump 3
             edge work -> exit return 3
             sample 0x201 3 from 0x101"
        ));
        Analysis::new(&profile, None).totals().rooted_share
    };
    assert_eq!(rooted("runtime.goexit.abi0"), Some(1.0));
    assert_eq!(rooted("runtime.goexit"), Some(1.0), "as it is called where symbols were stripped");
    assert_eq!(rooted("runtime.other"), Some(0.0));
}

/// The first call of a function may be the only one, and the loader's resolver goes there.
#[test]
fn a_function_that_was_bound_late_and_called_once_is_what_was_called() {
    let profile = program(
        "function main at 0x100 size 0x80
         function f@plt at 0x1000 size 0x10
         function f at 0x2000 size 0x10
         function resolver at 0x3000 size 0x10
         block m at 0x100 runs 1 CALL
         block m9 at 0x106 runs 1 code c3
         block stub at 0x1000 runs 1 code ff25fa0f0000
         block lazy at 0x1006 runs 1 code 6800000000 e900000000
         block table at 0x1020 runs 1 code ff25fa0f0000
         block load at 0x3000 runs 1 code 90 ffe0
         block f at 0x2000 runs 1 code 90 c3
         edge - -> m external 1
         edge m -> stub call 1
         edge stub -> lazy indirect-jump 1
         edge lazy -> table jump 1
         edge table -> load indirect-jump 1
         edge load -> f indirect-jump 1
         edge f -> m9 return 1
         cost m -> stub 7",
    );
    let analysis = Analysis::new(&profile, None);
    let [call] = &analysis.totals().call_sites[..] else { panic!("one call") };
    assert_eq!(call.callee.map(|callee| analysis.name_of(callee)).as_deref(), Some("f"));
}

/// Control can come into the middle of a block, or of an instruction: blocks overlap.
#[test]
fn an_instruction_is_found_in_whichever_block_holds_it() {
    let text = "block long at 0x1000 runs 1 code 90 90 90 90 90 eb00
                block within at 0x1002 runs 1 code 90 eb00
                block split at 0x1006 runs 1 code 00c0
                block other at 0x2000 runs 1 code 90 eb00";
    let profile = sketch(text).unwrap();
    let analysis = Analysis::new(&profile, None);
    let at = |offset| {
        let place = Place { offset: Offset(offset), ..profile.blocks[0].place };
        analysis.code.instruction_at(place).map(|id| analysis.code.instructions[id.index()].block.index())
    };
    let found: Vec<_> = [0x1000, 0x1001, 0x1004, 0x1005, 0x1006, 0x1007, 0x1fff, 0x2001].map(at).into();
    assert_eq!(found, [Some(0), Some(0), Some(0), Some(0), Some(2), None, None, Some(3)]);
    assert!(matches!(at(0x1002), Some(0 | 1)) && matches!(at(0x1003), Some(0 | 1)));
}
