//! Comparisons of runs whose events are known.

use crate::made::{Made, made, run};
use proptest::prelude::*;
use timewise_eventtree::{Comparison, LaneTree, NodeId, Tree};
use timewise_profile::OsEventKind::{self, Begin, Call, End, Image};
use timewise_profile::Profile;

/// A run of one process.
fn alone(events: &[Made]) -> Profile {
    run(&[(None, "/bin/app", events)])
}

/// The traces of CQ's figure 10, where keys of a registry are files here.
fn figure_10(times: [u64; 7]) -> Profile {
    let events = [
        (Begin, ""),
        (Image, "mmap"),
        (Image, "mmap"),
        (Call, "openat"),
        (Call, "openat"),
        (Image, "mmap"),
        (End, ""),
    ];
    let events: Vec<Made> =
        events.iter().zip(times).map(|(&(kind, name), time)| made(kind, name, time)).collect();
    alone(&events)
}

fn elapsed(lane: &LaneTree, id: NodeId) -> (f64, f64) {
    let elapsed = lane.measures(id).elapsed_ns;
    (elapsed.base.mean, elapsed.test.unwrap().mean)
}

/// From the root on, at each level the node that differs most.
fn steepest(lane: &LaneTree) -> Vec<NodeId> {
    let differs = |id: &NodeId| lane.measures(*id).elapsed_ns.difference().unwrap().amount.abs();
    let children = |id: NodeId| lane.tree.node(id).children.iter().copied();
    let next = |id: &NodeId| children(*id).max_by(|a, b| differs(a).total_cmp(&differs(b)));
    std::iter::successors(Some(Tree::ROOT), next).collect()
}

#[test]
fn the_way_of_the_largest_difference_is_that_of_figure_10() {
    let base = figure_10([0, 1, 4, 6, 7, 8, 10]);
    let test = figure_10([0, 1, 5, 6, 10, 12, 14]);
    let comparison = Comparison::new(&base, Some(&test));
    let [lane] = &comparison.lanes[..] else { panic!("one thread") };
    let way = steepest(lane);
    assert_eq!(lane.tree.way(way[2]), way);
    let times: Vec<(f64, f64)> = way.iter().map(|&id| elapsed(lane, id)).collect();
    assert_eq!(times, [(10., 14.), (4., 7.), (1., 4.)]);
    let leaf = lane.measures(way[2]);
    assert_eq!((leaf.call_ns.base.mean, leaf.events.base.mean), (1.0, 1.0));
    let whole = lane.measures(Tree::ROOT);
    assert_eq!((whole.cpu_ns.base.mean, whole.cpu_ns.test.unwrap().mean), (5.0, 7.0));
    assert_eq!((whole.call_ns.base.mean, whole.events.base.mean), (6.0, 6.0));
    // One run on each side: nothing is known of chance.
    assert_eq!(whole.elapsed_ns.difference().unwrap().within, None);
    assert!(lane.differing.is_empty());
}

#[test]
fn what_one_side_has_alone_is_told() {
    let call = |name, object, begin_ns| Made { kind: Call, name, object, begin_ns };
    let base = alone(&[made(Begin, "", 0), call("openat", "/tmp/cc1", 3), made(End, "", 9)]);
    let test = alone(&[
        made(Begin, "", 0),
        call("stat", "/etc/a", 1),
        call("openat", "/tmp/cc2", 3),
        call("stat", "/etc/b", 5),
        made(End, "", 9),
    ]);
    let comparison = Comparison::new(&base, Some(&test));
    let lane = &comparison.lanes[0];
    // Temporary files have other names each time, and are opened all the same.
    assert_eq!(lane.events.iter().map(|common| common.same_object).collect::<Vec<_>>(), [true, false, true]);
    let [stat] = &lane.differing[..] else { panic!("{:?}", lane.differing) };
    assert_eq!((stat.kind, stat.name.as_slice(), stat.objects_in_all), (Call, &b"stat"[..], 2));
    assert_eq!((stat.events.base.mean, stat.events.test.unwrap().mean), (0.0, 2.0));
    assert_eq!(stat.objects, [b"/etc/a", b"/etc/b"]);
    assert_eq!((comparison.events.base.mean, comparison.events.test.unwrap().mean), (3.0, 5.0));
}

#[test]
fn processes_are_the_same_by_their_place_in_the_tree() {
    let life = |from| [made(Begin, "", from), made(End, "", from + 4)];
    let [first, second, third, fourth] = [0, 10, 20, 30].map(life);
    let base =
        run(&[(None, "/old/app", &first), (Some(0), "/bin/as", &second), (Some(0), "/bin/ld", &third)]);
    // Rows of a profile need not stand in the order in which processes began.
    let test = run(&[
        (None, "/new/application", &first),
        (Some(0), "/usr/bin/ld", &fourth),
        (Some(0), "/bin/as", &third),
        (Some(0), "/bin/as", &second),
    ]);
    let comparison = Comparison::new(&base, Some(&test));
    let begins = |lane: &LaneTree| lane.events[0].event.begin_ns;
    assert_eq!(comparison.lanes.iter().map(begins).collect::<Vec<_>>(), [0, 10, 20]);
    let [only] = &comparison.elsewhere[..] else { panic!("{:?}", comparison.elsewhere) };
    let ancestry: Vec<(&[u8], u32)> = comparison.processes.ancestry(only.key.process).collect();
    assert_eq!(ancestry, [(&b"as"[..], 1), (b"", 0)]);
    assert_eq!((only.base_runs, only.test_runs), (0, 1));
}

/// No recording has one, but a damaged file may.
#[test]
fn a_process_may_descend_from_itself() {
    let life = [made(Begin, "", 0), made(End, "", 9)];
    let circle = run(&[(Some(1), "/bin/a", &life), (Some(0), "/bin/b", &life), (Some(2), "/bin/c", &life)]);
    let comparison = Comparison::new(&circle, Some(&circle));
    assert_eq!((comparison.lanes.len(), comparison.elsewhere.len()), (3, 0));
}

#[test]
fn runs_of_a_side_tell_what_is_chance() {
    let life = |end| alone(&[made(Begin, "", 0), made(End, "", end)]);
    let runs = |ends: [u64; 3]| {
        let mut all = life(ends[0]);
        ends[1..].iter().for_each(|&end| all.append(life(end)));
        all
    };
    let (base, near, far) = (runs([100, 104, 102]), runs([103, 101, 105]), runs([150, 152, 151]));
    let difference = |test| {
        let comparison = Comparison::new(&base, Some(test));
        assert_eq!((comparison.base_runs, comparison.test_runs), (3, Some(3)));
        comparison.lanes[0].measures(Tree::ROOT).elapsed_ns.difference().unwrap()
    };
    assert!(!difference(&near).is_significant());
    assert!(difference(&far).is_significant());
    assert_eq!(difference(&far).amount, 49.0);
}

fn some_events() -> impl Strategy<Value = Vec<Made>> {
    let event = (0..5_usize, 0..3_usize, 0..100_u64).prop_map(|(kind, object, wait)| {
        let kinds: [(OsEventKind, &str); 5] = [
            (Image, "mmap"),
            (Call, "openat"),
            (Call, "read"),
            (Call, "close"),
            (OsEventKind::Signal, "SIGHUP"),
        ];
        let (kind, name) = kinds[kind];
        Made { kind, name, object: ["", "/a", "/b"][object], begin_ns: wait }
    });
    proptest::collection::vec(event, 0..40).prop_map(|mut events| {
        let mut now = 0;
        for event in &mut events {
            now += 1 + event.begin_ns;
            event.begin_ns = now;
        }
        events
    })
}

proptest! {
    #[test]
    fn children_take_all_of_a_nodes_time(base in some_events(), test in some_events()) {
        let (base, test) = (alone(&base), alone(&test));
        let comparison = Comparison::new(&base, Some(&test));
        for lane in &comparison.lanes {
            for node in lane.tree.nodes().iter().enumerate().filter(|(_, node)| !node.children.is_empty()) {
                let (id, node) = (NodeId(node.0 as u32), node.1);
                let whole = lane.measures(id);
                let sum = |amount: fn(&LaneTree, NodeId) -> f64| -> f64 {
                    node.children.iter().map(|&child| amount(lane, child)).sum()
                };
                let base = sum(|lane, id| lane.measures(id).elapsed_ns.base.mean);
                let test = sum(|lane, id| lane.measures(id).call_ns.test.unwrap().mean);
                prop_assert_eq!(base, whole.elapsed_ns.base.mean);
                prop_assert_eq!(test, whole.call_ns.test.unwrap().mean);
            }
        }
    }
}
