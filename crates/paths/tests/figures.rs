//! Graphs like those of the paper's figures, with what its text says of them.

use crate::drawing::{draw, edge, numbered, obvious, show};
use crate::walking::execute;
use timewise_paths::cold::cold_edges;
use timewise_paths::cut::{back_edges, disconnect_loops};
use timewise_paths::obvious::{defining_edges, obvious_recording_points};
use timewise_paths::{Cfg, Limits, Method, Op, Plan, Store, at_most};

fn everything(cfg: &Cfg) -> Vec<bool> {
    vec![false; cfg.edges.len()]
}

/// With cold edges left out, whether or not that is worth it.
fn without_cold(cfg: &Cfg, percent: u32) -> Plan {
    Plan::new(cfg, &back_edges(cfg), cold_edges(cfg, percent), false, Limits::default())
}

#[test]
fn figure_1_a_back_edge_ends_a_path_and_begins_one() {
    let cfg = draw("-A 10, AB 60, AC 40, BD 60, CD 40, DA 90, D- 10");
    let cuts = back_edges(&cfg);
    let cut: Vec<_> = cfg.ids().filter(|id| cuts[id.index()]).collect();
    assert_eq!(cut, [edge(&cfg, "DA")]);
    let plan = Method::All.plan(&cfg, Limits::default());
    let mut paths = numbered(&plan);
    assert_eq!(paths.len(), 8);
    paths.sort();
    assert_eq!(paths, ["-ABD-", "-ABD~", "-ACD-", "-ACD~", "~ABD-", "~ABD~", "~ACD-", "~ACD~"]);
    // The way around counts a path and sets the register anew, all with one edge's operations.
    assert!(matches!(plan.ops[edge(&cfg, "DA").index()][..], [Op::Count(_), Op::Set(_)]));
    assert!(matches!(plan.ops[edge(&cfg, "D-").index()][..], [Op::Count(_)]));
    // One of the two ways from A to D adds to the register, and it is the one less taken.
    let within = ["AB", "AC", "BD", "CD"].map(|ends| plan.ops[edge(&cfg, ends).index()].len());
    assert_eq!(within.iter().sum::<usize>(), 1);
    assert_eq!(within[0] + within[2], 0);
}

#[test]
fn ball_and_larus_number_their_own_example() {
    let cfg = draw("-A 6, AB 4, AC 2, BC 2, BD 2, CD 4, DE 3, DF 3, EF 3, F- 6");
    let plan = Method::All.plan(&cfg, Limits::default());
    assert_eq!(numbered(&plan), ["-ABCDEF-", "-ABCDF-", "-ABDEF-", "-ABDF-", "-ACDEF-", "-ACDF-"]);
    assert_eq!(plan.store, Store::Array);
}

#[test]
fn figure_2_a_routine_of_obvious_paths_needs_nothing() {
    // A chain of tests that each may leave: every path has an edge of its own.
    let cfg = draw(
        "-A 100, AB 10, AC 90, BI 10, CD 20, CE 70, DI 20, EF 30, EG 40, FI 30, GH 25, GI 15, HI 25, I- 100",
    );
    let plan = Method::USUAL.plan(&cfg, Limits::default());
    assert_eq!(plan.store, Store::Nothing);
    assert!(plan.ops.iter().all(Vec::is_empty));
    let expected = [("-ABI-", 10), ("-ACDI-", 20), ("-ACEFI-", 30), ("-ACEGHI-", 25), ("-ACEGI-", 15)];
    assert_eq!(obvious(&plan), expected.map(|(path, count)| (path.to_string(), count)));
    assert_eq!(plan.told(), 100);
}

/// Four conditionals in a row; the second and the third hardly ever go right.
const STACKED: &str = "-A 1000, AB 500, AC 500, BD 500, CD 500, DE 990, DF 10, EG 990, FG 10, \
                       GH 995, GI 5, HJ 995, IJ 5, JK 400, JL 600, KM 400, LM 600, M- 1000";

#[test]
fn figure_5_cold_edges_halve_the_paths() {
    let cfg = draw(STACKED);
    let all = Method::All.plan(&cfg, Limits::default());
    assert_eq!(all.numbered(), 16);
    let ways = all.decoder.dag.ways_out(|_| true);
    assert_eq!(
        "MJGDA".bytes().map(|block| ways[usize::from(block - b'A')]).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16]
    );
    let hot = without_cold(&cfg, 5);
    assert_eq!(numbered(&hot), ["-ABDEGHJKM-", "-ABDEGHJLM-", "-ACDEGHJKM-", "-ACDEGHJLM-"]);
    // Where control leaves the hot part the register is poisoned, and nothing is done in the cold part.
    for ends in ["DF", "GI"] {
        assert_eq!(hot.ops[edge(&cfg, ends).index()], [Op::Poison], "{ends}");
    }
    for ends in ["FG", "IJ"] {
        assert!(hot.ops[edge(&cfg, ends).index()].is_empty(), "{ends}");
    }
    let hot_walk = vec![0, 1, 3, 4, 6, 7, 9, 10, 12];
    let cold_walk = vec![0, 1, 3, 5, 6, 7, 9, 10, 12];
    let (tally, _) = execute(&cfg, &hot, &[hot_walk.clone(), cold_walk, hot_walk]);
    assert_eq!(tally.executed.cold_counts, 1);
    assert_eq!(
        tally.profile(&hot).iter().map(|(path, count)| (show(path), *count)).collect::<Vec<_>>(),
        [("-ABDEGHJKM-".to_string(), 2)]
    );
}

#[test]
fn cold_paths_are_left_out_only_where_that_saves_a_hash_table_or_makes_a_region_obvious() {
    let cfg = draw(STACKED);
    let usual = Method::USUAL.plan(&cfg, Limits::default());
    assert_eq!((usual.numbered(), usual.store, usual.poisons), (16, Store::Array, false));
    let tight = Limits { array: 8, ..Limits::default() };
    let usual = Method::USUAL.plan(&cfg, tight);
    assert_eq!((usual.numbered(), usual.store, usual.poisons), (4, Store::Array, true));
    // With all but one conditional cold, what is left is obvious.
    let cfg = draw("-A 1000, AB 990, AC 10, BD 990, CD 10, DE 400, DF 600, EG 400, FG 600, G- 1000");
    let usual = Method::USUAL.plan(&cfg, Limits::default());
    assert_eq!(usual.store, Store::Nothing);
    assert_eq!(obvious(&usual), [("-ABDEG-".to_string(), 400), ("-ABDFG-".to_string(), 600)]);
}

#[test]
fn figure_6_cold_back_edges() {
    let ops = |cfg: &Cfg, ends: &str| without_cold(cfg, 5).ops[edge(cfg, ends).index()].clone();
    // a) The only back edge is cold: no path begins at the loop's header.
    let a = draw("-A 1000, AB 500, AC 500, BD 500, CD 500, DE 600, DF 410, EG 600, FG 410, GD 10, G- 1000");
    assert_eq!(ops(&a, "GD"), [Op::CountCold, Op::Poison]);
    // b) Another back edge is hot: paths begin at the header whichever way control comes back.
    let b = draw(
        "-A 1000, AB 1500, AC 1510, BD 1500, CD 1510, DA 2000, DE 1010, EF 505, EG 505, FH 505, GH 505, HA 10, \
         H- 1000",
    );
    assert!(matches!(ops(&b, "HA")[..], [Op::CountCold, Op::Set(_)]), "{:?}", ops(&b, "HA"));
    // c) The loop is cold as a whole: the register is poisoned and stays so.
    let c = draw("-A 1000, AB 480, AC 480, BD 480, CD 480, AE 40, EE 1, ED 40, D- 1000");
    assert_eq!(ops(&c, "EE"), [Op::CountCold]);
    assert_eq!(ops(&c, "AE"), [Op::Poison]);
    // One that is entered rarely, but goes round often, is not cold.
    let rare = draw("-A 1000, AB 480, AC 480, BD 480, CD 480, AE 40, EE 9000, ED 40, D- 1000");
    assert!(
        matches!(ops(&rare, "EE")[..], [Op::Count(_), Op::Set(_)] | [Op::CountThis(_)]),
        "{:?}",
        ops(&rare, "EE")
    );
}

#[test]
fn figure_7_a_loop_that_is_cut_off_is_obvious() {
    let cfg = draw("-A 100, AB 100, BB 100000, BC 100, C- 100");
    let whole = Method::All.plan(&cfg, Limits::default());
    assert_eq!(numbered(&whole), ["-ABC-", "-AB~", "~BC-", "~B~"]);
    assert!(!defining_edges(&whole.decoder.dag).contains(&true));
    let cuts = disconnect_loops(&cfg, &back_edges(&cfg), 15);
    let plan = Plan::new(&cfg, &cuts, everything(&cfg), true, Limits::default());
    let expected = [("-A~", 100), ("~B~", 100_100), ("~C-", 100)];
    assert_eq!(obvious(&plan), expected.map(|(path, count)| (path.to_string(), count)));
    let usual = Method::USUAL.plan(&cfg, Limits::default());
    assert_eq!((usual.store, usual.cuts), (Store::Nothing, cuts));
    // Rarely going round, it stays where it is.
    let rarely = draw("-A 100, AB 100, BB 20, BC 100, C- 100");
    assert_eq!(disconnect_loops(&rarely, &back_edges(&rarely), 15), back_edges(&rarely));
}

#[test]
fn figure_8_recording_points_of_obvious_paths_only() {
    // After A, B and C lead to a recording point each: B by one way, C by a conditional and by another after it.
    let cfg =
        draw("-A 100, AB 40, AC 60, B- 40, CD 30, CE 30, DF 30, EF 30, FG 25, FH 35, GI 25, HI 35, I- 60");
    let plan = Method::USUAL.plan(&cfg, Limits::default());
    let dag = &plan.decoder.dag;
    let points = obvious_recording_points(dag, &defining_edges(dag));
    let point = |ends| points[dag.whole(edge(&cfg, ends)).expect("kept").index()];
    assert!(point("B-") && !point("I-"));
    assert_eq!(obvious(&plan), [("-AB-".to_string(), 40)]);
    assert_eq!(numbered(&plan), ["-ACDFGI-", "-ACDFHI-", "-ACEFGI-", "-ACEFHI-"]);
    for ends in ["AB", "B-"] {
        assert!(plan.ops[edge(&cfg, ends).index()].is_empty(), "{ends}");
    }
}

#[test]
fn a_jump_table_is_not_cold_however_many_targets_it_has() {
    // Thirty targets, each taken less often than what is cold, and two conditionals behind.
    let targets = 1..31u32;
    let ways = targets.flat_map(|to| [(Some(0), Some(to), 100), (Some(to), Some(31), 100)]);
    let behind = [(31, 32, 1500), (31, 33, 1500), (32, 34, 1500), (33, 34, 1500)];
    let behind = behind.map(|(from, to, count)| (Some(from), Some(to), count));
    let ends = [(None, Some(0), 3000), (Some(34), None, 3000)];
    let cfg = Cfg::new(35, ends.into_iter().chain(ways).chain(behind));
    assert!(!cold_edges(&cfg, 5).contains(&true));
    let plan = Method::USUAL.plan(&cfg, Limits::default());
    assert_eq!((plan.numbered(), plan.store, plan.poisons), (60, Store::Array, false));
    // One target that is taken more often makes cold ones of the others.
    let ways = (1..31u32).map(|to| (Some(0), Some(to), if to == 7 { 10_000 } else { 100 }));
    let cfg =
        Cfg::new(31, ways.chain((1..31).map(|to| (Some(to), None, 100))).chain([(None, Some(0), 12_900)]));
    assert_eq!(cold_edges(&cfg, 5).iter().filter(|&&is_cold| is_cold).count(), 29);
}

#[test]
fn a_cycle_of_several_entries_is_cut_once() {
    let cfg = draw("-A 100, AB 60, AC 40, BC 300, CB 240, B- 0, C- 100");
    let cuts = back_edges(&cfg);
    let cut: Vec<_> = cfg.ids().filter(|id| cuts[id.index()]).collect();
    assert_eq!(cut, [edge(&cfg, "CB")]);
    let plan = Method::All.plan(&cfg, Limits::default());
    let mut paths = numbered(&plan);
    paths.sort();
    assert_eq!(paths, ["-AB-", "-ABC-", "-ABC~", "-AC-", "-AC~", "~B-", "~BC-", "~BC~"].map(str::to_string));
    let walks = [vec![0, 1, 2, 1, 2], vec![0, 2, 1, 2], vec![0, 2]];
    let (tally, truth) = execute(&cfg, &plan, &walks);
    assert_eq!((tally.profile(&plan), tally.senseless), (truth, 0));
    // Loops that can be entered in the middle are not cut off.
    assert_eq!(disconnect_loops(&cfg, &cuts, 50), cuts);
}

#[test]
fn obvious_paths_are_told_by_later_counts() {
    let cfg = draw("-A 100, AB 40, AC 60, BD 40, CD 60, D- 100");
    let mut plan = Method::USUAL.plan(&cfg, Limits::default());
    assert_eq!(obvious(&plan), [("-ABD-".to_string(), 40), ("-ACD-".to_string(), 60)]);
    let later = draw("-A 100, AB 7, AC 3, BD 7, CD 2, D- 9");
    plan.recount(&cfg.recounted(|edge| later.find(edge.from, edge.to).map_or(0, |id| later.edge(id).count)));
    assert_eq!(obvious(&plan), [("-ABD-".to_string(), 7), ("-ACD-".to_string(), 2)]);
    let path = plan.decoder.path(&plan.obvious[0].0);
    assert_eq!(at_most(&later, &path), 7);
}

#[test]
fn a_routine_of_more_than_2_to_the_64_paths_is_cut() {
    // A hundred conditionals in a row.
    let mut edges = vec![(None, Some(0), 1000)];
    for test in 0..100u32 {
        let at = 3 * test;
        edges.extend(
            [(at, at + 1), (at, at + 2), (at + 1, at + 3), (at + 2, at + 3)]
                .map(|(from, to)| (Some(from), Some(to), 500)),
        );
    }
    edges.push((Some(300), None, 1000));
    let cfg = Cfg::new(301, edges);
    let plan = Method::All.plan(&cfg, Limits::default());
    assert!(plan.numbered() > 1000 && plan.numbered() <= 10_000_000, "{}", plan.numbered());
    assert_eq!(plan.store, Store::Hash);
    let walk: Vec<u32> = (0..301).filter(|block| block % 3 != 1 || block % 2 == 0).collect();
    let walk: Vec<u32> =
        walk.iter().copied().filter(|block| block % 3 != 2 || !walk.contains(&(block - 1))).collect();
    let (tally, truth) = execute(&cfg, &plan, &[walk]);
    assert_eq!((tally.profile(&plan), tally.senseless), (truth, 0));
}
