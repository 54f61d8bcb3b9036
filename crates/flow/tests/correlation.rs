//! What paths tell that edges do not.

use timewise_flow::Analysis;
use timewise_flow::correlation::{Correlations, correlations};
use timewise_flow::sketch::sketch;

/// Two tests in a row, each with two ways: A to B or C, D to E or F; so often each way, 100 times in all.
fn found(counts: [u64; 4], bound: &str) -> Correlations {
    let rest = 100 - counts.iter().sum::<u64>();
    found_with(counts, bound, [rest, rest])
}

/// Likewise, and so often through the first test and through the second on paths that are not told apart.
fn found_with(counts: [u64; 4], bound: &str, untold: [u64; 2]) -> Correlations {
    let [be, bf, ce, cf] = counts;
    let told = counts.iter().sum::<u64>();
    let text = format!(
        "function f at 0x1000 size 0x1000
         block A runs {}\nblock B runs {}\nblock C runs {}\nblock D runs {}\nblock E runs {}\nblock F runs {}
         path - A B D E - {be} {bound}\npath - A B D F - {bf} {bound}
         path - A C D E - {ce} {bound}\npath - A C D F - {cf} {bound}",
        told + untold[0],
        be + bf + untold[0],
        ce + cf,
        told + untold[1],
        be + ce,
        bf + cf + untold[1],
    );
    let profile = sketch(&text).unwrap();
    correlations(&Analysis::new(&profile, None))
}

/// Blocks of first and second branch, executions, and how many of them were as expected.
fn followers(counts: [u64; 4], bound: &str) -> Vec<(u32, u32, u64, u64)> {
    let of = found(counts, bound).followers;
    of.iter().map(|f| (f.first.0, f.second.0, f.executions, f.as_expected)).collect()
}

#[test]
fn a_branch_that_goes_as_an_earlier_one_follows_it() {
    assert_eq!(followers([50, 0, 0, 50], ""), [(0, 3, 100, 100)]);
    assert_eq!(followers([0, 49, 50, 1], ""), [(0, 3, 100, 99)], "also where it goes the other way");
}

#[test]
fn a_branch_with_a_will_of_its_own_follows_none() {
    assert_eq!(followers([25, 25, 25, 25], ""), [], "the edges are those of the case before");
    assert_eq!(followers([48, 2, 2, 48], ""), [], "four exceptions are too many");
    assert_eq!(followers([91, 0, 0, 9], ""), [], "it goes nearly always the same way");
}

#[test]
fn what_was_not_counted_proves_nothing() {
    assert_eq!(found([50, 0, 0, 50], "bound"), Correlations::default());
}

#[test]
fn what_is_on_no_path_may_have_gone_any_way() {
    let follower = |untold| {
        let of = found_with([30, 0, 0, 30], "", untold).followers;
        of.first().map(|follower| (follower.executions, follower.as_expected))
    };
    assert_eq!(follower([40, 40]), None, "40 of 100 may be exceptions");
    assert_eq!(follower([0, 40]), Some((60, 60)), "so often control came to the second another way");
    assert_eq!(follower([40, 0]), Some((60, 60)), "and so often it did not come there from the first");
    let several = "function f at 0x1000 size 0x100\nblock A runs 150\nblock B runs 75\nblock C runs 75
        block D runs 150\nblock E runs 75\nblock F runs 75
        path - A B D E - 75\npath - A C D F - 75";
    let mut profile = sketch(several).unwrap();
    assert_eq!(correlations(&Analysis::new(&profile, None)).followers.len(), 1);
    profile.append(profile.clone());
    assert_eq!(correlations(&Analysis::new(&profile, None)).followers.len(), 1, "of two runs");
    profile.paths.truncate(2);
    assert_eq!(correlations(&Analysis::new(&profile, None)).followers, [], "of one of them");
}

#[test]
fn a_trunk_takes_half_of_all_that_its_function_executed() {
    assert_eq!(found([30, 0, 10, 5], "").trunks, [], "two thirds of what is told apart are no half of all");
    assert_eq!(found([60, 0, 10, 5], "").trunks.len(), 1);
}

#[test]
fn a_path_that_is_most_of_its_function_is_a_trunk() {
    let trunks = found([60, 0, 10, 30], "").trunks;
    let [trunk] = trunks[..] else { panic!("{trunks:?}") };
    assert_eq!((trunk.path, trunk.branches), (0, 2));
    assert!((trunk.share_of_function - 0.6).abs() < 1e-9 && (trunk.share - 0.6).abs() < 1e-9, "{trunk:?}");
    assert_eq!(found([40, 0, 30, 30], "").trunks, []);
}
