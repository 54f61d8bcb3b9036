//! Alignments of any two sequences are pairs, and of equal ones all of them.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::HashSet;
use timewise_diff::align::{Token, align};
use timewise_isa::Shape;

fn sequence() -> impl Strategy<Value = Vec<Token>> {
    let token = (0u64..6, 0u64..2, any::<bool>()).prop_map(|(loose, detail, begins_block)| Token {
        shape: Shape { loose, exact: loose * 10 + detail },
        begins_block,
    });
    prop::collection::vec(token, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn each_instruction_is_in_one_pair_at_most_and_like_its_partner(base in sequence(), test in sequence()) {
        let pairs = align(&base, &test).pairs;
        let (ours, theirs): (HashSet<usize>, HashSet<usize>) = pairs.iter().copied().unzip();
        prop_assert_eq!(ours.len(), pairs.len());
        prop_assert_eq!(theirs.len(), pairs.len());
        for (a, b) in pairs {
            prop_assert_eq!(base[a].shape.loose, test[b].shape.loose);
        }
    }

    #[test]
    fn what_was_put_in_anywhere_leaves_the_rest_in_pairs(base in sequence(), at in 0usize..60, more in 1usize..5) {
        let at = at.min(base.len());
        let new = Token { shape: Shape { loose: 99, exact: 99 }, begins_block: false };
        let mut test = base.clone();
        test.splice(at..at, std::iter::repeat_n(new, more));
        let pairs = align(&base, &test).pairs;
        prop_assert_eq!(pairs.len(), base.len());
        for (a, b) in pairs {
            prop_assert_eq!(base[a].shape, test[b].shape);
        }
    }
}
