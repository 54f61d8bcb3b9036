//! What paths tell that edges do not.

use timewise_flow::Analysis;
use timewise_flow::correlation::{Correlations, correlations};
use timewise_flow::sketch::sketch;

/// Two tests in a row, each with two ways: A to B or C, D to E or F; 100 times in all, so often each way.
fn found(counts: [u64; 4], bound: &str) -> Correlations {
    let [be, bf, ce, cf] = counts;
    let text = format!(
        "function f at 0x1000 size 0x1000
         block A runs 100\nblock B runs {}\nblock C runs {}\nblock D runs 100\nblock E runs {}\nblock F runs {}
         path - A B D E - {be} {bound}\npath - A B D F - {bf} {bound}
         path - A C D E - {ce} {bound}\npath - A C D F - {cf} {bound}",
        be + bf,
        ce + cf,
        be + ce,
        bf + cf,
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
fn a_path_that_is_most_of_its_function_is_a_trunk() {
    let trunks = found([60, 0, 10, 30], "").trunks;
    let [trunk] = trunks[..] else { panic!("{trunks:?}") };
    assert_eq!((trunk.path, trunk.branches), (0, 2));
    assert!((trunk.share_of_function - 0.6).abs() < 1e-9 && (trunk.share - 0.6).abs() < 1e-9, "{trunk:?}");
    assert_eq!(found([40, 0, 30, 30], "").trunks, []);
}
