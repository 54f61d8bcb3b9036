//! Which instruction of a function is which of the same function in another build: a global alignment of the
//! two sequences, without addresses.
//!
//! What both sequences begin and end with is the same. Between, the alignment with the highest score is found
//! (Needleman and Wunsch 1970): equal instructions count more than those that differ in registers or
//! constants, and beginnings of blocks are drawn to each other. Long sequences are first cut at runs of
//! instructions that occur once on each side (as patience diff does with lines), because the table grows with
//! the product of the lengths. Blocks that moved are found last: an alignment cannot cross itself.

use std::collections::HashMap;
use timewise_isa::Shape;

/// An instruction to be aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub shape: Shape,
    /// Whether a block begins with it.
    pub begins_block: bool,
}

/// The largest table of scores, in cells of a byte.
const MOST_CELLS: usize = 4 << 20;

/// Instructions of a run that may occur once only by their order.
const RUN: usize = 4;

/// A moved block of fewer instructions may be equal by chance.
const SHORTEST_MOVED: usize = 3;

/// Positions in `base` and in `test` of instructions that are the same, each in one pair at most. Those that
/// did not move come in order, moved ones after them.
pub fn align(base: &[Token], test: &[Token]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    between(base, test, (0, 0), &mut pairs);
    moved(base, test, &mut pairs);
    pairs
}

/// Aligns two parts that begin at the positions `at` of the whole.
fn between(base: &[Token], test: &[Token], at: (usize, usize), pairs: &mut Vec<(usize, usize)>) {
    let same = |(ours, theirs): &(&Token, &Token)| ours.shape == theirs.shape;
    let before = base.iter().zip(test).take_while(same).count();
    pairs.extend((0..before).map(|n| (at.0 + n, at.1 + n)));
    let (base, test) = (&base[before..], &test[before..]);
    let after = base.iter().rev().zip(test.iter().rev()).take_while(same).count();
    let (ours, theirs) = (&base[..base.len() - after], &test[..test.len() - after]);
    let at = (at.0 + before, at.1 + before);
    if ours.len().saturating_mul(theirs.len()) <= MOST_CELLS {
        pairs.extend(best(ours, theirs).into_iter().map(|(a, b)| (at.0 + a, at.1 + b)));
    } else {
        // Without a common run, the parts have too little in common for so long a search.
        let anchors = anchors(ours, theirs);
        let mut from = (0, 0);
        let ends = anchors.iter().copied().chain((!anchors.is_empty()).then_some((ours.len(), theirs.len())));
        for to in ends {
            between(&ours[from.0..to.0], &theirs[from.1..to.1], (at.0 + from.0, at.1 + from.1), pairs);
            from = to;
        }
    }
    let end = (at.0 + ours.len(), at.1 + theirs.len());
    pairs.extend((0..after).map(|n| (end.0 + n, end.1 + n)));
}

/// Scores of an aligned pair. Two that differ in their operands must not be worth more than one that is equal.
const EQUAL: u32 = 8;
const SIMILAR: u32 = 3;
const BOTH_BEGIN: u32 = 1;

fn score(ours: &Token, theirs: &Token) -> u32 {
    let same = match () {
        () if ours.shape == theirs.shape => EQUAL,
        () if ours.shape.loose == theirs.shape.loose => SIMILAR,
        () => return 0,
    };
    if ours.begins_block && theirs.begins_block { same + BOTH_BEGIN } else { same }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Pair,
    SkipOurs,
    SkipTheirs,
}

/// The alignment with the highest score.
fn best(base: &[Token], test: &[Token]) -> Vec<(usize, usize)> {
    let mut ways = vec![Way::SkipTheirs; base.len() * test.len()];
    // Best score of all before an instruction of ours and one of theirs; a row for one of ours.
    let mut above = vec![0u32; test.len() + 1];
    for (row, ours) in base.iter().enumerate() {
        let mut current = vec![0u32; test.len() + 1];
        for (column, theirs) in test.iter().enumerate() {
            let pair = match score(ours, theirs) {
                0 => 0,
                score => above[column] + score,
            };
            let skip = above[column + 1].max(current[column]);
            let way = &mut ways[row * test.len() + column];
            (current[column + 1], *way) = match () {
                () if pair > 0 && pair >= skip => (pair, Way::Pair),
                () if above[column + 1] >= current[column] => (skip, Way::SkipOurs),
                () => (skip, Way::SkipTheirs),
            };
        }
        above = current;
    }
    let mut pairs = Vec::new();
    let (mut row, mut column) = (base.len(), test.len());
    while row > 0 && column > 0 {
        match ways[(row - 1) * test.len() + column - 1] {
            Way::Pair => {
                (row, column) = (row - 1, column - 1);
                pairs.push((row, column));
            }
            Way::SkipOurs => row -= 1,
            Way::SkipTheirs => column -= 1,
        }
    }
    pairs.reverse();
    pairs
}

/// Positions where equal runs begin that occur once on each side, as many as stand in the same order.
fn anchors(base: &[Token], test: &[Token]) -> Vec<(usize, usize)> {
    let theirs = single_runs(test);
    let mut common: Vec<(usize, usize)> =
        single_runs(base).into_iter().filter_map(|(run, at)| Some((at, *theirs.get(&run)?))).collect();
    common.sort_unstable();
    longest_increasing(&common)
}

fn single_runs(tokens: &[Token]) -> HashMap<[Shape; RUN], usize> {
    let mut seen: HashMap<[Shape; RUN], (usize, bool)> = HashMap::new();
    for (at, run) in tokens.windows(RUN).enumerate() {
        let run = std::array::from_fn(|n| run[n].shape);
        seen.entry(run).and_modify(|(_, single)| *single = false).or_insert((at, true));
    }
    seen.into_iter().filter(|(_, (_, single))| *single).map(|(run, (at, _))| (run, at)).collect()
}

/// The longest part of `pairs`, sorted by their first, whose seconds increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best part of each length, and the pair before each.
    let mut last: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = last.partition_point(|&other| pairs[other].1 < pair.1);
        before.push(length.checked_sub(1).map(|shorter| last[shorter]));
        if length == last.len() { last.push(at) } else { last[length] = at }
    }
    let mut part: Vec<(usize, usize)> =
        std::iter::successors(last.last().copied(), |&at| before[at]).map(|at| pairs[at]).collect();
    part.reverse();
    part
}

/// Adds the instructions of whole blocks that are in no pair and of which there is one on each side.
fn moved(base: &[Token], test: &[Token], pairs: &mut Vec<(usize, usize)>) {
    let (mut ours, mut theirs) = (vec![true; base.len()], vec![true; test.len()]);
    for (a, b) in &*pairs {
        (ours[*a], theirs[*b]) = (false, false);
    }
    let theirs = free_blocks(test, &theirs);
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (block, at) in free_blocks(base, &ours) {
        if let (Some(at), Some(Some(to))) = (at, theirs.get(&block)) {
            found.push((at, *to, block.len()));
        }
    }
    found.sort_unstable();
    for (from, to, length) in found {
        pairs.extend((0..length).map(|n| (from + n, to + n)));
    }
}

/// Blocks of which no instruction is in a pair, and where each begins; nowhere if there are several.
fn free_blocks(tokens: &[Token], free: &[bool]) -> HashMap<Vec<Shape>, Option<usize>> {
    let mut blocks: HashMap<Vec<Shape>, Option<usize>> = HashMap::new();
    let mut at = 0;
    for block in tokens.chunk_by(|_, next| !next.begins_block) {
        if block.len() >= SHORTEST_MOVED && free[at..at + block.len()].iter().all(|&free| free) {
            let shapes = block.iter().map(|token| token.shape).collect();
            blocks.entry(shapes).and_modify(|at| *at = None).or_insert(Some(at));
        }
        at += block.len();
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter is an instruction, lower and upper case differ in operands; `|` begins a block.
    fn tokens(text: &str) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut begins_block = true;
        for letter in text.bytes() {
            if letter == b'|' {
                begins_block = true;
                continue;
            }
            let shape = Shape { loose: letter.to_ascii_lowercase().into(), exact: letter.into() };
            tokens.push(Token { shape, begins_block });
            begins_block = false;
        }
        tokens
    }

    fn shown(base: &str, test: &str) -> String {
        let (plain, other) = (base.replace('|', ""), test.replace('|', ""));
        let pairs = align(&tokens(base), &tokens(test));
        let text = |(a, b): &(usize, usize)| format!("{}{}", &plain[*a..=*a], &other[*b..=*b]);
        pairs.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_was_put_in_or_taken_out_has_no_partner() {
        assert_eq!(shown("abcdef", "abxycdef"), "aa bb cc dd ee ff");
        assert_eq!(shown("abcdef", "adef"), "aa dd ee ff");
        assert_eq!(shown("abc", ""), "");
        assert_eq!(shown("abc", "xyz"), "");
    }

    #[test]
    fn equal_instructions_go_before_similar_ones() {
        assert_eq!(shown("xaby", "zAaBbw"), "aa bb");
        assert_eq!(shown("xaby", "xABy"), "xx aA bB yy");
    }

    #[test]
    fn beginnings_of_blocks_decide_between_equals() {
        let pairs = align(&tokens("x|ay"), &tokens("za|aw"));
        assert_eq!(pairs, [(1, 2)]);
    }

    #[test]
    fn blocks_that_moved_are_found() {
        assert_eq!(shown("s|abcd|efghi|t", "s|efghi|abcd|t"), "ss ee ff gg hh ii tt aa bb cc dd");
        assert_eq!(shown("s|ab|efghi|t", "s|efghi|ab|t"), "ss ee ff gg hh ii tt", "too short to tell");
    }

    #[test]
    fn long_sequences_are_cut_at_what_is_unique() {
        let token = |n: u64| Token { shape: Shape { loose: n, exact: n }, begins_block: n.is_multiple_of(7) };
        let base: Vec<Token> = (0..5000).map(|n| token(n * 31 % 4999)).collect();
        let mut test = base.clone();
        test.splice(2500..2500, (0..10).map(|n| token(10_000 + n)));
        test[0] = token(20_000);
        test[5009] = token(20_001);
        let pairs = align(&base, &test);
        let want: Vec<(usize, usize)> = (1..4999).map(|n| (n, if n < 2500 { n } else { n + 10 })).collect();
        assert_eq!(pairs, want);
    }

    #[test]
    fn the_longest_increasing_part_is_kept() {
        let pairs = [(0, 5), (1, 0), (2, 1), (3, 9), (4, 2)];
        assert_eq!(longest_increasing(&pairs), [(1, 0), (2, 1), (4, 2)]);
    }
}
